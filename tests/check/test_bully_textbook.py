"""Known verdicts of the textbook's Bully, with numbers. A changed number must be explained."""

from typing import get_args

import pytest

from electorate.check import Budget, Liveness
from electorate.core import Strongest, Timing
from electorate.trace import Clock, Start, Ties
from tests.check.verdict import Breaks, Holds, Question, answered

SOUND, PRINTED = "bully-textbook", "bully-textbook-as-printed"
LETTER = "bully-textbook-to-the-letter"

ONE_BACK = Budget(crashes=1, recoveries=1)
TWO_BACK = Budget(crashes=2, recoveries=2)
LIE = Budget(crashes=1, lies=1)
STUCK = Liveness.STUCK

VERDICTS = [
    (Question(SOUND, "A2", start=Start.BOOT), Holds(2217, 5)),
    (Question(SOUND, "A1", Budget(crashes=2)), Holds(402)),
    (Question(SOUND, "A2", Budget(crashes=2)), Holds(402, 7)),
    (Question(SOUND, "A2", Budget(crashes=1), timing=Timing(2)), Holds(328, 14)),
    (Question(SOUND, "A1", ONE_BACK), Holds(13432)),
    (Question(SOUND, "A1", ONE_BACK, timing=Timing(2)), Holds(60691)),
    (Question(SOUND, "A2", ONE_BACK), Holds(13432, 10)),
    (Question(SOUND, "S2", ONE_BACK), Holds(13432)),
    (Question(SOUND, "A1", TWO_BACK), Holds(843884)),
    (Question(SOUND, "A2", TWO_BACK), Holds(843884, 12)),
    (Question(SOUND, "S1", Budget(crashes=1)), Breaks(1)),
    (Question(SOUND, "A1", Budget(lies=1)), Holds(3021)),
    (Question(SOUND, "A2", Budget(lies=1)), Holds(3021, 6)),
    (Question(SOUND, "A1", LIE), Holds(22519)),
    (Question(SOUND, "A2", LIE), Holds(22519, 9)),
    (Question(SOUND, "A1", Budget(crashes=1, losses=1)), Breaks(6)),
    (Question(SOUND, "A2", Budget(crashes=1, losses=1)), Holds(256, 12)),
    (Question(SOUND, "A2", Budget(crashes=1, losses=2)), Holds(410, 12)),
    (Question(SOUND, "A1", Budget(crashes=1, pauses=1)), Breaks(6)),
    (Question(SOUND, "A1", nodes=2, clock=Clock.UNBOUNDED, start=Start.BOOT), Breaks(4)),
    (Question(SOUND, "A1", Budget(lies=1), nodes=2, clock=Clock.UNBOUNDED), Breaks(2)),
    (Question(SOUND, "A1", LIE, ties=Ties.BOTH), Breaks(19)),
    # Handling takes P at either end of question and answer, not only at the one that answers.
    (
        Question(SOUND, "A1", LIE, ("asking=2T+P",), timing=Timing(1, 1), detection=4),
        Breaks(22),
    ),
    (Question(SOUND, "A1", LIE, timing=Timing(1, 1), detection=4), Holds(101530)),
]

LONGER = ("asking=2T+1", "announcing=2T+1", "following=3T+2")
"""What the timers have to be where they may fire before a message of the same moment."""

TIES = [
    (LONGER, "A1", ONE_BACK, Holds(26721)),
    (LONGER, "A1", LIE, Holds(18507)),
    (LONGER, "A2", ONE_BACK, Holds(26721, 14)),
    (("asking=2T", *LONGER[1:]), "A1", LIE, Breaks(20)),
    ((LONGER[0], "announcing=2T", LONGER[2]), "A1", ONE_BACK, Breaks(22)),
    ((*LONGER[:2], "following=3T+1"), "A2", ONE_BACK, Breaks(19, Liveness.PREVENTABLE)),
]


@pytest.mark.parametrize(("question", "answer"), VERDICTS, ids=[str(q) for q, _ in VERDICTS])
def test_verdict(question: Question, answer: Holds | Breaks) -> None:
    assert answered(question) == answer


@pytest.mark.parametrize("strongest", get_args(Strongest))
def test_either_end_of_the_ranking_may_win(strongest: Strongest) -> None:
    assert answered(Question(SOUND, "A1", ONE_BACK, strongest=strongest)) == Holds(13432)


@pytest.mark.parametrize(("rules", "claim", "budget", "answer"), TIES)
def test_with_both_orders_of_a_tie_the_timers_have_to_be_longer(
    rules: tuple[str, ...], claim: str, budget: Budget, answer: Holds | Breaks
) -> None:
    assert answered(Question(SOUND, claim, budget, rules, ties=Ties.BOTH)) == answer


# --- the printed code, in rounds: a message takes exactly T, and all start at once ---


def in_rounds(
    claim: str, nodes: int, crashes: int, *rules: str, name: str = PRINTED, recoveries: int = 0
) -> Holds | Breaks:
    budget = Budget(crashes=crashes, recoveries=recoveries)
    question = Question(name, claim, budget, rules, nodes, delay_min=1, start=Start.BOOT)
    return answered(question)


