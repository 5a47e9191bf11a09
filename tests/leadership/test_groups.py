"""Elections in groups, with real nodes: a partition, a merge, and the hook in between."""

import asyncio
import math
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from electorate import Election, sync
from electorate.errors import LeadershipLost, NodeStopped
from electorate.leadership.engine import Leader
from electorate.leadership.term import GroupTenure, Tenure, Term
from tests.leadership.cluster import Cluster, run, running, until

CACHE = "cache"


class Groups:
    """What the nodes of a cluster have done in their groups."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.merges: list[tuple[str, tuple[str, ...], dict[str, str]]] = []
        self.terms: dict[str, Term] = {}
        self.workers: set[asyncio.Task[None]] = set()

    def election(self, name: str) -> Election:
        async def on_merge(term: Term, others: dict[str, str]) -> None:
            self.merges.append((name, term.members, others))
            await asyncio.sleep(0.05)
            assert name not in self.terms or self.terms[name].lost.is_set()

        return self.cluster.nodes[name].election(CACHE, safety="group", on_merge=on_merge)

    async def work(self, name: str) -> None:
        with suppress(NodeStopped):
            async for term in self.election(name).terms():
                async with term:
                    self.terms[name] = term
                    await asyncio.sleep(3600)

    def start(self, *names: str) -> None:
        self.workers.update(asyncio.create_task(self.work(name)) for name in names)

    async def led(self, *sides: str) -> list[str]:
        """Wait until there are just these groups, at work; who leads them, in this order."""
        await until(lambda: self._leaders(*sides))
        return self._leaders(*sides)

    def _leaders(self, *sides: str) -> list[str]:
        held = {
            "".join(term.members): name
            for name, term in self.terms.items()
            if name in self.cluster.nodes and term.remaining() > 0
        }
        agreed = all(
            self.election(member).leader == Leader(name, self.terms[name].token)
            for side, name in held.items()
            for member in side
        )
        return [held[side] for side in sides] if agreed and set(held) == set(sides) else []


def test_each_side_of_a_partition_has_a_leader_and_the_groups_merge(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            groups = Groups(cluster)
            groups.start(*"abc")
            await groups.led("abc")
            cluster.cut("a", "b", "c")
            alone, other = await groups.led("a", "bc")
            term = groups.terms[other]
            assert (alone, term.members, term.remaining()) == ("a", ("b", "c"), math.inf)
            term.check()
            groups.merges.clear()
            cluster.heal()
            (leader,) = await groups.led("abc")
            came = {"a": "a"} if leader == other else dict.fromkeys("bc", other)
            assert groups.merges == [(leader, ("a", "b", "c"), came)]
            with pytest.raises(LeadershipLost):
                term.check()

    run(scene())


def test_a_group_is_never_counted_twice_also_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            groups = Groups(cluster)
            groups.start(*"abc")
            (leader,) = await groups.led("abc")
            before = groups.terms[leader].token
            await cluster.stop(leader)
            rest = "".join(sorted(set("abc") - {leader}))
            await groups.led(rest)
            await cluster.start(leader)
            groups.start(leader)
            assert await groups.led("abc") == [leader]
            assert groups.terms[leader].token > before

    run(scene())


def test_a_pause_makes_room_and_both_kinds_live_on_one_node(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            groups = Groups(cluster)
            groups.start(*"abc")
            (leader,) = await groups.led("abc")
            cluster.stand()
            await cluster.led()
            await cluster.nodes[leader].pause()
            assert groups.terms[leader].remaining() == 0
            assert not cluster.leads(leader)
            (second,) = await groups.led("abc")
            assert second != leader
            assert await cluster.led() != leader
            await cluster.nodes[leader].resume()
            await until(lambda: groups._leaders("abc") == [leader])
            with pytest.raises(ValueError, match="x was named with safety='quorum' at this node"):
                cluster.nodes["a"].election("x", safety="group")
            with pytest.raises(ValueError, match="led by its strongest member"):
                await groups.election("a").step_down()

    run(scene())


async def unheard(term: Term, others: dict[str, str]) -> None:
    """A hook that a thread cannot await."""


def test_threads_have_groups_too(tmp_path: Path) -> None:
    places = Cluster(tmp_path, "ab").places
    merges: list[tuple[str, dict[str, str]]] = []
    works: list[tuple[str, Term]] = []
    ending = threading.Event()

    def lead(name: str) -> None:
        def on_merge(term: Term, others: dict[str, str]) -> None:
            merges.append((name, others))
            if len(merges) == 1:
                term.finish()  # Whatever it was, the group is formed anew.

        with sync.Node(places[name], places.values(), tmp_path / name) as node:
            election = node.election(CACHE, safety="group", on_merge=on_merge)
            with pytest.raises(ValueError, match="led by its strongest member"):
                election.transfer("a")
            with pytest.raises(ValueError, match="on_merge has to be a plain function"):
                node.election(CACHE, safety="group", on_merge=unheard)
            assert next(node.observe(CACHE, safety="group")) == Leader(None, None)
            for term in election.terms():
                with term:
                    if len(term.members) == 2:
                        works.append((name, term))
                    while not term.lost.wait(0.01):
                        if ending.is_set():
                            return

    threads = [threading.Thread(target=lead, args=[name]) for name in "ab"]
    for thread in threads:
        thread.start()
    try:
        run(until_there_are(works))
    finally:
        ending.set()
        for thread in threads:
            thread.join(20)
    (leader, term) = works[0]
    (other,) = set("ab") - {leader}
    assert merges[:2] == [(leader, {other: other})] * 2, "the first was not dealt with"
    assert term.members == ("a", "b")


def test_a_function_that_is_to_be_called_back_is_not_called_once_its_term_is_over() -> None:
    called: list[str] = []

    async def scene() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        going = loop.create_future()

        def go_and_end() -> None:
            assert task is not None
            going.set_result(None)
            loop.call_soon(task.cancel)

        loop.call_soon(go_and_end)
        await going
        await sync.called_back(called.append)("late")

    with pytest.raises(asyncio.CancelledError):
        sync.wait(scene(), None, "nothing happens")
    assert called == []


async def until_there_are(works: list[tuple[str, Term]]) -> None:
    await until(lambda: works)


def test_a_hook_in_a_thread_that_fails_gives_the_group_up_and_says_why() -> None:
    heard: list[str] = []

    class Group:
        def finished(self, tenure: Tenure) -> None:
            heard.append("finished")

        def reconciled(self, tenure: GroupTenure) -> None:
            heard.append("reconciled")

    merged: list[GroupTenure] = []

    def reconciled(hook: Callable[[Term, dict[str, str]], None]) -> bool:
        heard.clear()
        merged.append(GroupTenure(CACHE, 7, Group(), lambda: 0.0, ("a", "b"), {"b": "b"}))
        return sync.wait(merged[-1].reconcile(sync.called_back(hook)), None, "nothing happens")

    def fail(term: Term, others: dict[str, str]) -> None:
        raise KeyError(*others)

    def notice(term: Term, others: dict[str, str]) -> None:
        merged[-1].end()
        term.check()

    def end_with_it(term: Term, others: dict[str, str]) -> None:
        merged[-1].end()
        raise KeyError("also if the group is over by then")

    def interrupt(term: Term, others: dict[str, str]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyError, match="b"):
        reconciled(fail)
    assert heard == ["finished"]
    assert not reconciled(notice), "the next term is waited for"
    assert heard == ["finished"]
    with pytest.raises(KeyError, match="also if"):
        reconciled(end_with_it)
    assert heard == ["finished"]
    with pytest.raises(KeyboardInterrupt):
        reconciled(interrupt)
    assert heard == ["finished"]
    assert reconciled(lambda term, others: None)
    assert heard == ["reconciled"]
