"""Which claims mean something for which machine."""

from typing import Any

import pytest

from electorate.claims import CLAIMS, Claim, Kind
from electorate.cli.protocol import find
from electorate.core import Machine, Topic
from electorate.protocols.registry import REGISTRY
from electorate.simulate.named import UnknownClaim, claims_of
from electorate.trace import Setting
from tests.verdicts.plan import rows

ELECTIONS = {"A1", "A2", "A3", "S1", "S2", "S3", "L0", "L1", "L2", "A4", "A4p"}
TRANSACTIONS = {"C1", "C2", "C3", "C4", "C5", "C6", "C7"}
TERMS = {"M1", "M2", "M3", "M4", "M5", "M6", "M7"}
CANDIDATES = {"M8", "M9"}
FOUNDERS = {"D5", "D6"}
MEMORIES = {"D1", "D2", "D3", "D4"}
VIEWS = {"P1", "P2"}
CHOICES = {"K1", "K2", "K3", "K4"}
TASKS = {"T1", "T2", "T3", "T4"}


def machine(name: str) -> Machine[Any]:
    return find(name).machine(Setting(name, (1, 2, 3)))


def fitting(name: str) -> set[str]:
    return {claim.name for claim in CLAIMS.values() if claim.misfit(machine(name)) is None}


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("bully", ELECTIONS | VIEWS),
        ("park", ELECTIONS | VIEWS),
        ("park-literal", ELECTIONS | VIEWS),
        ("bully-rpc", ELECTIONS | VIEWS | TASKS),
        ("bully-textbook", ELECTIONS | VIEWS | TASKS),
        ("invitation", ELECTIONS | TASKS | {"S4"}),
        ("ranked-invitation", ELECTIONS | {"S4", "G1", "G2"}),
        ("mandate", ELECTIONS | VIEWS | TERMS),
        ("mandate-over-invitation", ELECTIONS | VIEWS | TERMS),
        ("mandate-over-bully/application", ELECTIONS | VIEWS | TERMS | CANDIDATES),
        ("replacement", ELECTIONS | VIEWS | MEMORIES),
        ("founding", ELECTIONS | VIEWS | FOUNDERS),
        ("first-start", ELECTIONS | VIEWS | TERMS | CANDIDATES | FOUNDERS),
        ("two-phase", ELECTIONS | VIEWS | TRANSACTIONS),
        ("three-phase-over-invitation", ELECTIONS | TASKS | {"S4"} | TRANSACTIONS),
        ("two-phase-over-mandate", ELECTIONS | VIEWS | TRANSACTIONS | TERMS),
        ("paxos", ELECTIONS | VIEWS | CHOICES),
        ("consensus-over-invitation", ELECTIONS | TASKS | {"S4"} | CHOICES),
        ("consensus-over-mandate", ELECTIONS | VIEWS | TERMS | CHOICES),
        ("examples/chang_roberts.py:ChangRoberts", ELECTIONS | VIEWS),
        ("examples/shared_work/protocol.py:SharedWork", ELECTIONS | {"S4"}),
    ],
)
def test_claims_fit_what_standings_tell_of(name: str, claims: set[str]) -> None:
    assert fitting(name) == claims


def test_a_claim_that_does_not_fit_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownClaim) as refused:
        claims_of(machine("bully"), ["A1", "S4"])
    assert str(refused.value) == (
        "S4 is about groups, of which it tells nothing; the claims that fit are: "
        "A1, A2, A3, S1, S2, S3, L0, L1, L2, A4, A4p, P1, P2"
    )
    with pytest.raises(UnknownClaim, match="P1 would misread its groups"):
        claims_of(machine("invitation"), ["P1"])


def test_a_claim_of_ones_own_says_what_it_is_about() -> None:
    own = Claim("own", Kind.ALWAYS, "", lambda row: None, about=frozenset({Topic.TERMS}))
    assert own.misfit(machine("mandate")) is None
    assert own.misfit(machine("bully")) == "own is about terms, of which it tells nothing"


def test_whatever_is_promised_or_compared_fits() -> None:
    for name, entry in REGISTRY.items():
        for form in ("sound", *entry.machine.forms):
            built = find(name, form).machine(Setting(name, (1, 2, 3)))
            claims_of(built, entry.machine.promised(form))
    asked = {(row.split()[0], claim) for row, claims in rows().items() for claim in claims}
    assert len(asked) > 50
    for name, claim in asked:
        claims_of(machine(name), [claim])
