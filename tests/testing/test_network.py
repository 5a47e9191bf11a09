"""The simulated network: connections that keep their order, wait, are sent again, and break."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from electorate.core import NodeId
from electorate.runtime.environment import Stream
from electorate.simulate.chance import Drawn
from electorate.simulate.delay import Constant, Delay, Uniform
from electorate.simulate.simulation import Channel
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import (
    BROKEN,
    CUT,
    DOWN,
    LOST,
    Flag,
    Segment,
    SimulatedMachine,
    SimulatedNetwork,
    SimulatedTransport,
)
from electorate.testing.process import MachineClock, Process

USUAL = Uniform(0, 50_000)
FRESH_MS = 550.0


class Scene:
    """SimulatedMachine 1 connects to machine 2; what 2 reads, and what else has come of it."""

    def __init__(self, seed: int = 0, delay: Delay = USUAL) -> None:
        self.loop = VirtualLoop(10_000)  # type: ignore[abstract]
        self.network = SimulatedNetwork(self.loop, seed, delay, self.tell)
        self.machines = [self.network.add(("simulated", port)) for port in (1, 2)]
        self.processes = [Process(name, MachineClock()) for name in "ab"]
        self.read: list[tuple[float, bytes]] = []
        self.ended: list[BaseException | None] = []
        """How the connections of machine 2 have ended."""
        self.told: list[tuple[bytes, str]] = []
        self.accepted: list[Stream] = []

    def tell(self, sender: NodeId, to: NodeId, data: bytes, fate: str) -> None:
        self.told.append((data, fate))

    def fates(self, *wanted: str) -> list[bytes]:
        return [data for data, fate in self.told if fate in wanted]

    @property
    def far(self) -> SimulatedMachine:
        return self.machines[1]

    def transport(self, number: int) -> SimulatedTransport:
        at = number - 1
        return SimulatedTransport(self.network, self.machines[at], self.processes[at])

    async def listen(self) -> None:
        for machine in self.machines:
            self.network.boot(machine)
        await self.transport(2).listen(self.far.address, self.accept)

    def accept(self, stream: Stream) -> None:
        self.accepted.append(stream)
        self.loop.create_task(self.serve(stream), context=self.processes[1].context.copy())

    async def serve(self, stream: Stream) -> None:
        try:
            while data := await stream.read():
                self.read.append((self.loop.now, data))
            self.ended.append(None)
        except OSError as error:
            self.ended.append(error)

    async def connect(self, fresh_ms: float = FRESH_MS) -> Stream:
        return await self.transport(1).connect(self.far.address, fresh_ms)

    @property
    def bytes_read(self) -> bytes:
        return b"".join(data for _, data in self.read)


def play(
    act: Callable[[Scene], Coroutine[Any, Any, None]], seed: int = 0, delay: Delay = USUAL
) -> Scene:
    scene = Scene(seed, delay)

    async def main() -> None:
        await scene.listen()
        await act(scene)

    scene.loop.run(lambda: None, main(), lambda: None)
    return scene


WORDS = [b"%d " % number for number in range(20)]


def test_everything_arrives_in_time_and_in_order() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        for word in WORDS:
            stream.write(word)
        await asyncio.sleep(0.05)
        assert scene.bytes_read == b"".join(WORDS)

    scene = play(act)
    assert scene.fates("") == WORDS
    assert len({at for at, _ in scene.read}) > 1
    assert scene.read != play(act, seed=1).read
    assert scene.read == play(act).read


def test_delays_are_those_that_the_simulator_draws_from_the_same_seed() -> None:
    model = Uniform(1_000, 50_000)

    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        for word in WORDS:
            sent_at = scene.loop.now
            stream.write(word)
            await asyncio.sleep(0.06)
            took.append(round(1_000_000 * (scene.read[-1][0] - sent_at)))

    took: list[int] = []
    play(act, seed=7, delay=model)
    drawn, way = Drawn(7, model), Channel(1, 2)
    # The first one was the attempt to connect.
    sent = [Segment(way, 1, 2, 1 + number, Flag.DATA, b"", 0.0) for number in range(len(WORDS))]
    assert took == [drawn.delay(segment) for segment in sent]


def test_what_is_lost_is_sent_again_and_what_follows_waits_for_it() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect(fresh_ms=60_000.0)
        scene.network.loss = 0.2
        for _ in range(50):
            for word in WORDS:
                stream.write(word)
        await asyncio.sleep(60)
        assert scene.bytes_read == 50 * b"".join(WORDS)

    assert 150 < len(play(act).fates(LOST)) < 350


def test_a_cut_holds_back_what_is_under_way_until_it_is_healed() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        stream.write(b"before ")
        scene.network.cut(*scene.machines)
        stream.write(b"meanwhile ")
        await asyncio.sleep(0.3)
        assert scene.read == []
        assert scene.fates(CUT) == [b"before ", b"meanwhile "]
        scene.network.heal()
        stream.write(b"after")
        await asyncio.sleep(1)
        assert scene.bytes_read == b"before meanwhile after"
        assert not stream.is_closing

    play(act)


def test_who_gets_no_acknowledgement_for_too_long_breaks_its_connection() -> None:
    """The other side learns nothing of that: it only hears no more."""

    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        scene.network.cut(*scene.machines)
        stream.write(b"lost for good")
        sent_at = scene.loop.now
        with pytest.raises(TimeoutError):
            await stream.read()
        assert scene.loop.now - sent_at == pytest.approx(FRESH_MS / 1000)
        scene.network.heal()
        await asyncio.sleep(10)
        assert (scene.read, scene.ended) == ([], [])

    play(act)


def test_what_arrives_and_is_not_acknowledged_breaks_a_connection_too() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        scene.network.cut(*reversed(scene.machines))
        stream.write(b"heard")
        await asyncio.sleep(0.3)
        assert scene.bytes_read == b"heard"
        with pytest.raises(TimeoutError):
            await stream.read()

    play(act)


def test_an_acknowledgement_that_takes_too_long_is_none() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        stream.write(b"slow")
        with pytest.raises(TimeoutError):
            await stream.read()

    play(act, delay=Constant(300_000))


def test_of_the_last_words_of_a_crashed_machine_some_first_part_arrives_and_no_end() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        for word in (b"1", b"2", b"3"):
            stream.write(word)
        scene.network.crash(scene.machines[0])
        await asyncio.sleep(1)
        assert scene.ended == []
        assert len(scene.bytes_read) + len(scene.fates(BROKEN)) == 3

    arrived = {play(act, seed).bytes_read for seed in range(40)}
    assert arrived == {b"", b"1", b"12", b"123"}


def test_a_machine_that_is_back_knows_nothing_of_earlier_connections() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        scene.network.crash(scene.far)
        stream.write(b"anybody?")
        await asyncio.sleep(0.1)
        assert scene.fates(DOWN) == [b"anybody?"]
        scene.network.boot(scene.far)
        with pytest.raises(ConnectionResetError):
            await stream.read()
        assert scene.read == []

    play(act)


def test_nobody_answers_without_power_and_somebody_refuses_where_nobody_listens() -> None:
    async def act(scene: Scene) -> None:
        scene.network.crash(scene.far)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.45):
                await scene.connect()
        scene.network.boot(scene.far)
        with pytest.raises(ConnectionRefusedError):
            await scene.connect()
        with pytest.raises(OSError, match="no machine has the address elsewhere:1"):
            await scene.transport(1).connect(("elsewhere", 1), FRESH_MS)

    play(act)


def test_who_does_not_wait_for_a_connection_any_more_has_none() -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await scene.connect()
        await asyncio.sleep(1)
        assert len(scene.accepted) == len(scene.ended) == 1
        assert isinstance(scene.ended[0], ConnectionResetError)

    play(act, delay=Constant(40_000))


def test_a_connection_ends_after_its_last_word_and_a_reset_swallows_that() -> None:
    async def act(scene: Scene) -> None:
        one, other = await scene.connect(), await scene.connect()
        one.write(b"good bye")
        one.close()
        assert await one.read() == b""
        await asyncio.sleep(1)
        assert (scene.bytes_read, scene.ended) == (b"good bye", [None])
        scene.accepted[0].write(b"and you")
        other.write(b"never heard")
        other.reset()
        await asyncio.sleep(1)
        assert scene.bytes_read == b"good bye"
        assert isinstance(scene.ended[1], ConnectionResetError)
        assert scene.fates(BROKEN) == [b"never heard", b"and you"]

    play(act)


def test_the_kernel_takes_what_comes_for_a_process_that_stands_still() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        scene.processes[1].paused = True
        stream.write(b"are you there?")
        await asyncio.sleep(5)
        assert (scene.read, stream.is_closing) == ([], False)
        scene.processes[1].paused = False
        scene.loop.unpark(scene.processes[1])
        await asyncio.sleep(0)
        assert scene.bytes_read == b"are you there?"

    play(act)


def test_a_machine_that_stands_still_as_a_whole_acknowledges_nothing() -> None:
    async def act(scene: Scene) -> None:
        stream = await scene.connect()
        scene.far.is_frozen = True
        stream.write(b"are you there?")
        with pytest.raises(TimeoutError):
            await stream.read()

    play(act)


def test_an_address_belongs_to_one_machine_and_one_listener() -> None:
    async def act(scene: Scene) -> None:
        for number, port in ((1, 2), (2, 2)):
            with pytest.raises(OSError, match="cannot listen on simulated:2"):
                await scene.transport(number).listen(("simulated", port), scene.accept)

    play(act)