MENDED = ("asking=2T", "silenced=2T", "again=ask", "decided=listens")


def all_but(name: str) -> tuple[str, ...]:
    return tuple(rule for rule in MENDED if not rule.startswith(f"{name}="))


def test_as_printed_two_nodes_lead_without_a_fault() -> None:
    assert in_rounds("S2", 2, 0) == Breaks(9)
    assert in_rounds("S2", 3, 0) == Breaks(14)
    assert in_rounds("A2", 2, 0) == Breaks(12, STUCK)


@pytest.mark.parametrize(("claim", "answer"), [("A1", Holds(139)), ("S1", Holds(139))])
def test_with_the_deadline_mended_it_is_right_without_a_fault(claim: str, answer: Holds) -> None:
    assert in_rounds(claim, 4, 0, "asking=2T") == answer
    assert in_rounds("A2", 4, 0, "asking=2T") == Holds(139, 3)


def test_with_the_deadline_mended_one_crash_breaks_it_if_a_detector_calls_it_again() -> None:
    assert in_rounds("A1", 3, 1, "asking=2T") == Breaks(9)
    assert in_rounds("S2", 3, 1, "asking=2T") == Breaks(15)
    assert in_rounds("A2", 3, 1, "asking=2T") == Breaks(19, STUCK)


def test_with_the_deadline_mended_four_nodes_and_two_crashes_break_it() -> None:
    assert in_rounds("A1", 4, 2, "asking=2T") == Breaks(10)
    assert in_rounds("S2", 4, 2, "asking=2T") == Breaks(16)


def test_three_more_repairs_keep_one_leader_but_not_one_opinion() -> None:
    assert in_rounds("S2", 4, 2, *MENDED) == Holds(56622)
    assert in_rounds("A2", 4, 2, *MENDED) == Holds(56622, 10)
    assert in_rounds("A1", 4, 1, *MENDED) == Breaks(13)


def test_each_of_these_repairs_is_needed() -> None:
    assert in_rounds("S2", 4, 2, *all_but("asking")) == Breaks(11)
    assert in_rounds("A2", 4, 1, *all_but("silenced")) == Breaks(25, STUCK)
    assert in_rounds("S2", 4, 2, *all_but("again")) == Breaks(18)
    assert in_rounds("S2", 4, 2, *all_but("decided")) == Breaks(22)


# --- the same code to the letter: no detector calls it again once it has returned ---


def to_the_letter(claim: str, nodes: int, crashes: int, *rules: str) -> Holds | Breaks:
    return in_rounds(claim, nodes, crashes, *rules, name=LETTER)


@pytest.mark.parametrize(("nodes", "moves", "stuck"), [(2, 9, 12), (3, 14, 18)])
def test_without_a_fault_it_makes_no_difference_that_there_is_no_detector(
    nodes: int, moves: int, stuck: int
) -> None:
    for name in (PRINTED, LETTER):
        assert in_rounds("S2", nodes, 0, name=name) == Breaks(moves)
        assert in_rounds("A2", nodes, 0, name=name) == Breaks(stuck, STUCK)


def test_to_the_letter_with_the_deadline_mended_three_nodes_have_one_leader() -> None:
    """Fails if a node that has returned is called again: then it breaks in 15 moves."""
    assert to_the_letter("S2", 3, 1, "asking=2T") == Holds(106)
    assert to_the_letter("S2", 3, 2, "asking=2T") == Holds(151)
    assert to_the_letter("S2", 3, 1, "asking=2T", "detector=used") == Breaks(15)


def test_to_the_letter_with_the_deadline_mended_four_nodes_have_two_leaders() -> None:
    assert to_the_letter("S2", 4, 0, "asking=2T") == Holds(139)
    assert to_the_letter("S2", 4, 1, "asking=2T") == Breaks(18)
    assert to_the_letter("S2", 4, 2, "asking=2T") == Breaks(15)


@pytest.mark.parametrize(("nodes", "states"), [(3, 159), (4, 1557), (5, 31_179)])
def test_to_the_letter_two_repairs_keep_one_leader(nodes: int, states: int) -> None:
    """That who has decided goes on listening matters only if a detector calls it again."""
    assert to_the_letter("S2", nodes, 2, "asking=2T", "again=ask") == Holds(states)


def test_to_the_letter_a_crash_leaves_somebody_with_a_dead_leader_for_ever() -> None:
    assert to_the_letter("A1", 3, 1, *MENDED) == Breaks(9)
    assert to_the_letter("A2", 2, 1, *MENDED) == Breaks(6, STUCK)


def test_to_the_letter_an_id_that_reappears_is_a_second_leader() -> None:
    """Slide "Properties Bully": safety is broken if process ids reappear."""
    reappears = in_rounds("S2", 2, 1, "asking=2T", "again=ask", name=LETTER, recoveries=1)
    assert reappears == Breaks(10)
