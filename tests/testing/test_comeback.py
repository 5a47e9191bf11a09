"""Members that were away while others came and went, and names that go from one to another."""

import asyncio
from functools import partial

import pytest

from electorate.errors import MembersUnchanged
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


async def renewed(cluster: Cluster, name: str, by: str) -> None:
    """Give a node an empty disk, and its old place."""
    cluster.crash(name)
    cluster.wipe(name)
    cluster.restart(name, join=True)
    await cluster.node(by).replace_member(name, cluster.place(name))
    await asyncio.sleep(2)  # If the other is lost before all know of it, that may be one too many.


async def all_reach_all(cluster: Cluster, names: str) -> None:
    """Wait until everybody takes everybody for who it is, and for a member."""
    async with asyncio.timeout(30):
        while not all(_is_whole(cluster, name, names) for name in names):
            await asyncio.sleep(0.1)


def _is_whole(cluster: Cluster, name: str, names: str) -> bool:
    node = cluster.node(name)
    reached = {*node._engine.elections.alive}
    return reached == _numbers(cluster, names) and node.members == tuple(names)


def _numbers(cluster: Cluster, names: str) -> set[int]:
    return {cluster.node(name)._engine.elections.me for name in names}


@pytest.mark.electorate(nodes=5)
async def test_who_was_away_while_all_others_were_replaced_is_a_member_still(
    electorate_cluster: Cluster,
) -> None:
    """It takes them for the ones before, and so do they think of it."""
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    cluster.crash("e")
    for name, by in ("ab", "bc", "cd", "da"):
        await renewed(cluster, name, by)
    cluster.restart("e")
    await all_reach_all(cluster, "abcde")
    for name in "ab":
        cluster.crash(name)
    assert await cluster.leader(ELECTION) in "cde"


async def test_who_was_removed_while_it_was_away_may_be_added_again(
    electorate_cluster: Cluster,
) -> None:
    """It hears that it is no member before it hears that it is one again."""
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    cluster.crash("c")
    await cluster.node("a").remove_member("c")
    cluster.restart("c", join=True)
    await asyncio.sleep(cluster.random.uniform(0, 3))
    await cluster.node("a").add_member(cluster.place("c"))
    await asyncio.sleep(3)
    await all_reach_all(cluster, "abc")


async def test_who_joined_meanwhile_may_add_who_comes_back(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.crash("c")
    await cluster.node("a").remove_member("c")
    await cluster.node("a").add_member(cluster.add("d"))
    cluster.restart("c", join=True)
    await cluster.node("d").add_member(cluster.place("c"))
    await all_reach_all(cluster, "abcd")


async def test_who_is_replaced_by_itself_stays(electorate_cluster: Cluster) -> None:
    """As when it has only moved, or when it is asked for twice."""
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    await renewed(cluster, "c", by="a")
    before = _numbers(cluster, "abc")
    await cluster.node("a").replace_member("c", cluster.place("c"))
    await cluster.node("b").replace_member("c", cluster.place("c"))
    await asyncio.sleep(3)
    await all_reach_all(cluster, "abc")
    assert _numbers(cluster, "abc") == before


@pytest.mark.parametrize("after_s", [0.4, 0.8, 1.1, 1.4])
async def test_a_replacement_may_be_asked_for_again(
    electorate_cluster: Cluster, after_s: float
) -> None:
    """Whoever began it has gone, and has perhaps removed the member already."""
    cluster = electorate_cluster
    cluster.crash("c")
    cluster.wipe("c")
    cluster.restart("c", join=True)
    change = asyncio.ensure_future(cluster.node("a").replace_member("c", cluster.place("c")))
    await asyncio.sleep(after_s)
    change.cancel()
    await asyncio.sleep(1)
    b = cluster.node("b")
    begin_again = partial(b.replace_member, "c") if "c" in b.members else b.add_member
    await begin_again(cluster.place("c"))
    await all_reach_all(cluster, "abc")


async def test_of_two_who_have_one_name_only_one_becomes_a_member(
    electorate_cluster: Cluster,
) -> None:
    """a has met the first, and cannot get the register; b adds the second meanwhile."""
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    where = cluster.add("p")
    cluster.cut("a", "b")
    cluster.cut("a", "c")
    change = asyncio.ensure_future(cluster.node("a").add_member(where))
    await asyncio.sleep(1.5)
    cluster.crash("p")
    cluster.wipe("p")
    cluster.restart("p", join=True)
    cluster.cut("a", "p")
    await cluster.node("b").add_member(where)
    cluster.heal()
    with pytest.raises(MembersUnchanged, match="another p was added just now"):
        await change
    await all_reach_all(cluster, "abcp")
    cluster.crash("c")
    assert await cluster.leader(ELECTION) in "abp"


async def test_who_was_to_become_a_member_and_died_leaves_nothing_behind(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    where = cluster.add("d")
    change = asyncio.ensure_future(cluster.node("a").add_member(where))
    await asyncio.sleep(0.4)
    cluster.crash("d")
    with pytest.raises(MembersUnchanged, match="d does not answer any more"):
        await change
    await asyncio.sleep(15)
    for name in "abc":
        directory = cluster.node(name)._engine.elections.directory
        assert {directory.name(node) for node in directory.ids} == {*"abc"}


async def test_a_member_that_is_started_as_if_to_join_ends_when_it_is_removed(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    await cluster.node("a").add_member(cluster.add("d"))
    cluster.crash("d")
    cluster.restart("d", join=True)
    await asyncio.sleep(3)
    await cluster.node("a").remove_member("d")
    await asyncio.sleep(8)
    assert cluster._member("d").was_removed


async def test_who_lost_its_memory_and_was_not_told_to_join_does_not_pass_for_the_old_one(
    electorate_cluster: Cluster,
) -> None:
    """Its number is that of the one before, and all that one has promised is forgotten."""
    cluster = electorate_cluster
    await asyncio.sleep(2)
    cluster.crash("b")
    cluster.wipe("b")
    cluster.restart("b")
    with pytest.raises(MembersUnchanged, match=r"b@.* does not answer: start it with join=True"):
        await cluster.node("a").replace_member("b", cluster.place("b"))
    assert cluster.node("b")._engine.elections.me not in cluster.node("a")._engine.elections.alive
    cluster.crash("b")
    cluster.restart("b", join=True)
    await cluster.node("a").replace_member("b", cluster.place("b"))
    await all_reach_all(cluster, "abc")


@pytest.mark.electorate(nodes=5)
async def test_a_founder_that_lost_its_memory_does_not_come_back_under_its_number(
    electorate_cluster: Cluster,
) -> None:
    """Who was away knows by which memory it had that number, and so do those who forgot it."""
    cluster = electorate_cluster
    await asyncio.sleep(2)
    cluster.crash("c")
    cluster.crash("e")
    await cluster.node("a").remove_member("c")
    await asyncio.sleep(15)
    cluster.wipe("c")
    cluster.restart("c")
    with pytest.raises(MembersUnchanged, match=r"c@.* in its folder or an empty one"):
        await cluster.node("b").add_member(cluster.place("c"))
    assert not cluster.node("c").election("x").leader.leader, "it waits, for nothing proves it"
    cluster.crash("c")
    cluster.wipe("c")
    cluster.restart("c", join=True)
    await cluster.node("b").add_member(cluster.place("c"))
    cluster.restart("e")
    await all_reach_all(cluster, "abcde")


async def test_who_is_no_member_cannot_be_replaced(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    with pytest.raises(ValueError, match="'d' is no member; the members are a, b, c"):
        await cluster.node("a").replace_member("d", cluster.add("d"))
