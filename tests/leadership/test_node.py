"""Three nodes, one leader: how an application meets it."""

import asyncio
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from electorate import Election
from electorate.errors import IdTaken, LeadershipLost, NodeStopped, TransferFailed
from electorate.leadership.directory import number
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from tests.leadership.cluster import PACE, Cluster, run, running, until


def test_one_of_three_leads_and_all_know_it(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            name = await cluster.led()
            term = cluster.terms[name]
            term.check()
            assert 0 < term.remaining() <= cluster.pace.lease
            assert cluster.nodes["a"].members == ("a", "b", "c")

    run(scene())


def test_who_does_not_ask_for_terms_never_leads(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            assert await cluster.led() == "a"
            await cluster.stop("a")
            await until(lambda: cluster.election("b").leader == Leader(None, None))
            await asyncio.sleep(3 * cluster.pace.lease)
            assert cluster.election("c").leader.leader is None

    run(scene())


def test_a_leader_that_stops_makes_room_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        # With a lease of a minute nobody could wait for its end.
        patient = replace(PACE, T=5.0, P=5.0)
        async with running(tmp_path, pace=patient) as cluster:
            cluster.stand()
            first = await cluster.led()
            await cluster.stop(first)
            second = await cluster.led()
            assert second != first
            (_, one), (_, two) = cluster.held
            assert two > one

    run(scene())


def test_work_is_cancelled_when_its_leader_is_cut_off_and_the_others_elect_another(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            first = await cluster.led()
            term = cluster.terms[first]
            others = [name for name in cluster.nodes if name != first]
            cluster.cut(first, *others)
            await until(term.lost.is_set)
            with pytest.raises(LeadershipLost, match=f"term {term.token} of x is over"):
                term.check()
            await until(lambda: any(map(cluster.leads, others)))
            assert not term.abandoned
            cluster.heal()
            assert await cluster.led() in others
            tokens = [token for _, token in cluster.held]
            assert tokens == sorted(set(tokens))

    run(scene())


def test_work_that_raises_gives_up_the_office_and_is_heard_of(tmp_path: Path) -> None:
    async def break_down(term: Term) -> None:
        raise ZeroDivisionError("the work itself")

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", work=break_down)
            with pytest.raises(ZeroDivisionError, match="the work itself"):
                await cluster.workers.pop("a")
            await until(lambda: cluster.election("b").leader.leader is None)
            cluster.stand("b")
            assert await cluster.led() == "b"

    run(scene())


def test_work_that_ends_by_itself_gives_up_the_office_and_stands_again(tmp_path: Path) -> None:
    async def work(term: Term) -> None:
        await asyncio.sleep(0.01)

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", work=work)
            await until(lambda: len(cluster.held) >= 3)

    run(scene())


def test_a_user_who_blocks_the_loop_stays_in_office(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led()
            token = cluster.terms["a"].token
            time.sleep(4 * cluster.pace.lease)
            cluster.terms["a"].check()
            assert cluster.held == [("a", token)]

    run(scene())


def test_work_that_ignores_its_cancellation_is_abandoned_and_the_office_is_not_released(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        freed = asyncio.Event()

        async def stubborn(term: Term) -> None:
            while not freed.is_set():
                try:
                    await freed.wait()
                except asyncio.CancelledError:
                    continue

        async with running(tmp_path) as cluster:
            cluster.stand("a", work=stubborn)
            await cluster.led()
            cluster.stand("b")
            first = cluster.terms["a"]
            try:
                stepping = asyncio.create_task(cluster.election("c").step_down())
                await until(first.lost.is_set)
                first.check()  # It is still in office, and renews its term, as long as grace lasts.
                await stepping
                assert first.remaining() == 0
                await until(lambda: cluster.leads("b"))
                await until(lambda: first.abandoned)
                await until(lambda: "term 1 of x is over, but its work goes on" in caplog.text)
                assert [name for name, _ in cluster.held] == ["a", "b"]
            finally:
                freed.set()
            await cluster.stop("b")
            await until(lambda: cluster.held[-1][0] == "a")

    run(scene())


def test_the_office_is_handed_to_the_node_that_is_named(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            first = await cluster.led()
            for heir in [name for name in cluster.nodes if name != first] + [first]:
                # Whoever is asked passes it on to the leader.
                await cluster.election("a").transfer(heir)
                assert await cluster.led() == heir
            await cluster.election("b").transfer(first)

    run(scene())


def test_an_office_is_not_handed_to_who_cannot_take_it(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, "abcd") as cluster:
            cluster.stand("a", "b")
            leader = await cluster.led()
            other = "b" if leader == "a" else "a"
            election = cluster.election(leader)
            with pytest.raises(ValueError, match="'z' is no member; the members are a, b, c, d"):
                await election.transfer("z")
            with pytest.raises(TransferFailed, match="c does not stand"):
                await election.transfer("c")
            await cluster.nodes[other].pause()
            elections = cluster.nodes[leader]._engine.elections
            await until(lambda: not elections.stands_with(number(other), "x"))
            with pytest.raises(TransferFailed, match=f"{other} does not stand: it is paused"):
                await election.transfer(other)
            await cluster.nodes[other].resume()
            await cluster.stop("d")
            gone = number("d")
            await until(lambda: gone not in elections.alive)
            with pytest.raises(TransferFailed, match="d cannot be reached"):
                await election.transfer("d")
            assert cluster.leader() == leader

    run(scene())


def test_a_node_that_is_paused_hands_over_and_comes_back(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            first = await cluster.led()
            await cluster.nodes[first].pause()
            assert not cluster.leads(first)
            others = [name for name in cluster.nodes if name != first]
            assert await cluster.led(*others) != first
            await cluster.nodes[first].resume()
            await cluster.election("a").transfer(first)

    run(scene())


def test_a_node_of_a_higher_priority_takes_over_after_a_while(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", "b", priority=5)
            first = await cluster.led()
            cluster.stand("c", priority=10)
            await until(lambda: cluster.leads("c"))
            cluster.election("c").set_priority(1)
            await until(lambda: cluster.leads("a") or cluster.leads("b"))
            assert cluster.held[0][0] == first

    run(scene())


def test_two_nodes_and_a_witness(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("c", priority=0)
            cluster.stand("a", "b")
            first = await cluster.led()
            await cluster.stop(first)
            assert await cluster.led() in {"a", "b"} - {first}
            assert "c" not in cluster.terms

    run(scene())


def test_several_elections_share_one_node(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            elections = {name: cluster.nodes[name].election(f"job {name}") for name in "abc"}
            terms = {name: elections[name].terms() for name in "abc"}
            for name in "abc":
                async with await anext(terms[name]) as term:
                    assert term.election == f"job {name}"
                    for node in cluster.nodes.values():
                        await until(partial(is_led, node.election(f"job {name}"), name))

    run(scene())


def is_led(election: Election, name: str) -> bool:
    return election.leader.leader == name


def test_who_leads_is_told_in_order_and_vacancy_too(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            told: list[Leader] = []

            async def watch() -> None:
                async for leader in cluster.nodes["c"].observe("x"):
                    told.append(leader)

            watching = asyncio.create_task(watch())
            await until(lambda: told == [Leader(None, None)])
            cluster.stand("a")
            await until(lambda: told[-1].leader == "a")
            await cluster.stop("a")
            await until(lambda: told[-1] == Leader(None, None))
            cluster.stand("b")
            await until(lambda: told[-1].leader == "b")
            tokens = [leader.token for leader in told if leader.token]
            assert tokens == sorted(set(tokens))
            watching.cancel()

    run(scene())


def test_without_a_majority_nobody_leads(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            first = await cluster.led()
            await cluster.stop(*[name for name in cluster.nodes if name != first])
            await until(lambda: not cluster.leads(first))
            await until(lambda: cluster.election(first).leader == Leader(None, None))
            await asyncio.sleep(2 * cluster.pace.lease)
            assert not cluster.leads(first)

    run(scene())


class Suspended:
    """The time as after ten seconds of sleep: only the clock that runs through it has moved."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    @staticmethod
    def clock_gettime_ns(clock: int) -> int:
        return time.clock_gettime_ns(clock) + 10_000_000_000 * (clock == time.CLOCK_BOOTTIME)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has such a clock")
def test_a_machine_that_slept_ends_the_term_before_any_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led()
            term, before = cluster.terms["a"], time.monotonic()
            term.check()
            monkeypatch.setattr("electorate.runtime.tcp.time", Suspended())
            with pytest.raises(LeadershipLost):
                term.check()
            assert term.remaining() == 0
            assert time.monotonic() - before < 5, "the other clock has not moved"
            monkeypatch.undo()

    run(scene())


def test_a_node_without_its_memory_has_no_vote(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led()
            await cluster.stop("b", "c")
            shutil.rmtree(tmp_path / "c")
            await cluster.start("c")
            await until(lambda: "says it is c does not have its memory" in caplog.text)
            await until(lambda: "node c is refused by node a: c is known here by" in caplog.text)
            await asyncio.sleep(3 * cluster.pace.lease)
            assert not cluster.leads("a"), "with the vote of c it would be in office"
            await cluster.start("b")
            await until(lambda: cluster.leads("a"))

    run(scene())


def test_a_second_node_of_the_same_name_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            other = Cluster(tmp_path / "other")
            other.places = {**cluster.places, "a": other.places["a"]}
            second = other.node("a")
            with pytest.raises(IdTaken, match="is live"):
                await second.__aenter__()

    run(scene())


def test_a_node_that_has_stopped_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            election = cluster.election("a")
            await cluster.stop("a")
            with pytest.raises(NodeStopped):
                await anext(election.terms())

    run(scene())
