"""Known verdicts of the mandate, with their numbers. A changed number must be explained.

Over told leader, which may name anybody at any time, so that what holds here holds over any
election. Terms are as short as they can be: where messages take any time nothing else depends on
T. Epochs and rounds grow without end and are cut at `counter`, so every verdict is up to so many of
them.
"""

import pytest

from electorate.check import Budget, Liveness, Result
from electorate.core import Members, Timing
from electorate.protocols.mandate import Mandate
from electorate.protocols.told_leader import ToldLeader
from electorate.trace import Clock, Order
from tests.check.mandate import BARE, SHORT, Case, applied, judged

SET = Order.SET
FREE = Clock.UNBOUNDED
ONE_BACK = Budget(crashes=1, recoveries=1, asks=2)
STATES_MAX = 100_000_000

SAFE = [
    # Whatever the network loses, doubles, delays and turns round.
    (Case(BARE, 2, ONE_BACK, order=SET), 51_128),
    # Channels that keep their order, and nodes that crash or fall asleep.
    (Case(BARE, 2, Budget(crashes=1, recoveries=1, pauses=1, asks=2)), 209_096),
    (Case(BARE, 3, Budget(crashes=1, recoveries=1, asks=1)), 526_221),
    # Two claim one epoch, once each.
    (Case(BARE, 3, ONE_BACK, counter=1), 352_537),
    (Case(BARE, 3, Budget(pauses=1, asks=2), counter=1), 414_800),
    (Case(BARE, 3, Budget(asks=2), order=SET, counter=1), 23_344),
    # Without any clock a token is good for one term, and larger than all before its claim.
    (Case(BARE, 2, Budget(1, 1, asks=2), "M1 M2", clock=FREE, order=SET), 28_874),
]

LARGE = [
    (Case(BARE, 3, Budget(pauses=1, asks=2)), 73_856_798),
    (Case(BARE, 3, ONE_BACK), 79_091_437),
    (Case(BARE, 2, Budget(1, 1, asks=3), "M1 M2", clock=FREE, order=SET), 168_181),
    (Case(BARE, 2, Budget(asks=3), order=SET), 80_489),
    (Case(BARE, 2, Budget(asks=2), order=SET, counter=3), 310_046),
    (Case(SHORT, 2, Budget(asks=1), order=SET, counter=3), 230_775),
    (Case(BARE, 3, Budget(pauses=1, asks=1)), 462_740),
    (Case(BARE, 2, Budget(asks=2), "M1 M2", clock=FREE, order=SET, counter=4), 456_158),
    (Case(BARE, 3, Budget(asks=2)), 7_447_936),
    (Case(BARE, 3, Budget(losses=1, asks=2)), 21_872_197),
    (Case(f"{BARE} lease=4 granted=6", 3, Budget(asks=2), drift=0.25), 22_858_660),
    (Case(BARE, 2, Budget(asks=6), counter=3), 7_375_161),
    # Those who wait for another show it their list of members.
    (Case(f"{BARE} base=3", 3, Budget(asks=1), inner="strongest-alive"), 7_347_997),
    (Case(BARE, 3, Budget(asks=2), "M1 M2", clock=FREE, order=SET), 3_390_313),
    (Case(SHORT, 2, Budget(asks=2), "M1 M2", clock=FREE, order=SET), 516_290),
]


def expect_held(case: Case, states: int) -> None:
    verdict = judged(case, STATES_MAX)
    assert verdict.result is (Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS)
    assert verdict.sometimes["a leader was elected"]
    assert verdict.states == states


@pytest.mark.parametrize(("case", "states"), SAFE, ids=[str(case) for case, _ in SAFE])
def test_verdict(case: Case, states: int) -> None:
    expect_held(case, states)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states"), LARGE, ids=[str(case) for case, _ in LARGE])
def test_verdict_of_a_large_search(case: Case, states: int) -> None:
    expect_held(case, states)


