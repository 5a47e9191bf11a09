"""Clusters of nodes in threads of the test's own process, on loopback."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from electorate.cli.supervisor import free_ports
from electorate.core import Machine, Standing, Timing
from electorate.protocols.bully import Bully
from electorate.runtime.config import NodeConfig
from electorate.runtime.environment import Address
from electorate.runtime.thread import NodeThread
from electorate.trace import Connections, Setting

PATIENCE_S = 10.0


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait until something is the case, but not for ever."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came about"
        time.sleep(0.005)


def free_addresses(count: int) -> list[Address]:
    """Addresses on loopback that nobody listens on at the moment, nor gets by connecting."""
    return [("127.0.0.1", port) for port in free_ports(count)]


class Cluster:
    """Nodes in threads; each knows the addresses of all."""

    def __init__(
        self,
        folder: Path,
        count: int,
        kind: type[Machine[Any]] = Bully,
        T: int = 60,
        beat_ms: float = 30.0,
        timeout_ms: float = 250.0,
        name: str = "bully",
        form: str = "sound",
        record: bool = False,
    ) -> None:
        self.ids = tuple(range(1, count + 1))
        self.addresses = dict(zip(self.ids, free_addresses(count), strict=True))
        self.setting = Setting(
            name, self.ids, timing=Timing(T), connections=Connections.DIE, strongest="lowest"
        )
        self.machine = self.setting.machine(kind, form)
        self.threads: dict[int, NodeThread] = {}
        self.standings: dict[int, list[Standing | None]] = {node: [] for node in self.ids}
        self._folder = folder
        self._beat_ms = beat_ms
        self.timeout_ms = timeout_ms
        self._record = record

    def config(self, node: int, **changed: Any) -> NodeConfig:
        fields: dict[str, Any] = {
            "me": node,
            "setting": self.setting,
            "addresses": self.addresses,
            "data": self._folder / f"node-{node}",
            "beat_ms": self._beat_ms,
            "timeout_ms": self.timeout_ms,
            "record": self._folder / f"node-{node}.jsonl" if self._record else None,
        }
        return NodeConfig(**{**fields, **changed})

    @property
    def name(self) -> str:
        return self.config(1).cluster(self.machine)

    def start(self, node: int) -> NodeThread:
        """Start a node, for the first time or again."""
        thread = NodeThread(self.config(node), self.machine, self.standings[node].append)
        self.threads[node] = thread
        thread.start()
        return thread

    def stop(self) -> None:
        for thread in self.threads.values():
            thread.stop()

    def leader_of(self, node: int) -> int | None:
        """Whom a node follows; None if it is down or in doubt."""
        told = self.standings[node][-1:]
        return told[0].leader if told and told[0] is not None else None

    def agrees_on(self, leader: int) -> bool:
        """Whether all nodes that run follow this one."""
        running = [node for node, thread in self.threads.items() if not thread.ended.is_set()]
        return all(self.leader_of(node) == leader for node in running)

    def closed(self, node: int) -> dict[str, int]:
        """Why a node has closed connections, and how often."""
        counters = self.threads[node].node.network.listener.counters
        prefix = "closed: "
        return {k.removeprefix(prefix): v for k, v in counters.items() if k.startswith(prefix)}


@contextmanager
def running(cluster: Cluster, *nodes: int) -> Iterator[Cluster]:
    """Run these nodes (all, if none is named), and stop whatever runs at the end."""
    try:
        for node in nodes or cluster.ids:
            cluster.start(node)
        yield cluster
    finally:
        cluster.stop()
