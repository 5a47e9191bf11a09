"""An office whose members another office changes: known verdicts, with their numbers.

The register waits for `settle` before it changes anything, and changes one thing in a term; the
claims of the office are above the token of its list, times `era`. What each of these is good for,
the mutants say.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.protocols.mandate.message import Add, Remove
from electorate.protocols.mandate.state import Roster
from electorate.trace import Clock, Order
from tests.check.members import Lasting, lasting
from tests.check.pairs import HeirPair, LatePromise, LazyPair
from tests.check.told import AGAINST, NEVER_THIRD, SHRINKING, Case, judged

FREE = Clock.UNBOUNDED
TWO_REGISTRARS = Case(
    "register.inner.rivals=13 office.inner.rivals=2",
    {1: (Remove(2),), 3: (Remove(2), Remove(1))},
    bounds=Bounds(2, 3),
)
GROWING = Case(
    "register.inner.rivals=1 office.inner.rivals=3",
    {1: (Add(2), Add(3))},
    members=(1,),
    graph=None,
)
HEIR_IS_REMOVED = Case(
    "register.inner.rivals=3 office.inner.rivals=1",
    {3: (Remove(2),)},
    budget=Budget(asks=3),
    kind=HeirPair,
)
"""Node 1 hands the office over to node 2, which node 3 removes."""
OUTRUN = Case(
    "register.inner.rivals=0 office.inner.rivals=2 office.poll=ask",
    {},
    budget=Budget(),
    bounds=Bounds(3, 3),
    graph=((1, 2), (1, 3), (2, 3)),
    kind=LatePromise,
)
"""Node 2 hears of tokens above the next list's, and stands under the first list."""
RESTARTED = Budget(crashes=1, recoveries=1, asks=2)

SAFE = [
    (SHRINKING, 280_594),
    (GROWING, 346_455),
    (SHRINKING.but("office.period=1"), 502_453),
    (SHRINKING._replace(budget=RESTARTED, mortal=(3,)), 1_380_436),
    # Without any clock: tokens stay unique and in order, though two may be in office.
    (SHRINKING._replace(claims="M1 M2", clock=FREE, bounds=Bounds(2, 2, 0)), 283_861),
    (SHRINKING._replace(kind=LazyPair), 264_050),
    (SHRINKING.but("office.poll=ask"), 699_016),
    (SHRINKING.but("office.period=1")._replace(wishes={3: (Remove(2), Add(2))}), 316_231),
]
LARGE = [
    (SHRINKING._replace(budget=RESTARTED), 3_253_799),
    (SHRINKING._replace(budget=Budget(pauses=1, asks=2)), 4_979_872),
    (SHRINKING._replace(bounds=Bounds(2, 3)), 3_484_854),
    (TWO_REGISTRARS, 4_307_432),
    (AGAINST, 3_959_355),
    (SHRINKING._replace(order=Order.BAG), 4_329_137),
    (GROWING._replace(budget=RESTARTED), 3_905_518),
    (SHRINKING.but("office.inner.rivals=23"), 22_637_946),
    (SHRINKING._replace(kind=LazyPair, budget=Budget(pauses=1, asks=2)), 4_794_338),
    (SHRINKING.but("office.period=1")._replace(order=Order.BAG), 11_204_507),
    (AGAINST.but("office.period=1"), 12_356_102),
    (HEIR_IS_REMOVED, 12_892_179),
    (OUTRUN, 10_107_789),
    (OUTRUN._replace(claims="M1 M2", clock=FREE, bounds=Bounds(3, 3, 0)), 8_079_468),
]


def expect_held(case: Case, states: int) -> None:
    verdict = judged(case)
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(states) for _, states in SAFE])
def test_an_office_is_one_whatever_its_members_become(case: Case, states: int) -> None:
    expect_held(case, states)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=[str(states) for _, states in LARGE])
def test_so_it_is_in_a_large_search(case: Case, states: int) -> None:
    expect_held(case, states)


@pytest.mark.parametrize(
    ("case", "moves"),
    [
        (SHRINKING, 30),
        (GROWING, 20),
        pytest.param(TWO_REGISTRARS, 47, marks=pytest.mark.slow),
    ],
)
def test_the_search_comes_to_an_office_two_changes_later(case: Case, moves: int) -> None:
    verdict = judged(case._replace(claims=""), None, NEVER_THIRD)
    assert [violation.length for violation in verdict.violations] == [moves]


def test_without_clocks_two_may_be_in_office_as_with_members_that_never_change() -> None:
    verdict = judged(SHRINKING._replace(claims="M3", clock=FREE, bounds=Bounds(2, 2, 0)))
    assert verdict.claims == {"M3": Result.VIOLATED}


ADDED = Roster((0, 1), (1, 2, 3), (1, 2, 3, 4))


def test_who_had_promised_more_comes_to_know_the_holder_though_the_list_is_undecided() -> None:
    """Nobody decides lists here, so nothing is lost if it grants renewals under one."""
    budget = Budget(crashes=1, recoveries=1)
    case = Lasting(1, 4, budget, "highest", "application", "M5 M7", ADDED, mortal=(4,))
    verdict = lasting(case._replace(stand=(0, 0, 1, 1)))
    assert (verdict.result, verdict.liveness) == (Result.HOLDS, Liveness.LIVE)
    assert (verdict.states, verdict.tau) == (747_112, 17)
