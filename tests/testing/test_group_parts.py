"""Who takes part in a group, and who leads it, in a simulated cluster."""

import asyncio

import pytest

from electorate import Node
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.testing import Cluster
from tests.testing.group_work import CACHE, GroupWork, by_strength, until


async def test_the_highest_priority_leads_its_group_and_zero_never_does(
    electorate_cluster: Cluster,
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    weak = by_strength(cluster)[-1]
    for name in cluster.names:
        cluster.start(groups.work, 5 if name == weak else None, on=name)
    await groups.settled("abc")
    assert cluster.leaders(CACHE) == (weak,)
    other = by_strength(cluster)[1]
    cluster.node(other).election(CACHE, safety="group").set_priority(7)
    await until(cluster, lambda: cluster.leaders(CACHE) == (other,))
    await groups.settled("abc")
    cluster.node(other).election(CACHE, safety="group").set_priority(0)
    await until(cluster, lambda: cluster.leaders(CACHE) == (weak,))
    await groups.settled("abc")
    cluster.partition({other})
    await until(cluster, lambda: groups.of(other) == Leader(None, None))
    await asyncio.sleep(10)
    assert cluster.leaders(CACHE) == (weak,)


async def test_who_only_observes_follows_and_leads_nobody(electorate_cluster: Cluster) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    strong, middle, weak = by_strength(cluster)
    seen: dict[str, list[Leader]] = {strong: [], middle: []}

    async def watch(node: Node) -> None:
        async for leader in node.observe(CACHE, safety="group"):
            seen[node.name].append(leader)

    cluster.start(watch, on=[strong, middle])
    await asyncio.sleep(5)
    nobody = Leader(None, None)
    assert seen == {strong: [nobody], middle: [nobody]}, "who only observes leads nobody"
    cluster.start(groups.work, on=weak)
    await groups.settled("abc")
    leads = Leader(weak, groups.works[-1][1].token)
    assert seen == {strong: [nobody, leads], middle: [nobody, leads]}
    await cluster.node(weak).pause()
    await asyncio.sleep(5)
    assert seen == {strong: [nobody, leads, nobody], middle: [nobody, leads, nobody]}


async def test_who_pauses_or_stops_lets_its_work_end_and_leaves_the_lead(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, ending_s=0.5)
    cluster.start(groups.work)
    await groups.settled("abc")
    first, term = groups.works[-1]
    pausing = asyncio.create_task(cluster.node(first).pause())
    await until(cluster, term.lost.is_set)
    await asyncio.sleep(0.2)
    term.check()  # As long as the work ends, it is still the same group.
    await pausing
    assert term.remaining() == 0
    await until(cluster, lambda: cluster.leaders(CACHE) not in ((), (first,)))
    await groups.settled("abc")
    assert groups.works[-1][0] != first, "a node that pauses follows"
    await cluster.node(first).resume()
    await until(cluster, lambda: cluster.leaders(CACHE) == (first,))
    await groups.settled("abc")
    await cluster.stop(first)
    await groups.settled("".join(sorted(set("abc") - {first})))


async def test_who_does_not_ask_for_terms_any_more_leads_no_longer(
    electorate_cluster: Cluster,
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    strong, *weak = by_strength(cluster)
    cluster.start(groups.work, on=weak)
    election = groups.election(cluster.node(strong))

    async def once() -> None:
        async for term in election.terms():
            async with term:
                return

    await once()
    await until(cluster, lambda: election.leader.leader not in (None, strong))
    await groups.settled("abc")
    waiting = asyncio.create_task(anext(election.terms()))
    await until(cluster, waiting.done)
    (await waiting).finish()
    waiting = asyncio.create_task(anext(election.terms()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(1)
    assert election.leader.leader != strong, "who says so is out at once"


async def test_a_node_that_is_paused_follows_also_in_a_new_election(
    electorate_cluster: Cluster,
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    strong = by_strength(cluster)[0]
    await cluster.node(strong).pause()
    cluster.start(groups.work)
    await groups.settled("abc")
    assert strong not in {name for name, _ in groups.works}


async def test_both_kinds_of_election_live_side_by_side(electorate_cluster: Cluster) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(groups.work)
    held: list[Term] = []

    async def scheduler(node: Node) -> None:
        async for term in node.election("scheduler").terms():
            async with term:
                held.append(term)
                await asyncio.Event().wait()

    cluster.start(scheduler)
    await groups.settled("abc")
    await cluster.leader("scheduler")
    assert held[0].members == ("a", "b", "c")
    cluster.partition({"a"})
    await groups.settled("a", "bc")
    assert await cluster.leader("scheduler") in "bc"
    assert len(cluster.leaders("scheduler")) == 1
    cluster.heal()
    await groups.settled("abc")


async def test_one_name_is_one_kind_of_election(
    electorate_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    node = cluster.node("a")
    cluster.start(groups.work, on=["a", "b"])
    await groups.settled("ab")
    with pytest.raises(ValueError, match="cache was named with safety='group' at this node"):
        node.election(CACHE)
    with pytest.raises(ValueError, match="cache was named with safety='group' at this node"):
        node.observe(CACHE)
    with pytest.raises(ValueError, match='safety is "quorum" or "group", not \'best\''):
        node.election("x", safety="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no on_merge"):
        node.election("x", on_merge=lambda term, others: None)

    async def scheduler(node: Node) -> None:
        async for term in node.election(CACHE).terms():
            async with term:
                await asyncio.Event().wait()

    cluster.start(scheduler, on="c")
    await until(cluster, lambda: "c" in cluster.leaders(CACHE))
    await asyncio.sleep(5)
    assert groups.leads("ab"), "the two elections know nothing of each other"
    told = sorted(record.message for record in caplog.records)
    assert told == [
        f"{name} elects cache {kind}: neither takes part in the other's election"
        for name, kind in [
            ("a", "in groups, and this node by quorum"),
            ("c", "by quorum, and this node in groups"),
            ("c", "by quorum, and this node in groups"),
        ]
    ], "one that only follows asks nobody outside its group"


async def test_nobody_hands_over_a_group(electorate_cluster: Cluster) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(groups.work)
    await groups.settled("abc")
    election = cluster.node("a").election(CACHE, safety="group")
    why = "each group of cache is led by its strongest member: set_priority changes that"
    with pytest.raises(ValueError, match=why):
        await election.transfer("b")
    with pytest.raises(ValueError, match=why):
        await election.step_down()
    assert repr(groups.works[-1][1]).endswith("leads a, b, c>")
