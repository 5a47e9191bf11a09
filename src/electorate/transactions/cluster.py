"""A node of a cluster, as an application holds it in its hands.

    cluster = Cluster("atm", {"savings": "10.0.0.1:7400", "atm": "10.0.0.2:7400"}, Path("data"))
    with cluster:
        ...

The node has a thread of its own. With a resource it takes part in the transactions of others;
every node may coordinate. All nodes name the same members, in the same order.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from electorate.core import Machine, Standing
from electorate.errors import NodeStopped
from electorate.pace import Pace
from electorate.protocols.registry import REGISTRY
from electorate.runtime.config import NodeConfig
from electorate.runtime.environment import Address
from electorate.runtime.host import Host
from electorate.runtime.node import OneInstance
from electorate.runtime.recorder import record_file
from electorate.runtime.thread import HostThread
from electorate.trace import Connections, Setting
from electorate.transactions.clerk import Clerk
from electorate.transactions.counter import Counter
from electorate.transactions.draft import Draft
from electorate.transactions.resource import Resource

R = TypeVar("R")


class Cluster:
    """One node, and the names of all."""

    def __init__(
        self,
        me: str,
        members: Mapping[str, str],
        data: Path | str,
        resource: Resource | None = None,
        *,
        election: str = "bully",
        pace: Pace | None = None,
        watch: Callable[[str, str], None] | None = None,
        record: Path | str | None = None,
    ) -> None:
        data = Path(data)
        if me not in members:
            raise ValueError(f"{me!r} is not among the members: {', '.join(members)}")
        names = {name: number for number, name in enumerate(members, start=1)}
        addresses = {names[name]: address_of(text) for name, text in members.items()}
        pace, ids = pace or Pace(), tuple(names.values())
        timing = pace.transaction_timing
        setting = Setting(election, ids, timing=timing, connections=Connections.DIE)
        config = NodeConfig(
            *(names[me], setting, addresses, data),
            record=None if record is None else record_file(Path(record), me),
            names={number: name for name, number in names.items()},
            beat_ms=pace.beat_ms,
            timeout_ms=pace.timeout_ms,
        )
        self.me = me
        self.clerk = Clerk(names, resource, pace, watch)
        self._counter = Counter(self.clerk, data)
        self.clerk.closing.append(self._counter.close)
        machine = _machine(election, setting)
        naming = OneInstance(machine, setting, self._changed)
        self._thread = HostThread(Host(config.host(machine), [self.clerk, naming]))

    def start(self) -> None:
        """Begin; transactions that the last life left are gone on with."""
        self._thread.start()
        with suppress(NodeStopped):  # That is said to whoever asks something of it, and on leaving.
            self.submit(self._counter.open()).result()

    def close(self) -> None:
        """End in an orderly way; raises what the node has failed of, if it has."""
        self._thread.stop()
        if self._thread.error is not None:
            raise self._thread.error

    @property
    def running(self) -> bool:
        """Whether the node is up."""
        return not self._thread.ended.is_set()

    def submit(self, act: Coroutine[Any, Any, R]) -> "concurrent.futures.Future[R]":
        """Have something awaited in the node's loop."""
        return self._thread.submit(act)

    async def call(self, act: Coroutine[Any, Any, R]) -> R:
        """The same, awaited in the loop of the caller."""
        return await asyncio.wrap_future(self.submit(act))

    def draft(self) -> Draft:
        """A new transaction, without any work yet."""
        return Draft(self.clerk)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._thread.begin(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def _changed(self, standing: Standing | None) -> None:
        self.clerk.led(None if standing is None else standing.leader)


def address_of(text: str) -> Address:
    """Read `host:port`."""
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError(f"an address is host:port, not {text!r}")
    return host.strip("[]"), int(port)


def _machine(election: str, setting: Setting) -> Machine[Any]:
    if election not in REGISTRY:
        raise ValueError(f"no election is called {election!r}")
    return setting.machine(*REGISTRY[election])
