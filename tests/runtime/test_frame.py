"""Frames: what is not one is told apart, whatever the bytes."""

import asyncio
import random
import tracemalloc
from functools import partial

import pytest
from msgspec import Raw, msgpack

from electorate.runtime.frame import (
    FRAME_MAX,
    HEADER,
    VERSION,
    BadFrame,
    Beat,
    Frame,
    FrameReader,
    Hello,
    Letter,
    Refusal,
    Said,
    Welcome,
    pack,
    unpack,
)
from tests.runtime.mangle import mangled

FRAMES: list[Frame] = [
    Hello("cluster", 1, 2, "store", 3, "process", 4),
    Welcome(),
    Refusal("because", taken=True),
    Beat(hears=True, sent=7),
    Letter([Said("election", 1, Raw(msgpack.encode({"type": "Halt"})))], 3, 1),
]


def read(data: bytes, complete_s: float = 1.0) -> Frame:
    """What a connection gets out of these bytes when nothing follows."""

    async def run() -> Frame:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        return await FrameReader(reader.read).next(complete_s)

    return asyncio.run(run())


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_comes_off_the_wire_as_it_was_put_on_it(frame: Frame) -> None:
    assert read(pack(frame)) == frame


def test_the_longest_frame_passes_and_one_byte_more_does_not() -> None:
    spare = len(msgpack.encode(Refusal("x" * 70_000))) - 70_000
    assert read(pack(Refusal("x" * (FRAME_MAX - spare)))) is not None
    with pytest.raises(BadFrame, match="frame too long"):
        read(pack(Refusal("x" * (FRAME_MAX - spare + 1))))


def test_a_frame_that_claims_a_gigabyte_is_refused_before_room_is_made_for_it() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BadFrame, match="frame too long"):
            read(HEADER.pack(VERSION, 1 << 30) + b"x" * 100)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [0, 1, 255])
def test_another_version_is_refused_at_its_first_byte(version: int) -> None:
    with pytest.raises(BadFrame, match="another version"):
        read(bytes([version]))


def test_a_frame_that_breaks_off_anywhere_is_the_end_of_the_connection() -> None:
    whole = pack(FRAMES[0])
    for length in range(len(whole)):
        with pytest.raises(EOFError, match="closed by the other side"):
            read(whole[:length])


def test_a_frame_that_is_begun_and_not_completed_is_too_slow() -> None:
    async def run() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(pack(FRAMES[0])[:7])
        await FrameReader(partial(reader.read, 100)).next(0.05)

    with pytest.raises(BadFrame, match="frame too slow"):
        asyncio.run(run())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        msgpack.encode({"type": "Abdication"}),
        msgpack.encode({"type": "Beat"}),
        msgpack.encode({"type": "Beat", "hears": 1, "sent": 0}),
        msgpack.encode({"type": "Beat", "hears": True, "sent": -1}),
        msgpack.encode({"type": "Letter", "said": [["election", -1, None]]}),
        msgpack.encode({"hears": True, "sent": 1}),
        msgpack.encode(["Beat", True, 1]),
        msgpack.encode(Welcome()) + b"\0",
        b"\x81\xa4type\xa4\xff\xff\xff\xff",
        b"\x91" * 100_000,
        b"\x82\xa4type\xa6Letter\xa4said" + b"\x91" * 100_000,
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_not_a_frame_is_unreadable(body: bytes) -> None:
    with pytest.raises(BadFrame, match="unreadable frame"):
        unpack(body)


def test_mangled_frames_are_read_or_refused_and_nothing_else(frames_to_mangle: int) -> None:
    """Whatever comes off the wire is a frame, a BadFrame or an end; no other error, no hanging."""
    chance = random.Random(frames_to_mangle)
    readable = 0
    for _ in range(frames_to_mangle):
        data = mangled(chance, pack(chance.choice(FRAMES)))
        version, length = data[0], int.from_bytes(data[1:5], "big")
        if len(data) < HEADER.size or version != VERSION or length > len(data) - HEADER.size:
            continue
        try:
            frame = unpack(data[HEADER.size : HEADER.size + length])
        except BadFrame:
            continue
        readable += 1
        assert unpack(msgpack.encode(frame)) == frame
    assert readable > frames_to_mangle / 100


@pytest.mark.parametrize("field", ["incarnation", "saves", "sent", "member", "meant"])
def test_no_count_is_read_that_a_database_has_no_room_for(field: str) -> None:
    """Such a hello ended the node that heard it."""
    told = {"store": "s", "incarnation": 1, "process": "p", "sent": 0}
    for count in (1 << 63, -1):
        with pytest.raises(BadFrame, match="unreadable frame"):
            read(pack(Hello("cluster", 1, 2, **{**told, field: count})))  # type: ignore[arg-type]
