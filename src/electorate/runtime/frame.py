"""What nodes say to one another on the wire, around the protocol's own messages.

A frame is one byte of version, four bytes of length, and so many bytes of msgpack. Whatever
cannot be read strictly closes the connection it came on.
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Annotated

import msgspec

from electorate.runtime.identity import DEFAULT_CLUSTER

VERSION = 4
"""Raised by one whenever nodes of an earlier version could misunderstand a frame."""
HEADER = struct.Struct(">BI")
FRAME_MAX = 1 << 20
"""Bytes in one frame; protocol messages are far smaller."""
HELLO_MAX = 1 << 10
"""Bytes in the first frame: a node that is not introduced yet gets no more room than that."""

ANSWER_MAX = 1 << 17
"""Bytes in the answer to that; a refusal may name the members."""

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""Some are kept in a database, where numbers have 64 bits and a sign."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    """I am this node, of this cluster, in this life, and I take you for that node."""

    cluster: str
    node: int
    to: int
    store: str
    incarnation: Count
    process: str
    """Different for any two processes, also of one node."""
    sent: Count
    """How many counted messages I have written to you in this life."""
    member: Count = 0
    """The number by which the instances of this node know it, if that is not its id."""
    meant: Count = 0
    """And the number for which it takes you; 0 if it does not know yet."""
    cluster_name: str = DEFAULT_CLUSTER
    """The name that the cluster has in the configuration."""
    saves: Count = 0
    """How often I have saved anything: less than you have seen of me is an older copy."""


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """I know you: go ahead."""

    member: Count = 0
    """The number by which the instances of this node know it, if that is not its id."""


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """I will not take your messages, and this is why."""

    reason: str
    taken: bool = False
    """Whether another node is live under your id."""
    news: bytes = b""
    """News for a node that no longer knows who the others are."""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """I am alive; this is whether I hear you, and how many counted messages I have sent you."""

    hears: bool
    sent: Count
    at: Count = 0
    """When I said that, by my clock; 0 if you need not say it again."""
    echo: Count = 0
    """When you said the last one that I have heard, by your clock; 0 if there was none."""
    held: Count = 0
    """How many milliseconds ago that came."""
    saves: Count = 0
    """How often I have saved anything."""


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Somebody else says that it is you: are you still there?"""


class Pong(msgspec.Struct, frozen=True, tag=True):
    """I am still here."""


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message, and the receiver at the other node."""

    to: str
    """The kind of the receiver, then its own name: an instance, or a service as a whole."""
    number: Count
    """Counts what the sending instance has sent on this channel, in this life of its host."""
    body: msgspec.Raw


class Letter(msgspec.Struct, frozen=True, tag=True):
    """All that one node has to say to another at one moment.

    Where a protocol relies on every message, messages are counted: this many were sent before.
    """

    said: list[Said]
    before: Count = 0
    counted: Count = 0
    """How many such messages are in this letter."""


Frame = Hello | Welcome | Refusal | Beat | Letter | Ping | Pong

_decoder = msgspec.msgpack.Decoder(Frame)
_LETTER = msgspec.msgpack.encode("type") + msgspec.msgpack.encode("Letter")


class BadFrame(Exception):
    """The bytes are no frame, or one out of place; the text is a short, countable reason."""


def pack(frame: Frame) -> bytes:
    """The frame as bytes."""
    body = msgspec.msgpack.encode(frame)
    return HEADER.pack(VERSION, len(body)) + body


def is_letter(packed: bytes) -> bool:
    """Whether this frame is a letter, by its first bytes alone."""
    return packed.startswith(_LETTER, HEADER.size + 1)


def unpack(body: bytes) -> Frame:
    """The frame in these bytes, without their header."""
    try:
        frame: Frame = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadFrame("unreadable frame") from None
    return frame


class FrameReader:
    """Cuts what comes on a connection into frames."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        self._read = read
        """The next bytes of the connection; none at its end."""
        self._buffer = b""

    async def next(self, complete_s: float, bytes_max: int = FRAME_MAX) -> Frame:
        """The next frame; once it has begun it must be complete within `complete_s` seconds."""
        if not self._buffer:
            self._buffer = await self._read()
        frame = self._cut(bytes_max)
        if frame is not None:
            return frame
        try:
            async with asyncio.timeout(complete_s):
                while frame is None:
                    more = await self._read()
                    self._buffer = self._buffer + more if more else more
                    frame = self._cut(bytes_max)
        except TimeoutError:
            raise BadFrame("frame too slow") from None
        return frame

    def _cut(self, bytes_max: int) -> Frame | None:
        """The frame that the buffer begins with, if all of it is there."""
        buffer = self._buffer
        if not buffer:
            raise EOFError("closed by the other side")
        if buffer[0] != VERSION:
            raise BadFrame("another version of electorate")
        if len(buffer) < HEADER.size:
            return None
        end = HEADER.size + HEADER.unpack_from(buffer)[1]
        if end - HEADER.size > bytes_max:
            raise BadFrame("frame too long")
        if len(buffer) < end:
            return None
        self._buffer = buffer[end:]
        return unpack(buffer[HEADER.size : end])
