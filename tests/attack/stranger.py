"""A stranger on the network: it answers where a member should be, calls, relays and repeats."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import Raw, msgpack

from electorate import Node
from electorate.core.codec import Codec
from electorate.leadership.directory import MemberAddress, identity, number
from electorate.protocols.mandate.admission import Acquaintance, Known
from electorate.protocols.mandate.message import Free, Grant
from electorate.protocols.mandate.state import Roster
from electorate.runtime.environment import Address
from electorate.runtime.frame import Beat, Hello, Letter, Refusal, Said, pack

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


def address_of(place: str) -> Address:
    return MemberAddress.of(place).address


@asynccontextmanager
async def answering(place: str, talk: Talk) -> AsyncIterator[None]:
    """Answer every call to the address of a member that is down."""
    tasks: set[asyncio.Task[Any]] = set()

    def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(talk(reader, writer)))

    server = await asyncio.start_server(take, *address_of(place))
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # Connections are closed in the next turns of the loop.


class Listening:
    """Writes down what it is told, and says the same to everybody that calls."""

    def __init__(self, answer: bytes = b"") -> None:
        self.heard = b""
        self.calls = 0
        self._answer = answer

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        try:
            self.heard += await reader.read(4096)
            writer.write(self._answer)
            self.heard += await reader.read(4096)
        except OSError:
            pass
        finally:
            writer.transport.abort()


async def pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: list[bytes]
) -> None:
    """Pass on what is read, and keep it."""
    try:
        while data := await reader.read(4096):
            kept.append(data)
            writer.write(data)
    except OSError:
        pass
    finally:
        writer.transport.abort()


class Relay:
    """Passes all that it is told to somebody else, and back; and keeps what callers said."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.said: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, on = await asyncio.open_connection(*address_of(self._place))
            await asyncio.gather(pump(reader, on, self.said), pump(back, writer, []))
        except OSError:
            pass
        finally:
            writer.transport.abort()


def engine_of(node: Node) -> Any:
    return node._engine


def spoken_by(node: Node) -> str:
    """What a node says that nodes of its cluster have in common."""
    cluster: str = engine_of(node).elections.host.network.cluster
    return cluster


def hello(node: Node, name: str, process: str = "p", store: str = "s", **changed: Any) -> Hello:
    """What a node of that name would say to a node, as far as a stranger can know it."""
    me, to = number(name), number(node.name)
    return Hello(spoken_by(node), me, to, store, 1, process, 0, me, **changed)


async def call(place: str, *said: bytes, wait_s: float = 0.3, host: str = "127.0.0.1") -> bytes:
    """Say this, and hear what is answered for a while."""
    answer = b""
    try:
        reader, writer = await asyncio.open_connection(*address_of(place), local_addr=(host, 0))
    except OSError:
        return b""
    with suppress(OSError, TimeoutError):
        for each in said:
            writer.write(each)
        async with asyncio.timeout(wait_s):
            while data := await reader.read(4096):
                answer += data
    writer.transport.abort()
    return answer


async def vote_blindly(place: str, said: bytes, seconds: float) -> bytes:
    """Say this, and vote for whatever the node may have asked, again and again."""
    answer, opened = b"", []
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(*address_of(place))
            writer.write(said)
            opened.append(writer)
            answer = await reader.read(4096)
            for number_ in itertools.count(1):
                writer.write(pack(Beat(True, 0)))
                votes: list[Any] = [Free(0)]
                votes += [Grant(e, number_ + r) for e in range(1, 8) for r in range(-3, 9)]
                bodies = [Raw(Codec.encode(vote)) for vote in votes]
                writer.write(pack(Letter([Said("office x", 0, body) for body in bodies])))
                await asyncio.sleep(0.05)
    for writer in opened:
        writer.transport.abort()
    await asyncio.sleep(0)
    return answer


def forged_refusal(places: dict[str, str], remaining: str) -> bytes:
    """That this member is the only one by now."""
    founders = {number(name): MemberAddress.of(place) for name, place in places.items()}
    nodes = tuple((node, Acquaintance(str(member))) for node, member in sorted(founders.items()))
    only = (number(remaining),)
    roster = Roster((1_000_000, 1), only, only)
    told = Known(identity(founders), nodes, roster)
    return pack(Refusal("hello from a stranger: it is no member here", news=msgpack.encode(told)))
