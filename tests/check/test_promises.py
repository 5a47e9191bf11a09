"""What each form of a protocol promises, and that it promises no more than it keeps."""

from typing import Any, NamedTuple

import pytest

from electorate.check import Budget, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Assumption, Over
from electorate.protocols.leadership import Register
from electorate.protocols.registry import REGISTRY
from electorate.protocols.token_mutex import TokenMutex
from electorate.protocols.told_leader import ToldLeader
from electorate.trace import Setting, Start
from tests.check import network

FORMS = {
    name: entry for name, entry in REGISTRY.items() if entry.form in entry.machine.form_promises
}


def judged(name: str, claims: tuple[str, ...], nodes: int, **given: Any) -> Verdict:
    kind, form = REGISTRY[name]
    budget = Budget(**{k: given.pop(k) for k in Budget.__struct_fields__ if k in given})
    setting = Setting(
        name, tuple(range(1, nodes + 1)), strongest=kind.strongest, **{"start": Start.BOOT, **given}
    )
    model = Model(setting, budget)
    return check(setting.machine(kind, form), model, [CLAIMS[claim] for claim in claims])


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize(
    "name", [name for name, (kind, form) in REGISTRY.items() if kind.promised(form)]
)
def test_every_form_keeps_its_promises_where_nothing_fails(name: str, nodes: int) -> None:
    kind, form = REGISTRY[name]
    # Over an election that names nobody by itself somebody has to be named.
    is_told = issubclass(kind, Over) and kind.inner_kind is ToldLeader
    asks = int(is_told or kind in (TokenMutex, Register))
    verdict = judged(name, kind.promised(form), nodes, delay_min=1, asks=asks)
    assert not verdict.violations
    # Where nobody is ever elected, or named by a majority, the checker calls no promise kept.
    empty = {"park-literal": {"P1"}, "three-phase-ballots": {"C5"}, "paxos": {"K4"}}.get(
        name, set()
    )
    unknown = {claim for claim, result in verdict.claims.items() if result is Result.UNKNOWN}
    assert unknown == empty
    kept = Result.WITHIN_BOUNDS if name == "mandate" else Result.HOLDS
    assert set(verdict.claims.values()) <= {kept, Result.UNKNOWN}


class Kept(NamedTuple):
    """What a form keeps less than the sound form, and where that shows."""

    promises: tuple[str, ...]
    broken: tuple[str, ...]
    given: dict[str, Any]


LESS = {
    "bully-textbook-as-printed": Kept((), ("A1", "A2"), {"nodes": 2}),
    "bully-textbook-to-the-letter": Kept((), ("A1", "A2"), {"nodes": 2}),
    "park-literal": Kept(("P1",), ("P2",), {"nodes": 2}),
    "ring-attribute-as-printed": Kept(("A1", "S2"), ("A2",), {"nodes": 3, "asks": 1}),
    "ring-attribute-to-the-letter": Kept(
        ("A1", "S2"), ("A2",), {"nodes": 2, "attributes": (80, 5)}
    ),
}


def test_every_form_that_promises_less_is_shown_to_keep_less() -> None:
    assert {*LESS, "invitation-as-printed"} == set(FORMS)


@pytest.mark.parametrize("name", LESS)
def test_what_a_form_does_not_promise_breaks_without_a_fault(name: str) -> None:
    kind, form = REGISTRY[name]
    less = LESS[name]
    assert kind.promised(form) == less.promises
    assert set(less.promises) | set(less.broken) == set(kind.promises)
    start = Start.NORMAL if "asks" in less.given else Start.BOOT
    for claim in kind.promises:
        verdict = judged(name, (claim,), **less.given, start=start)
        assert (verdict.result is Result.VIOLATED) is (claim in less.broken), claim


def test_as_printed_groups_may_miss_each_other_for_ever_once_a_link_is_healed() -> None:
    """Invitation as printed keeps A4' only where A2 is as much: where no link was ever cut."""
    kind, form = REGISTRY["invitation-as-printed"]
    assert set(kind.promises) - set(kind.promised(form)) == {"A4p"}
    given: dict[str, Any] = {"nodes": 2, "cuts": 1, "heals": 1, "delay_min": 1}
    assert network.judged("invitation", "A4p", **given).liveness is Liveness.LIVE
    printed = network.judged("invitation-as-printed", "A4p", rules=("wraps=4",), **given)
    assert printed.liveness is Liveness.PREVENTABLE


@pytest.mark.parametrize("name", ["bully-textbook-as-printed", "bully-textbook-to-the-letter"])
@pytest.mark.parametrize("nodes", [2, 3])
def test_all_that_the_code_of_a_lecture_keeps_is_that_elections_end(nodes: int, name: str) -> None:
    for claim in ("A1", "A2", "A3", "S1", "S2", "S3"):
        assert judged(name, (claim,), nodes).result is Result.VIOLATED
    assert judged(name, ("L1",), nodes).result is Result.HOLDS
    assert judged(name, ("L1",), 3, crashes=1).result is Result.VIOLATED


def test_a_machine_knows_what_its_form_promises() -> None:
    """Fails if a driver holds a form against what only another form promises."""
    for name, entry in REGISTRY.items():
        machine = Setting(name, (1, 2, 3)).machine(*entry)
        assert machine.promises == entry.machine.promised(entry.form)
    kind = REGISTRY["park-literal"].machine
    assert kind.promises == ("P1", "P2")
    assert Setting("park", (1, 2)).machine(kind, "printed").promises == ("P1", "P2")


def test_what_promises_less_may_assume_less() -> None:
    kind, _ = REGISTRY["park-literal"]
    assert kind.assumed("literal") == ()
    assert Assumption.NO_CRASH in kind.assumed("printed")
