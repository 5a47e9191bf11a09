"""The code of the slides told line by line, with crashes, beside the form that is to the letter.

M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University, 2022, slide
"Bully Algorithm - Code". Nothing here is shared with the machine or with the checker: a round is
one pass through the code's outer loop, a vote is received in the next round, and a process may
crash in any round, after any of its votes. The code knows of no failure detector.
"""

from collections.abc import Iterator
from itertools import permutations, product
from typing import NamedTuple

import pytest

from electorate.check import Budget
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting, Start
from tests.check.verdict import Breaks, Question, answered

LETTER = "bully-textbook-to-the-letter"


class Vote(NamedTuple):
    """What a process sends: always for itself."""

    source: int
    to: int
    decided: bool


class Code(NamedTuple):
    """How many processes there are, and which of its mistakes are mended."""

    n: int
    silent_rounds: int = 1
    """How many rounds without input in a row are taken for no answer: one, as printed."""
    sets_flag_back: bool = False
    """Whether a silenced process may start another election, as the code means it to."""


class Process(NamedTuple):
    """The variables of one process."""

    me: int
    leader: int | None = None
    shut_up: bool = False
    election: bool = False
    first_round: bool = True
    silent: int = 0


Outcome = tuple[Process, list[Vote]]
System = tuple[tuple[Process | None, ...], tuple[Vote, ...]]
"""The processes, None for one that has crashed, and the votes on their way."""


def one_round(code: Code, process: Process, incoming: tuple[Vote, ...]) -> Outcome:
    """What a process sends in a round in which it receives these votes in this order."""
    me, largest = process.me, process.me == code.n
    stronger = [Vote(me, to, largest) for to in range(me + 1, code.n + 1)]
    sent: list[Vote] = []
    shut_up, election = process.shut_up, process.election
    if not shut_up and not election:
        election = True
        sent += stronger
    for vote in incoming:
        if vote.source < me:
            sent.append(Vote(me, vote.source, largest))
            continue
        shut_up = True
        if vote.decided:
            return Process(me, vote.source), sent
    silent = 0 if incoming or process.first_round else process.silent + 1
    if shut_up and silent:
        shut_up, silent = False, 0
        if code.sets_flag_back:
            sent += stronger
    elif silent == code.silent_rounds:
        everybody = (to for to in range(1, code.n + 1) if to != me)
        return Process(me, me), [*sent, *(Vote(me, to, True) for to in everybody)]
    return Process(me, None, shut_up, election, False, silent), sent


def outcomes(
    code: Code, process: Process | None, votes: tuple[Vote, ...]
) -> set[tuple[Process | None, tuple[Vote, ...]]]:
    """All that can come of a round: votes in any order, and a crash after any number of sends."""
    if process is None or process.leader is not None:
        return {(process, ())}
    found: set[tuple[Process | None, tuple[Vote, ...]]] = set()
    for incoming in permutations(vote for vote in votes if vote.to == process.me):
        after, sent = one_round(code, process, incoming)
        found.add((after, tuple(sorted(sent))))
        found |= {(None, tuple(sorted(sent[:count]))) for count in range(len(sent) + 1)}
    return found


def systems(code: Code, crashes: int) -> Iterator[System]:
    """Every state that the processes can be in after a round."""
    begun: System = (tuple(Process(me) for me in range(1, code.n + 1)), ())
    seen, left = {begun}, [begun]
    while left:
        processes, flying = left.pop()
        for choice in product(*(outcomes(code, process, flying) for process in processes)):
            after = tuple(process for process, _ in choice)
            found = after, tuple(sorted(vote for _, sent in choice for vote in sent))
            if after.count(None) <= crashes and found not in seen:
                seen.add(found)
                left.append(found)
    yield from seen


def two_lead(code: Code, crashes: int) -> bool:
    """Whether two live processes can ever both take themselves for the leader."""
    return any(
        sum(process is not None and process.leader == process.me for process in processes) > 1
        for processes, _ in systems(code, crashes)
    )


def checked(code: Code, crashes: int) -> bool:
    """What the checker says of the machine."""
    again = ("again=ask",) if code.sets_flag_back else ()
    rules = (f"asking={code.silent_rounds}T", *again)
    question = Question(LETTER, "S2", Budget(crashes), rules, code.n, delay_min=1, start=Start.BOOT)
    return isinstance(answered(question), Breaks)


@pytest.mark.parametrize("crashes", [0, 1, 2])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_as_it_is_printed_two_lead_whether_anybody_crashes_or_not(n: int, crashes: int) -> None:
    assert two_lead(Code(n), crashes)
    assert checked(Code(n), crashes)


@pytest.mark.parametrize(
    ("n", "crashes", "broken"),
    [(2, 1, False), (3, 1, False), (3, 2, False), (4, 0, False), (4, 1, True), (4, 2, True)],
)
def test_with_the_deadline_mended_two_lead_only_among_four(
    n: int, crashes: int, broken: bool
) -> None:
    """Fails if the machine restarts a process that has returned: then three are enough."""
    code = Code(n, silent_rounds=2)
    assert two_lead(code, crashes) is broken
    assert checked(code, crashes) is broken


@pytest.mark.parametrize("crashes", [1, 2])
@pytest.mark.parametrize("n", [3, 4])
def test_with_the_flag_set_back_as_well_one_leads(n: int, crashes: int) -> None:
    code = Code(n, silent_rounds=2, sets_flag_back=True)
    assert not two_lead(code, crashes)
    assert not checked(code, crashes)


def test_the_form_to_the_letter_listens_to_no_detector() -> None:
    setting = Setting(LETTER, (1, 2, 3))
    assert not setting.machine(*REGISTRY[LETTER]).uses_views
    printed = setting.machine(*REGISTRY["bully-textbook-as-printed"])
    assert printed.uses_views
