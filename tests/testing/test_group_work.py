"""The work and the hooks of groups, in a simulated cluster, and what goes wrong there."""

import asyncio
from contextlib import suppress

from electorate import Node
from electorate.leadership.term import Term
from electorate.testing import Cluster
from tests.testing.group_work import CACHE, GroupWork, by_strength, until


async def test_a_hook_that_is_interrupted_is_called_again_for_whoever_it_has_not_dealt_with(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, hook_s=3)
    strong, *weak = by_strength(cluster)
    cluster.partition({strong}, {weak[0]}, {weak[1]})
    cluster.start(groups.work)
    await groups.settled(*"abc")
    cluster.heal()
    cluster.cut(strong, weak[1])
    cluster.cut(*weak)
    await until(cluster, lambda: groups.merges == [(strong, {weak[0]: weak[0]})])
    cluster.heal()
    await groups.settled("abc")
    assert groups.merges[1:] == [(strong, {name: name for name in sorted(weak)})]
    assert groups.done == [strong], "the first was interrupted"


async def test_a_hook_that_hangs_is_cancelled_when_its_group_is_over(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, hook_s=1_000)
    cluster.start(groups.work)
    await until(cluster, lambda: groups.merges)
    leader, _ = groups.merges[0]
    await asyncio.sleep(30)
    assert groups.works == []
    assert cluster.leaders(CACHE) == (leader,)
    groups.hook_s = 0
    cluster.partition({leader})
    others = "".join(sorted(set("abc") - {leader}))
    await groups.settled(leader, others)
    cluster.heal()
    await groups.settled("abc")


async def test_a_hook_that_raises_ends_the_terms_like_work_that_raises(
    electorate_cluster: Cluster,
) -> None:
    cluster, merges, errors = electorate_cluster, list[dict[str, str]](), list[str]()

    def on_merge(term: Term, others: dict[str, str]) -> None:
        merges.append(others)
        if len(merges) == 1:
            raise ZeroDivisionError

    async def work(node: Node) -> None:
        election = node.election(CACHE, safety="group", on_merge=on_merge)
        while True:
            try:
                async for term in election.terms():
                    async with term:
                        await asyncio.Event().wait()
            except ZeroDivisionError:
                errors.append(node.name)

    cluster.start(work)
    await until(cluster, lambda: len(merges) == 2)
    assert merges[0] == merges[1], "it has not been dealt with"
    assert len(errors) == 1
    assert cluster.term(CACHE, errors[0])


async def test_a_leader_that_crashes_in_its_hook_leaves_it_to_the_next(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, hook_s=1)
    cluster.start(groups.work)
    await until(cluster, lambda: groups.merges)
    first, _ = groups.merges.pop()
    cluster.crash(first)
    groups.busy.clear()
    rest = sorted(set("abc") - {first})
    await groups.settled("".join(rest))
    assert groups.merges == [
        (name, {other: other})
        for name in rest
        for other in rest
        if groups.done[-1] == name != other
    ]


async def test_work_that_is_still_ending_delays_the_next_term_and_nothing_else(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, ending_s=2)
    strong, *weak = by_strength(cluster)
    cluster.start(groups.work)
    await groups.settled("abc")
    cluster.crash(weak[1])
    await until(cluster, lambda: groups.works[-1][1].lost.is_set())
    lost_at = cluster.now
    await until(cluster, lambda: groups.of(weak[0]).leader == groups.of(strong).leader == strong)
    assert cluster.now - lost_at < 1, "the group has been formed meanwhile"
    await groups.settled("".join(sorted((strong, weak[0]))))
    assert cluster.now - lost_at > groups.ending_s - 0.01


async def test_work_that_never_ends_costs_its_node_the_lead(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    groups = GroupWork(cluster, ending_s=30)
    strong, *weak = by_strength(cluster)
    cluster.start(groups.work)
    await groups.settled("abc")
    cluster.crash(weak[1])
    await until(cluster, lambda: weak[0] in cluster.leaders(CACHE))
    assert strong in groups.busy
    assert cluster.now > cluster.pace.grace
    await groups.settled("".join(sorted((strong, weak[0]))))
    assert groups.works[-1][0] == weak[0]


async def test_work_that_ends_by_itself_is_followed_by_another_group_of_the_same(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()

    async def work(node: Node) -> None:
        async for term in node.election(CACHE, safety="group").terms():
            async with term:
                terms.append(term)
                await asyncio.sleep(0.5)

    cluster.start(work)
    await until(cluster, lambda: len(terms) == 5)
    assert len({term.members for term in terms}) == 1
    tokens = [term.token for term in terms]
    assert tokens == list(range(tokens[0], tokens[0] + 5))


async def test_a_term_that_is_over_is_not_handed_out(electorate_cluster: Cluster) -> None:
    cluster, hooks, works = electorate_cluster, list[Term](), list[tuple[str, Term]]()

    async def on_merge(term: Term, others: dict[str, str]) -> None:
        hooks.append(term)
        if len(hooks) == 1:
            cluster.crash(by_strength(cluster)[-1])
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1_000)

    async def work(node: Node) -> None:
        async for term in node.election(CACHE, safety="group", on_merge=on_merge).terms():
            term.check()
            works.append((node.name, term))
            # Not in a block of the term: nothing may cancel it.
            while not term.lost.is_set():
                await asyncio.sleep(0.1)
            term.finish()

    cluster.start(work)
    await until(cluster, lambda: len(works) == 1)
    assert len(hooks) == 2
    cluster.restart(by_strength(cluster)[-1])
    await until(cluster, lambda: len(works) == 2)
    strong = by_strength(cluster)[0]
    assert [(name, len(term.members)) for name, term in works] == [(strong, 2), (strong, 3)]
