"""What becomes of the orders of a machine: saved, written down, sent."""

import random
from typing import Any

from electorate.core import Event, Machine, Message, NodeId, Stable, State
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.runtime.clock import now_ms
from electorate.runtime.config import NodeConfig
from electorate.runtime.journal import Journal
from electorate.runtime.network import Network
from electorate.runtime.store import Store
from electorate.trace.record import Letterhead

INSTANCE = "election"


class NodePort:
    """The port of the instance that lives in a node."""

    def __init__(
        self, config: NodeConfig, machine: Machine[Any], network: Network, store: Store
    ) -> None:
        self._codec = Codec(machine)
        self._network = network
        self._store = store
        try:
            self._journal = Journal(config, machine)
        except OSError:
            store.close()
            raise

    def saved(self) -> Stable | None:
        """What the last life saved; None on the very first start."""
        data = self._store.load(INSTANCE)
        try:
            return None if data is None else self._codec.stable(data)
        except Exception as error:
            raise StoreError(f"what was saved is not of this protocol: {error}") from None

    def now_ms(self) -> float:
        """The node's clock."""
        return now_ms()

    def save(self, stable: Stable) -> None:
        """Make this durable before returning."""
        self._store.save({INSTANCE: self._codec.encode(stable)})

    def send(self, to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""
        self._network.send(to, self._codec.encode(message))

    def jitter(self, up_to: int) -> float:
        """A random part of this."""
        return random.uniform(0, up_to)

    def booted(self, stable: Stable | None, state: State) -> None:
        """Write down that a life begins."""
        self._journal.booted(self._store.incarnation, stable, state)

    def took(self, event: Event, state: State, letterhead: Letterhead | None) -> None:
        """Write down an event and where it leads."""
        self._journal.took(event, state, letterhead)

    def ended(self) -> None:
        """Write down that the life ends in an orderly way."""
        self._journal.ended()

    def close(self) -> None:
        """Let go of the record."""
        self._journal.close()
