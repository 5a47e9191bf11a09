"""Two rivals, and what they change, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim after everybody has restarted amid
changes; no run as short breaks the sound form from the same place.
"""

from typing import Any

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.claims import Claim, Kind, Row, Witness
from electorate.claims.mandate import holders
from electorate.cli.error import UsageError
from electorate.core import NodeId
from electorate.core import Result as Turn
from electorate.protocols.mandate import Mandate, candidate, change
from electorate.protocols.mandate.rule import Parameters
from electorate.protocols.mandate.state import AnyState
from electorate.trace import Clock, Order
from tests.check.begun import begun, cluster_at
from tests.check.mandate import Case, judged, lasting
from tests.check.test_members import OLDER_LIST, OVERTAKEN_SOON

NOTHING = Budget()
AT_ONCE, AGAINST = "three_at_once.txt", "two_against_each_other.txt"
STATES_MAX = 600_000

MUTANTS = [
    ("next_change=any", AT_ONCE, "M1", 5),
    ("next_change=any", AT_ONCE, "M3", 11),
    ("pending=new", AGAINST, "M1", 7),
    ("pending=new", AGAINST, "M3", 7),
]


def rosters(file: str, rules: str) -> list[tuple[NodeId, ...]]:
    """Who the members are to be, as each node has saved it where the file leads."""
    nodes = cluster_at(file, rules).nodes.values()
    return [node.stable.roster.new for node in nodes]  # type: ignore[union-attr]


@pytest.mark.parametrize(("rule", "file", "claim", "moves"), MUTANTS)
def test_the_checker_kills_this_mutant(rule: str, file: str, claim: str, moves: int) -> None:
    """Bounded clocks for leases; without any, messages may overtake each other as well."""
    is_free = claim == "M1"
    more: Any = {"clock": Clock.UNBOUNDED, "order": Order.BAG} if is_free else {}
    bounds = Bounds(counter=2)
    verdict = begun(file, rule, NOTHING, claim, bounds=bounds, **more)
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
    sound = begun(file, "", NOTHING, claim, bounds=bounds, states_max=STATES_MAX, **more)
    assert sound.violations == ()
    assert sound.depth >= min(moves, 12)


def test_these_places_have_in_them_what_the_mutants_are_about() -> None:
    """Three changes at once come about only by the mutant; two against each other by the rules."""
    first = (1, 2, 3)
    assert rosters(AT_ONCE, "next_change=any") == [(1, 4), first, first, first]
    assert rosters(AT_ONCE, "") == [(1, 2, 3, 4), first, first, first]
    four = (1, 2, 3, 4)
    assert rosters(AGAINST, "") == [(1, 2, 3, 4, 5), four, (2, 3, 4), four, four]


