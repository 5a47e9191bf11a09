"""A machine stands still, and its clock with it, while another node leads.

Hypervisors do that when they pause, move or restore a machine. No clock of the machine shows it, so
`check()` passes for a while; a majority knows better, and so does a fence.
"""

import asyncio
import sqlite3
from contextlib import closing

import pytest

from electorate import LeadershipLost, StaleToken
from electorate.fence import SqliteFence
from electorate.leadership.term import Term
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


async def replaced_while_it_stood_still(cluster: Cluster) -> tuple[Term, Term]:
    """The term of a machine that goes on just now, and that of the node that leads meanwhile."""
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    old = cluster.term(ELECTION, first)
    await asyncio.sleep(cluster.random.uniform(1, 2))
    cluster.pause(first, clock_stops=True)
    second = await cluster.leader(ELECTION, other_than=first)
    new = cluster.term(ELECTION, second)
    assert old is not None
    assert new is not None
    assert old.token < new.token
    cluster.unpause(first)
    return old, new


@pytest.mark.electorate(seeds=8)
async def test_check_passes_wrongly_confirm_does_not_and_the_fence_refuses(
    electorate_cluster: Cluster,
) -> None:
    old, new = await replaced_while_it_stood_still(electorate_cluster)
    with closing(sqlite3.connect(":memory:")) as db:
        fence = SqliteFence("state")
        with fence.guard(db, new.token):
            pass
        old.check()
        new.check()
        with pytest.raises(StaleToken), fence.guard(db, old.token):
            pytest.fail("the write was taken")
    with pytest.raises(LeadershipLost):
        await old.confirm()
    await new.confirm()


@pytest.mark.electorate(seeds=4)
async def test_that_lasts_for_as_long_as_a_term_at_most(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    old, _ = await replaced_while_it_stood_still(cluster)
    begun = cluster.now
    while old.remaining() > 0:
        await asyncio.sleep(0.005)
    assert 0.05 < cluster.now - begun <= cluster.pace.lease


@pytest.mark.electorate(seeds=8)
async def test_a_call_that_the_machine_sleeps_through_says_what_was_true_when_it_began(
    electorate_cluster: Cluster,
) -> None:
    """Then the answers are old when they are read: that is why only fences are certain."""
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    term = cluster.term(ELECTION, first)
    assert term is not None
    cluster.delay(0.02)
    await asyncio.sleep(1)
    call = asyncio.create_task(term.confirm())
    await asyncio.sleep(0.03)  # The voters have granted.
    cluster.pause(first, clock_stops=True)
    await cluster.leader(ELECTION, other_than=first)
    cluster.unpause(first)
    await asyncio.gather(call, return_exceptions=True)  # They may have come, and say yes.
    with pytest.raises(LeadershipLost):
        await term.confirm()


@pytest.mark.electorate(seeds=8)
async def test_when_its_wall_clock_is_set_right_it_doubts_its_terms_at_once(
    electorate_cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = electorate_cluster
    old, new = await replaced_while_it_stood_still(cluster)
    old.check()
    for name in cluster.names:
        cluster.set_wall_clock(name)
    await asyncio.sleep(0.05)
    with pytest.raises(LeadershipLost):
        old.check()
    new.check()
    assert [text for text in caplog.messages if "wall clock was set forward" in text]


@pytest.mark.electorate(seeds=4)
async def test_a_leader_whose_wall_clock_is_set_is_confirmed_and_goes_on(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    cluster.start(idle)
    first = await cluster.leader(ELECTION)
    term = cluster.term(ELECTION, first)
    assert term is not None
    cluster.delay(0.01)
    await asyncio.sleep(1)
    cluster.set_wall_clock(first, ahead_s=1.0)
    doubted = 0
    for _ in range(200):
        await asyncio.sleep(0.001)
        doubted += term.remaining() <= 0
    assert 15 <= doubted <= 40, "until the answers of one round trip have come"
    term.check()
    assert not term.lost.is_set()
    cluster.set_wall_clock(first)  # Back: that does not say that it stood still.
    for _ in range(200):
        await asyncio.sleep(0.001)
        term.check()
