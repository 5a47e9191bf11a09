"""How one host is run, and how one node of a protocol."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Assumption, Machine, NodeId
from electorate.runtime.environment import Address
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole, Identity
from electorate.trace import Setting

STALL_MS = 100.0
"""A busy machine stands still for shorter than this all the time, whatever T was promised."""


class HostConfig(msgspec.Struct, frozen=True):
    """How a host is run. Durations are in milliseconds."""

    me: NodeId
    addresses: dict[NodeId, Address]
    """The addresses of all nodes that it knows from the beginning, its own included."""
    data: Path
    cluster: str
    """What nodes must have in common to talk to each other; empty while it is not known."""
    record: Path | None = None
    beat_ms: float = 50.0
    timeout_ms: float = 400.0
    fresh_ms: float = 100.0
    """A frame that could not be written within that time is dropped."""
    still_ms: float = 200.0
    """How long a host may stand still before it distrusts what waits on its connections."""
    patience_ms: float = 0.0
    """How long a due timer may wait, on a busy host, until what has arrived is read."""
    late_ms: float = 100.0
    """If timers are later than this all the time, a warning is logged."""
    detector: str = "heartbeat"
    probe_ms: float | None = None
    """How soon a node must answer after its connection broke; twice `fresh_ms` unless given."""
    trusts_end: bool = False
    """Whether the end of a node's connection is taken for the end of its process."""
    first_wait_ms: float = 0.0
    """How long the very first life waits for other nodes that may still be starting."""
    names: dict[NodeId, str] = {}
    """What people call the nodes, if not by their numbers."""
    cluster_name: str = DEFAULT_CLUSTER
    """The name of the cluster in the configuration: clusters of different names never mix."""

    def called(self, node: NodeId) -> str:
        """The name of a node, for people and in certificates."""
        return self.names.get(node, str(node))

    def member(self, node: NodeId) -> Identity:
        """What a node has to prove that it is."""
        return Identity(self.cluster_name, CertificateRole.MEMBER, self.called(node))


class NodeConfig(msgspec.Struct, frozen=True):
    """How a node of one protocol is run. Durations are in milliseconds."""

    me: NodeId
    setting: Setting
    addresses: dict[NodeId, Address]
    data: Path
    record: Path | None = None
    beat_ms: float = 50.0
    timeout_ms: float = 400.0
    detector: str = "heartbeat"
    probe_ms: float | None = None
    trusts_end: bool = False
    first_wait_ms: float = 0.0
    names: dict[NodeId, str] = {}
    """What people call the nodes, if not by their numbers."""
    cluster_name: str = DEFAULT_CLUSTER

    def host(self, machine: Machine[Any]) -> HostConfig:
        """How the host of such a node is run."""
        return HostConfig(
            self.me,
            {node: self.addresses[node] for node in self.setting.ids},
            self.data,
            self.cluster(machine),
            record=self.record,
            beat_ms=self.beat_ms,
            timeout_ms=self.timeout_ms,
            fresh_ms=float(self.setting.timing.T),
            still_ms=still_ms(machine, self.timeout_ms),
            detector=self.detector,
            probe_ms=self.probe_ms,
            trusts_end=self.trusts_end,
            first_wait_ms=self.first_wait_ms,
            names=self.names,
            cluster_name=self.cluster_name,
        )

    def cluster(self, machine: Machine[Any]) -> str:
        """What nodes must have in common to talk to each other."""
        rules = str(sorted(machine.rules.texts().items()))
        return hashlib.sha256(f"{self.setting.text()}\n{rules}".encode()).hexdigest()[:16]


def still_ms(machine: Machine[Any], timeout_ms: float) -> float:
    """How long a host with this machine may stand still before it distrusts what waits for it."""
    if Assumption.BOUNDED_DELAY not in machine.assumptions:
        return timeout_ms / 2
    # Later than 2T, a message may come after the answer to what followed it.
    return min(timeout_ms / 2, max(STALL_MS, 2.0 * machine.timing.T))
