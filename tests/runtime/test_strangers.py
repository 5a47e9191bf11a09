"""Connections of strangers: few at once, at a bounded rate, and each host at its own cost."""

from electorate.runtime.environment import Stream
from electorate.runtime.strangers import (
    HOST_BURST,
    HOST_PER_S,
    HOSTS_MAX,
    STRANGERS_MAX,
    UNKNOWN_BURST,
    UNKNOWN_PER_S,
    Strangers,
    host_of,
)
from electorate.simulate.delay import Constant
from electorate.testing.loop import VirtualLoop
from electorate.testing.network import SimulatedNetwork, SimulatedStream


class Door:
    """Strangers at a door, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.strangers = Strangers(lambda: self.now_ms)
        self.network = SimulatedNetwork(
            VirtualLoop(1.0),  # type: ignore[abstract]
            *(0, Constant(0), lambda *told: None),
        )

    def stream(self, address: str) -> Stream:
        machine = self.network.add((address, len(self.network._machines)))
        way = self.network._channel(machine, machine)
        stream = SimulatedStream(self.network, machine, way, 1.0)
        stream.address = address
        return stream

    def admitted(self, address: str, times: int) -> int:
        return sum(self.strangers.admits(address) for _ in range(times))


def test_a_host_may_come_often_at_once_and_then_at_its_rate() -> None:
    door = Door()
    assert door.admitted("10.0.0.1", 1000) == HOST_BURST
    door.now_ms += 1000
    assert door.admitted("10.0.0.1", 1000) == HOST_PER_S


def test_many_hosts_share_a_rate_and_where_members_were_met_has_its_own() -> None:
    door = Door()
    door.strangers.met(door.stream("10.0.0.1"))
    flood = [f"10.1.{number // 250}.{number % 250}" for number in range(5000)]
    assert sum(door.admitted(host, 1) for host in flood) == UNKNOWN_BURST
    assert door.admitted("10.0.0.1", 50) == 50
    door.now_ms += 1000
    assert sum(door.admitted(host, 1) for host in flood) == UNKNOWN_PER_S
    assert len(door.strangers._hosts) == HOSTS_MAX


def test_if_there_are_too_many_the_host_with_the_most_loses_its_oldest() -> None:
    door = Door()
    member = door.stream("10.0.0.1")
    assert door.strangers.add(member) is None
    crowd = [door.stream("10.0.0.2") for _ in range(3 * STRANGERS_MAX)]
    gone = [door.strangers.add(each) for each in crowd]
    assert [each for each in gone if each] == crowd[: 2 * STRANGERS_MAX + 1]
    assert len(door.strangers) == STRANGERS_MAX
    door.strangers.remove(member)
    assert len(door.strangers) == STRANGERS_MAX - 1


def test_half_of_an_address_of_ipv6_is_one_owner() -> None:
    assert host_of("2001:db8::1") == host_of("2001:db8::ffff:2") != host_of("2001:db8:0:1::1")
    assert host_of("::ffff:10.0.0.1") == host_of("10.0.0.1")
    assert host_of("fe80::1%eth0") == "fe80::/64"
    assert host_of("") == ""
