"""What may befall a simulated cluster, by call or by seed, and what comes of it."""

import asyncio
import random
from pathlib import Path

import pytest

from electorate import Node
from electorate.errors import LeadershipLost
from electorate.leadership.term import Term
from electorate.runtime.host import Host
from electorate.simulate.fault import Crash, Pause, Recover
from electorate.testing import Cluster
from electorate.testing.chaos import FAULTS, draw_plan
from tests.testing.worker import ELECTION, Database, idle, worker

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.electorate(seeds=4)  # Some of them wake the application first, others its node.
async def test_a_process_that_stood_still_knows_at_once_that_its_term_is_over(
    electorate_cluster: Cluster,
) -> None:
    cluster, last_told = electorate_cluster, list[str]()

    async def curious(node: Node) -> None:
        async for term in node.election(ELECTION).terms():
            while True:
                try:
                    term.check()
                except LeadershipLost:
                    last_told.append(list(cluster.story)[-1].split("  ")[-1])
                    break
                await asyncio.sleep(0.01)

    cluster.start(curious)
    first = await cluster.leader(ELECTION)
    cluster.pause(first)
    second = await cluster.leader(ELECTION)
    await cluster.calm()
    cluster.unpause(first)
    await asyncio.sleep(0.000_1)
    # Nothing has been heard yet: its clock alone has told it.
    by_node = f"{first} does not lead {ELECTION} any more"
    assert last_told[0].startswith((f"{first} goes on", by_node))
    await cluster.calm()
    assert await cluster.leader(ELECTION) == second


