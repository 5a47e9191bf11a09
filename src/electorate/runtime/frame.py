"""What nodes say to one another on the wire, around the protocol's own messages.

A frame is one byte of version, four bytes of length, and so many bytes of msgpack. Whatever
cannot be read strictly closes the connection it came on.
"""

import asyncio
import struct
from typing import Annotated

import msgspec

VERSION = 1
HEADER = struct.Struct(">BI")
FRAME_MAX = 1 << 20
"""Bytes in one frame; protocol messages are far smaller."""
HELLO_MAX = 1 << 10
"""Bytes in the first frame: whoever is not introduced yet gets no more room than that."""

Count = Annotated[int, msgspec.Meta(ge=0)]


class Hello(msgspec.Struct, frozen=True, tag=True):
    """I am this node, of this cluster, in this life, and take you for that node."""

    cluster: str
    node: int
    to: int
    store: str
    incarnation: Count
    process: str
    """Differs between any two processes, also of one node."""
    sent: Count
    """How many letters I have written to you in this life."""
    member: Count = 0
    """By which number the guest of this node is known to other guests."""
    meant: Count = 0
    """And for which one it takes yours; 0 if it does not know yet."""


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """You are known to me: go ahead."""

    member: Count = 0
    """By which number the guest of this node is known to other guests."""


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """I will not take your messages, and this is why."""

    reason: str
    taken: bool = False
    """Whether somebody else is live under your id."""
    news: bytes = b""
    """What the guest of a node may want to know that takes others for who they are no more."""


class Beat(msgspec.Struct, frozen=True, tag=True):
    """I am alive; this is whether I hear you, and how many letters I have written to you."""

    hears: bool
    sent: Count


class Letter(msgspec.Struct, frozen=True, tag=True):
    """The number of a message on its channel, and the message itself."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    body: msgspec.Raw
    to_guest: bool = False
    """Whether it is meant for what else lives in the node; then its number says nothing."""


Frame = Hello | Welcome | Refusal | Beat | Letter

_decoder = msgspec.msgpack.Decoder(Frame)


class BadFrame(Exception):
    """No frame, or one out of place; the text is a short, countable reason."""


def pack(frame: Frame) -> bytes:
    """The frame as bytes."""
    body = msgspec.msgpack.encode(frame)
    return HEADER.pack(VERSION, len(body)) + body


def unpack(body: bytes) -> Frame:
    """The frame in these bytes, without their header."""
    try:
        frame: Frame = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadFrame("unreadable frame") from None
    return frame


async def read_frame(
    reader: asyncio.StreamReader, complete_s: float, bytes_max: int = FRAME_MAX
) -> Frame:
    """The next frame; once it has begun it must be complete within `complete_s` seconds."""
    try:
        first = await reader.readexactly(1)
        if first[0] != VERSION:
            raise BadFrame("unknown version")
        async with asyncio.timeout(complete_s):
            _, length = HEADER.unpack(first + await reader.readexactly(HEADER.size - 1))
            if length > bytes_max:
                raise BadFrame("frame too long")
            return unpack(await reader.readexactly(length))
    except TimeoutError:
        raise BadFrame("frame too slow") from None
    except asyncio.IncompleteReadError:
        raise EOFError("closed by the other side") from None
