"""Nodes that are restarted at a quicker pace keep what they have promised at a slower one."""

import asyncio

from electorate import Node, Pace
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle

SLOW = Pace(T=0.5, P=0.25)
QUICK = Pace()


async def lead(node: Node) -> None:
    """Come into office and stay there."""
    await idle(node)


async def left_alone(cluster: Cluster) -> str:
    """A leader at the slow pace is cut off from all others, which restart at the quick one."""
    cluster.start(lead)
    leader = await cluster.leader(ELECTION)
    others = [name for name in cluster.names if name != leader]
    cluster.partition([leader], others)
    cluster.pace = QUICK
    cluster.delay(0, QUICK.T)
    for name in others:
        cluster.crash(name)
        cluster.restart(name)
    return leader


def test_a_leader_of_before_ends_before_the_next_one_begins() -> None:
    cluster = Cluster(3, seed=1, pace=SLOW)

    async def scene() -> None:
        leader = await left_alone(cluster)
        begun = cluster.now
        await asyncio.sleep(SLOW.lease - 1)
        assert cluster.leaders(ELECTION) == (leader,)
        successor = await cluster.leader(ELECTION, other_than=leader)
        assert successor != leader
        assert SLOW.lease < cluster.now - begun < SLOW.granted + 2

    cluster.run(scene())


def test_members_change_only_once_no_lease_of_before_is_left() -> None:
    """A node that was added since has promised nothing, and may be the only member soon."""
    cluster = Cluster(3, seed=1, pace=SLOW)

    async def scene() -> None:
        leader = await left_alone(cluster)
        begun = cluster.now
        first, second = (name for name in cluster.names if name != leader)
        place = cluster.add("z")
        cluster.start(lead, on="z")  # In the end it is the only one left to lead.
        await cluster.node(first).remove_member(leader)
        assert cluster.now - begun > SLOW.lease
        await cluster.node(second).add_member(place)
        await cluster.node("z").remove_member(first)
        await cluster.node("z").remove_member(second)
        cluster.start(lead, on="z")  # Nobody else is a member any more.
        await cluster.leader(ELECTION, other_than=leader)

    cluster.run(scene())


def test_once_that_is_over_the_quick_pace_counts() -> None:
    cluster = Cluster(3, seed=2, pace=SLOW)

    async def scene() -> None:
        await left_alone(cluster)
        await asyncio.sleep(SLOW.granted + 5)
        leader = await cluster.leader(ELECTION)
        begun = cluster.now
        cluster.crash(leader)
        cluster.restart(leader)
        await cluster.leader(ELECTION)
        assert cluster.now - begun < QUICK.granted + 2

    cluster.run(scene())
