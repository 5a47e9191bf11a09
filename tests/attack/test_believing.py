"""What nodes are told by others that lie, or that are not the members they seem to be."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from electorate import Pace
from electorate.core import Asked, Machine, Message, Received, Stable
from electorate.leadership.directory import PROOF, number
from electorate.leadership.election import NAME_MAX, Machines
from electorate.leadership.register import register_machine
from electorate.protocols.mandate.admission import Acquaintance, Known
from electorate.protocols.mandate.message import (
    Claim,
    Decree,
    Free,
    Grant,
    Listed,
    Release,
    Stand,
)
from electorate.protocols.mandate.rule import ERA, LEAP
from electorate.protocols.mandate.state import (
    MEMBERS_MAX,
    TOKEN_MAX,
    MandateStable,
    Promise,
    Roster,
)
from electorate.runtime.environment import Address
from electorate.runtime.frame import FrameReader, Hello, Letter, Refusal, Said, Welcome, pack
from tests.leadership.cluster import Cluster, run, running, until

THREE = Roster((3, 1), (1, 2, 3), (1, 2, 3))


@asynccontextmanager
async def impostor(address: Address, proved: bytes) -> AsyncIterator[list[Hello]]:
    """Whoever answers at the address of a member that is down."""
    heard: list[Hello] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(Exception):
            hello = await FrameReader(lambda: reader.read(4096)).next(1.0)
            assert isinstance(hello, Hello)
            heard.append(hello)
            writer.write(pack(Refusal("no", news=proved + forged(hello))))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, *address)
    async with server:
        yield heard


def place(cluster: Cluster, name: str) -> Address:
    host, port = cluster.places[name].partition("@")[2].rsplit(":", 1)
    return host, int(port)


def forged(hello: Hello) -> bytes:
    """A list of members on which nobody is that there is."""
    nobody = number("nobody")
    nodes = ((nobody, Acquaintance("nobody@127.0.0.1:9")),)
    known = Known(hello.cluster.partition("/")[0], nodes, Roster((99, 1), (nobody,), (nobody,)))
    return msgspec.msgpack.encode(known)


@pytest.mark.parametrize("proved", [b"", bytes(PROOF)], ids=["bare", "without proof"])
def test_who_answers_in_the_place_of_a_member_that_is_down_removes_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, proved: bytes
) -> None:
    """Point 3: these 173 bytes ended every node for good, also after a restart."""

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", "b")
            leader = await cluster.led("a", "b")
            await cluster.stop("c")
            async with impostor(place(cluster, "c"), proved) as heard:
                await until(lambda: {each.node for each in heard} == {number("a"), number("b")})
                await until(lambda: len(heard) > 5)
            for name in "ab":
                directory = cluster.nodes[name]._engine.elections.directory
                assert not directory.is_over
                assert directory.state.stable.roll.version == (0, 0)
            assert cluster.leads(leader)
            await cluster.start("c")
            await until(lambda: len(cluster.nodes["c"].members) == 3)

    with caplog.at_level(logging.WARNING):
        run(scene())
    said = [each for each in caplog.messages if "cannot show that it is a member" in each]
    assert len(said) == 2, "each of them says so once"


def election() -> Machine[Any]:
    return Machines(Pace()).of_elections.machine


def test_no_number_can_be_sent_that_does_not_fit_where_tokens_are_kept() -> None:
    """Point 6: after Claim(2^64-1) the next token did not fit, at every start."""
    codec = Machines(Pace()).codec
    for message in (
        Claim((1 << 64) - 1, 0),
        Claim(-1, 0),
        Free(TOKEN_MAX + 1),
        Claim(1, 0, priority=1 << 31),
        Listed(Roster((TOKEN_MAX + 1, 1), (1,), (1,))),
    ):
        with pytest.raises(msgspec.ValidationError):
            codec.message(codec.encode(message))
    assert codec.message(codec.encode(Claim(TOKEN_MAX, 0))) == Claim(TOKEN_MAX, 0)


FAR = Roster((3 + LEAP + 1, 1), (1, 2, 9), (1, 2, 9))
CROWD = tuple(range(1, MEMBERS_MAX + 2))
INCREDIBLE = [
    Claim(TOKEN_MAX, 0),
    Claim((4 + LEAP) * ERA, 0),
    Decree((4 + LEAP) * ERA, 0, FAR),
    Decree(4 * ERA, 0, Roster((4, 1), CROWD, CROWD)),
    Decree(4 * ERA, 0, Roster((4, 1), (1, 2, -3), (1, 2, -3))),
    Listed(FAR),
    Release(TOKEN_MAX, heir=1),
    Free(TOKEN_MAX),
    Grant(TOKEN_MAX, 0),
]


@pytest.mark.parametrize("message", INCREDIBLE, ids=str)
def test_nothing_comes_of_numbers_that_no_working_node_could_have_reached(message: Message) -> None:
    machine = election()
    state, _ = machine.boot(1, MandateStable(Promise(), Stable(), THREE))
    state, _ = machine.step(state, Asked(Stand(1)))
    assert machine.step(state, Received(2, message)) == (state, [])


def test_what_a_node_may_have_missed_is_believed() -> None:
    machine = election()
    state, _ = machine.boot(1, MandateStable(Promise(), Stable(), THREE))
    newer = Roster((3 + LEAP, 1), (1, 2, 4), (1, 2, 4))
    token = newer.version[0] * ERA + 7
    after, effects = machine.step(state, Received(2, Decree(token, 0, newer)))
    assert after.stable.promise == Promise(token, 2)
    assert after.stable.roster == newer
    assert effects


def test_a_list_is_not_believed_that_leaves_no_token_for_later_ones() -> None:
    """A node that is to join has no list of its own to compare it with."""
    machine = register_machine(Pace())
    wrap = machine.messages[0]
    stable = machine.stable_type(inner=MandateStable(Promise(), Stable(), Roster()))
    state, _ = machine.boot(1, stable)
    far = Roster((TOKEN_MAX // ERA + 1, 1), (1, 2), (1, 2))
    assert machine.step(state, Received(2, wrap(Listed(far)))) == (state, [])
    near = Roster((7, 1), (1, 2), (1, 2))
    after, _ = machine.step(state, Received(2, wrap(Listed(near))))
    assert after.stable.inner.roster == near


def test_no_election_is_begun_or_kept_under_a_name_that_none_can_have(tmp_path: Path) -> None:
    """Point 6: names of 200 kB were kept on disk for ever."""

    async def scene() -> None:
        async with running(tmp_path, "ab") as cluster:
            elections = cluster.nodes["a"]._engine.elections
            address, me = place(cluster, "a"), number("b")
            await cluster.stop("b")
            store = elections.directory.state.memory(me)
            reader, writer = await asyncio.open_connection(*address)
            spoken = elections.host.network.cluster
            writer.write(pack(Hello(spoken, me, number("a"), store, 9, "p", 0, me, saves=1 << 40)))
            assert isinstance(await FrameReader(lambda: reader.read(4096)).next(1.0), Welcome)
            body = msgspec.Raw(Machines(Pace()).codec.encode(Claim(1, 0)))
            names = ["x" * 200_000, "x" * (NAME_MAX + 1), "two\nlines", "", "x" * NAME_MAX]
            for sent, name in enumerate(names, start=1):
                writer.write(pack(Letter([Said(f"office {name}", sent, body)])))
            await until(lambda: "x" * NAME_MAX in elections.by_quorum)
            assert set(elections.by_quorum) == {"x" * NAME_MAX}
            writer.close()

    run(scene())
