"""Instances of one host, joined by wires."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from electorate.core import Asked, Machine, Members, Message, NodeId, Received, Timing, Turns, Wire
from electorate.runtime.instance import Instance
from electorate.runtime.wiring import Wiring
from tests.core.pair import UNTIL, WIRE, Count, Counted, Counter, Enter, Known, Office, Said

MEMBERS = Members.of([1, 2])


class Port:
    """A host's clock and store, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0
        self.kept: list[str] = []
        self.wiring = Wiring(self.enter)
        self.counter = self.instance(Counter)
        self.counter.boot(None, frozenset())

    def instance(self, kind: type[Machine[Any]], name: str = "") -> Instance:
        machine = kind(MEMBERS, Timing(10))
        return Instance(name or kind.__name__, Turns(machine), 1, self)

    def office(self, name: str = "office") -> Instance:
        office = self.instance(Office, name)
        self.wiring.join(WIRE, self.counter, office)
        office.boot(None, frozenset())
        return office

    def count(self, number: int) -> None:
        self.counter.take(Asked(Count(number)))

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        act(*given)

    def now_ms(self) -> float:
        return self.now

    def jitter(self, up_to: int) -> float:
        return 0.0

    def keep(self, name: str, record: bytes) -> None:
        self.kept.append(name)

    def send(self, instance: Instance, to: NodeId, message: Message) -> None: ...

    def schedule(self, instance: Instance) -> None: ...


def lived(office: Instance) -> tuple[str, ...]:
    state: Any = office.state
    return tuple(state.lived)


def play(scene: Callable[[Port], Coroutine[Any, Any, None]]) -> None:
    async def begin() -> None:
        await scene(Port())

    asyncio.run(begin())


def test_a_target_is_told_before_its_next_event() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        port.count(1)
        port.count(2)
        assert lived(office) == ("booted",)
        office.take(Received(2, Said(7)))
        assert lived(office) == ("booted", "heard 2", "7 was said")

    play(scene)


def test_an_office_that_has_run_out_ends_before_its_instance_is_told() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        office.take(Asked(Enter(5)))
        port.count(1)
        port.now = 10
        office.take(Received(2, Said(7)))
        assert lived(office) == ("booted", "entered", "left", "heard 1", "7 was said")

    play(scene)


def test_so_it_does_when_it_is_woken() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        office.take(Asked(Enter(5)))
        port.count(1)
        port.now = 10
        office.wake()
        assert lived(office)[-3:] == ("left", "heard 1", "nap")
        assert UNTIL not in lived(office)

    play(scene)


def test_targets_to_which_nothing_happens_are_told_by_a_sweep() -> None:
    async def scene(port: Port) -> None:
        offices = [port.office(f"office {number}") for number in range(500)]
        port.count(3)
        assert all(lived(office) == ("booted",) for office in offices)
        async with asyncio.timeout(10):
            while not all(lived(office) == ("booted", "heard 3") for office in offices):
                await asyncio.sleep(0.005)

    play(scene)


def test_a_target_is_told_again_at_boot_what_it_has_missed() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        office.halt()
        port.count(4)
        await asyncio.sleep(0.01)
        office.boot(Known(), frozenset())
        assert lived(office) == ("booted", "heard 4")

    play(scene)


def test_a_source_tells_what_it_has_booted_with() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        port.counter.boot(Counted(9), frozenset())
        office.take(Received(2, Said(7)))
        assert lived(office) == ("booted", "heard 9", "7 was said")

    play(scene)


def test_a_target_that_has_left_is_told_nothing_more() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        port.wiring.part(office)
        port.count(5)
        await asyncio.sleep(0.01)
        office.take(Received(2, Said(7)))
        assert lived(office) == ("booted", "7 was said")

    play(scene)


def test_nothing_is_told_of_what_has_not_changed() -> None:
    async def scene(port: Port) -> None:
        office = port.office()
        port.count(1)
        await asyncio.sleep(0.01)
        port.kept.clear()
        port.count(1)
        await asyncio.sleep(0.01)
        assert port.kept == []
        assert lived(office) == ("booted", "heard 1")

    play(scene)


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (Wire("counter", "number", "office", Count), "office has no request Count"),
        (WIRE._replace(output="sum"), "counter has no output 'sum'; its outputs: number"),
    ],
)
def test_a_wire_that_does_not_fit_is_refused(wire: Wire, reason: str) -> None:
    async def scene(port: Port) -> None:
        office = port.instance(Office, "office")
        with pytest.raises(ValueError, match=reason):
            port.wiring.join(wire, port.counter, office)

    play(scene)
