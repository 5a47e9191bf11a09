"""Known verdicts of Bully by remote calls, with their numbers. A changed number must be explained.

Runs begin in the normal state at any phase of the periodic timers; up to seven moves of a
shortest run only choose where in that loop it begins.
"""

from typing import get_args

import pytest

from electorate.check import Budget, Liveness
from electorate.core import Strongest, Timing
from electorate.trace import Clock, Start, Ties
from tests.check.verdict import Breaks, Holds, Question, answered

SOUND, PRINTED = "bully-rpc", "bully-rpc-as-printed"
PAPER = ("start=elect", "resumes=own", "normal=any")
"""What the form paper is made of."""

ONE_BACK = Budget(crashes=1, recoveries=1)

VERDICTS = [
    (Question(SOUND, "A1"), Holds(1340)),
    (Question(SOUND, "A2", start=Start.BOOT), Holds(6220, 14)),
    (Question(SOUND, "A2", Budget(crashes=2)), Holds(3322, 16)),
    (Question(SOUND, "A2", Budget(crashes=1), timing=Timing(2)), Holds(21502, 32)),
    (Question(SOUND, "A1", ONE_BACK), Holds(80354)),
    (Question(SOUND, "A2", ONE_BACK), Holds(80354, 28)),
    (Question(SOUND, "S2", ONE_BACK), Holds(80354)),
    (Question(SOUND, "A2", ONE_BACK, PAPER), Holds(33540, 26)),
    (Question(PRINTED, "A1", Budget(crashes=2)), Holds(3291)),
    (Question(PRINTED, "A2", Budget(crashes=2)), Holds(3291, 14)),
    (Question(PRINTED, "A1", ONE_BACK), Breaks(18)),
    (Question(PRINTED, "A2", ONE_BACK), Breaks(40, Liveness.STUCK)),
    # The leader is the strongest live node, until it crashes.
    (Question(SOUND, "S1"), Holds(1340)),
    (Question(SOUND, "S1", Budget(crashes=1)), Breaks(1)),
    # One message may be lost; with two, or with a crash, two nodes lead, but not for ever.
    (Question(SOUND, "A1", Budget(losses=1)), Holds(5461)),
    (Question(SOUND, "A1", Budget(losses=2)), Breaks(20)),
    (Question(SOUND, "A1", Budget(crashes=1, losses=1)), Breaks(14)),
    (Question(SOUND, "A2", Budget(losses=2)), Holds(23376, 28)),
    (Question(SOUND, "A2", Budget(crashes=1, losses=1)), Holds(11198, 16)),
    (Question(SOUND, "A1", Budget(pauses=1)), Breaks(14)),
    (Question(SOUND, "A1", nodes=2, clock=Clock.UNBOUNDED), Breaks(3)),
    (Question(SOUND, "A1", nodes=2, clock=Clock.UNBOUNDED, start=Start.BOOT), Breaks(4)),
    # A time-out that may come before an answer of the same moment has to be a tick longer.
    (Question(SOUND, "A1", Budget(crashes=1), ties=Ties.BOTH), Breaks(15)),
    (Question(SOUND, "A2", ONE_BACK, ("call=2T+1",), ties=Ties.BOTH), Holds(144276, 29)),
    # Handling takes P at either end of a call, not only at the callee.
    (
        Question(SOUND, "A1", Budget(), ("call=2T+P",), timing=Timing(1, 1), start=Start.BOOT),
        Breaks(42),
    ),
    (Question(SOUND, "A1", Budget(crashes=1), timing=Timing(1, 1)), Holds(17800)),
]


@pytest.mark.parametrize(("question", "answer"), VERDICTS, ids=[str(q) for q, _ in VERDICTS])
def test_verdict(question: Question, answer: Holds | Breaks) -> None:
    assert answered(question) == answer


@pytest.mark.parametrize("strongest", get_args(Strongest))
def test_either_end_of_the_ranking_may_win(strongest: Strongest) -> None:
    answer = answered(Question(SOUND, "A2", ONE_BACK, strongest=strongest))
    assert isinstance(answer, Holds)
    assert answer.tau == 28
