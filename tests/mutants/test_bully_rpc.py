"""Bully by remote calls, broken on purpose: each rule switched, each timer changed.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest
such run is pinned. Those that survive are choices, not repairs, and the reason is given.
"""

import pytest

from electorate.check import Budget, Liveness
from electorate.core import Timing
from electorate.trace import Start
from tests.check.verdict import Breaks, Holds, Question, answered

RPC = "bully-rpc"
ONE_BACK = Budget(crashes=1, recoveries=1)
WORK = Budget(crashes=1, recoveries=1, asks=1)
TWO_BACK = Budget(crashes=2, recoveries=2)
LOST = Budget(crashes=1, losses=1)
STUCK = Liveness.STUCK

KILLED = [
    # The order of the halts.
    (Question(RPC, "A1", ONE_BACK, ("halts=weakest-first",)), Breaks(28)),
    (Question(RPC, "A1", ONE_BACK, ("halts=parallel",)), Breaks(28)),
    (Question(RPC, "A1", ONE_BACK, ("halts=weakest-first",), timing=Timing(2)), Breaks(32)),
    (Question(RPC, "A1", ONE_BACK, ("halts=parallel",), timing=Timing(2)), Breaks(32)),
    # Either guard of the announcement is enough; without both it breaks.
    (Question(RPC, "A1", ONE_BACK, ("accept=anyone", "ready=false")), Breaks(22)),
    (Question(RPC, "A1", ONE_BACK, ("begin=anyone",)), Breaks(26)),
    # The check takes weak nodes in, and ends the office of a second leader.
    (Question(RPC, "A2", ONE_BACK, ("check=0",)), Breaks(18, STUCK)),
    (Question(RPC, "A2", LOST, ("normal=any",)), Breaks(34, STUCK)),
    (Question(RPC, "A2", Budget(losses=2), ("normal=any",), nodes=2), Breaks(22, STUCK)),
    # A task that is not handed out, or taken up where the new leader thinks that it is.
    (Question(RPC, "T1", WORK, ("ready=false",), delay_min=1), Breaks(22)),
    (Question(RPC, "T3", WORK, ("resumes=own",)), Breaks(30)),
    # A call is there and back.
    (Question(RPC, "A1", rules=("call=2T-1",), start=Start.BOOT), Breaks(39)),
]

SURVIVE = {
    "accept=anyone": "the last call is guarded, and nobody is at work before it",
    "ready=false": "the announcement is guarded; but nobody gets the task",
    "start=elect": "who is halted hands over the task",
    "resumes=own": "it is the task that gets lost: T3",
    "normal=any": "two leaders at once need a loss, or a partition",
    "halt=strongest": "with the strongest halted first, the weaker halter is out of the race",
    "silence=T": "who suspects too soon only asks in vain",
    "check=10T": "it takes longer to find a weak node",
}


@pytest.mark.parametrize(("mutant", "answer"), KILLED, ids=[str(q) for q, _ in KILLED])
def test_the_checker_kills_this_mutant(mutant: Question, answer: Breaks) -> None:
    assert answered(mutant) == answer


@pytest.mark.parametrize("rule", SURVIVE)
def test_this_mutant_breaks_no_claim(rule: str) -> None:
    for claim in ("A1", "A2"):
        assert isinstance(answered(Question(RPC, claim, ONE_BACK, (rule,))), Holds)


@pytest.mark.parametrize("order", ["weakest-first", "parallel"])
def test_the_strongest_halter_mends_any_order_for_one_crash_and_one_recovery(order: str) -> None:
    rules = (f"halts={order}", "halt=strongest")
    assert isinstance(answered(Question(RPC, "A1", ONE_BACK, rules)), Holds)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "moves"), [("weakest-first", 30), ("parallel", 32)])
def test_but_not_for_two_crashes_and_two_recoveries(order: str, moves: int) -> None:
    rules = (f"halts={order}", "halt=strongest")
    assert answered(Question(RPC, "A1", TWO_BACK, rules)) == Breaks(moves)
