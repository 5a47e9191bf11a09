"""What a user sees: the rows of the table in docs/leadership.md that no other test has."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from electorate import Node, sync
from electorate.errors import LeadershipLost, NodeStopped, StoreError, TransferFailed
from electorate.leadership.directory import number
from electorate.leadership.engine import Leader
from electorate.leadership.term import Tenure, Term
from electorate.pace import Pace
from tests.leadership.cluster import PACE, Cluster, run, running, until


def test_what_hangs_after_a_term_costs_its_own_node_the_next_term_and_nobody_else(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        worked: list[int] = []
        freed = asyncio.Event()

        async def work(term: Term) -> None:
            worked.append(term.token)
            await asyncio.sleep(3600)

        async def hang(term: Term) -> None:
            await freed.wait()

        async with running(tmp_path) as cluster:
            working = asyncio.create_task(cluster.election("a").run(work, hang))
            await until(lambda: worked)
            cluster.stand("b")
            # Only who has heard that somebody leads can have it step down.
            await until(lambda: cluster.election("c").leader.leader == "a")
            await cluster.election("c").step_down()
            assert await cluster.led("b") == "b"
            await cluster.stop("b")
            await asyncio.sleep(2 * cluster.pace.lease)
            assert len(worked) == 1, "a does not stand while its callback hangs"
            freed.set()
            await until(lambda: len(worked) == 2)
            working.cancel()

    run(scene())


def test_after_every_term_everybody_comes_to_know_the_next_leader(tmp_path: Path) -> None:
    """Also when two claim the same token at once, and one of them gets it."""

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            for _ in range(20):
                await until(lambda: agreed(cluster))
                leader = cluster.election("a").leader.leader
                assert leader is not None
                await cluster.election(leader).step_down()

    run(scene())


def agreed(cluster: Cluster) -> bool:
    """Whether everybody names the same leader, and that one knows that it is."""
    (first, *others) = {cluster.election(name).leader for name in cluster.nodes}
    return not others and first.leader is not None and cluster.leads(first.leader)


def test_a_node_that_fails_cancels_its_work_and_says_why(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("the disk is full")

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led("a")
            term, worker = cluster.terms["a"], cluster.workers.pop("a")
            node = cluster.nodes.pop("a")
            told: list[Leader] = []

            async def watch() -> None:
                async for leader in node.observe("x"):
                    told.append(leader)

            watching = asyncio.create_task(watch())
            await until(lambda: told)
            node._engine.do(fail)
            with pytest.raises(OSError, match="the disk is full"):
                await watching
            assert [leader.leader for leader in told] == ["a", None]
            with pytest.raises(NodeStopped, match="the node has stopped"):
                await worker
            assert term.lost.is_set()
            with pytest.raises(OSError, match="the disk is full"):
                await node.__aexit__()
            cluster.stand("b")
            await until(lambda: cluster.leads("b"))

    run(scene())


def test_an_office_is_not_handed_to_a_witness(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            cluster.stand("b", priority=0)
            await cluster.led("a")
            why = "b does not stand: it is paused, has priority 0 or no work"
            with pytest.raises(TransferFailed, match=why):
                await cluster.election("a").transfer("b")
            with pytest.raises(TransferFailed, match=why):
                await cluster.election("c").transfer("b")
            cluster.terms["a"].check()

    run(scene())


def test_a_loop_that_is_blocked_beyond_the_end_of_its_term_finds_it_over(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            went_on: list[str] = []

            async def work(term: Term) -> None:
                cluster.cut("a", "b", "c")
                assert term.lost.wait(10)  # Not `await`: the loop stands still.
                with pytest.raises(LeadershipLost):
                    term.check()
                went_on.append("to the first await")
                await asyncio.sleep(0)
                went_on.append("beyond it")

            cluster.stand("a", work=work)
            await until(lambda: went_on)
            cluster.heal()
            await until(lambda: len(cluster.held) == 2)  # It stands again, and blocks again.
            assert "beyond it" not in went_on

    run(scene())


@pytest.mark.parametrize(
    ("moved", "problem"),
    [(False, "electorate.db is in use by another process"), (True, "cannot listen on 127.0.0.1:")],
)
def test_a_node_that_is_started_twice_is_told_why_not(
    moved: bool, problem: str, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            leader = await cluster.led()
            if moved:
                cluster.folder = tmp_path / "elsewhere"
            with pytest.raises((OSError, StoreError), match=problem):
                await cluster.node(leader).__aenter__()
            assert cluster.leads(leader), "which does not harm the first"

    run(scene())


def test_a_node_with_another_list_of_members_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path)
        cluster.founding = "majority"
        stranger = Node(cluster.places["c"], [cluster.places["a"]], tmp_path / "c", pace=PACE)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(cluster.stop)
            await cluster.start("a", "b")
            cluster.nodes["c"] = await stranger.__aenter__()
            cluster.stand("a", "c")
            await until(lambda: cluster.leads("a"))
            await until(lambda: "hello from another cluster" in caplog.text)
            assert not cluster.leads("c")

    run(scene())


def test_who_was_cut_off_and_stood_still_sees_the_others_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            await cluster.led()
            engine = cluster.nodes["a"]._engine
            cluster.cut("a", "b", "c")
            await until(lambda: len(seen_by(cluster, "a")) == 1)
            engine.do(time.sleep, 2 * cluster.pace.timeout)
            await until(lambda: "node a stood still" in caplog.text)
            await asyncio.sleep(0.3)  # Its next life begins alone.
            cluster.heal()
            await until(lambda: len(seen_by(cluster, "a")) == 3)

    run(scene())


def seen_by(cluster: Cluster, name: str) -> frozenset[int]:
    """Whom the office of a node goes by."""
    state: Any = cluster.nodes[name]._engine.elections.election("x")._instance.state
    return frozenset(state.alive)


def test_who_had_promised_to_one_that_was_removed_since_starts_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, pace=Pace(grace=0.1, preempt_delay=0.1)) as cluster:
            cluster.stand("a")
            await cluster.led("a")
            await cluster.stop("a")
            await cluster.nodes["b"].remove_member("a")
            c = cluster.nodes["c"]._engine.elections.directory
            await until(lambda: number("a") not in c.ids)
            await cluster.stop("c")
            await cluster.start("c")
            await asyncio.sleep(0.3)  # It would ask the one that is gone for the office.
            cluster.stand("c")
            await until(lambda: cluster.leads("c"))

    run(scene())


def test_an_heir_that_dies_before_it_takes_over_leaves_the_leader_in_office(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led("a")
            cluster.stand("b")
            elections = cluster.nodes["a"]._engine.elections
            await until(lambda: elections.stands_with(number("b"), "x"))
            cluster.cut("b", "a", "c")
            with pytest.raises(TransferFailed, match="a leads x after"):
                await cluster.election("a").transfer("b")
            assert cluster.leads("a")

    run(scene())


def test_a_node_may_be_named_by_its_name_alone(tmp_path: Path) -> None:
    from electorate import Node, sync

    members = ["a@127.0.0.1:7001", "b@127.0.0.1:7002"]
    assert Node("a", members, tmp_path / "1").members == ("a", "b")
    assert sync.Node("b@127.0.0.1:7002", members[:1], tmp_path / "2").members == ("a", "b")
    with pytest.raises(ValueError, match="'c' is no member; the members are a, b"):
        Node("c", members, tmp_path / "3")


def test_a_term_in_a_thread_ends_its_block_quietly_and_lets_other_errors_out(
    tmp_path: Path,
) -> None:
    class Nobody:
        def finished(self, tenure: Tenure) -> None:
            ended.append(tenure.token)

    ended: list[int] = []
    with Tenure("x", 7, Nobody(), 0.0).term as term:
        term.check()
        raise AssertionError("a term that is over has been taken for granted")
    with pytest.raises(LeadershipLost), Tenure("x", 8, Nobody(), 0.0).term:
        raise LeadershipLost("x", 7)
    assert ended == [7, 8]


def test_work_in_a_thread_is_done_in_every_term_and_something_after_each(tmp_path: Path) -> None:
    done: list[str] = []

    def work(term: Term) -> None:
        done.append("work")
        if len(done) > 2:
            raise KeyError("enough")

    place = Cluster(tmp_path, "a").places["a"]
    with sync.Node(place, [], tmp_path / "a", pace=PACE) as node, pytest.raises(KeyError):
        node.election("x").run(work, lambda term: done.append("stopped"))
    assert done == ["work", "stopped", "work", "stopped"]


def test_asyncio_is_told_to_say_async_with() -> None:
    class Nobody:
        def finished(self, tenure: Tenure) -> None:
            """Nothing to do."""

    async def scene() -> None:
        with pytest.raises(TypeError, match="async with term"), Tenure("x", 1, Nobody(), 0.0).term:
            pass

    run(scene())