def test_without_clocks_an_older_claim_may_enter_beside_a_newer_one() -> None:
    verdict = judged(Case(BARE, 3, Budget(asks=2), "M3", clock=FREE))
    assert verdict.claims == {"M3": Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [7]


@pytest.mark.parametrize(("lease", "granted", "drift", "moves"), [(3, 3, 0.0, 9), (4, 6, 0.25, 13)])
def test_a_tick_less_for_the_grantor_and_two_are_in_office(
    lease: int, granted: int, drift: float, moves: int
) -> None:
    """The other side of the bound is among the large verdicts, and in the mutants."""
    rules = f"{BARE} lease={lease} granted={granted - 1}"
    verdict = judged(Case(rules, 3, Budget(asks=2), "M3", drift=drift))
    assert [violation.length for violation in verdict.violations] == [moves]


@pytest.mark.parametrize(
    ("rule", "drift", "problem"),
    [
        ("", 0.06, "two nodes could be in office at once"),
        ("granted=8T-1", 0.0, "two nodes could be in office at once"),
        ("period=2T-1", 0.0, "answers could come too late"),
        ("answer=2T-1", 0.0, "answers could come too late"),
        ("stagger=6T-1", 0.0, "two claims could fail again and again"),
        ("lease=7T", 0.0, "a term could end before it is renewed"),
    ],
)
def test_lengths_that_cannot_work_are_refused(rule: str, drift: float, problem: str) -> None:
    members, timing = Members.of((1, 2, 3)), Timing(100, drift=drift)
    told = Mandate.over(ToldLeader)
    told(members, Timing(100, drift=0.05))
    rules = told.form("sound").with_texts(rule.split())
    with pytest.raises(ValueError, match=problem):
        told(members, timing, rules)
    told(members, timing, rules.with_texts(["constants=any"]))


BOUNDED = Clock.BOUNDED
ALL = "M1 M2 M3 M4 M5 M7"


def timed(inner: str, nodes: int, budget: Budget, delay_min: int = 0, T: int = 1) -> Case:
    """A mandate over a real election, with the lengths that it has by default."""
    given = (ALL, inner, BOUNDED)
    return Case("rounds=2", nodes, budget, *given, T=T, delay_min=delay_min, counter=6)


def expect_live(case: Case, states: int, tau: int) -> None:
    verdict = judged(case)
    assert verdict.result is Result.HOLDS
    assert verdict.liveness is Liveness.LIVE
    assert not set(verdict.cuts) & {"counter"}
    assert (verdict.states, verdict.tau) == (states, tau)


LIVE = [
    (timed("bully", 3, Budget(crashes=1)), 30_924, 17),
    (timed("invitation", 2, Budget(crashes=1)), 12_414, 16),
    (timed("park", 3, Budget(crashes=1), 1), 2_982, 16),
]
"""States, and the longest time in ticks without anybody in office."""

LIVE_LARGE = [
    (timed("bully", 2, Budget(crashes=1, recoveries=1), T=2), 341_080, 36),
    (timed("bully", 3, Budget(crashes=1, recoveries=1, losses=1), 1), 2_194_562, 21),
    (timed("bully", 4, Budget(crashes=1), 1), 91_364, 16),
]


@pytest.mark.parametrize(("case", "states", "tau"), LIVE, ids=[str(case) for case, *_ in LIVE])
def test_verdict_over_an_election(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "states", "tau"), LIVE_LARGE, ids=[str(case) for case, *_ in LIVE_LARGE]
)
def test_verdict_over_an_election_in_a_large_search(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


APPLIED = [
    (applied("application", "base=3", Budget()), 17_183, 5),
    (applied("application", "base=3", Budget(crashes=1)), 127_019, 17),
    (applied("application", "base=3", Budget(losses=1)), 58_180, 6),
    (applied("application", "base=3", Budget(1, 1), 1), 157_370, 17),
    (applied("register", "base=3", Budget(crashes=1)), 128_949, 17),
    (applied("register", "base=3", Budget(asks=1), 1), 15_862, 43),
]
"""States, and the longest time in ticks to an office, or to one whose members are decided."""

APPLIED_LARGE = [(applied("register", "base=2", Budget(crashes=1, asks=1), 1), 74_859, 36)]


@pytest.mark.parametrize(
    ("case", "states", "tau"), APPLIED, ids=[f"{case.form} {case}" for case, *_ in APPLIED]
)
def test_verdict_of_what_applications_run(case: Case, states: int, tau: int) -> None:
    expect_live(case, states, tau)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "states", "tau"), APPLIED_LARGE)
def test_verdict_of_what_applications_run_in_a_large_search(
    case: Case, states: int, tau: int
) -> None:
    expect_live(case, states, tau)
