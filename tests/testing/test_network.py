"""The simulated network: order, loss, cuts, and what becomes of a crashed node's last words."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Raw

from electorate.runtime.frame import Hello, Said
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import Frame, Network

A = Hello("", 1, 0, "store", 1, "", 0)
B = Hello("", 2, 0, "store", 1, "", 0)


def body_of(frame: Frame) -> bytes:
    return bytes(frame.said[0].body) if frame.said else b""


class Scene:
    """A network of two nodes, and what has come of each frame."""

    def __init__(self, seed: int) -> None:
        self.loop = VirtualLoop(1_000)  # type: ignore[abstract]
        self.network = Network(self.loop, random.Random(seed), 50, self.tell)
        self.read: list[tuple[float, bytes]] = []
        self.lost: list[bytes] = []

    def tell(self, frame: Frame, fate: str) -> None:
        if fate:
            self.lost.append(body_of(frame))

    def attach(self) -> None:
        for node in (1, 2):
            self.network.attach(
                node, node, lambda frame: self.read.append((self.loop.now, body_of(frame)))
            )

    def send(self, count: int, hello: Hello = A, to: int = 2) -> list[bytes]:
        bodies = [b"%d" % number for number in range(count)]
        for body in bodies:
            self.network.send(hello, to, True, [Said("x", 1, Raw(body))])
        return bodies


def play(act: Callable[[Scene], Coroutine[Any, Any, None]], seed: int = 0) -> Scene:
    scene = Scene(seed)
    scene.loop.run(scene.attach, act(scene), lambda: None)
    return scene


def test_every_frame_arrives_in_time_and_in_order() -> None:
    async def act(scene: Scene) -> None:
        scene.send(20)
        await asyncio.sleep(0.05)
        assert [body for _, body in scene.read] == [b"%d" % number for number in range(20)]

    scene = play(act)
    assert len({at for at, _ in scene.read}) > 1
    assert scene.read != play(act, seed=1).read
    assert scene.read == play(act).read


def test_frames_are_lost_at_the_given_rate() -> None:
    async def act(scene: Scene) -> None:
        scene.network.loss = 0.2
        scene.send(1_000)
        await asyncio.sleep(1)

    scene = play(act)
    assert len(scene.read) + len(scene.lost) == 1_000
    assert 150 < len(scene.lost) < 250


def test_a_cut_stops_what_is_under_way_in_one_direction_until_it_is_healed() -> None:
    async def act(scene: Scene) -> None:
        scene.send(2)
        scene.send(3, B, 1)
        scene.network.cut(1, 2)
        await asyncio.sleep(1)
        assert (len(scene.read), len(scene.lost)) == (3, 2)
        scene.network.heal()
        scene.send(4)
        await asyncio.sleep(1)

    assert len(play(act).read) == 7


def test_of_the_last_words_of_a_crashed_node_some_first_part_arrives() -> None:
    async def act(scene: Scene) -> None:
        scene.send(3)
        scene.send(5, B, 1)
        scene.network.crash(1)
        await asyncio.sleep(1)

    arrived = {len(play(act, seed).read) for seed in range(40)}
    assert arrived == {0, 1, 2, 3}


def test_what_was_sent_to_a_node_before_it_started_never_arrives() -> None:
    async def act(scene: Scene) -> None:
        scene.network.crash(2)
        scene.send(3)
        scene.network.leave(2)
        scene.attach()
        await asyncio.sleep(1)
        assert (len(scene.read), len(scene.lost)) == (0, 3)

    play(act)


def test_broken_connections_lose_what_is_under_way_on_them() -> None:
    async def act(scene: Scene) -> None:
        scene.send(3)
        scene.network.reset(2)
        scene.send(2)
        await asyncio.sleep(1)
        assert (len(scene.read), len(scene.lost)) == (2, 3)

    play(act)
