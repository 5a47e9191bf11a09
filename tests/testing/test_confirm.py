"""A majority confirms a term, or it does not: `await term.confirm()` in simulated clusters."""

import asyncio

import pytest

from electorate import LeadershipLost, Node
from electorate.leadership.term import Term
from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


async def led(cluster: Cluster) -> tuple[str, Term]:
    cluster.start(idle)
    leader = await cluster.leader(ELECTION)
    term = cluster.term(ELECTION, leader)
    assert term is not None
    return leader, term


@pytest.mark.electorate(seeds=3)
async def test_a_term_is_confirmed_after_one_round_trip(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    leader, term = await led(cluster)
    cluster.delay(0.02)
    await asyncio.sleep(1)
    for _ in range(5):
        begun = cluster.now
        await term.confirm()
        assert 0.04 <= cluster.now - begun < 0.1
    term.check()
    assert cluster.leaders(ELECTION) == (leader,)


@pytest.mark.electorate(seeds=3)
async def test_without_a_majority_nothing_is_confirmed(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    leader, term = await led(cluster)
    cluster.partition([leader], [name for name in cluster.names if name != leader])
    await asyncio.sleep(0.05)
    with pytest.raises(
        TimeoutError, match=r"no majority has confirmed term \d+ of scheduler after 0\.01 s"
    ):
        await term.confirm(timeout=0.01)
    term.check()
    begun = cluster.now
    with pytest.raises(LeadershipLost):
        await term.confirm()
    assert cluster.now - begun < cluster.pace.lease
    with pytest.raises(LeadershipLost):
        await term.confirm()


@pytest.mark.electorate(seeds=2)
async def test_an_answer_to_an_earlier_question_confirms_nothing(
    electorate_cluster: Cluster,
) -> None:
    """A renewal is under way when the leader is cut off; the call comes after that."""
    cluster = electorate_cluster
    leader, term = await led(cluster)
    others = [name for name in cluster.names if name != leader]
    cluster.delay(0.045)
    await asyncio.sleep(1)
    for _ in range(8):
        await asyncio.sleep(0.03)
        for other in others:
            cluster.cut(leader, other, one_way=True)  # What they have granted still comes.
        with pytest.raises((LeadershipLost, TimeoutError)):
            await term.confirm(timeout=0.2)
        cluster.heal()
        while True:
            await asyncio.sleep(0.5)
            leader = await cluster.leader(ELECTION)
            found = cluster.term(ELECTION, leader)
            if found is not None and found.remaining() > 0.3:
                term = found
                break
        others = [name for name in cluster.names if name != leader]


@pytest.mark.electorate(seeds=2)
async def test_many_calls_at_once_share_rounds_and_do_not_spoil_each_other(
    electorate_cluster: Cluster,
) -> None:
    cluster = electorate_cluster
    leader, term = await led(cluster)
    cluster.delay(0.02)
    confirmed = 0

    async def ask() -> None:
        nonlocal confirmed
        for _ in range(20):
            await term.confirm()
            confirmed += 1
            await asyncio.sleep(0.001)

    await asyncio.gather(*(ask() for _ in range(10)))
    assert confirmed == 200
    assert cluster.leaders(ELECTION) == (leader,)


@pytest.mark.electorate(seeds=1)
async def test_a_call_that_is_given_up_disturbs_no_other(electorate_cluster: Cluster) -> None:
    cluster = electorate_cluster
    _, term = await led(cluster)
    calls = [asyncio.create_task(term.confirm()) for _ in range(4)]
    await asyncio.sleep(0)
    calls[0].cancel()
    calls[2].cancel()
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in done[::2]] == [asyncio.CancelledError] * 2
    assert done[1::2] == [None, None]


@pytest.mark.electorate(nodes=1, seeds=1)
async def test_a_node_that_is_alone_is_a_majority(electorate_cluster: Cluster) -> None:
    _, term = await led(electorate_cluster)
    for _ in range(3):
        await term.confirm(timeout=1)
    term.finish()
    with pytest.raises(LeadershipLost):
        await term.confirm()


@pytest.mark.electorate(nodes=2, seeds=1)
async def test_the_term_of_a_group_cannot_be_confirmed(electorate_cluster: Cluster) -> None:
    refused: list[str] = []

    async def work(node: Node) -> None:
        async for term in node.election("cache", safety="group").terms():
            async with term:
                with pytest.raises(ValueError, match="it is of a group") as error:
                    await term.confirm()
                refused.append(str(error.value))
                await asyncio.sleep(3600)

    electorate_cluster.start(work)
    while not refused:
        await asyncio.sleep(0.1)
