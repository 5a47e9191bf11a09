"""Two rivals, and what they change, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run that breaks a claim after everybody has restarted amid
changes; no run as short breaks the sound form from the same place.
"""

import pytest

from electorate.check import Bounds, Budget, Liveness, Result
from electorate.core import Result as Turn
from electorate.protocols.mandate import change
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
    assert sound.depth >= moves or sound.result is Result.HOLDS


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


def test_a_change_that_nobody_takes_over_is_never_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder crashes that has proposed it; the next one waits for somebody to decide it."""
    decide = change.decide

    def decide_own(terms: Terms, s: AnyState) -> Turn[AnyState]:
        is_own = s.stable.roster.version[0] == s.stable.promise.epoch
        return decide(terms, s) if is_own else (s, [])

    monkeypatch.setattr(change, "take_over", lambda s: s)
    monkeypatch.setattr(change, "decide", decide_own)
    verdict = lasting(2, 3, Budget(crashes=1, asks=1))
    assert verdict.claims == {"M5": Result.HOLDS, "M6": Result.VIOLATED}
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [45]


def test_a_holder_that_decides_nothing_is_stuck_with_its_own_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change, "decide", lambda terms, s: (s, []))
    verdict = lasting(2, 3, Budget(asks=1))
    assert verdict.claims == {"M5": Result.HOLDS, "M6": Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [24]
