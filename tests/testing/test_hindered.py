"""What is asked of nodes that are cut off, paused or about to leave, in a simulated cluster."""

import asyncio

import pytest

from electorate import Node
from electorate.errors import MembersUnchanged, NodeStopped, TransferFailed
from electorate.leadership.term import Term
from electorate.testing import Cluster
from tests.testing.group_work import CACHE, GroupWork, until
from tests.testing.worker import ELECTION, idle


async def test_who_is_cut_off_cannot_say_that_the_leader_has_stepped_down(
    electorate_cluster: Cluster,
) -> None:
    """It hears of the leader no more, but that is all that it knows."""
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    await cluster.calm()
    other = next(name for name in cluster.names if name != first)
    cluster.partition({other})
    with pytest.raises(TransferFailed, match=f"either nobody does, or {other} is cut off"):
        await cluster.node(other).election(ELECTION).step_down()
    terms[0].check()


async def test_who_leads_can_step_down_while_it_is_the_only_one_that_stands(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms, on="a")
    await cluster.leader(ELECTION)
    await cluster.calm()
    for asked in cluster.names:
        term = terms[-1]
        await cluster.node(asked).election(ELECTION).step_down()
        assert term.remaining() == 0
        await cluster.calm()


async def test_a_node_that_is_paused_can_change_the_members(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    await cluster.node("a").pause()
    await cluster.node("a").add_member(cluster.add("d"))
    changing = asyncio.create_task(cluster.node("a").remove_member("b"))
    await asyncio.sleep(0.3)
    await cluster.node("a").pause()
    await changing
    assert cluster.node("a").members == ("a", "c", "d")
    await cluster.calm()
    assert await cluster.leader(ELECTION) == "c", "a votes, and does not stand"


async def test_a_pause_that_is_cut_short_comes_to_an_end(electorate_cluster: Cluster) -> None:
    """One election is led again before the work in another has ended."""
    cluster = electorate_cluster

    async def lead(node: Node, name: str, ending_s: float) -> None:
        async for term in node.election(name).terms():
            async with term:
                try:
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(ending_s)

    cluster.start(lead, "quick", 0, on="a")
    cluster.start(lead, "slow", 1, on="a")
    await cluster.leader("quick")
    await cluster.leader("slow")
    pausing = asyncio.create_task(cluster.node("a").pause())
    await asyncio.sleep(0.4)
    assert not pausing.done()
    await cluster.node("a").resume()
    await asyncio.wait_for(pausing, 5)
    await cluster.calm()
    assert cluster.leaders("quick") == cluster.leaders("slow") == ("a",)


async def test_too_few_of_those_that_stay_are_missed_at_once(electorate_cluster: Cluster) -> None:
    """Also if there is no majority of those before either, so that nobody could be elected."""
    cluster = electorate_cluster
    await asyncio.sleep(2)
    cluster.crash("b")
    cluster.crash("c")
    await cluster.calm()
    begun = cluster.now
    with pytest.raises(MembersUnchanged, match="of a, c only a can be reached: that is no majo"):
        await cluster.node("a").remove_member("b")
    assert cluster.now - begun < 0.1


async def test_a_term_knows_the_members_by_now(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms, on="a")
    await cluster.leader(ELECTION)
    assert list(terms[0].members) == ["a", "b", "c"]
    await cluster.node("b").add_member(cluster.add("d"))
    await cluster.calm()
    assert terms[0].remaining() > 0, "who leads stays in office"
    assert list(terms[0].members) == ["a", "b", "c", "d"]


async def test_a_group_survives_one_that_is_not_to_be_a_member_after_all(
    electorate_cluster: Cluster,
) -> None:
    """It has come into the group while it was about to be added, and leads it."""
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(groups.work)
    await groups.settled("abc")
    place = cluster.add("d")
    cluster.start(groups.work, 9, on="d")
    cluster.crash("b")
    cluster.crash("c")
    adding = asyncio.create_task(cluster.node("a").add_member(place))
    await until(cluster, lambda: groups.of("a").leader == "d")
    with pytest.raises(MembersUnchanged, match="too few of a, b, c answer in time"):
        await adding
    await until(cluster, lambda: groups.of("a").leader == "a")
    cluster.restart("b")
    cluster.restart("c")
    await groups.settled("abc", "d")  # It is no member, and alone with its work.


async def test_who_was_removed_while_it_was_away_ends_when_it_is_back(
    electorate_cluster: Cluster,
) -> None:
    """The others have forgotten it by then, and let it in no more; but they tell it why."""
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(idle)
    cluster.start(groups.work)
    await cluster.leader(ELECTION)
    await groups.settled("abc")
    cluster.crash("c")
    await cluster.node("a").remove_member("c")
    await asyncio.sleep(cluster.pace.grace + cluster.pace.granted + 5)
    cluster.restart("c")
    await asyncio.sleep(10)
    with pytest.raises(NodeStopped):
        cluster.node("c").election(ELECTION)
    await groups.settled("ab")
    assert "c" not in cluster.leaders(CACHE)
