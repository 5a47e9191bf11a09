"""Two rivals, and what they change, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim after everybody has restarted amid
changes; no run as short breaks the sound form from the same place.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.claims import Claim, Kind, Row, Witness
from electorate.claims.mandate import holders
from electorate.core import NodeId
from electorate.core import Result as Turn
from electorate.protocols.mandate import Mandate, candidate, change
from electorate.protocols.mandate.message import Add, Remove
from electorate.protocols.mandate.rule import Terms
from electorate.protocols.mandate.state import AnyState
from electorate.simulate.script import ScriptError
from electorate.trace import Clock, Order
from tests.check.members import (
    OLDER_LIST,
    OVERTAKEN,
    THREE_ADDED,
    THREE_AT_ONCE,
    TWO_AGAINST_EACH_OTHER,
    Case,
    Lasting,
    judged,
    lasting,
)

CLOCKS, FIFO = Clock.CLOCKS, Order.FIFO
AT_ONCE = Case("base=3 inner.rivals=12", 4, "M1", THREE_AT_ONCE)
ADDED = Case("base=3 inner.rivals=12", 6, "M1", THREE_ADDED, order=FIFO, bounds=Bounds(2, 2))
AGAINST = Case("base=4 inner.rivals=13", 5, "M1", TWO_AGAINST_EACH_OTHER)
STATES_MAX = 600_000


def leased(case: Case) -> Case:
    """The same with leases on bounded clocks."""
    return case._replace(claims="M3", clock=CLOCKS, order=FIFO)


MUTANTS = [
    ("next_change=any", AT_ONCE, 5),
    ("next_change=any", leased(AT_ONCE), 15),
    ("pending=new", AGAINST, 7),
    ("pending=new", leased(AGAINST), 10),
    ("yields=blindly", OVERTAKEN, 17),
]


@pytest.mark.parametrize(("rule", "case", "moves"), MUTANTS)
def test_the_checker_kills_this_mutant(rule: str, case: Case, moves: int) -> None:
    verdict = judged(case._replace(rules=f"{case.rules} {rule}"))
    assert verdict.claims == {case.claims: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]
    sound = judged(case, STATES_MAX)
    assert sound.violations == ()
    assert sound.depth >= moves or sound.reason is None


def test_who_has_promised_a_larger_token_must_not_help_an_older_holder_to_change_the_list() -> None:
    """That the sound form holds there is among the large verdicts."""
    verdict = judged(OLDER_LIST._replace(rules=f"{OLDER_LIST.rules} yields=blindly"))
    assert [violation.length for violation in verdict.violations] == [25]


@pytest.mark.slow
def test_three_that_are_added_at_once_outvote_those_before() -> None:
    """Nodes 1, 4, 5 and 6 against 2 and 3; the sound form never comes to such a place."""
    verdict = judged(ADDED._replace(rules=f"{ADDED.rules} next_change=any"))
    assert [violation.length for violation in verdict.violations] == [14]
    with pytest.raises(ScriptError, match="1->5 #0 is not on its way"):
        judged(ADDED)


def expect_stuck(case: Lasting, claim: str, moves: int) -> None:
    """That the sound form is not is in tests/check/test_members.py."""
    verdict = lasting(case._replace(claims=claim))
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [moves]


CRASH = Budget(crashes=1, asks=1)
BACK = Budget(crashes=1, recoveries=1, asks=1)


def test_a_change_that_nobody_takes_over_is_never_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder crashes that has proposed it; the next one waits for somebody to decide it."""
    decide = change.decide

    def decide_own(terms: Terms, s: AnyState) -> Turn[AnyState]:
        is_own = s.stable.roster.version[0] == s.stable.promise.epoch
        return decide(terms, s) if is_own else (s, [])

    monkeypatch.setattr(change, "take_over", lambda s: s)
    monkeypatch.setattr(change, "decide", decide_own)
    expect_stuck(Lasting(3, 4, CRASH), "M6", 67)


def test_a_holder_that_decides_nothing_is_stuck_with_its_own_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change, "decide", lambda terms, s: (s, []))
    expect_stuck(Lasting(2, 3, Budget(asks=1)), "M6", 24)


@pytest.mark.slow
def test_who_has_begun_a_change_that_nobody_takes_up_never_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It crashes before anybody hears of the change, and is back when another is in office."""
    monkeypatch.setattr(change, "take_up", lambda terms, s, roster: s)
    expect_stuck(Lasting(3, 3, BACK), "M7", 96)
    expect_stuck(Lasting(3, 3, BACK), "M6", 96)


def test_who_shows_nobody_its_list_leaves_the_office_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the office to one that does not know that it was added."""
    monkeypatch.setattr(Mandate, "_awaited", lambda machine, s: None)
    expect_stuck(Lasting(3, 4, CRASH, "highest"), "M5", 34)


@pytest.mark.slow
def test_so_does_who_is_not_told_of_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves the office to one that knows itself removed, and does not say so."""
    monkeypatch.setattr(candidate, "compare", lambda terms, s, j, roster: (s, []))
    expect_stuck(Lasting(4, 4, CRASH), "M5", 54)


@pytest.mark.slow
def test_who_finishes_its_own_removal_must_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    step_down = candidate.step_down

    def stay(terms: Terms, s: AnyState, heir: NodeId | None) -> Turn[AnyState]:
        return step_down(terms, s, heir) if s.me in terms.voters(s) else (s, [])

    monkeypatch.setattr(candidate, "step_down", stay)
    expect_stuck(Lasting(4, 4, CRASH), "M6", 72)


def _second_term(row: Row) -> Witness | None:
    for node, token in holders(row):
        if token > 1:
            return Witness((node,), f"{node} is in office with token {token}")
    return None


ONE_TERM = Claim("L1", Kind.ALWAYS, "the first term never ends", _second_term)
"""Kept while nothing fails and nobody is asked to step down."""
PATIENT = [Lasting(3, 4, Budget(asks=1), claims=""), Lasting(3, 3, Budget(asks=1), claims="")]


@pytest.mark.parametrize("case", PATIENT, ids=str)
@pytest.mark.parametrize("form", ["sound", "register"])
def test_a_change_costs_nobody_its_office(case: Lasting, form: str) -> None:
    verdict = lasting(case._replace(form=form, wishes=(Add, Remove)), ONE_TERM)
    assert verdict.result is Result.HOLDS
    assert not verdict.cuts


@pytest.mark.parametrize(("case", "moves"), [(PATIENT[0], 40), (PATIENT[1], 40)], ids=str)
def test_one_that_drops_the_round_which_is_open_may(
    case: Lasting, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked before it counts no more, and the first lease may end before the next."""
    monkeypatch.setattr(change, "_is_asking", lambda terms, s: False)
    verdict = lasting(case._replace(wishes=(Add, Remove)), ONE_TERM)
    assert [violation.length for violation in verdict.violations] == [moves]
