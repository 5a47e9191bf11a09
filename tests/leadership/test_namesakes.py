"""Two nodes of one name: one was put in the other's place, or has no right to be there."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from electorate import Node
from electorate.core.codec import Codec
from electorate.errors import IdTaken, NodeStopped, Removed
from electorate.leadership.directory import RECORD, number
from electorate.leadership.term import Term
from electorate.pace import Pace
from electorate.protocols.mandate.admission import Admission, Known
from electorate.runtime.frame import Said
from tests.leadership.cluster import PACE, Cluster, run, running, until
from tests.runtime.cluster import free_addresses


class Wires:
    """Which nodes reach which; the two of one name are told apart by who was started first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cluster: Cluster, newcomer: str) -> None:
        self._open = asyncio.open_connection
        self._cuts: set[frozenset[str]] = set()
        self._at = {int(place.rpartition(":")[2]): name for name, place in cluster.places.items()}
        self._at[int(newcomer.rpartition(":")[2])] = "new"
        self._threads = {thread: name for name in "abc" for thread in _threads(name)}
        monkeypatch.setattr(asyncio, "open_connection", self._connect)

    def cut(self, one: Node, other: Node, *names: str) -> None:
        """Break what connects two nodes, and let nothing connect them again."""
        self._cuts.add(frozenset(names))
        for node, peer in ((one, other), (other, one)):
            network = node._engine.elections.host.network
            node._engine.do(network.links[number(peer.name)].reset)

    async def _connect(self, host: str, port: int) -> Any:
        me = self._threads.get(threading.current_thread(), "new")
        if frozenset({me, self._at[port]}) in self._cuts:
            raise ConnectionRefusedError("cut")
        return await self._open(host, port)


def _threads(name: str) -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == f"node-{number(name)}"]


async def ends_slowly(term: Term) -> None:
    """Work that goes on for a while when it should end."""
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(2)


async def never_two(terms: dict[str, Term], seconds: float) -> None:
    """See for a while that not more than one of these is certain to lead."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        held = {name: term.token for name, term in terms.items() if term.remaining() > 0}
        assert len(held) < 2, f"{held} are in office at once"
        await asyncio.sleep(0.005)


def lose_what_is_told_of_members(node: Node, to: Iterable[str]) -> None:
    """Let no letter about who is who get from a node to others."""
    commit = node._engine.elections.host.commit
    send, numbers = commit._send, set(map(number, to))

    def lossy(to: int, said: list[Said]) -> None:
        if to in numbers:
            said = [each for each in said if not _is_known(each)]
        send(to, said)

    commit._send = lossy


def _is_known(said: Said) -> bool:
    return said.to == RECORD and isinstance(Codec(Admission).message(said.body), Known)


@pytest.mark.parametrize("told", [True, False])
def test_a_node_and_the_one_before_it_never_both_vote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    """The old one has an office that it does not leave at once, and hears nothing from a."""
    pace = Pace(grace=4.0, preempt_delay=0.3)

    async def scene() -> None:
        async with running(tmp_path, pace=pace) as cluster:
            ((host, port),) = free_addresses(1)
            place = f"b@{host}:{port}"
            cluster.stand("b", priority=9, work=ends_slowly)
            await cluster.led("b")
            cluster.stand("a", "c")
            wires = Wires(monkeypatch, cluster, place)
            a, old, c = (cluster.nodes[name] for name in "abc")
            wires.cut(a, old, "a", "b")
            await until(lambda: number("b") not in a._engine.elections.alive)
            async with Node(place, [cluster.places["a"]], tmp_path / "new", pace=pace, join=True):
                if not told:
                    lose_what_is_told_of_members(a, to="c")
                watching = asyncio.create_task(never_two(cluster.terms, 9))
                await a.replace_member("b", place)
                await until(lambda: len(c.members) == 3, 10)
                wires.cut(a, c, "a", "c")
                await watching
                await until(lambda: cluster.leads("a"))

    run(scene())


@pytest.mark.parametrize("trust_close", [False, True])
def test_who_stands_still_keeps_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, trust_close: bool
) -> None:
    """Another process knocks under its name meanwhile, and with another data folder."""
    caplog.set_level(logging.WARNING)
    pace = Pace(grace=1.0, preempt_delay=0.3, trust_close=trust_close)

    async def scene() -> None:
        async with running(tmp_path, pace=pace) as cluster:
            cluster.stand("b", priority=9)
            await cluster.led("b")
            cluster.stand("a", "c")
            other = Cluster(tmp_path / "second", pace=pace)
            other.places = {**cluster.places, "b": other.places["b"]}
            await asyncio.sleep(0.3)
            b = cluster.nodes["b"]._engine
            b.do(time.sleep, 6 * pace.timeout)  # It is knocked for every second or so.
            second = other.node("b")
            starting = asyncio.create_task(second.__aenter__())
            await until(lambda: "node b is refused by node a: b is known here by" in caplog.text)
            await asyncio.wait([starting])
            # Whether it is still refused, or hears that b is live again, is a matter of time.
            assert isinstance(starting.exception(), IdTaken | None)
            with suppress(IdTaken):
                await second.__aexit__()
            await asyncio.sleep(0.5)
            b.expect_running()
            await until(lambda: cluster.leads("b"))

    run(scene())


def test_who_was_replaced_gets_no_vote_and_no_office(tmp_path: Path) -> None:
    """It is started again as if nothing had happened, while its successor is away."""

    async def scene() -> None:
        async with running(tmp_path, pace=PACE) as cluster:
            cluster.stand("a")
            await cluster.led("a")
            before = cluster.places["b"]
            await cluster.stop("b")
            ((host, port),) = free_addresses(1)
            place = f"b@{host}:{port}"
            others = [cluster.places["a"], cluster.places["c"]]
            async with Node(place, others, tmp_path / "new", pace=PACE, join=True):
                await cluster.nodes["c"].replace_member("b", place)
                await until(lambda: cluster.leads("a"))
            await cluster.stop("c")
            await until(lambda: not cluster.leads("a"))
            old = await Node(before, others, tmp_path / "b", pace=PACE).__aenter__()
            with pytest.raises(NodeStopped):
                await anext(old.election("x", 9).terms())
            assert not cluster.leads("a"), "the vote of the old b counts"
            with pytest.raises(Removed, match="b is no member any more"):
                await old.__aexit__()
            # Who has taken its place is at home where the others have left it.
            async with Node(place, others, tmp_path / "new", pace=PACE):
                await until(lambda: cluster.leads("a"))

    run(scene())
