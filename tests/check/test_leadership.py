"""What a node of an application runs: known verdicts, with their numbers. A changed number must be
explained.

The members and one election at every node, joined by a wire, as `electorate.Node` runs them. All of
it is judged together: crashes, losses and cuts, whatever an application may ask of the election
(stand, step down, hand over) and of the members (a change, and to withdraw it). Larger searches are
those of tests/check/large_leadership.py, one after the other.
"""

import pytest

from electorate.check import Budget, Liveness, Result
from tests.check.leading import (
    PATH,
    TOLD_AT_ONCE,
    TOLD_IN_THE_END,
    Case,
    Whole,
    judged,
)

BACK = Budget(crashes=1, recoveries=1)
LOSS = Budget(losses=1)
ASK = Budget(asks=1)
CUT = Budget(cuts=1, heals=1)
REMOVES = ("1:members.request(Change(3",)
"""Node 1 is asked to go on without node 3, or to add it, whichever is a change."""
RIVALS = ("3:members.request(Change(2", "2:members.request(Change(3")
"""Nodes that do not see each other are both asked to go on without the other."""
TWO_OF_THREE = "members.inner.base=2 election.base=2"
THREE_OF_FOUR = "members.inner.base=3 election.base=3"

LIVE = [
    (Case(2, Budget()), 36, 5),
    (Case(2, Budget(), delay_min=0), 110, 5),
    (Case(2, Budget(crashes=1)), 371, 5),
    (Case(2, BACK), 4_445, 15),
    (Case(2, BACK, delay_min=0), 17_760, 18),
    (Case(2, LOSS), 236, 14),
    (Case(2, LOSS, delay_min=0), 1_092, 17),
    (Case(2, Budget(doubles=1)), 105, 5),
    (Case(2, Budget(lies=1)), 504, 11),
    (Case(2, CUT), 10_310, 16),
    (Case(2, ASK), 3_422, 35),
    (Case(3, Budget()), 250, 5),
    (Case(3, Budget(), delay_min=0), 17_183, 5),
    (Case(3, Budget(crashes=1)), 4_181, 17),
    (Case(3, LOSS), 1_147, 5),
    (Case(3, ASK, asked=REMOVES), 5_557, 37),
    (Case(3, ASK, TWO_OF_THREE, asked=REMOVES), 7_798, 38),
    (Case(3, ASK, asked=RIVALS[:1], graph=PATH), 6_254, 39),
]
"""States, and the longest time in ticks to an office that all know, in the right hands, under a
list that is decided."""

LIVE_LARGE = [
    (Case(2, ASK, delay_min=0), 18_573, 38),
    (Case(2, Budget(losses=1, asks=1)), 31_259, 41),
    (Case(2, Budget(crashes=1, recoveries=1, asks=1), asked=("members",)), 261_257, 39),
    (Case(3, ASK), 42_568, 43),
    (Case(3, BACK), 157_370, 17),
    (Case(3, Budget(crashes=1), delay_min=0), 127_019, 17),
    (Case(3, Budget(crashes=1, asks=1), asked=REMOVES), 140_240, 37),
    (Case(3, BACK, graph=PATH), 66_512, 16),
    (Case(3, ASK, asked=RIVALS[:1], graph=PATH, delay_min=0), 489_610, 41),
    (Case(3, Budget(asks=2), asked=RIVALS, graph=PATH), 241_062, 39),
    (Case(4, ASK, THREE_OF_FOUR, asked=("1:members.request(Change(4",)), 259_869, 38),
]


def expect_live(case: Case, states: int, tau: int) -> None:
    verdict = judged(case)
    assert verdict.result is Result.HOLDS
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert not verdict.unspent
    assert (verdict.states, verdict.tau) == (states, tau)


@pytest.mark.parametrize(("case", "states", "tau"), LIVE, ids=[str(case) for case, *_ in LIVE])
def test_all_that_is_promised_holds(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "states", "tau"), LIVE_LARGE, ids=[str(case) for case, *_ in LIVE_LARGE]
)
def test_so_it_does_in_a_large_search(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


# --- when an election is told ---

CHANGED = Case(3, ASK, asked=REMOVES)
MOMENTS = [
    ("told=before", 5_557, 37, 72),
    ("told=after", 5_171, 37, 72),
    ("told=before sweep=3T", 9_577, 38, 72),
    ("told=at-once", 4_909, 37, None),
]
"""States, longest time to an office, and the moves to where an election has not been told yet."""


@pytest.mark.parametrize(("rules", "states", "tau", "moves"), MOMENTS)
def test_an_election_may_be_told_late_and_is_told_in_the_end(
    rules: str, states: int, tau: int, moves: int | None
) -> None:
    """So to be told before the next event is not the same as to be told at once."""
    expect_live(CHANGED.but(rules), states, tau)
    whole = CHANGED._replace(kind=Whole, claims="").but(rules)
    late = judged(whole, None, TOLD_AT_ONCE)
    assert [each.length for each in late.violations] == ([] if moves is None else [moves])
    assert judged(whole, None, TOLD_IN_THE_END).liveness is Liveness.LIVE
