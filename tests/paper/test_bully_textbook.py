"""What the textbook says about the task, and what its code does.

M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University, 2022, slides
"Bully Algorithm" and "Properties Bully". What it all costs: src/electorate/costs/bully_textbook.py.
"""

from typing import NamedTuple

import pytest

from electorate.core import Send
from electorate.protocols.bully_textbook import BullyTextbook, BullyTextbookState, Work
from electorate.simulate import Cluster, settle, started
from electorate.trace import Setting, Start


def cluster_of(n: int, *rules: str) -> Cluster:
    """N nodes that follow node N."""
    ids = tuple(range(1, n + 1))
    setting = Setting("bully-textbook", ids, rules, strongest="highest")
    return started(setting, setting.machine(BullyTextbook, "sound"))[0]


def lose_leader(cluster: Cluster, *noticed_by: int) -> None:
    leader = max(cluster.nodes)
    cluster.crash(leader)
    for node in noticed_by:
        cluster.view(node, cluster.everybody - {leader})
    settle(cluster)


def tasks(cluster: Cluster) -> list[int]:
    states = [node.local.state for node in cluster.nodes.values() if node.local]
    return [state.task for state in states if isinstance(state, BullyTextbookState)]


@pytest.mark.parametrize(("start", "task"), [("fetch", 1), ("elect", 0)])
def test_without_fetching_the_strongest_node_hands_out_an_old_task(start: str, task: int) -> None:
    cluster = cluster_of(3, f"start={start}")
    lose_leader(cluster, 2)
    cluster.ask(2, Work())
    cluster.recover(3)
    cluster.view(2, cluster.everybody)
    settle(cluster)
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
