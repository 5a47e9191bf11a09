"""How one node is run."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Machine, NodeId
from electorate.runtime.link import Address
from electorate.trace import Setting


class NodeConfig(msgspec.Struct, frozen=True):
    """Everything that one node is told. Durations are in milliseconds."""

    me: NodeId
    setting: Setting
    addresses: dict[NodeId, Address]
    data: Path
    record: Path | None = None
    beat_ms: float = 50.0
    timeout_ms: float = 400.0
    detector: str = "heartbeat"
    probe_ms: float | None = None
    """How soon a node answers that was asked because a connection broke; 2T unless told."""
    trusts_end: bool = False
    """Whether a node whose connection came to its end is believed to be no more."""
    first_wait_ms: float = 0.0
    """How long the very first life waits for the other nodes to be started too."""
    names: dict[NodeId, str] = {}
    """What people call the nodes, where they know them by something else than numbers."""

    def called(self, node: NodeId) -> str:
        """What to call a node when speaking to people."""
        return self.names.get(node, str(node))

    def cluster(self, machine: Machine[Any]) -> str:
        """What nodes must have in common to talk to one another."""
        rules = str(sorted(machine.rules.texts().items()))
        return hashlib.sha256(f"{self.setting.text()}\n{rules}".encode()).hexdigest()[:16]
