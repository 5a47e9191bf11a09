"""Members that come and go in a simulated cluster, whatever befalls it."""

import asyncio
from contextlib import suppress

import pytest

from electorate import Node
from electorate.errors import MembersUnchanged
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


async def test_a_newcomer_leads_once_all_others_were_removed(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    await cluster.node("a").add_member(cluster.add("d"))
    cluster.start(idle, on="d")
    for name in "abc":
        await cluster.node("d").remove_member(name)
    assert cluster.node("d").members == ("d",)
    assert await cluster.leader(ELECTION, other_than="c") == "d"
    await cluster.calm()


async def test_who_lost_its_memory_may_join_anew(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    cluster.crash("c")
    cluster.wipe("c")
    cluster.restart("c", join=True)
    await cluster.node("a").replace_member("c", cluster.place("c"))
    cluster.crash("b")
    await cluster.calm()
    assert await cluster.leader(ELECTION) in "ac"


async def test_a_change_survives_whoever_began_it(electorate_cluster: Cluster) -> None:
    """Whoever crashes in the middle of a change leaves it as it was, or to be finished."""
    cluster = electorate_cluster
    where = cluster.add("d")
    change = asyncio.ensure_future(cluster.node("a").add_member(where))
    await asyncio.sleep(cluster.random.uniform(0.6, 1.2))
    cluster.crash("a")
    change.cancel()
    await asyncio.sleep(1)
    with suppress(ValueError):
        await cluster.node("b").add_member(where)
    await asyncio.sleep(1)
    cluster.restart("a")
    await cluster.calm()
    names = {cluster.node(name).members for name in "abcd"}
    assert names == {("a", "b", "c", "d")}


async def begin_to_add(cluster: Cluster, after_s: float) -> tuple[str, asyncio.Future[None]]:
    """Let a begin to add a newcomer; where that is, and what has come of it after so long."""
    where = cluster.add("d")
    cluster.start(idle)
    await cluster.leader(ELECTION)
    change = asyncio.ensure_future(cluster.node("a").add_member(where))
    await asyncio.sleep(after_s)
    return where, change


async def begin_and_crash(cluster: Cluster, after_s: float) -> str:
    """The same, but a crashes then, and starts again."""
    where, change = await begin_to_add(cluster, after_s)
    cluster.crash("a")
    change.cancel()
    cluster.restart("a")
    return where


WHILE_IT_IS_MADE = [hundredths / 100 for hundredths in range(90, 98)]
"""Moments, in seconds after the beginning of a change, in which it may have been heard by some."""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("after_s", WHILE_IT_IS_MADE)
def test_who_began_a_change_and_crashed_can_make_it_again(seed: int, after_s: float) -> None:
    """However far it had come: a change that was only begun is finished when it is asked for."""
    cluster = Cluster(3, seed=seed)

    async def scene() -> None:
        where = await begin_and_crash(cluster, after_s)
        await asyncio.sleep(3)
        with suppress(ValueError):
            await cluster.node("a").add_member(where)
        await cluster.calm()
        assert {cluster.node(name).members for name in "abcd"} == {("a", "b", "c", "d")}

    cluster.run(scene())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("after_s", WHILE_IT_IS_MADE)
def test_a_change_that_was_left_is_finished_though_nobody_asks(seed: int, after_s: float) -> None:
    cluster = Cluster(3, seed=seed)

    async def scene() -> None:
        await begin_and_crash(cluster, after_s)
        await asyncio.sleep(20)
        rosters = [cluster._members[name].elections.register.roster for name in "abc"]
        assert len({*rosters}) == 1
        assert not rosters[0].is_pending

    cluster.run(scene())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tenths", range(1, 10))
def test_who_gives_up_a_change_leaves_the_register_to_others(seed: int, tenths: int) -> None:
    cluster = Cluster(3, seed=seed)

    async def scene() -> None:
        where, change = await begin_to_add(cluster, tenths / 10)
        change.cancel()
        await asyncio.sleep(1)
        with suppress(ValueError):
            await cluster.node("b").add_member(where)
        await cluster.node("c").remove_member("d")

    cluster.run(scene())


async def swap(node: Node, cluster: Cluster, done: list[str]) -> None:
    """Add a newcomer and remove another member, again and again."""
    while True:
        await asyncio.sleep(cluster.random.uniform(0, 2))
        there = set(node.members)
        with suppress(MembersUnchanged, ValueError):
            if len(there) < 5:
                absent = sorted(set(cluster.names) - there)
                newcomer = cluster.random.choice(absent)
                if cluster._members[newcomer].was_removed:
                    cluster.restart(newcomer, join=True)
                await node.add_member(cluster.place(newcomer))
                done.append("add")
            else:
                await node.remove_member(cluster.random.choice(sorted(there - {node.name})))
                done.append("remove")


@pytest.mark.parametrize("seed", range(3))
def test_never_two_lead_while_members_come_and_go_and_faults_happen(seed: int) -> None:
    cluster = Cluster(3, seed=seed)
    done: list[str] = []

    async def scene() -> None:
        cluster.start(idle)
        await cluster.leader(ELECTION)
        for name in "defg":
            cluster.add(name)
        cluster.start(idle, on=list("defg"))
        cluster.start(swap, cluster, done, on=list("abc"))
        await cluster.chaos(60)

    cluster.run(scene())
    assert {"add", "remove"} <= {*done}
