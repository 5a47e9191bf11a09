"""Connections of strangers: nobody knows yet who is at the other end.

Anybody can open them, so they are few, and they come no faster than they can be looked at. What
one host does costs other hosts nothing: each has a rate of its own, and a host that holds the most
connections loses its oldest one if there are too many. Hosts at which members were met are told
apart from all others, which share one rate.
"""

import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Callable

from electorate.runtime.environment import Stream

STRANGERS_MAX = 64
"""Connections that have not said who they are. If one more comes, the oldest one of the host that
has the most is closed. So a node that says hello at once always gets in, however many others only
connect."""
HOST_PER_S, HOST_BURST = 100.0, 200.0
"""Connections of one host. A node calls another four times a second at most, and there may be some
dozen nodes on one host."""
UNKNOWN_PER_S, UNKNOWN_BURST = 100.0, 200.0
"""Connections of all hosts together at which no member was met yet."""
HOSTS_MAX = 1024
"""Hosts that are told apart."""


class Bucket:
    """Lets so many through in a second, and a few more at once after some rest."""

    def __init__(self, per_s: float, burst: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = burst
        self._at_s = 0.0

    def take(self, now_s: float) -> bool:
        """Whether one more may pass now."""
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Strangers:
    """All connections that have not shown who they are, and what their hosts may do."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self.known: OrderedDict[str, None] = OrderedDict()
        """Hosts at which a member was met."""
        self._now_ms = now_ms
        self._streams: dict[Stream, str] = {}
        self._held: Counter[str] = Counter()
        self._hosts: OrderedDict[str, Bucket] = OrderedDict()
        self._unknown = Bucket(UNKNOWN_PER_S, UNKNOWN_BURST)

    def __len__(self) -> int:
        return len(self._streams)

    def admits(self, address: str) -> bool:
        """Whether one more connection from this address may be looked at."""
        host, now_s = host_of(address), self._now_ms() / 1000
        bucket = self._hosts.pop(host, None) or Bucket(HOST_PER_S, HOST_BURST)
        self._hosts[host] = bucket
        if len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)
        return bucket.take(now_s) and (host in self.known or self._unknown.take(now_s))

    def add(self, stream: Stream) -> Stream | None:
        """Note a connection; returns another one that has to go instead."""
        victim: Stream | None = None
        if len(self._streams) >= STRANGERS_MAX:
            (most, _), *_ = self._held.most_common(1)
            victim = next(each for each, host in self._streams.items() if host == most)
            self.remove(victim)
        host = host_of(stream.address)
        self._streams[stream] = host
        self._held[host] += 1
        return victim

    def remove(self, stream: Stream) -> None:
        """It is no stranger any more, or is gone."""
        host = self._streams.pop(stream, None)
        if host is not None:
            self._held[host] -= 1
            if not self._held[host]:
                del self._held[host]

    def met(self, stream: Stream) -> None:
        """A member is at the other end: its host may connect whatever unknown ones do."""
        host = host_of(stream.address)
        self.known.pop(host, None)
        self.known[host] = None
        if len(self.known) > HOSTS_MAX:
            self.known.popitem(last=False)

    def drop_all(self) -> None:
        """End all of them."""
        for stream in list(self._streams):
            stream.drop()
            self.remove(stream)


def host_of(address: str) -> str:
    """The part of an address that one owner has: of IPv6, the first half."""
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if number.version == 4:
        return address
    if number.ipv4_mapped is not None:
        return str(number.ipv4_mapped)
    return str(ipaddress.ip_network((number, 64), strict=False))