async def test_a_short_pause_costs_no_office(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.pause(first)
    await asyncio.sleep(0.15)
    cluster.unpause(first)
    await cluster.calm()
    assert len(terms) == 1
    terms[0].check()


async def test_a_leader_whose_clock_jumps_ahead_leaves_in_time(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.clock_jump(first, 60)
    with pytest.raises(LeadershipLost):
        terms[0].check()
    await cluster.calm()
    assert terms[0].lost.is_set()
    assert terms[-1].token > terms[0].token


async def test_a_leader_whose_clock_is_too_slow_leads_beside_one_with_a_larger_token(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.clock_rate(first, 0.5)
    cluster.partition({first})
    second = await cluster.leader(ELECTION, other_than=first)
    assert [cluster.term(ELECTION, name) for name in (first, second)] == terms
    assert terms[0].token < terms[1].token


async def test_clocks_that_drift_within_the_bound_cost_nothing(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    for rate, name in zip((0.99, 1.0, 1.01), cluster.names, strict=True):
        cluster.clock_rate(name, rate)
    await cluster.calm()
    assert len(terms) == 1
    cluster.crash(await cluster.leader(ELECTION))
    await cluster.calm()
    assert len(terms) == 2


async def test_a_machine_that_stood_still_with_its_clock_believes_that_it_leads(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    first = await cluster.leader(ELECTION)
    cluster.pause(first, clock_stops=True)
    await cluster.leader(ELECTION)
    cluster.unpause(first)
    terms[0].check()
    assert terms[0].token < terms[1].token
    await cluster.calm()
    assert terms[0].lost.is_set()


async def test_a_machine_that_stood_still_with_its_clock_may_be_started_anew(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    cluster.pause(first, clock_stops=True)
    await cluster.leader(ELECTION)
    cluster.crash(first)
    cluster.restart(first)
    for name in set(cluster.names) - {first}:
        await cluster.node(name).pause()
    assert await cluster.leader(ELECTION) == first


async def test_a_crash_is_silent(electorate_cluster: Cluster) -> None:
    cluster, ended = electorate_cluster, list[str]()

    async def tidy(node: Node) -> None:
        try:
            await idle(node)
        finally:
            ended.append(node.name)

    cluster.start(tidy)
    cluster.crash(await cluster.leader(ELECTION))
    await cluster.calm()
    assert ended == []


async def test_nobody_counts_on_a_node_whose_disk_was_wiped(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    await cluster.calm()
    cluster.crash(first)
    cluster.wipe(first)
    cluster.restart(first)
    second = await cluster.leader(ELECTION, other_than=first)
    cluster.crash(next(name for name in cluster.names if name not in (first, second)))
    await cluster.calm()
    with pytest.raises(TimeoutError):
        await cluster.leader(ELECTION, within_s=10)


async def test_an_office_survives_some_loss_and_not_slow_messages(
    electorate_cluster: Cluster,
) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    await cluster.calm()
    cluster.lose(0.05)
    await asyncio.sleep(5)
    assert len(terms) == 1
    cluster.heal()
    cluster.delay(1, 1)
    await asyncio.sleep(10)
    assert terms[-1].lost.is_set()
    with pytest.raises(TimeoutError):
        await cluster.leader(ELECTION, within_s=20)
    cluster.delay(0, 0.001)
    await cluster.leader(ELECTION)


async def test_one_link_that_fails_one_way_leaves_one_leader(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    other = next(name for name in cluster.names if name != first)
    cluster.cut(first, other, one_way=True)
    await cluster.calm()
    await cluster.leader(ELECTION)


async def test_faults_make_sense_only_where_they_can_happen(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    with pytest.raises(ValueError, match="'x' is no member; the members are a, b, c"):
        cluster.crash("x")
    with pytest.raises(ValueError, match="a is up"):
        cluster.restart("a")
    with pytest.raises(ValueError, match="a is up"):
        cluster.wipe("a")
    with pytest.raises(ValueError, match="a cannot be cut off from itself"):
        cluster.cut("a", "a")
    with pytest.raises(ValueError, match="on more than one side: b"):
        cluster.partition({"a", "b"}, {"b", "c"})
    with pytest.raises(ValueError, match="never goes back"):
        cluster.clock_jump("a", -1)
    with pytest.raises(ValueError, match="no fault fire: choose from crash, pause, cut"):
        await cluster.chaos(1, ["fire"])
    cluster.crash("a")
    with pytest.raises(ValueError, match="a is down"):
        cluster.pause("a")


@pytest.mark.electorate(seeds=5)
async def test_the_worker_survives_chaos(electorate_cluster: Cluster) -> None:
    cluster, database = electorate_cluster, Database()
    cluster.start(worker, cluster, database)
    await cluster.chaos(20)
    await cluster.leader(ELECTION)
    await cluster.calm()
    assert database.in_order
    assert database.rows


@pytest.mark.electorate(nodes=5, seeds=3)
async def test_chaos_mends_what_it_has_cut_and_nothing_else(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    cluster.cut("a", "b")
    cluster.lose(0.01)
    await cluster.chaos(30, ["cut"])
    network, names = cluster._network, cluster.names
    machine = {name: cluster._member(name).machine for name in names}
    ways = [(a, b) for a in names for b in names if network.is_cut(machine[a], machine[b])]
    assert ways == [("a", "b"), ("b", "a")]
    assert network.loss == 0.01
    told = [line.split("  ")[-1] for line in cluster.story]
    assert "the network is whole" not in told
    cut_by_chaos = sum(line.endswith("one way") for line in told)
    assert 0 < sum(line.endswith("again") for line in told) <= cut_by_chaos
    with pytest.raises(ValueError, match="from 0 to 1, not 2"):
        cluster.lose(2)


async def test_delays_may_follow_a_model_of_the_simulator(electorate_cluster: Cluster) -> None:
    cluster, terms = electorate_cluster, list[Term]()
    cluster.start(idle, terms)
    await cluster.leader(ELECTION)
    cluster.delay("pareto:0.1T,1.5")
    await cluster.calm()
    assert terms[-1].remaining() > 0
    assert any(line.endswith("delays are pareto:0.1T,1.5") for line in cluster.story)
    with pytest.raises(ValueError, match="'sometimes' is not a delay model"):
        cluster.delay("sometimes")
    with pytest.raises(ValueError, match=r"from 0\.02 up to 0\.01 s is empty"):
        cluster.delay(0.02, 0.01)


async def test_a_node_that_stood_still_notices_it_as_one_does_that_is_deployed(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    cluster.pause(first)
    await asyncio.sleep(2)
    cluster.unpause(first)
    await cluster.calm()
    host = cluster._member(first).engine.host
    assert type(host) is Host
    assert host.counters["pauses noticed"] == 1
    assert host.counters["lives ended: stood still"] == 1
    assert host.store.incarnation == 2


async def test_a_node_connects_again_after_a_cut_and_after_a_crash_of_another(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster

    def reach() -> list[int]:
        hosts = [cluster._member(name).engine.host for name in cluster.names]
        return [sum(link.connected for link in host.network.links.values()) for host in hosts]

    await asyncio.sleep(1)
    assert reach() == [2, 2, 2]
    cluster.partition({"a"})
    await asyncio.sleep(2)
    assert reach() == [0, 1, 1]
    cluster.heal()
    await asyncio.sleep(1.5)
    assert reach() == [2, 2, 2]
    cluster.crash("c")
    await asyncio.sleep(2)
    assert reach()[:2] == [1, 1]
    cluster.restart("c")
    await asyncio.sleep(1.5)
    assert reach() == [2, 2, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_chaos_hurts_a_minority_at_once_and_mends_it(count: int) -> None:
    nodes = tuple(range(1, count + 1))
    for seed in range(20):
        plan = draw_plan(random.Random(seed), nodes, 60.0, FAULTS)
        assert plan == draw_plan(random.Random(seed), nodes, 60.0, FAULTS)
        back = {(fault.node, fault.at) for fault in plan if isinstance(fault, Recover)}
        hurt: set[tuple[int, int, int]] = set()
        for fault in plan:
            if isinstance(fault, Crash):
                until = min(at for node, at in back if node == fault.node and at >= fault.at)
                hurt.add((fault.node, fault.at, until))
            elif isinstance(fault, Pause):
                hurt.add((fault.node, fault.at, fault.until))
        for _, at, _ in hurt:
            assert sum(begun <= at < end for _, begun, end in hurt) <= max(1, (count - 1) // 2)
        assert hurt
