"""Known verdicts of Ranked Invitation, with their numbers. A changed number must be explained."""

from typing import Any

import pytest

from electorate.check import Budget, Liveness, Model, Result, Verdict, check
from electorate.check.model import BUDGETS
from electorate.claims import CLAIMS, Claim, Row, Witness
from electorate.claims.claim import Kind
from electorate.core import GroupStanding, Timing
from electorate.core.growing import declared_families
from electorate.protocols.invitation import RankedInvitation
from electorate.trace import Setting, Start

PROMISED = tuple(CLAIMS[name] for name in RankedInvitation.promises)


def judged(
    *rules: str, nodes: int = 2, claims: tuple[Claim, ...] = PROMISED, **given: Any
) -> Verdict:
    budget = Budget(**{name: given.pop(name) for name in BUDGETS if name in given})
    ids = tuple(range(1, nodes + 1))
    setting = Setting("ranked-invitation", ids, rules, timing=Timing(1), **given)
    machine = setting.machine(RankedInvitation, "sound")
    return check(machine, Model(setting, budget), claims, engine="numba")


MACHINE = "electorate.protocols.invitation.machine"
BOOT: dict[str, Any] = {"start": Start.BOOT}
ROUNDS: dict[str, Any] = {"nodes": 3, "delay_min": 1}


@pytest.mark.parametrize(
    ("given", "states", "transitions", "tau"),
    [
        ({}, 1_137, 1_707, 0),
        (BOOT, 95, 141, 13),
        ({"crashes": 1, "recoveries": 1}, 11_577, 22_824, 25),
        ({"losses": 1}, 4_402, 7_319, 15),
        ({"cuts": 1, "heals": 1}, 172_489, 371_981, 25),
        ({"asks": 2}, 240_401, 479_792, 18),
        (BOOT | {"asks": 2}, 70_436, 130_178, 18),
        (BOOT | {"nodes": 3}, 7_787, 28_911, 13),
        ({"nodes": 3, "crashes": 1}, 141_664, 519_536, 22),
        (ROUNDS | BOOT | {"asks": 1}, 11_627, 33_390, 18),
        (ROUNDS | {"asks": 1}, 427_927, 891_382, 13),
        (ROUNDS | {"crashes": 1, "recoveries": 1}, 557_242, 1_464_977, 21),
    ],
)
def test_the_strongest_leads_and_is_told_of_newcomers(
    given: dict[str, Any], states: int, transitions: int, tau: int
) -> None:
    verdict = judged(**given)
    assert set(verdict.claims.values()) == {Result.HOLDS}
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert (verdict.states, verdict.transitions, verdict.tau) == (states, transitions, tau)


def test_numbers_of_groups_are_of_one_kind_in_both_files_and_so_they_may_be_renamed() -> None:
    machine = Setting("ranked-invitation", (1, 2)).machine(RankedInvitation, "sound")
    families = {(family.module, family.owner) for family in declared_families(machine)}
    assert families == {(MACHINE, 1), (MACHINE, 2)}
    assert judged(claims=(CLAIMS["A3"], CLAIMS["G2"]), asks=1).renamed


def leads_without_others(row: Row) -> Witness | None:
    """Whether a node leads only itself, though others are there."""
    for node, standing in row.live():
        if isinstance(standing, GroupStanding) and standing.members == (node,):
            return Witness((node,), f"{node} leads itself alone")
    return None


TOGETHER = Claim("TOGETHER", Kind.ALWAYS, "nobody leads itself alone", leads_without_others)


@pytest.mark.parametrize("nodes", [2, 3])
def test_nobody_leads_alone_where_all_start_together(nodes: int) -> None:
    verdict = judged(nodes=nodes, claims=(TOGETHER,), **BOOT)
    assert verdict.result is Result.HOLDS


def test_a_node_that_looks_for_others_for_too_short_leads_alone() -> None:
    verdict = judged("alone=1", claims=(TOGETHER,), **BOOT)
    assert verdict.result is Result.VIOLATED
    assert [violation.length for violation in verdict.violations] == [33]
