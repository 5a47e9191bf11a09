"""The way out to one other node."""

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec import Raw, msgpack

from electorate.runtime import connection
from electorate.runtime.connection import HandshakeRefused
from electorate.runtime.frame import BadFrame, Beat, Frame, Letter, Refusal, Said
from tests.runtime.host import HELLO, Host, linked, until

BULK = Raw(msgpack.encode("x" * 60_000))


def letter(number: int, body: Raw) -> Letter:
    return Letter([Said("election", number, body)])


def letters(count: int, body: Raw | None = None) -> list[Frame]:
    return [letter(n, body or Raw(msgpack.encode(n))) for n in range(1, count + 1)]


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a test in an event loop."""

    def run() -> None:
        asyncio.run(test())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_loop
async def test_frames_arrive_in_the_order_in_which_they_were_sent() -> None:
    host = Host()
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.link.connected)
        for frame in letters(500):
            keeper.link.send(frame)
        await until(lambda: len(host.calls[0]) == 501)
        assert host.calls == [[HELLO, *letters(500)]]


@in_loop
async def test_what_is_sent_without_a_connection_is_lost_and_counted() -> None:
    host = Host()
    async with linked(host) as keeper:
        keeper.link.send(Beat(hears=True, sent=0))
        assert keeper.link.counters["dropped: not connected"] == 1
        await host.open()
        await until(lambda: keeper.link.connected)
        keeper.link.send(Beat(hears=False, sent=9))
        await until(lambda: len(host.calls[0]) == 2)
        assert host.calls[0][1] == Beat(hears=False, sent=9)


@in_loop
async def test_a_host_that_does_not_read_costs_the_link_and_never_the_loop() -> None:
    host = Host(deaf=True)
    await host.open()
    async with linked(host, fresh_ms=60.0) as keeper:
        await until(lambda: keeper.link.connected)
        began = time.monotonic()
        for frame in letters(400, BULK):
            keeper.link.send(frame)
        assert time.monotonic() - began < 1.0
        await until(lambda: keeper.broken)
        assert isinstance(keeper.broken[0], TimeoutError)
        assert not keeper.link._outbox


@in_loop
async def test_what_was_left_over_is_not_sent_on_the_next_connection() -> None:
    host = Host(deaf=True)
    await host.open()
    async with linked(host, fresh_ms=60.0) as keeper:
        await until(lambda: keeper.link.connected)
        for frame in letters(400, BULK):
            keeper.link.send(frame)
        host.deaf = False
        await until(lambda: keeper.connections == 2)
        keeper.link.send(Beat(hears=True, sent=400))
        await until(lambda: len(host.calls[-1]) == 2)
        assert host.calls[-1] == [HELLO, Beat(hears=True, sent=400)]


@in_loop
async def test_what_waited_for_longer_than_t_is_dropped_and_what_is_fresh_is_sent() -> None:
    host = Host()
    await host.open()
    async with linked(host, fresh_ms=30.0) as keeper:
        await until(lambda: keeper.link.connected)
        keeper.link.send(letter(1, Raw(b"\x01")))
        keeper.link.behind = True  # As if the kernel had no room for that.
        keeper.link.send(letter(2, Raw(b"\x02")))
        time.sleep(0.04)  # The whole process stands still, and the letter grows old.
        keeper.link.send(letter(3, Raw(b"\x03")))
        keeper.link._stirred.set()
        await until(lambda: len(host.calls[0]) == 3)
        assert host.calls[0][1:] == [letter(1, Raw(b"\x01")), letter(3, Raw(b"\x03"))]
        assert keeper.link.counters["dropped: too late"] == 1
        assert not keeper.link.behind


@in_loop
async def test_a_broken_connection_is_reported_once_and_opened_again() -> None:
    host = Host()
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.link.connected)
        host.hang_up()
        await until(lambda: keeper.connections == 2)
        assert len(keeper.broken) == 1
        keeper.link.send(Beat(hears=True, sent=1))
        await until(lambda: host.calls[1:] == [[HELLO, Beat(hears=True, sent=1)]])


@in_loop
async def test_a_connection_that_we_break_ourselves_says_nothing_about_the_other_node() -> None:
    host = Host()
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.link.connected)
        keeper.link.behind = True  # As if the kernel had no room any more.
        keeper.link.send(Beat(hears=True, sent=0))
        keeper.link.reset()
        assert not keeper.link.connected
        keeper.link.send(Beat(hears=True, sent=1))
        await until(lambda: keeper.connections == 2)
        assert keeper.broken == []
        assert [len(call) for call in host.calls] == [1, 1]


@in_loop
async def test_a_new_name_means_a_new_connection_at_once() -> None:
    host = Host()
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.link.connected)
        keeper.link.introduce(lambda: Beat(hears=True, sent=5))  # type: ignore[arg-type, return-value]
        assert not keeper.link.tried
        await until(lambda: keeper.link.connected)
        assert [call[0] for call in host.calls] == [HELLO, Beat(hears=True, sent=5)]


@in_loop
async def test_a_refusal_is_passed_on_with_its_reason() -> None:
    host = Host(Refusal("hello from a stranger", taken=True))
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.broken)
        error = keeper.broken[0]
        assert isinstance(error, HandshakeRefused)
        assert (str(error), error.taken) == ("hello from a stranger", True)
        assert keeper.link.tried
        assert not keeper.link.connected


@pytest.mark.parametrize("answer", [b"\x01\x00\x00\x00\x01\xc1", b"HTTP/1.1 400", Beat(True, 1)])
def test_an_answer_that_is_no_welcome_ends_the_connection(answer: bytes | Frame) -> None:
    async def run() -> None:
        host = Host(answer)
        await host.open()
        async with linked(host) as keeper:
            await until(lambda: keeper.broken)
            assert isinstance(keeper.broken[0], BadFrame)

    asyncio.run(run())


@in_loop
async def test_a_host_that_never_answers_is_given_up() -> None:
    host = Host(b"")
    await host.open()
    async with linked(host) as keeper:
        await until(lambda: keeper.broken, 2.0)
        assert isinstance(keeper.broken[0], TimeoutError)


@in_loop
async def test_a_name_that_cannot_be_resolved_is_tried_again_like_any_other() -> None:
    host = Host()
    host.address = ("x" * 70 + ".invalid", 1)
    async with linked(host) as keeper:
        await until(lambda: len(keeper.broken) > 1)


def test_pauses_between_attempts_double_up_to_a_limit_with_jitter_of_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranges: list[tuple[float, float]] = []

    def middle(low: float, high: float) -> float:
        ranges.append((low, high))
        return 1.0

    monkeypatch.setattr(connection, "BACKOFF_MAX_S", 0.08)

    async def run() -> list[float]:
        async with linked(Host()) as keeper:
            monkeypatch.setattr(keeper.link._chance, "uniform", middle)
            await until(lambda: len(keeper.times) == 6)
            return keeper.times

    times = asyncio.run(run())
    gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
    # The first attempt follows the introduction at once.
    at_least = (0.0, 0.02, 0.04, 0.08, 0.08)
    assert all(gap >= least for gap, least in zip(gaps, at_least, strict=True)), gaps
    assert set(ranges) == {(0.5, 1.5)}


@in_loop
async def test_a_sign_of_life_ends_the_pause_before_the_next_attempt() -> None:
    host = Host()
    async with linked(host) as keeper:
        keeper.link._chance.uniform = lambda a, b: 20.0  # type: ignore[method-assign]
        await until(lambda: len(keeper.times) == 2)  # The next pause is over half a second.
        await host.open()
        began = time.monotonic()
        keeper.link.retry()
        await until(lambda: keeper.link.connected)
        assert time.monotonic() - began < 0.3
