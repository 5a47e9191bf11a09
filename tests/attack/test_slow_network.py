"""Where messages take longer than the pace allows nobody leads: the log says so, and what to do."""

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from electorate import Node, Pace
from electorate.leadership.answers import SLOW, AnswerTimes
from electorate.testing import Cluster
from tests.runtime.cluster import free_addresses
from tests.testing.worker import ELECTION, idle

WORDS = re.compile(
    r"(\w): answers from (.*) take (\d+) ms, and this pace allows (\d+) ms: (.*); "
    r"use Pace\(T=([\d.]+), P=([\d.]+)\) at all nodes"
)


async def lead(node: Node) -> None:
    """Come into office and stay there."""
    await idle(node)


def slow(cluster: Cluster, way_s: float, seconds: float) -> tuple[str, ...]:
    """Who leads in a network in which every message takes so long."""
    cluster.delay(way_s, way_s)
    cluster.start(lead)

    async def scene() -> tuple[str, ...]:
        await asyncio.sleep(seconds)
        return cluster.leaders(ELECTION)

    return cluster.run(scene())


def test_a_network_that_is_too_slow_is_named_with_a_pace_that_would_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """From 130 ms one way there was never a leader, and the log was empty."""
    assert slow(Cluster(3, seed=1), 0.13, 60.0) == ()
    told = [found.groups() for text in caplog.messages if (found := WORDS.fullmatch(text))]
    assert {name for name, *_ in told} == {"a", "b", "c"}
    assert {(allowed, outcome) for _, _, _, allowed, outcome, _, _ in told} == {
        ("200", "nobody can lead from here")
    }
    assert all(260 <= int(took) < 270 for _, _, took, *_ in told)
    assert 3 <= len(told) <= 15, "it is said ever more rarely"
    pace = Pace(T=float(told[0][5]), P=float(told[0][6]))
    assert len(slow(Cluster(3, seed=1, pace=pace), 0.13, 10.0)) == 1


def test_a_network_that_is_fast_enough_is_not_named(caplog: pytest.LogCaptureFixture) -> None:
    assert len(slow(Cluster(3, seed=1), 0.05, 20.0)) == 1
    assert not [text for text in caplog.messages if "answers from" in text]


def test_a_minority_that_is_slow_is_named_too() -> None:
    times = AnswerTimes("a", Pace(), "?abcde".__getitem__)
    took = {2: 20.0, 3: 240.4, 4: 20.0, 9: 900.0}
    told = [times.look(took, {1, 2, 3, 4, 5}, 1) for _ in range(3)]
    assert told[:2] == [None, None]
    assert told[2] is not None
    assert SLOW % told[2] == (
        "a: answers from c take 240 ms, and this pace allows 200 ms: their votes come too late; "
        "use Pace(T=0.1, P=0.05) at all nodes"
    )


async def relay(to: tuple[str, int], way_s: float) -> tuple[asyncio.Server, int]:
    """Listens on loopback, and passes on what it hears, both ways, after so many seconds."""
    loop = asyncio.get_running_loop()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def read() -> None:
            data = b"-"
            while data:
                data = await reader.read(65536)
                queue.put_nowait((loop.time() + way_s, data))

        reading = asyncio.create_task(read())
        try:
            while True:
                at, data = await queue.get()
                await asyncio.sleep(at - loop.time())
                if not data:
                    return
                writer.write(data)
        finally:
            reading.cancel()
            writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(*to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, back), carry(there, writer), return_exceptions=True)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def test_it_is_the_same_on_a_real_network(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pace = Pace(T=0.01, P=0.005, beat=0.02, timeout=0.2)

    async def scene() -> None:
        at = dict(zip("ab", free_addresses(2), strict=True))
        relays = {name: await relay(at[name], 0.04) for name in at}
        async with AsyncExitStack() as stack:
            for name, other in ("ab", "ba"):
                places = [
                    f"{name}@{at[name][0]}:{at[name][1]}",
                    f"{other}@127.0.0.1:{relays[other][1]}",
                ]
                node = Node(places[0], places[1:], tmp_path / name, pace=pace)
                await stack.enter_async_context(node)
                node.election("x")
            deadline = asyncio.get_running_loop().time() + 30
            while not (told := list(filter(WORDS.fullmatch, caplog.messages))):
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.05)
        for server, _ in relays.values():
            server.close()
        found = WORDS.fullmatch(told[0])
        assert found is not None
        assert 80 <= int(found[3]) < 400
        assert found[4] == "40"

    asyncio.run(scene())
