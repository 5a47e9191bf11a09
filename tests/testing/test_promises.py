"""What a node has said holds: also at another pace, and once it is paused."""

import asyncio

import pytest

from electorate import Node
from electorate.pace import Pace
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


@pytest.mark.electorate(seeds=4, pace=Pace(T=0.2, P=0.1))
async def test_who_restarts_at_a_faster_pace_is_bound_for_as_long_as_it_was(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    await asyncio.sleep(5)
    others = [name for name in cluster.names if name != first]
    for name in others:
        cluster.crash(name)
    cluster.pace = Pace()
    cluster.delay(0, 0.02)
    for name in others:
        cluster.restart(name)
    assert await cluster.leader(ELECTION, other_than=first) in others


@pytest.mark.electorate(seeds=20)
async def test_no_term_begins_once_a_node_is_paused(electorate_cluster: Cluster) -> None:
    cluster, paused, late = electorate_cluster, set[str](), list[str]()

    async def work(node: Node) -> None:
        async for term in node.election(ELECTION).terms():
            if node.name in paused:
                late.append(node.name)
            async with term:
                await asyncio.sleep(3600)

    cluster.start(work)
    await asyncio.sleep(cluster.random.uniform(0.0, 0.4))
    for name in cluster.names:
        await cluster.node(name).pause()
        paused.add(name)
    await asyncio.sleep(2)
    assert late == []
