"""What nodes say to one another on the wire, around the protocol's own messages.

A frame is one byte of version, four bytes of length, and so many bytes of msgpack. Whatever
cannot be read strictly closes the connection it came on.
"""

import asyncio
import struct

import msgspec

VERSION = 1
HEADER = struct.Struct(">BI")
FRAME_MAX = 1 << 20
"""Bytes in one frame; protocol messages are far smaller."""


class Hello(msgspec.Struct, frozen=True, tag=True):
    """I am this node, of this cluster, in this life; take my messages."""

    cluster: str
    node: int
    store: str
    incarnation: int
    process: str
    """Differs between any two processes, also of one node."""


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """You are known to me: go ahead."""


class Refusal(msgspec.Struct, frozen=True, tag=True):
    """I will not take your messages, and this is why."""

    reason: str


class Beat(msgspec.Struct, frozen=True, tag=True):
    """I am alive; and this is whether I hear you."""

    number: int
    hears: bool


class Letter(msgspec.Struct, frozen=True, tag=True):
    """The number of a message on its channel, and the message itself."""

    number: int
    body: msgspec.Raw


Frame = Hello | Welcome | Refusal | Beat | Letter

_decoder = msgspec.msgpack.Decoder(Frame)


class BadFrame(Exception):
    """Bytes that are not a frame; the text is a short, countable reason."""


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


async def read_frame(reader: asyncio.StreamReader, complete_s: float) -> Frame:
    """The next frame; once it has begun it must be complete within `complete_s` seconds."""
    first = await reader.readexactly(1)
    try:
        async with asyncio.timeout(complete_s):
            version, length = HEADER.unpack(first + await reader.readexactly(HEADER.size - 1))
            if version != VERSION:
                raise BadFrame("unknown version")
            if length > FRAME_MAX:
                raise BadFrame("frame too long")
            return unpack(await reader.readexactly(length))
    except TimeoutError:
        raise BadFrame("frame too slow") from None
