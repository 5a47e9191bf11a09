"""What the textbook's election costs, every delay being exactly T, and what its code does.

M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University, 2022, slides
"Bully Algorithm" and "Properties Bully"; N counts the dead old leader, which has the largest id,
and messages to it count.
"""

from collections import Counter
from typing import NamedTuple

import pytest

from electorate.core import Send
from electorate.protocols.bully_textbook import BullyTextbook, BullyTextbookState, Work
from electorate.simulate import Simulation, settle, started
from electorate.simulate.settle import run_until
from electorate.trace import Delivered, Setting, Start

SIZES = range(3, 9)
PLAIN = "office=at-once"
"""The textbook's one word: no acknowledgement, and no task to hand over."""


def cluster_of(n: int, *rules: str) -> Simulation:
    """N nodes that follow node N."""
    ids = tuple(range(1, n + 1))
    setting = Setting("bully-textbook", ids, rules, strongest="highest")
    return started(setting, setting.machine(BullyTextbook, "sound"))[0]


def cost(cluster: Simulation) -> tuple[Counter[str], int]:
    """How many messages of each kind were sent, and when the last one was delivered."""
    sent = Counter(
        type(effect.message).__name__
        for step in cluster.steps
        for turn in step.turns
        for effect in turn.effects
        if isinstance(effect, Send)
    )
    last = max(step.at for step in cluster.steps if isinstance(step.happening, Delivered))
    return sent, last - cluster.steps[0].at


def lose_leader(cluster: Simulation, noticed_by: int) -> None:
    """One node notices it at once; the others do so once they follow another leader."""
    leader = max(cluster.nodes)
    alive = cluster.everybody - {leader}
    cluster.crash(leader)
    cluster.view(noticed_by, alive)
    while any(standing.leader not in alive for _, standing in cluster.row().live()):
        run_until(cluster, cluster.now + 1)
    for node in sorted(alive - {noticed_by}):
        cluster.view(node, alive)
    settle(cluster)


def recover_leader(cluster: Simulation) -> None:
    """All views are right again before anybody follows it."""
    leader = max(cluster.nodes)
    cluster.recover(leader)
    for node in sorted(cluster.everybody - {leader}):
        cluster.view(node, cluster.everybody)
    settle(cluster)


def tasks(cluster: Simulation) -> list[int]:
    states = [node.local.state for node in cluster.nodes.values() if node.local]
    return [state.task for state in states if isinstance(state, BullyTextbookState)]


@pytest.mark.parametrize("n", SIZES)
def test_best_case_the_second_strongest_announces_without_asking(n: int) -> None:
    cluster = cluster_of(n, PLAIN, "asked=visible")
    lose_leader(cluster, n - 1)
    assert cost(cluster) == (Counter({"Coordinator": n - 2}), 1)


@pytest.mark.parametrize("n", SIZES)
def test_best_case_the_second_strongest_asks_the_dead_leader(n: int) -> None:
    cluster = cluster_of(n, PLAIN)
    lose_leader(cluster, n - 1)
    sent, last = cost(cluster)
    assert sent == Counter({"Election": 1, "Coordinator": n - 2})
    assert (sent.total(), last) == (n - 1, 3)


@pytest.mark.parametrize("n", SIZES)
def test_two_rounds_are_enough_only_with_the_deadline_that_is_too_tight(n: int) -> None:
    cluster = cluster_of(n, PLAIN, "asking=T")
    lose_leader(cluster, n - 1)
    assert cost(cluster)[1] == 2


@pytest.mark.parametrize("n", SIZES)
def test_worst_case_the_weakest_starts(n: int) -> None:
    cluster = cluster_of(n, PLAIN)
    lose_leader(cluster, 1)
    sent, last = cost(cluster)
    assert sent == Counter(
        {
            "Election": n * (n - 1) // 2,
            "Answer": (n - 1) * (n - 2) // 2,
            "Coordinator": n - 2,
        }
    )
    assert sent.total() == n * n - n - 1
    assert last == 4


@pytest.mark.parametrize(("starter", "plain"), [("second", 3), ("weakest", 4)])
@pytest.mark.parametrize("n", SIZES)
def test_acknowledging_and_handing_over_cost_two_messages_each_and_two_delays(
    n: int, starter: str, plain: int
) -> None:
    cluster = cluster_of(n)
    lose_leader(cluster, 1 if starter == "weakest" else n - 1)
    sent, last = cost(cluster)
    assert sent["Acknowledge"] == sent["Handover"] == sent["Coordinator"] == n - 2
    assert last == plain + 2
    total = n * n - n - 1 if starter == "weakest" else n - 1
    assert sent.total() == total + 2 * (n - 2)


