"""Elections in groups, in a simulated cluster: sides, merges, hooks, and what goes wrong there."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress

import pytest

from electorate.leadership.engine import Leader
from electorate.leadership.group_term import GroupTerm
from electorate.leadership.node import Election, Node
from electorate.leadership.term import LeadershipLost, Term
from electorate.testing import Cluster, TwoLeaders

CACHE = "cache"


class Diary:
    """What all nodes have done: hooks and work, each with its beginning and its end."""

    def __init__(self, cluster: Cluster, hook_s: float = 0.1, ending_s: float = 0.0) -> None:
        self.cluster = cluster
        self.hook_s = hook_s
        self.ending_s = ending_s
        self.merges: list[tuple[str, dict[str, str]]] = []
        self.done: list[str] = []
        """Who has come to the end of its hook."""
        self.works: list[tuple[str, Term]] = []
        self.busy: set[str] = set()

    def election(self, node: Node, priority: int | None = None) -> Election:
        async def on_merge(term: Term, others: dict[str, str]) -> None:
            with self.alone(node.name):
                self.merges.append((node.name, others))
                await asyncio.sleep(self.hook_s)
                self.done.append(node.name)

        return node.election(CACHE, priority, safety="group", on_merge=on_merge)

    async def work(self, node: Node, priority: int | None = None) -> None:
        """Lead whenever there is a group to lead."""
        async for term in self.election(node, priority).terms():
            async with term:
                with self.alone(node.name):
                    self.works.append((node.name, term))
                    try:
                        await asyncio.Event().wait()
                    finally:
                        await asyncio.sleep(self.ending_s)

    def alone(self, name: str) -> "Alone":
        return Alone(self.busy, name)

    def leads(self, *sides: str) -> bool:
        """Whether there are just these groups, each with a leader at work and known to all."""
        held = [pair for pair in self.works if self.cluster.term(CACHE, pair[0]) is pair[1]]
        named = all(
            self.of(name) == Leader(leader, term.token)
            for leader, term in held
            for name in term.members
        )
        return named and sorted("".join(term.members) for _, term in held) == sorted(sides)

    def of(self, name: str) -> Leader:
        if not self.cluster.is_running(name):
            return Leader(None, None)
        return self.cluster.node(name).election(CACHE, safety="group").leader

    async def settled(self, *sides: str) -> None:
        await until(self.cluster, lambda: self.leads(*sides))


class Alone:
    """Nothing else is done at this node meanwhile."""

    def __init__(self, busy: set[str], name: str) -> None:
        self.busy = busy
        self.name = name

    def __enter__(self) -> None:
        assert self.name not in self.busy, "two things are done at once"
        self.busy.add(self.name)

    def __exit__(self, *_: object) -> None:
        self.busy.discard(self.name)


async def until(cluster: Cluster, condition: Callable[[], object], within_s: float = 20) -> None:
    deadline = cluster.now + within_s
    while not condition():
        assert cluster.now < deadline, f"not after {within_s} s"
        await asyncio.sleep(0.005)


@pytest.mark.electorate(nodes=5, seeds=5)
async def test_each_side_has_a_leader_and_the_sides_merge_by_themselves(
    electorate_cluster: Cluster,
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    cluster.start(diary.work)
    await diary.settled("abcde")
    (first, others) = diary.merges.pop()
    assert others == {name: name for name in "abcde" if name != first}
    assert diary.merges == []
    cluster.partition("ab", "cde")
    await diary.settled("ab", "cde")
    left, right = sorted(cluster.leaders(CACHE))
    diary.merges.clear()
    cluster.heal()
    await diary.settled("abcde")
    (leader,) = cluster.leaders(CACHE)
    came, former = ("cde", right) if leader == left else ("ab", left)
    assert diary.merges == [(leader, dict.fromkeys(came, former))]
    assert diary.done[-1] == diary.works[-1][0] == leader, "first the hook, then the work"
    await asyncio.sleep(20)
    assert len(diary.merges) == 1
    assert diary.works[-1][1].remaining() == math.inf


@pytest.mark.electorate(nodes=4, seeds=6)
async def test_after_any_chaos_there_is_one_group_again(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, hook_s=0.3, ending_s=0.2)

    async def work(node: Node) -> None:
        diary.busy.discard(node.name)  # Who has crashed does nothing any more.
        await diary.work(node)

    cluster.start(work)
    await cluster.chaos(20)
    cluster.heal()
    await diary.settled("abcd")
    await asyncio.sleep(10)
    assert diary.leads("abcd")


async def test_who_crashes_or_comes_back_makes_a_new_group_with_a_new_term(
    electorate_cluster: Cluster,
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    cluster.start(diary.work)
    await diary.settled("abc")
    leader, first = diary.works[-1]
    follower, other = (name for name in "abc" if name != leader)
    diary.merges.clear()
    cluster.crash(follower)
    await diary.settled("".join(sorted(leader + other)))
    assert diary.merges == [], "who stays was in no other group"
    assert diary.works[-1][1].token > first.token
    with pytest.raises(LeadershipLost, match=f"term {first.token} of cache is over"):
        first.check()
    cluster.restart(follower)
    await diary.settled("abc")
    assert diary.merges == [(leader, {follower: follower})]
    diary.works.clear()
    for number in range(5):
        # So soon that nobody takes it for dead: it has to ask who is stronger.
        cluster.crash(follower)
        cluster.restart(follower)
        await asyncio.sleep(3 + number / 5)
        assert diary.leads("abc")
    assert {name for name, _ in diary.works} == {leader}


async def test_a_hook_that_is_interrupted_is_called_again_for_whoever_it_has_not_dealt_with(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, hook_s=3)
    strong, *weak = by_strength(cluster)
    cluster.partition({strong}, {weak[0]}, {weak[1]})
    cluster.start(diary.work)
    await diary.settled(*"abc")
    cluster.heal()
    cluster.cut(strong, weak[1])
    cluster.cut(*weak)
    await until(cluster, lambda: diary.merges == [(strong, {weak[0]: weak[0]})])
    cluster.heal()
    await diary.settled("abc")
    assert diary.merges[1:] == [(strong, {name: name for name in sorted(weak)})]
    assert diary.done == [strong], "the first was interrupted"


async def test_a_hook_that_hangs_is_cancelled_when_its_group_is_over(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, hook_s=1_000)
    cluster.start(diary.work)
    await until(cluster, lambda: diary.merges)
    leader, _ = diary.merges[0]
    await asyncio.sleep(30)
    assert diary.works == []
    assert cluster.leaders(CACHE) == (leader,)
    diary.hook_s = 0
    cluster.partition({leader})
    others = "".join(sorted(set("abc") - {leader}))
    await diary.settled(leader, others)
    cluster.heal()
    await diary.settled("abc")


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
    diary = Diary(cluster, hook_s=1)
    cluster.start(diary.work)
    await until(cluster, lambda: diary.merges)
    first, _ = diary.merges.pop()
    cluster.crash(first)
    diary.busy.clear()
    rest = sorted(set("abc") - {first})
    await diary.settled("".join(rest))
    assert diary.merges == [
        (name, {other: other}) for name in rest for other in rest if diary.done[-1] == name != other
    ]


async def test_work_that_is_still_ending_delays_the_next_term_and_nothing_else(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, ending_s=2)
    strong, *weak = by_strength(cluster)
    cluster.start(diary.work)
    await diary.settled("abc")
    cluster.crash(weak[1])
    await until(cluster, lambda: diary.works[-1][1].lost.is_set())
    lost_at = cluster.now
    await until(cluster, lambda: diary.of(weak[0]).leader == diary.of(strong).leader == strong)
    assert cluster.now - lost_at < 1, "the group has been formed meanwhile"
    await diary.settled("".join(sorted((strong, weak[0]))))
    assert cluster.now - lost_at > diary.ending_s - 0.01


async def test_work_that_never_ends_costs_its_node_the_lead(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, ending_s=30)
    strong, *weak = by_strength(cluster)
    cluster.start(diary.work)
    await diary.settled("abc")
    cluster.crash(weak[1])
    await until(cluster, lambda: weak[0] in cluster.leaders(CACHE))
    assert strong in diary.busy
    assert cluster.now > cluster.pace.grace_ms / 1000
    await diary.settled("".join(sorted((strong, weak[0]))))
    assert diary.works[-1][0] == weak[0]


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


async def test_the_highest_priority_leads_its_group_and_zero_never_does(
    electorate_cluster: Cluster,
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    weak = by_strength(cluster)[-1]
    for name in cluster.names:
        cluster.start(diary.work, 5 if name == weak else None, on=name)
    await diary.settled("abc")
    assert cluster.leaders(CACHE) == (weak,)
    other = by_strength(cluster)[1]
    cluster.node(other).election(CACHE, safety="group").set_priority(7)
    await until(cluster, lambda: cluster.leaders(CACHE) == (other,))
    await diary.settled("abc")
    cluster.node(other).election(CACHE, safety="group").set_priority(0)
    await until(cluster, lambda: cluster.leaders(CACHE) == (weak,))
    await diary.settled("abc")
    cluster.partition({other})
    await until(cluster, lambda: diary.of(other) == Leader(None, None))
    await asyncio.sleep(10)
    assert cluster.leaders(CACHE) == (weak,)


async def test_who_only_observes_follows_and_leads_nobody(electorate_cluster: Cluster) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    strong, middle, weak = by_strength(cluster)
    seen: dict[str, list[Leader]] = {strong: [], middle: []}

    async def watch(node: Node) -> None:
        async for leader in node.observe(CACHE, safety="group"):
            seen[node.name].append(leader)

    cluster.start(watch, on=[strong, middle])
    await asyncio.sleep(5)
    nobody = Leader(None, None)
    assert seen == {strong: [nobody], middle: [nobody]}, "who only observes leads nobody"
    cluster.start(diary.work, on=weak)
    await diary.settled("abc")
    leads = Leader(weak, diary.works[-1][1].token)
    assert seen == {strong: [nobody, leads], middle: [nobody, leads]}
    await cluster.node(weak).pause()
    await asyncio.sleep(5)
    assert seen == {strong: [nobody, leads, nobody], middle: [nobody, leads, nobody]}


async def test_who_pauses_or_stops_lets_its_work_end_and_leaves_the_lead(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    diary = Diary(cluster, ending_s=0.5)
    cluster.start(diary.work)
    await diary.settled("abc")
    first, term = diary.works[-1]
    pausing = asyncio.create_task(cluster.node(first).pause())
    await until(cluster, term.lost.is_set)
    await asyncio.sleep(0.2)
    term.check()  # As long as the work ends, it is still the same group.
    await pausing
    assert term.remaining() == 0
    await until(cluster, lambda: cluster.leaders(CACHE) not in ((), (first,)))
    await diary.settled("abc")
    assert diary.works[-1][0] != first, "a node that pauses follows"
    await cluster.node(first).resume()
    await until(cluster, lambda: cluster.leaders(CACHE) == (first,))
    await diary.settled("abc")
    await cluster.stop(first)
    await diary.settled("".join(sorted(set("abc") - {first})))


async def test_who_does_not_ask_for_terms_any_more_leads_no_longer(
    electorate_cluster: Cluster,
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    strong, *weak = by_strength(cluster)
    cluster.start(diary.work, on=weak)
    election = diary.election(cluster.node(strong))

    async def once() -> None:
        async for term in election.terms():
            async with term:
                return

    await once()
    await until(cluster, lambda: election.leader.leader not in (None, strong))
    await diary.settled("abc")
    waiting = asyncio.create_task(anext(election.terms()))
    await until(cluster, waiting.done)
    (await waiting).finish()
    waiting = asyncio.create_task(anext(election.terms()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(1)
    assert election.leader.leader != strong, "who says so is out at once"


async def test_nobody_leads_alone_who_is_about_to_be_found(electorate_cluster: Cluster) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    for name in cluster.names:
        cluster.node(name).election(CACHE, safety="group")
    await asyncio.sleep(5)
    cluster.start(diary.work)
    await diary.settled("abc")
    leader, _ = diary.works.pop()
    assert diary.works == []
    cluster.crash(leader)
    diary.busy.clear()
    await diary.settled("".join(sorted(set("abc") - {leader})))
    diary.works.clear()
    cluster.restart(leader)
    await asyncio.sleep(0.4)
    cluster.pause(leader)
    await asyncio.sleep(5)
    cluster.unpause(leader)
    await diary.settled("abc")
    assert [len(term.members) for _, term in diary.works] == [3]


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


async def test_a_node_that_is_paused_follows_also_in_a_new_election(
    electorate_cluster: Cluster,
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    strong = by_strength(cluster)[0]
    await cluster.node(strong).pause()
    cluster.start(diary.work)
    await diary.settled("abc")
    assert strong not in {name for name, _ in diary.works}


async def test_nobody_listens_to_a_node_without_its_memory(electorate_cluster: Cluster) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    weak = by_strength(cluster)[-1]
    cluster.start(diary.work)
    await diary.settled("abc")
    cluster.crash(weak)
    cluster.wipe(weak)
    cluster.restart(weak)
    await diary.settled(weak, "".join(sorted(set("abc") - {weak})))
    await asyncio.sleep(10)
    assert len(cluster.leaders(CACHE)) == 2


async def test_both_kinds_of_election_live_side_by_side(electorate_cluster: Cluster) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    cluster.start(diary.work)
    held: list[Term] = []

    async def scheduler(node: Node) -> None:
        async for term in node.election("scheduler").terms():
            async with term:
                held.append(term)
                await asyncio.Event().wait()

    cluster.start(scheduler)
    await diary.settled("abc")
    await cluster.leader("scheduler")
    assert held[0].members == ("a", "b", "c")
    cluster.partition({"a"})
    await diary.settled("a", "bc")
    assert await cluster.leader("scheduler") in "bc"
    assert len(cluster.leaders("scheduler")) == 1
    cluster.heal()
    await diary.settled("abc")


async def test_one_name_is_one_kind_of_election(
    electorate_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    node = cluster.node("a")
    cluster.start(diary.work, on=["a", "b"])
    await diary.settled("ab")
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
    assert diary.leads("ab"), "the two elections know nothing of each other"
    told = sorted(record.message for record in caplog.records)
    assert told == [
        f"{name} elects cache {kind}: neither takes part in the other's election"
        for name, kind in [
            ("a", "in groups, and this node by quorum"),
            ("b", "in groups, and this node by quorum"),
            ("c", "by quorum, and this node in groups"),
            ("c", "by quorum, and this node in groups"),
        ]
    ]


async def test_nobody_hands_over_a_group(electorate_cluster: Cluster) -> None:
    cluster, diary = electorate_cluster, Diary(electorate_cluster)
    cluster.start(diary.work)
    await diary.settled("abc")
    election = cluster.node("a").election(CACHE, safety="group")
    why = "each group of cache is led by its strongest member: set_priority changes that"
    with pytest.raises(ValueError, match=why):
        await election.transfer("b")
    with pytest.raises(ValueError, match=why):
        await election.step_down()
    assert repr(diary.works[-1][1]).endswith("leads a, b, c>")


def test_two_leaders_of_one_group_fail_the_test() -> None:
    cluster = Cluster()
    diary = Diary(cluster)

    async def scene() -> None:
        cluster.start(diary.work)
        await diary.settled("abc")
        leader, term = diary.works[-1]
        follower = next(name for name in "abc" if name != leader)
        office = cluster._member(follower).life.offices.groups.offices[CACHE]
        office.term = GroupTerm(CACHE, term.token, office, lambda: 0.0, term.members, {})
        office._look = lambda: None  # type: ignore[method-assign]
        await asyncio.sleep(1)

    with pytest.raises(TwoLeaders, match="lead one group of cache at once"):
        cluster.run(scene())


def by_strength(cluster: Cluster) -> list[str]:
    """The strongest first: with equal priorities the numbers of the names decide."""
    return sorted(cluster.names, key=lambda name: -cluster._member(name).id)


@pytest.mark.parametrize(
    ("what", "worst_s"), [("crash", 1.4), ("another", 0.75), ("split", 1.7), ("heal", 0.9)]
)
def test_it_takes_no_longer_than_the_page_says(what: str, worst_s: float) -> None:
    """docs/leadership.md has the same for more seeds."""
    assert max(took(what, seed) for seed in range(6)) <= worst_s


def took(what: str, seed: int) -> float:
    """How long it takes from a fault until all groups are at work again."""
    cluster = Cluster(seed=seed)
    diary = Diary(cluster, hook_s=0)

    async def scene() -> float:
        cluster.start(diary.work)
        await diary.settled("abc")
        await asyncio.sleep(3 + cluster.random.random())
        (leader,) = cluster.leaders(CACHE)
        others = [name for name in cluster.names if name != leader]
        begun = cluster.now
        if what == "another":
            cluster.crash(others.pop())
            await diary.settled("".join(sorted([leader, *others])))
        elif what == "crash":
            cluster.crash(leader)
            await diary.settled("".join(others))
        else:
            cluster.partition({leader})
            await diary.settled(leader, "".join(others))
        if what == "heal":
            await asyncio.sleep(3 + cluster.random.random())
            begun = cluster.now
            cluster.heal()
            await diary.settled("abc")
        return cluster.now - begun

    return cluster.run(scene())
