"""Invitation broken on purpose: each rule switched, each timer one tick shorter.

A mutant is killed when the checker finds a run in which the nodes never become one group; the
length of that run, up to where it repeats itself, is pinned. Those that survive are choices.
"""

from typing import NamedTuple

import pytest

from electorate.check import Budget, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.invitation import Invitation
from electorate.trace import Setting, Start

WRAPS = "wraps=4"
"""Numbers that grow would hide a loop in which nothing else does."""
NONE = Budget()
ONE = Budget(crashes=1, recoveries=1)


class Mutant(NamedTuple):
    """What was changed, where it was let loose, and how it was caught."""

    rules: str
    budget: Budget
    liveness: Liveness
    moves: int
    nodes: int = 2
    T: int = 1
    start: Start = Start.NORMAL
    delay_min: int = 0
    claim: str = "A2"
    """A2 asks for the same leader, A4' also for the same group."""

    def __str__(self) -> str:
        return f"{self.rules} T={self.T}"


KILLED = [
    Mutant("probe=alive", ONE, Liveness.STUCK, 17, claim="A4p"),
    Mutant("probe=alive", Budget(1, 1, losses=1), Liveness.STUCK, 65, nodes=3, delay_min=1),
    Mutant("asks=outsiders", ONE, Liveness.STUCK, 17),
    Mutant("asks=outsiders", ONE, Liveness.STUCK, 26, T=2),
    Mutant("outranked=delay", ONE, Liveness.PREVENTABLE, 89),
    Mutant("outranked=delay", ONE, Liveness.PREVENTABLE, 122, T=2),
    Mutant("outranked=delay delay=0", NONE, Liveness.PREVENTABLE, 85, start=Start.BOOT),
    Mutant("outranked=delay delay=0", NONE, Liveness.PREVENTABLE, 118, T=2, start=Start.BOOT),
    Mutant("answers=2T-1", NONE, Liveness.STUCK, 143, start=Start.BOOT),
    Mutant("answers=2T-1", NONE, Liveness.STUCK, 208, T=2, start=Start.BOOT),
    Mutant("accepts=2T-1", NONE, Liveness.PREVENTABLE, 80, start=Start.BOOT),
    Mutant("accepts=2T-1", NONE, Liveness.PREVENTABLE, 117, T=2, start=Start.BOOT),
    Mutant("ready=4T-1", NONE, Liveness.PREVENTABLE, 92, start=Start.BOOT),
    Mutant("ready=4T-1", NONE, Liveness.PREVENTABLE, 129, T=2, start=Start.BOOT),
    Mutant("check=2T", NONE, Liveness.PREVENTABLE, 12, start=Start.BOOT),
    Mutant("check=2T", NONE, Liveness.PREVENTABLE, 16, T=2, start=Start.BOOT),
]

SURVIVE = {
    "accepts=2T": (26, "who was invited through another comes too late, and is invited later"),
    "outranked=weaker": (27, "a variant of the source: it takes longer"),
    "queries=ignore-weaker": (27, "a variant of the source: it takes longer, with less to say"),
    "prompted=true": (21, "a variant of the source"),
    "participants=no": (21, "a variant of the source: nobody acts on a no"),
    "ack=awaited": (21, "who does not confirm would have been missed anyway"),
    "pace=afresh": (25, "checks come later, for a period begins with every group"),
    "outranked=delay pace=afresh": (34, "the other cure for leaders that run into each other"),
    "outranked=delay pace=afresh asks=outsiders": (34, "who was not asked invites the others"),
    "check=2T+1": (15, "more checks find each other sooner; all that they need is the answers"),
}


def judged(mutant: Mutant) -> Verdict:
    setting = Setting(
        "invitation",
        tuple(range(1, mutant.nodes + 1)),
        (*mutant.rules.split(), WRAPS),
        timing=Timing(mutant.T),
        delay_min=mutant.delay_min,
        start=mutant.start,
    )
    machine = setting.machine(Invitation, "sound")
    return check(machine, Model(setting, mutant.budget), [CLAIMS[mutant.claim]], engine="numba")


@pytest.mark.parametrize("mutant", KILLED, ids=str)
def test_the_checker_kills_this_mutant(mutant: Mutant) -> None:
    verdict = judged(mutant)
    assert verdict.result is Result.VIOLATED
    assert verdict.liveness is mutant.liveness
    assert [violation.length for violation in verdict.violations] == [mutant.moves]


@pytest.mark.parametrize("rules", SURVIVE)
def test_this_mutant_ends_in_one_group_all_the_same(rules: str) -> None:
    verdict = judged(Mutant(rules, ONE, Liveness.LIVE, 0, nodes=3, delay_min=1))
    assert verdict.liveness is Liveness.LIVE
    assert verdict.tau == SURVIVE[rules][0]


def test_the_claim_that_kills_the_plain_probe_holds_in_the_sound_form() -> None:
    assert judged(Mutant("probe=group", ONE, Liveness.LIVE, 0, claim="A4p")).result is Result.HOLDS
