"""The way in: only the latest connection speaks for its node."""

import asyncio
import gc
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from msgspec import Raw

from electorate.runtime.connection import Listener
from electorate.runtime.frame import Beat, Frame, FrameReader, Hello, Letter, Said, Welcome, pack
from electorate.runtime.identity import DEFAULT_CLUSTER
from electorate.runtime.tcp import real
from tests.runtime.caller import hello
from tests.runtime.cluster import free_addresses
from tests.runtime.host import until

LETTERS = b"".join(pack(Letter([Said("election", n, Raw(b"\x01"))])) for n in range(1, 2001))

FEW_LETTERS = b"".join(pack(Letter([Said("election", n, Raw(b"\x01"))])) for n in range(1, 301))


class ListeningNode:
    """A listener, and a list of what it handed on: incarnations, and letters by their numbers."""

    def __init__(self) -> None:
        self.heard: list[tuple[int, int | str]] = []
        self.broken: list[int] = []
        self.on_letter: Callable[[], None] = lambda: None
        self.address = free_addresses(1)[0]
        self._calls: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.listener = Listener(
            real(),
            1,
            DEFAULT_CLUSTER,
            "c",
            frozenset({2, 3}),
            self._hello,
            self._frame,
            self._broken,
            400.0,
        )

    def _broken(self, node: int, is_end: bool) -> None:
        self.broken.append(node)

    def _hello(self, said: Hello) -> None:
        self.heard.append((said.incarnation, "hello"))

    def _frame(self, said: Hello, frame: Beat | Letter) -> None:
        assert isinstance(frame, Letter)
        self.heard.append((said.incarnation, frame.said[0].number))
        self.on_letter()

    async def call(
        self, incarnation: int, more: bytes = b"", process: str = "p"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Call as node 2, and say more in the same breath."""
        reader, writer = await asyncio.open_connection(*self.address)
        writer.write(pack(hello("c", 2, 1, incarnation=incarnation, process=process)) + more)
        self._calls.append((reader, writer))
        return reader, writer

    async def close(self) -> None:
        """Hang up everywhere."""
        await self.listener.close()
        for _, writer in self._calls:
            writer.close()


async def first_frame(reader: asyncio.StreamReader) -> Frame:
    return await FrameReader(partial(reader.read, 4096)).next(1.0)


def test_letters_of_one_connection_are_handed_on_in_their_order() -> None:
    async def run() -> None:
        node = ListeningNode()
        await node.listener.start(node.address)
        _, writer = await node.call(1, FEW_LETTERS)
        await until(lambda: len(node.heard) == 301)
        assert [what for _, what in node.heard] == ["hello", *range(1, 301)]
        writer.close()
        await until(lambda: node.broken == [2])
        assert not node.listener.hears(2)
        await node.close()

    asyncio.run(run())


def test_nothing_of_an_old_connection_is_handed_on_after_a_new_one_is_welcome() -> None:
    async def run() -> None:
        node = ListeningNode()
        node.listener._live_ms = 100.0
        await node.listener.start(node.address)
        _, writer = await node.call(1, LETTERS)
        await until(lambda: len(node.heard) > 10)
        writer.close()  # What it has said is still being read.
        reader, _ = await node.call(2, LETTERS)
        frame: Frame = await first_frame(reader)
        assert frame == Welcome()
        await until(lambda: (2, 250) in node.heard)
        await node.close()
        lives = [incarnation for incarnation, _ in node.heard]
        assert lives == sorted(lives)
        assert lives.count(1) < 2001, "the old connection should have been cut short"
        assert node.broken == []

    asyncio.run(run())


def test_what_a_connection_still_holds_when_all_are_broken_is_never_handed_on() -> None:
    async def run() -> None:
        node = ListeningNode()
        await node.listener.start(node.address)
        node.on_letter = lambda: node.listener.reset() if len(node.heard) == 11 else None
        reader, _ = await node.call(1, LETTERS)
        assert await first_frame(reader) == Welcome()
        await until(lambda: len(node.heard) >= 11)
        await asyncio.sleep(0.05)
        assert len(node.heard) == 11
        assert node.broken == []
        assert not node.listener.hears(2)
        await node.close()

    asyncio.run(run())


def test_a_node_that_has_been_silent_for_long_makes_room_for_a_second_process() -> None:
    async def run() -> None:
        node = ListeningNode()
        node.listener._live_ms = 50.0
        await node.listener.start(node.address)
        await node.call(1)
        await until(lambda: node.listener.hears(2))
        await until(lambda: not node.listener.hears(2))
        reader, _ = await node.call(2, process="another")
        assert await first_frame(reader) == Welcome()
        await node.close()

    asyncio.run(run())


@pytest.mark.parametrize("steps", range(6))
def test_who_calls_while_the_house_is_being_closed_is_sent_away(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left open is reported when it is collected, and that counts as a failure."""
    left_open: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", left_open.append)

    async def run() -> None:
        node = ListeningNode()
        await node.listener.start(node.address)
        with socket.create_connection(node.address) as caller:
            for _ in range(steps):
                await asyncio.sleep(0)
            await node.close()
            caller.setblocking(False)
            with suppress(BlockingIOError, ConnectionResetError):
                assert caller.recv(1) == b""

    asyncio.run(run())
    gc.collect()
    assert left_open == []
