"""Park broken on purpose: each rule switched off alone, and a patience that is too short.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest such
run is pinned. Those that survive are choices; what each does to the worst time to agreement is
pinned instead.
"""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.park import Park
from electorate.trace import Clock, Setting, Start, Ties


class Mutant(NamedTuple):
    """What was changed, where it was let loose, and how it was caught."""

    rule: str
    nodes: int
    budget: Budget
    claim: str
    moves: int
    T: int = 1
    start: Start = Start.NORMAL
    liveness: Liveness | None = None
    clock: Clock = Clock.BOUNDED
    bounds: Bounds = Bounds()

    def __str__(self) -> str:
        return f"{self.rule} N={self.nodes} T={self.T} {' '.join(self.budget.texts())}"


STUCK = Liveness.STUCK

KILLED = [
    Mutant("newcomer=keep", 2, Budget(lies=1), "P1", 2),
    Mutant("unseen=accept", 3, Budget(crashes=1, recoveries=1), "P1", 12),
    Mutant("unseen=accept", 3, Budget(crashes=1, recoveries=1), "P1", 12, T=2),
    Mutant("absent=follow", 3, Budget(crashes=1, lies=1), "P1", 18),
    Mutant("commit=round", 3, Budget(crashes=1, recoveries=1, lies=1), "P1", 15),
    Mutant("commit=any", 3, Budget(lies=3), "P1", 19),
    Mutant("compare=at-least", 3, Budget(lies=3), "P1", 20),
    Mutant(
        "durable=no",
        3,
        Budget(crashes=1, recoveries=1, lies=2),
        "P1",
        11,
        start=Start.BOOT,
        clock=Clock.UNBOUNDED,
        bounds=Bounds(capacity=1, counter=2),
    ),
    Mutant("wanted=wait", 2, Budget(lies=1), "P2", 8, liveness=STUCK),
    Mutant("wanted=wait", 2, Budget(lies=1), "P2", 13, T=2, liveness=STUCK),
    Mutant("wanted=wait", 2, Budget(crashes=1, recoveries=1), "P2", 8, liveness=STUCK),
    Mutant("wanted=wait", 2, Budget(losses=1), "P2", 9, start=Start.BOOT, liveness=STUCK),
]

TIMED = (
    (Budget(crashes=1), Start.NORMAL),
    (Budget(crashes=2), Start.NORMAL),
    (Budget(lies=1), Start.BOOT),
    (Budget(lies=2), Start.NORMAL),
)
"""Where the worst times of those that survive are compared."""
SOUND = (5, 5, 11, 14)

SURVIVE = {
    "compare=greater": (5, 5, 12, 14),  # equal rounds are a tie that nobody wins
    "release=promise": SOUND,  # costs a gap in office whenever a leader is elected once more
    "number=next": (6, 6, 11, 14),  # a first attempt that its own proposer rejects
    "learn=no": (5, 5, 11, 16),  # one more attempt for every round that was missed
    "store=latest": SOUND,  # with three nodes hardly two proposals wait
    "store=none": (7, 7, 14, 14),  # a rejection and a new attempt where waiting would have done
    "attempt=keep": (5, 7, 11, 14),  # an attempt that cannot succeed has to run out of patience
    "abort=omit": SOUND,  # an Abort takes a proposal back that would only be rejected
    "retry=5T": (5, 5, 11, 16),
    "patience=3T": (5, 5, 9, 12),  # the fastest; 5T leaves room for messages that are late
    "patience=2T": (5, 5, 10, 10),
}


def judged(rule: str, claims: tuple[str, ...], budget: Budget, **given: Any) -> Verdict:
    bounds = given.pop("bounds", Bounds())
    nodes, T = given.pop("nodes", 3), given.pop("T", 1)
    rules = (rule,) if rule else ()
    setting = Setting("park", tuple(range(1, nodes + 1)), rules, timing=Timing(T), **given)
    machine = setting.machine(Park, "sound")
    model = Model(setting, budget, bounds)
    return check(machine, model, [CLAIMS[name] for name in claims], engine="numba")


@pytest.mark.parametrize("mutant", KILLED, ids=str)
def test_the_checker_kills_this_mutant(mutant: Mutant) -> None:
    verdict = judged(
        mutant.rule,
        (mutant.claim,),
        mutant.budget,
        nodes=mutant.nodes,
        T=mutant.T,
        start=mutant.start,
        clock=mutant.clock,
        bounds=mutant.bounds,
    )
    assert verdict.claims == {mutant.claim: Result.VIOLATED}
    assert verdict.liveness == mutant.liveness
    assert [violation.length for violation in verdict.violations] == [mutant.moves]


@pytest.mark.parametrize(("rule", "times"), [("", SOUND), *SURVIVE.items()])
def test_this_mutant_breaks_no_claim(rule: str, times: tuple[int, ...]) -> None:
    bounds = Bounds(counter=12)
    verdicts = [
        judged(rule, ("P1", "P2"), budget, start=start, bounds=bounds) for budget, start in TIMED
    ]
    assert all(verdict.result is Result.HOLDS and not verdict.cuts for verdict in verdicts)
    assert tuple(verdict.tau for verdict in verdicts) == times


@pytest.mark.parametrize("most", [8, 16])
def test_rivals_that_retry_at_once_outbid_each_other_without_end(most: int) -> None:
    """And in no time at all, where messages take none."""
    given: dict[str, Any] = {"start": Start.BOOT, "bounds": Bounds(counter=most, capacity=16)}
    assert judged("retry=0", ("P1",), Budget(lies=1), **given).cuts["counter"]
    assert not judged("retry=1", ("P1",), Budget(lies=1), **given).cuts


def goes_on(rule: str, **given: Any) -> bool:
    """Whether rounds can follow one another beyond any bound that was tried: a livelock."""
    verdicts = [
        judged(rule, ("P2",), Budget(), start=Start.BOOT, bounds=Bounds(counter=most), **given)
        for most in (6, 12)
    ]
    grades = {verdict.liveness for verdict in verdicts}
    assert grades in ({Liveness.LIVE}, {Liveness.UNDECIDED})
    return grades == {Liveness.UNDECIDED}


@pytest.mark.parametrize("T", [1, 2, 3])
def test_patience_must_last_for_the_way_there_and_back(T: int) -> None:
    assert not goes_on("patience=2T", T=T)
    assert goes_on("patience=2T-1", T=T)
    assert judged("patience=2T-1", ("P2",), Budget(), T=T).cuts["counter"]
    assert not judged("patience=2T", ("P2",), Budget(), T=T).cuts


@pytest.mark.parametrize("T", [1, 2])
def test_where_ties_go_either_way_it_must_last_a_little_longer(T: int) -> None:
    assert not goes_on("patience=2T+1", T=T, ties=Ties.BOTH)
    assert goes_on("patience=2T", T=T, ties=Ties.BOTH)


def test_who_gives_its_leader_up_with_a_promise_needs_more_patience() -> None:
    def found(patience: str, most: int) -> tuple[Liveness | None, int | None]:
        rules = (f"patience={patience}", "release=promise")
        setting = Setting("park", (1, 2, 3), rules)
        model = Model(setting, Budget(lies=1), Bounds(counter=most))
        machine = setting.machine(Park, "sound")
        verdict = check(machine, model, [CLAIMS["P2"]], engine="numba")
        return verdict.liveness, verdict.tau

    assert found("3T", 6) == found("3T", 12) == (Liveness.LIVE, 7)
    assert found("3T-1", 6) == (Liveness.UNDECIDED, 20)
    assert found("3T-1", 12) == (Liveness.UNDECIDED, 38)
