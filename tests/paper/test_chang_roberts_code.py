"""The code of the slides told line by line, beside the form that is made after it.

M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University, 2022, slide
"Chang-Roberts - Code". Nothing here is shared with the machine or with the simulator: a device is
the body of `run`, and stops where the code waits for the next round; what is sent in one round is
received in the next, one vote each time the code asks for one.
"""

from collections import deque
from collections.abc import Generator
from typing import NamedTuple

import pytest

from electorate.core import Send
from electorate.protocols.chang_roberts import Elected, Election
from electorate.protocols.registry import REGISTRY
from electorate.simulate import settle, started
from electorate.trace import Setting, Start

NAME = "chang-roberts-code"
SIZES = range(2, 8)


class Vote(NamedTuple):
    """What devices send."""

    source: int
    destination: int
    vote: int
    decided: bool


class Told(NamedTuple):
    """All that can be seen of a run."""

    sent: list[tuple[int, Vote]]
    """Every vote with the round in which it is sent, the first being 0."""
    leaders: dict[int, tuple[int, int]]
    """The leader that each device has in the end, and since which round."""
    rounds: int
    """How many rounds anybody takes part in."""


class Medium:
    """Holds the votes of one device, and its clock."""

    def __init__(self) -> None:
        self.round = 0
        self.ingoing: deque[Vote] = deque()
        self.outgoing: list[Vote] = []

    def send(self, vote: Vote) -> None:
        self.outgoing.append(vote)

    def receive(self) -> Vote | None:
        return self.ingoing.popleft() if self.ingoing else None


def run(index: int, number_of_devices: int, medium: Medium) -> Generator[None, None, int]:
    """The code; a yield is `wait_for_next_round`, and what it returns is its leader."""
    participated = False
    while True:
        nxt = (index + 1) % number_of_devices
        if not participated:
            medium.send(Vote(index, nxt, index, False))
            participated = True
        ingoing = medium.receive()
        if ingoing is not None:
            if ingoing.vote == index:
                if not ingoing.decided:
                    medium.send(Vote(index, nxt, index, True))
                else:
                    return index
            elif ingoing.vote < index:
                continue
            elif ingoing.vote > index:
                medium.send(Vote(index, nxt, ingoing.vote, ingoing.decided))
                if ingoing.decided:
                    return ingoing.vote
        yield


def by_the_code(n: int) -> Told:
    """The run of all devices, round by round."""
    media = [Medium() for _ in range(n)]
    devices = {index: run(index, n, medium) for index, medium in enumerate(media)}
    told = Told([], {}, 0)
    number = 0
    while devices:
        for index, device in [*devices.items()]:
            try:
                next(device)
            except StopIteration as end:
                told.leaders[index] = end.value, number
                del devices[index]
        for medium in media:
            for vote in medium.outgoing:
                told.sent.append((number, vote))
                media[vote.destination].ingoing.append(vote)
            medium.outgoing.clear()
        number += 1
    return told._replace(rounds=number)


def by_the_machine(n: int, *rules: str) -> Told:
    """The same run of the form, every delay being exactly T; a round takes T."""
    setting = Setting(NAME, tuple(range(1, n + 1)), rules, strongest="highest", start=Start.BOOT)
    cluster, boots = started(setting, setting.machine(*REGISTRY[NAME]))
    settle(cluster)
    told = Told([], {}, 0)
    for step in (*boots, *cluster.steps):
        number = step.at // setting.timing.T
        for turn in step.turns:
            node = turn.node
            for effect in turn.effects:
                match effect:
                    case Send(to, Election(candidate)):
                        told.sent.append((number, Vote(node - 1, to - 1, candidate - 1, False)))
                    case Send(to, Elected(winner)):
                        told.sent.append((number, Vote(node - 1, to - 1, winner - 1, True)))
            leader = cluster.machine.view(turn.after).leader
            if leader is not None and node - 1 not in told.leaders:
                told.leaders[node - 1] = leader - 1, number
    return told._replace(rounds=cluster.now // setting.timing.T + 1)


@pytest.mark.parametrize("n", SIZES)
def test_the_form_does_what_the_code_does_vote_by_vote_and_round_by_round(n: int) -> None:
    code, machine = by_the_code(n), by_the_machine(n)
    assert sorted(machine.sent) == sorted(code.sent)
    assert machine.leaders == code.leaders
    assert machine.rounds == code.rounds


@pytest.mark.parametrize("n", SIZES)
def test_the_code_takes_as_many_votes_as_the_slides_say(n: int) -> None:
    code = by_the_code(n)
    assert len(code.sent) == 3 * n - 1
    assert code.rounds == 2 * n + 1
    assert {leader for leader, _ in code.leaders.values()} == {n - 1}


@pytest.mark.parametrize("n", SIZES)
def test_the_winner_is_the_last_to_have_a_leader(n: int) -> None:
    """It returns when its word has come home; by the slide "Chang Roberts" its vote is enough."""
    when = {index: number for index, (_, number) in by_the_code(n).leaders.items()}
    assert [index for index, _ in sorted(when.items(), key=lambda item: item[1])] == [*range(n)]
    assert by_the_machine(n, "office=vote").leaders[n - 1] == (n - 1, n)
    assert when[n - 1] == 2 * n
