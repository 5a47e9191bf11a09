"""The textbook's Bully broken on purpose: each rule switched, each timer one tick shorter.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest
such run is pinned. Those that survive are choices, not repairs, and the reason is given.
"""

import pytest

from electorate.check import Budget, Liveness
from electorate.trace import Start
from tests.check.verdict import Breaks, Holds, Question, answered

TEXTBOOK = "bully-textbook"
ONE_BACK = Budget(crashes=1, recoveries=1)
WORK = Budget(crashes=1, recoveries=1, asks=1)
TWO_BACK = Budget(crashes=2, recoveries=2)
TORN = Budget(crashes=2, recoveries=1)
STUCK, PREVENTABLE = Liveness.STUCK, Liveness.PREVENTABLE

AT_ONCE = ("office=at-once",)
DELAYED = ("office=delayed", "coordinator=strongest")

KILLED = [
    # One word: at work for the dead leader while the new one is already in office.
    (Question(TEXTBOOK, "A1", Budget(crashes=1), AT_ONCE), Breaks(5)),
    (Question(TEXTBOOK, "A1", ONE_BACK, AT_ONCE, nodes=2), Breaks(9)),
    (Question(TEXTBOOK, "A1", ONE_BACK, AT_ONCE, detection=1), Breaks(9)),
    (Question(TEXTBOOK, "A1", Budget(crashes=2), AT_ONCE, nodes=4, detection=1), Breaks(23)),
    (Question(TEXTBOOK, "S2", ONE_BACK, AT_ONCE), Breaks(10)),
    # One word and a pause: torn apart by a crash, or forgotten by a restart.
    (Question(TEXTBOOK, "A1", ONE_BACK, ("office=delayed",)), Breaks(17)),
    (Question(TEXTBOOK, "A1", TORN, DELAYED), Breaks(15)),
    (Question(TEXTBOOK, "A1", TWO_BACK, DELAYED, atomic=True), Breaks(20)),
    (Question(TEXTBOOK, "A1", ONE_BACK, (*DELAYED, "delay=T-1")), Breaks(6)),
    # A task that is not handed out, or taken up where the new leader thinks that it is.
    (Question(TEXTBOOK, "T1", WORK, AT_ONCE), Breaks(13)),
    (Question(TEXTBOOK, "T1", WORK, ("office=delayed",)), Breaks(16)),
    (Question(TEXTBOOK, "T3", WORK, ("resumes=own",)), Breaks(25)),
    # Two words.
    (Question(TEXTBOOK, "A1", ONE_BACK, ("accept=anyone",)), Breaks(23)),
    (Question(TEXTBOOK, "A1", ONE_BACK, ("eager=true",)), Breaks(17)),
    (Question(TEXTBOOK, "A1", TWO_BACK, ("again=wait",)), Breaks(22)),
    (Question(TEXTBOOK, "A1", Budget(crashes=1), ("decided=returns",)), Breaks(6)),
    (Question(TEXTBOOK, "A1", Budget(lies=1), ("asked=visible",)), Breaks(6)),
    (Question(TEXTBOOK, "A2", Budget(crashes=1), ("detector=none",)), Breaks(2, STUCK)),
    (Question(TEXTBOOK, "A1", Budget(crashes=1, lies=1), ("asking=2T-1",)), Breaks(18)),
    (
        Question(TEXTBOOK, "A2", rules=("announcing=2T-1",), start=Start.BOOT),
        Breaks(43, PREVENTABLE),
    ),
    (
        Question(TEXTBOOK, "A2", rules=("following=3T-1",), start=Start.BOOT),
        Breaks(40, PREVENTABLE),
    ),
    (
        Question(TEXTBOOK, "A2", ONE_BACK, ("doubt=0",), start=Start.ANY),
        Breaks(1, STUCK),
    ),
]

KEPT = [
    # What one word keeps if nobody comes back.
    (Question(TEXTBOOK, "S2", Budget(crashes=2), AT_ONCE), Holds(310)),
    (Question(TEXTBOOK, "A2", Budget(crashes=2), AT_ONCE), Holds(310, 6)),
    (Question(TEXTBOOK, "A1", Budget(crashes=2), AT_ONCE, detection=1), Holds(178)),
    (Question(TEXTBOOK, "A1", Budget(crashes=2), DELAYED), Holds(345)),
    (Question(TEXTBOOK, "A1", ONE_BACK, DELAYED), Holds(11865)),
    (Question(TEXTBOOK, "A1", TORN, DELAYED, atomic=True), Holds(44376)),
]

SURVIVE = {
    "coordinator=strongest": "who waits for 2T has heard of any stronger coordinator by then",
    "start=elect": "who acknowledges hands over the task",
    "resumes=own": "it is the task that gets lost: T3",
    "silenced=T": "who loses patience too soon only asks once more",
    "fetching=0": "the same as not fetching at all",
    "unrivalled=wait": "it costs time",
    "answer=decides": "an answer that says more than it need",
    "audience=everybody": "it costs messages to nodes that are taken for dead",
    "hears=anything": "with the whole deadline for an answer, putting it off does no harm",
}


@pytest.mark.parametrize(("mutant", "answer"), KILLED, ids=[str(q) for q, _ in KILLED])
def test_the_checker_kills_this_mutant(mutant: Question, answer: Breaks) -> None:
    assert answered(mutant) == answer


@pytest.mark.parametrize(("mutant", "answer"), KEPT, ids=[str(q) for q, _ in KEPT])
def test_this_much_is_kept(mutant: Question, answer: Holds) -> None:
    assert answered(mutant) == answer


@pytest.mark.parametrize("rule", SURVIVE)
def test_this_mutant_breaks_no_claim(rule: str) -> None:
    for claim in ("A1", "A2"):
        assert isinstance(answered(Question(TEXTBOOK, claim, ONE_BACK, (rule,))), Holds)
