"""What a host opens and when, and what is left to one at which nobody can connect."""

import ast
import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import msgpack

from electorate import runtime
from electorate.errors import StoreError
from electorate.runtime.config import HostConfig
from electorate.runtime.environment import Address
from electorate.runtime.host import Host, Mail, Service
from electorate.runtime.thread import HostThread
from tests.runtime.cluster import free_addresses, wait_until

NOTES = "notes"
SOCKETS = {
    *("open_connection", "start_server", "create_connection", "create_server"),
    "connect_accepted_socket",
}


class Notes(Service):
    """Keeps what it is sent."""

    kinds = (NOTES,)

    def __init__(self) -> None:
        self.read: list[tuple[int, str]] = []
        self.has_begun = self.has_ended = False

    def begin(self, host: Host) -> None:
        self.has_begun = True

    def decode(self, kind: str, body: bytes) -> str:
        return msgpack.decode(body, type=str)

    def receive(self, kind: str, mail: Mail) -> None:
        self.read.append((mail.sender, mail.message))

    async def end(self) -> None:
        self.has_ended = True


def host(folder: Path, me: int, addresses: dict[int, Address], **more: Any) -> Host:
    config = HostConfig(me, addresses, folder / f"node-{me}", "c", timeout_ms=250.0, **more)
    return Host(config, [Notes()])


def notes_of(host: Host) -> Notes:
    (notes,) = host.services
    assert isinstance(notes, Notes)
    return notes


@contextmanager
def running(*hosts: Host) -> Iterator[list[HostThread]]:
    threads = [HostThread(each) for each in hosts]
    try:
        for thread in threads:
            thread.start()
        yield threads
    finally:
        for thread in threads:
            thread.stop()


OUTSIDE = {"random", "secrets", "socket", "time", "uuid", "electorate.runtime.tcp"}
REAL = {
    "credentials": {"secrets", "time"},
    "environment": {"random"},
    "host": {"electorate.runtime.tcp"},
    "protection": {"electorate.runtime.tcp"},
    "recorder": {"electorate.runtime.tcp"},
    "store": {"uuid"},
    "tcp": {"random", "socket", "time"},
}
"""Which modules ask the machine itself: the real ports, and what a test may leave to them."""


def test_time_chance_and_connections_come_from_the_environment_alone() -> None:
    used = {}
    for path in Path(runtime.__file__).parent.glob("*.py"):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names.add(node.module)
            elif isinstance(node, ast.Attribute) and node.attr in SOCKETS:
                names.add(node.attr)
        used[path.stem] = names & {*OUTSIDE, *SOCKETS}
    assert {name: names - SOCKETS for name, names in used.items() if names - SOCKETS} == REAL
    assert {name for name, names in used.items() if names & SOCKETS} == {"tcp"}


def test_a_host_that_is_not_started_opens_nothing(tmp_path: Path) -> None:
    addresses = dict(enumerate(free_addresses(2), 1))
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    made = host(tmp_path, 1, addresses, record=tmp_path / "record.jsonl")
    thread = HostThread(made)
    assert list(tmp_path.iterdir()) == []
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() == threads
    thread.stop()
    assert list(tmp_path.iterdir()) == []
    assert not notes_of(made).has_begun
    with running(host(tmp_path, 1, addresses, record=tmp_path / "record.jsonl")):
        assert {each.name for each in tmp_path.iterdir()} == {"node-1", "record.jsonl"}


def test_a_store_that_cannot_be_opened_is_said_when_the_host_starts(tmp_path: Path) -> None:
    (tmp_path / "node-1").write_text("a file where a folder should be")
    made = host(tmp_path, 1, dict(enumerate(free_addresses(2), 1)))
    thread = HostThread(made)
    with pytest.raises(StoreError, match="cannot keep data in"):
        thread.start()
    thread.stop()
    assert thread.ended.is_set()
    assert not notes_of(made).has_begun
    assert not notes_of(made).has_ended


def test_what_was_opened_is_closed_again_if_the_record_cannot_be(tmp_path: Path) -> None:
    addresses = dict(enumerate(free_addresses(2), 1))
    (tmp_path / "a file").touch()
    thread = HostThread(host(tmp_path, 1, addresses, record=tmp_path / "a file" / "record.jsonl"))
    with pytest.raises(OSError, match="a file"):
        thread.start()
    thread.stop()
    with running(host(tmp_path, 1, addresses)) as (again,):
        assert not again.ended.is_set(), "its store is in use by nobody else"


def test_a_host_without_an_address_speaks_and_is_told_that_nobody_can_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    near, far, unused = free_addresses(3)
    listening = host(tmp_path, 1, {1: near, 2: unused, 3: far})
    mute = host(tmp_path, 2, {1: near, 3: far})
    other = host(tmp_path, 3, {1: near, 2: unused, 3: far})
    with caplog.at_level(logging.WARNING), running(listening, other, mute) as threads:
        wait_until(lambda: all(link.connected for link in mute.network.links.values()))
        for node in (1, 3):
            threads[2].call(mute.enter, mute.tell, NOTES, node, msgpack.encode("hello"))
            threads[0].call(listening.enter, listening.tell, NOTES, 2, msgpack.encode("no"))
        for each in (listening, other):
            wait_until(lambda each=each: (2, "hello") in notes_of(each).read)  # type: ignore[misc]
        # Those that hear it cannot show it that they do: to everybody it is as good as dead.
        wait_until(lambda: mute.network.alive() == {2})
        wait_until(lambda: listening.network.alive() == other.network.alive() == {1, 3})
        assert notes_of(mute).read == []
    told = [record.getMessage() for record in caplog.records if "no address" in record.msg]
    assert told == ["node 2 has no address: it can speak to others, and nobody can answer it"]


def test_a_host_that_has_ended_enters_nothing(tmp_path: Path) -> None:
    made = host(tmp_path, 1, dict(enumerate(free_addresses(1), 1)))

    async def scene() -> None:
        stopping = asyncio.Event()
        running = asyncio.ensure_future(made.run(stopping))
        await asyncio.sleep(0.01)
        stopping.set()
        await running
        made.enter(pytest.fail, "it has ended")

    asyncio.run(scene())
    assert notes_of(made).has_ended
    assert made.was_told_to_stop
    assert made.error is None


def test_a_life_is_in_the_record_before_anything_happens_in_it(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    made = host(tmp_path, 1, dict(enumerate(free_addresses(1), start=1)), record=record)

    async def scene() -> None:
        made.begin()
        made.store.begin_life()
        made._write_down_life()
        assert b'"incarnation":1,' in record.read_bytes(), "else it is taken for a gap"
        made.close()

    asyncio.run(scene())
