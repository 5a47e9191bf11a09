"""Assertion 2 to the letter: from a system in any state, once nothing fails, all follow one leader.

The states are all combinations of what nodes were met as in runs with faults.
"""

import pytest

from electorate.check import Budget, Liveness, Model, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.bully import Bully
from electorate.trace import Setting, Start
from tests.check.verdict import Breaks, Holds, Question, answered

ANY = Start.ANY
ONE_BACK = Budget(crashes=1, recoveries=1)
EVERYTHING = Budget(crashes=1, recoveries=1, losses=1, lies=1)
STUCK = Liveness.STUCK
SILENT = ("doubt=0",)

VERDICTS = [
    (Question("bully", "A2", ONE_BACK, nodes=2, start=ANY), Holds(1746, 8)),
    (Question("bully", "A2", ONE_BACK, nodes=2, start=ANY, timing=Timing(2)), Holds(5193, 16)),
    (Question("bully", "A2", EVERYTHING, nodes=2, start=ANY), Holds(4360, 8)),
    (Question("bully", "A2", ONE_BACK, start=ANY), Holds(1441863, 11)),
    (Question("bully", "A2", Budget(losses=1), start=ANY), Holds(8739, 9)),
    (Question("bully", "A2", ONE_BACK, SILENT, nodes=2, start=ANY), Breaks(4, STUCK)),
    (Question("bully", "A2", ONE_BACK, SILENT, start=ANY), Breaks(1, STUCK)),
    (Question("bully-as-printed", "A2", ONE_BACK, nodes=2, start=ANY), Breaks(1, STUCK)),
    (Question("bully-textbook", "A2", ONE_BACK, nodes=2, start=ANY), Holds(2397, 10)),
    (
        Question("bully-textbook", "A2", ONE_BACK, nodes=2, start=ANY, timing=Timing(2)),
        Holds(9174, 20),
    ),
    (Question("bully-textbook", "A2", EVERYTHING, nodes=2, start=ANY), Holds(2397, 10)),
    (Question("bully-textbook", "A2", Budget(losses=1), start=ANY), Holds(27049, 11)),
    (Question("bully-textbook", "A2", ONE_BACK, SILENT, nodes=2, start=ANY), Breaks(1, STUCK)),
    (Question("bully-textbook", "A2", ONE_BACK, SILENT, start=ANY), Breaks(1, STUCK)),
]


@pytest.mark.parametrize(("question", "answer"), VERDICTS, ids=lambda each: str(each))
def test_verdict(question: Question, answer: Holds | Breaks) -> None:
    assert answered(question) == answer


@pytest.mark.parametrize(("protocol", "moves"), [("bully", 10), ("bully-textbook", 12)])
def test_doubt_also_mends_what_a_lost_message_leaves_behind(protocol: str, moves: int) -> None:
    lossy = Budget(crashes=1, recoveries=1, losses=1)
    without = Question(protocol, "A2", lossy, SILENT, nodes=2)
    assert answered(without) == Breaks(moves, STUCK)
    assert isinstance(answered(without._replace(rules=())), Holds)


def test_a_node_that_slept_through_both_of_its_time_outs_still_asks_again() -> None:
    """Fails if `answered` may fire before `probe` and leave a node that waits for nothing."""
    setting = Setting("bully", (1, 2), start=ANY)
    model = Model(setting, Budget(crashes=1, recoveries=1, pauses=1))
    verdict = check(setting.machine(Bully, "sound"), model, [CLAIMS["A2"]], engine="numba")
    # Whoever pauses for long gets more messages than a channel holds.
    assert (verdict.liveness, verdict.violations, set(verdict.cuts)) == (
        Liveness.UNDECIDED,
        (),
        {"capacity"},
    )