@pytest.mark.parametrize("n", SIZES)
def test_the_strongest_node_recovers_and_fetches_the_task(n: int) -> None:
    cluster = cluster_of(n)
    lose_leader(cluster, n - 1)
    cluster.ask(n - 1, Work())
    cluster.steps.clear()
    recover_leader(cluster)
    sent, last = cost(cluster)
    news = dict.fromkeys(("WhatTask", "Coordinator", "Acknowledge", "Handover"), n - 1)
    assert sent == Counter({"Task": 1, **news})
    assert last == 5
    assert tasks(cluster) == [1] * n


@pytest.mark.parametrize(
    ("rules", "task"),
    [
        (("start=fetch", "resumes=own"), 1),
        (("start=elect", "resumes=own"), 0),
        (("start=elect", "resumes=freshest"), 1),
    ],
)
def test_without_fetching_the_strongest_node_hands_out_an_old_task(
    rules: tuple[str, ...], task: int
) -> None:
    cluster = cluster_of(3, *rules)
    lose_leader(cluster, 2)
    cluster.ask(2, Work())
    recover_leader(cluster)
    assert tasks(cluster) == [task] * 3


# --- the printed code, told again in rounds, against the machine's form of it ---


class Vote(NamedTuple):
    """What the code sends: a candidate, and whether that has won."""

    sender: int
    to: int
    decided: bool


class Process:
    """One process of the printed code; a vote is always for its sender."""

    def __init__(self, me: int, n: int) -> None:
        self.me = me
        self.top = me == n
        self.n = n
        self.silenced = False
        self.leader: int | None = None
        self.decided_in: int | None = None

    def first(self) -> list[Vote]:
        return [Vote(self.me, stronger, self.top) for stronger in range(self.me + 1, self.n + 1)]

    def later(self, number: int, incoming: list[Vote]) -> list[Vote]:
        """A round after the first one, in which these votes come in."""
        outgoing: list[Vote] = []
        for vote in incoming:
            if vote.sender < self.me:
                outgoing.append(Vote(self.me, vote.sender, self.top))
            else:
                self.silenced = True
                if vote.decided:
                    self.leader, self.decided_in = vote.sender, number
                    return outgoing
        if not incoming and self.silenced:
            # It means to hold another election, but its flag says that it is holding one.
            self.silenced = False
        elif not incoming:
            self.leader, self.decided_in = self.me, number
            outgoing = [Vote(self.me, to, True) for to in range(1, self.n + 1) if to != self.me]
        return outgoing


def in_rounds(n: int) -> tuple[dict[int, int | None], dict[int, int | None], int]:
    """Leaders, the rounds in which they were decided on, and the number of votes."""
    processes = [Process(me, n) for me in range(1, n + 1)]
    flying = [vote for process in processes for vote in process.first()]
    count = len(flying)
    for number in range(2, 20):
        arrived, flying = flying, []
        for process in processes:
            if process.leader is None:
                incoming = [vote for vote in arrived if vote.to == process.me]
                flying += process.later(number, incoming)
        count += len(flying)
    leaders = {process.me: process.leader for process in processes}
    return leaders, {process.me: process.decided_in for process in processes}, count


@pytest.mark.parametrize("n", range(2, 8))
def test_the_printed_form_does_what_the_printed_code_does(n: int) -> None:
    ids = tuple(range(1, n + 1))
    setting = Setting(
        "bully-textbook-as-printed", ids, strongest="highest", delay_min=1, start=Start.BOOT
    )
    cluster, boots = started(setting, setting.machine(BullyTextbook, "printed"))
    settle(cluster)
    leaders, rounds, votes = in_rounds(n)
    assert {
        node.id: node.local.standing.leader for node in cluster.nodes.values() if node.local
    } == leaders
    decided: dict[int, int] = {}
    for step in cluster.steps:
        for turn in step.turns:
            if isinstance(turn.after, BullyTextbookState) and turn.after.leader is not None:
                decided.setdefault(turn.after.me, step.at + 1)
    assert decided == rounds
    sent = (e for s in (*boots, *cluster.steps) for t in s.turns for e in t.effects)
    assert sum(isinstance(effect, Send) for effect in sent) == votes


def test_two_leaders_without_a_crash() -> None:
    """The slide's own warning: safety is broken if the deadline is too tight."""
    assert in_rounds(2)[0] == {1: 1, 2: 2}
