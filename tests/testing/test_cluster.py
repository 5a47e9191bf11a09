"""How an application fares in a simulated cluster, and what a test is told about it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from electorate import Node
from electorate.errors import NodeStopped, TransferFailed
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.pace import Pace
from electorate.testing import Cluster, Stuck, TwoLeaders
from tests.testing.worker import ELECTION, Database, idle, worker

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE_S = 0.05
"""Less than the time between two renewals, at which everything else is noticed too."""


async def test_another_node_takes_over_from_one_that_crashed(electorate_cluster: Cluster) -> None:
    cluster, database = electorate_cluster, Database()
    cluster.start(worker, cluster, database)
    first = await cluster.leader(ELECTION)
    await asyncio.sleep(1)
    cluster.crash(first)
    crashed_at = cluster.now
    second = await cluster.leader(ELECTION)
    assert second != first
    assert cluster.now - crashed_at < 2 * cluster.pace.granted
    await asyncio.sleep(1)
    assert {name for name, _ in database.rows} == {first, second}
    assert database.in_order
    assert not database.refused


async def test_a_node_that_starts_again_stands_again(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    cluster.crash(first)
    second = await cluster.leader(ELECTION)
    cluster.restart(first)
    await cluster.calm()
    cluster.crash(second)
    cluster.crash(next(name for name in cluster.names if name not in (first, second)))
    with pytest.raises(TimeoutError, match="nobody leads scheduler after 10 s"):
        await cluster.leader(ELECTION, within_s=10)
    cluster.restart(second)
    assert await cluster.leader(ELECTION) in (first, second)


async def test_a_minority_is_led_by_nobody(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.partition({first})
    second = await cluster.leader(ELECTION, other_than=first)
    await cluster.calm()
    assert terms[0].lost.is_set()
    assert cluster.node(first).election(ELECTION).leader == Leader(None, None)
    assert cluster.node(second).election(ELECTION).leader == Leader(second, terms[-1].token)
    cluster.heal()
    await cluster.calm()
    assert cluster.node(first).election(ELECTION).leader == Leader(second, terms[-1].token)


async def test_the_office_can_be_handed_over(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    heir, other = (name for name in cluster.names if name != first)
    await cluster.node(first).election(ELECTION).transfer(heir)
    assert await cluster.leader(ELECTION) == heir
    with pytest.raises(ValueError, match="'x' is no member"):
        await cluster.node(other).election(ELECTION).transfer("x")
    cluster.crash(first)
    await cluster.calm()
    with pytest.raises(TransferFailed, match=f"{first} cannot be reached"):
        await cluster.node(other).election(ELECTION).transfer(first)


async def test_where_nobody_leads_there_is_nothing_to_hand_over(
    electorate_cluster: Cluster,
) -> None:
    """It would be wrong to say that it is done: somebody may lead of whom this node is to hear."""
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    other = next(name for name in cluster.names if name != first)
    cluster.partition({other})
    await cluster.calm()
    election = cluster.node(other).election(ELECTION)
    assert election.leader == Leader(None, None)
    with pytest.raises(TransferFailed, match=f"as far as {other} knows: there is nothing to hand"):
        await election.step_down()
    with pytest.raises(TransferFailed, match=f"as far as {other} knows: there is nothing to hand"):
        await election.transfer(other)
    assert await cluster.leader(ELECTION) == first


async def test_who_steps_down_or_pauses_makes_room(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    await cluster.node(first).election(ELECTION).step_down()
    await cluster.calm()
    assert len(terms) > 1
    second = await cluster.leader(ELECTION)
    await cluster.node(second).pause()
    assert await cluster.leader(ELECTION) != second
    await cluster.node(second).resume()
    await cluster.calm()


async def test_who_pauses_is_out_of_office_at_once_and_stands_as_soon_as_it_goes_on(
    electorate_cluster: Cluster,
) -> None:
    """Neither waits for something else to happen: where all have paused nothing ever does."""
    cluster = electorate_cluster
    cluster.start(idle)
    for _ in cluster.names:
        leader, begun = await cluster.leader(ELECTION), cluster.now
        await cluster.node(leader).pause()
        assert cluster.now - begun < AT_ONCE_S
    with pytest.raises(TimeoutError, match="nobody leads"):
        await cluster.leader(ELECTION, within_s=10)
    for name in cluster.names:
        await cluster.node(name).resume()
        assert await cluster.leader(ELECTION, within_s=1) == name
        await cluster.node(name).pause()


async def test_a_leader_that_is_to_be_a_witness_is_out_of_office_at_once(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.node(first).election(ELECTION).set_priority(0)
    await asyncio.sleep(AT_ONCE_S)
    assert terms[0].lost.is_set()
    assert await cluster.leader(ELECTION) != first


async def test_the_highest_priority_takes_over_and_a_witness_never_leads(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    cluster.start(idle, None, 0, on="a")
    cluster.start(idle, None, 1, on="b")
    assert await cluster.leader(ELECTION) == "b"
    cluster.start(idle, None, 2, on=["c"])
    await cluster.calm()
    assert await cluster.leader(ELECTION) == "c"
    cluster.node("c").election(ELECTION, 2).set_priority(0)
    await cluster.calm()
    assert await cluster.leader(ELECTION) == "b"


async def test_an_observer_sees_every_change_and_the_vacancy(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    seen: list[str | None] = []

    async def watch() -> None:
        async for leader in cluster.node("a").observe(ELECTION):
            seen.append(leader.leader)

    watching = asyncio.create_task(watch())
    cluster.start(idle, on="b")
    await cluster.leader(ELECTION)
    await cluster.calm()
    cluster.crash("b")
    await cluster.calm()
    watching.cancel()
    assert seen == [None, "b", None]


async def test_who_is_stopped_in_an_orderly_way_makes_room_at_once(
    electorate_cluster: Cluster,
) -> None:
    cluster, ended = electorate_cluster, list[str]()

    async def tidy(node: Node) -> None:
        try:
            await idle(node)
        finally:
            ended.append(node.name)

    cluster.start(tidy)
    first = await cluster.leader(ELECTION)
    stopped = cluster.node(first)
    begun = cluster.now
    await cluster.stop(first)
    assert ended == [first]
    await cluster.leader(ELECTION)
    assert cluster.now - begun < cluster.pace.lease
    with pytest.raises(NodeStopped):
        stopped.election(ELECTION)
    cluster.restart(first)
    await cluster.calm()
    assert cluster.node(first).election(ELECTION).leader.leader is not None


@pytest.mark.electorate(nodes=("amsterdam", "berlin"), pace=Pace(T=0.2))
async def test_nodes_can_have_names_and_a_pace(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    assert cluster.node("berlin").members == ("amsterdam", "berlin")
    assert cluster.pace.T == 0.2
    cluster.start(idle)
    assert await cluster.leader(ELECTION) in cluster.names


def test_two_leaders_fail_the_test() -> None:
    cluster = Cluster()

    async def scene() -> None:
        cluster.start(idle)
        first = await cluster.leader(ELECTION)
        cluster.partition({first})
        cluster.clock_rate(first, 0.5)
        cluster._watch.clocks_keep_their_word = True
        await asyncio.sleep(10)

    with pytest.raises(TwoLeaders, match="lead scheduler at once") as caught:
        cluster.run(scene())
    assert caught.value.__notes__[0].startswith("simulated with seed 0, until ")


def test_programs_may_be_given_before_the_cluster_runs() -> None:
    cluster = Cluster()
    cluster.start(idle, on="b")
    with pytest.raises(ValueError, match="a is down"):
        cluster.crash("a")
    with pytest.raises(ValueError, match="the cluster does not run"):
        cluster.node("a")
    assert cluster.run(cluster.leader(ELECTION)) == "b"
    with pytest.raises(ValueError, match="the cluster does not run"):
        cluster.node("a")


@pytest.mark.electorate(seeds=3)
async def test_a_request_is_carried_out_though_its_caller_is_gone(
    electorate_cluster: Cluster,
) -> None:
    cluster, served, answered = electorate_cluster, list[str](), list[str]()

    async def service(name: str) -> str:
        served.append(name)
        await asyncio.sleep(0.01)
        if name == "c":
            raise PermissionError
        return name

    async def client(node: Node) -> None:
        try:
            answered.append(await cluster.call(service, node.name))
        except PermissionError:
            answered.append("refused")

    await cluster.calm()
    cluster.start(client)
    await asyncio.sleep(0)
    cluster.crash("a")
    await asyncio.sleep(1)
    assert sorted(served) == ["a", "b", "c"]
    assert sorted(answered) == ["b", "refused"]


def test_a_worker_that_fails_fails_the_test_at_once() -> None:
    async def clumsy(node: Node) -> None:
        async for _ in node.election(ELECTION).terms():
            raise ZeroDivisionError

    async def scene() -> None:
        cluster.start(clumsy)
        await asyncio.sleep(100)

    cluster = Cluster()
    with pytest.raises(ZeroDivisionError):
        cluster.run(scene())
    assert cluster.now < 1


def test_a_test_that_waits_for_ever_is_told_where() -> None:
    async def scene() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match=r"30 s of simulated time are over; the test waits in scene"):
        Cluster(limit_s=30).run(scene())


def story(seed: int) -> list[str]:
    """What happens to two elections under chaos."""

    async def other(node: Node) -> None:
        await node.election("other").run(lambda _: asyncio.sleep(2))

    async def scene() -> None:
        cluster.start(worker, cluster, Database())
        cluster.start(other)
        await cluster.chaos(10)
        await cluster.leader(ELECTION)

    cluster = Cluster(seed=seed)
    cluster.run(scene())
    return list(cluster.story)


def test_the_same_seed_is_the_same_story_in_every_process() -> None:
    told = story(1)
    assert told == story(1)
    assert told != story(2)
    command = "from tests.testing.test_cluster import story; print(*story(1), sep='\\n')"
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    environment["PYTHONPATH"] = os.pathsep.join(str(ROOT / name) for name in ("src", "."))
    elsewhere = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, check=True
    )
    assert elsewhere.stdout.decode().splitlines() == told