def test_a_holder_overtaken_by_its_own_words_of_before_must_not_be_granted_more() -> None:
    case = OVERTAKEN_SOON._replace(counter=2)
    verdict = judged(case.but("yields=blindly"))
    assert verdict.claims == {"M3": Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [17]
    sound = judged(case, STATES_MAX)
    assert sound.violations == ()
    assert sound.depth >= 17


def test_who_has_promised_a_larger_token_must_not_help_an_older_holder_to_change_the_list() -> None:
    """That the sound form holds there is among the large verdicts."""
    verdict = judged(OLDER_LIST.but("yields=blindly"))
    assert [violation.length for violation in verdict.violations] == [22]


def test_three_that_are_added_at_once_outvote_those_before() -> None:
    """Nodes 1, 4, 5 and 6 against 2 and 3; the sound form never comes to such a place."""
    file, rule, bounds = "three_added.txt", "next_change=any", Bounds(2, 1)
    verdict = begun(
        file, rule, NOTHING, "M1", bounds=bounds, clock=Clock.UNBOUNDED, order=Order.FIFO
    )
    assert verdict.claims == {"M1": Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [9]
    with pytest.raises(UsageError, match="1->5 #0 is not on its way"):
        cluster_at(file)


def expect_stuck(case: Case, claim: str, moves: int) -> None:
    """That the sound form is not is in tests/check/test_members.py."""
    verdict = judged(case._replace(claims=claim))
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [moves]


CRASH = Budget(crashes=1, asks=1)
BACK = Budget(crashes=1, recoveries=1, asks=1)


def test_a_change_that_nobody_takes_over_is_never_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder crashes that has proposed it; the next one waits for somebody to decide it."""
    decide = change.decide

    def decide_own(parameters: Parameters, s: AnyState) -> Turn[AnyState]:
        is_own = s.stable.roster.version[0] == s.stable.promise.epoch
        return decide(parameters, s) if is_own else (s, [])

    monkeypatch.setattr(change, "take_over", lambda s: s)
    monkeypatch.setattr(change, "decide", decide_own)
    expect_stuck(lasting(3, 4, CRASH), "M6", 67)


def test_a_holder_that_decides_nothing_is_stuck_with_its_own_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change, "decide", lambda parameters, s: (s, []))
    expect_stuck(lasting(2, 3, Budget(asks=1)), "M6", 24)


@pytest.mark.slow
def test_who_has_begun_a_change_that_nobody_takes_up_never_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It crashes before anybody hears of the change, and is back when another is in office."""
    monkeypatch.setattr(change, "take_up", lambda parameters, s, roster: s)
    expect_stuck(lasting(3, 3, BACK), "M7", 96)
    expect_stuck(lasting(3, 3, BACK), "M6", 96)


def test_who_shows_nobody_its_list_leaves_the_office_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the office to one that does not know that it was added."""
    monkeypatch.setattr(Mandate, "_awaited", lambda machine, s: None)
    expect_stuck(lasting(3, 4, CRASH, "highest"), "M5", 34)


@pytest.mark.slow
def test_so_does_who_is_not_told_of_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the office to one that knows itself removed, and does not say so."""
    monkeypatch.setattr(candidate, "compare", lambda parameters, s, j, roster: (s, []))
    expect_stuck(lasting(4, 4, CRASH), "M5", 54)


@pytest.mark.slow
def test_who_finishes_its_own_removal_must_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    step_down = candidate.step_down

    def stay(parameters: Parameters, s: AnyState, heir: NodeId | None) -> Turn[AnyState]:
        return step_down(parameters, s, heir) if s.me in parameters.voters(s) else (s, [])

    monkeypatch.setattr(candidate, "step_down", stay)
    expect_stuck(lasting(4, 4, CRASH), "M6", 72)


def _second_term(row: Row) -> Witness | None:
    for node, token in holders(row):
        if token > 1:
            return Witness((node,), f"{node} is in office with token {token}")
    return None


ONE_TERM = Claim("L1", Kind.ALWAYS, "the first term never ends", _second_term)
"""Kept while nothing fails and nobody is asked to step down."""
PATIENT = [(3, 4), (3, 3)]
"""How many members there are to begin with, and how many nodes."""


def patient(base: int, nodes: int, form: str = "sound") -> Case:
    """Asked for a change, and for nothing else."""
    case = lasting(base, nodes, Budget(asks=1), form=form, claims="")
    return case._replace(asked=("Add(", "Remove("))


@pytest.mark.parametrize(("base", "nodes"), PATIENT)
@pytest.mark.parametrize("form", ["sound", "register"])
def test_a_change_costs_nobody_its_office(base: int, nodes: int, form: str) -> None:
    verdict = judged(patient(base, nodes, form), None, ONE_TERM)
    assert verdict.result is Result.HOLDS
    assert not verdict.cuts


@pytest.mark.parametrize(("base", "nodes"), PATIENT)
def test_one_that_drops_the_round_which_is_open_may(
    base: int, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked before it counts no more, and the first lease may end before the next."""
    monkeypatch.setattr(change, "_is_asking", lambda parameters, s: False)
    verdict = judged(patient(base, nodes), None, ONE_TERM)
    assert [violation.length for violation in verdict.violations] == [40]
