"""Elections in groups, in a simulated cluster: sides that part and merge."""

import asyncio
import math

import pytest

from electorate import Node
from electorate.errors import LeadershipLost
from electorate.leadership.term import GroupTenure
from electorate.testing import Cluster, TwoLeaders
from tests.testing.group_work import CACHE, GroupWork, by_strength


@pytest.mark.electorate(nodes=5, seeds=5)
async def test_each_side_has_a_leader_and_the_sides_merge_by_themselves(
    electorate_cluster: Cluster,
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(groups.work)
    await groups.settled("abcde")
    (first, others) = groups.merges.pop()
    assert others == {name: name for name in "abcde" if name != first}
    assert groups.merges == []
    cluster.partition("ab", "cde")
    await groups.settled("ab", "cde")
    left, right = sorted(cluster.leaders(CACHE))
    groups.merges.clear()
    cluster.heal()
    await groups.settled("abcde")
    (leader,) = cluster.leaders(CACHE)
    came, former = ("cde", right) if leader == left else ("ab", left)
    assert groups.merges == [(leader, dict.fromkeys(came, former))]
    assert groups.done[-1] == groups.works[-1][0] == leader, "first the hook, then the work"
    await asyncio.sleep(20)
    assert len(groups.merges) == 1
    assert groups.works[-1][1].remaining() == math.inf


@pytest.mark.electorate(nodes=4, seeds=6)
async def test_after_any_chaos_there_is_one_group_again(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, hook_s=0.3, ending_s=0.2)

    async def work(node: Node) -> None:
        groups.busy.discard(node.name)  # Who has crashed does nothing any more.
        await groups.work(node)

    cluster.start(work)
    await cluster.chaos(20)
    cluster.heal()
    await groups.settled("abcd")
    await asyncio.sleep(10)
    assert groups.leads("abcd")


async def test_who_crashes_or_comes_back_makes_a_new_group_with_a_new_term(
    electorate_cluster: Cluster,
) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    cluster.start(groups.work)
    await groups.settled("abc")
    leader, first = groups.works[-1]
    follower, other = (name for name in "abc" if name != leader)
    groups.merges.clear()
    cluster.crash(follower)
    await groups.settled("".join(sorted(leader + other)))
    assert groups.merges == [], "who stays was in no other group"
    assert groups.works[-1][1].token > first.token
    with pytest.raises(LeadershipLost, match=f"term {first.token} of cache is over"):
        first.check()
    cluster.restart(follower)
    await groups.settled("abc")
    assert groups.merges == [(leader, {follower: follower})]
    groups.works.clear()
    for number in range(5):
        # So soon that nobody takes it for dead: it has to ask who is stronger.
        cluster.crash(follower)
        cluster.restart(follower)
        await asyncio.sleep(3 + number / 5)
        assert groups.leads("abc")
    assert {name for name, _ in groups.works} == {leader}


@pytest.mark.electorate(nodes=3, seeds=20)
async def test_nobody_leads_alone_who_is_about_to_be_found(electorate_cluster: Cluster) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    for name in cluster.names:
        cluster.node(name).election(CACHE, safety="group")
    await asyncio.sleep(5)
    cluster.start(groups.work)
    await groups.settled("abc")
    leader, _ = groups.works.pop()
    assert groups.works == []
    cluster.crash(leader)
    groups.busy.clear()
    await groups.settled("".join(sorted(set("abc") - {leader})))
    groups.works.clear()
    cluster.restart(leader)
    await asyncio.sleep(0.4)
    cluster.pause(leader)
    await asyncio.sleep(5)
    cluster.unpause(leader)
    await groups.settled("abc")
    assert [len(term.members) for _, term in groups.works] == [3]


async def test_nobody_listens_to_a_node_without_its_memory(electorate_cluster: Cluster) -> None:
    cluster, groups = electorate_cluster, GroupWork(electorate_cluster)
    weak = by_strength(cluster)[-1]
    cluster.start(groups.work)
    await groups.settled("abc")
    cluster.crash(weak)
    cluster.wipe(weak)
    cluster.restart(weak)
    await groups.settled(weak, "".join(sorted(set("abc") - {weak})))
    await asyncio.sleep(10)
    assert len(cluster.leaders(CACHE)) == 2


def test_two_leaders_of_one_group_fail_the_test() -> None:
    cluster = Cluster()
    groups = GroupWork(cluster)

    async def scene() -> None:
        cluster.start(groups.work)
        await groups.settled("abc")
        leader, term = groups.works[-1]
        follower = next(name for name in "abc" if name != leader)
        election = cluster._member(follower).elections.groups.elections[CACHE]
        election.term = GroupTenure(CACHE, term.token, election, lambda: 0.0, term.members, {})
        election.after = lambda: None  # type: ignore[method-assign]
        await asyncio.sleep(1)

    with pytest.raises(TwoLeaders, match="lead one group of cache at once"):
        cluster.run(scene())


@pytest.mark.parametrize(
    ("what", "worst_s"), [("crash", 1.45), ("another", 0.85), ("split", 1.75), ("heal", 1.45)]
)
def test_it_takes_no_longer_than_the_page_says(what: str, worst_s: float) -> None:
    """docs/leadership.md has the same for more seeds."""
    assert max(took(what, seed) for seed in range(6)) <= worst_s


def took(what: str, seed: int) -> float:
    """How long it takes from a fault until all groups are at work again."""
    cluster = Cluster(seed=seed)
    groups = GroupWork(cluster, hook_s=0)

    async def scene() -> float:
        cluster.start(groups.work)
        await groups.settled("abc")
        await asyncio.sleep(3 + cluster.random.random())
        (leader,) = cluster.leaders(CACHE)
        others = [name for name in cluster.names if name != leader]
        begun = cluster.now
        if what == "another":
            cluster.crash(others.pop())
            await groups.settled("".join(sorted([leader, *others])))
        elif what == "crash":
            cluster.crash(leader)
            await groups.settled("".join(others))
        else:
            cluster.partition({leader})
            await groups.settled(leader, "".join(others))
        if what == "heal":
            await asyncio.sleep(3 + cluster.random.random())
            begun = cluster.now
            cluster.heal()
            await groups.settled("abc")
        return cluster.now - begun

    return cluster.run(scene())
