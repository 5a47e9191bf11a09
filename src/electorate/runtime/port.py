"""What becomes of the orders of a machine: saved, written down, sent."""

import random
from typing import Any

from electorate.core import Event, Machine, Message, NodeId, Stable, State
from electorate.core.codec import Codec
from electorate.runtime.clock import now_ms
from electorate.runtime.config import NodeConfig
from electorate.runtime.network import Network
from electorate.runtime.recorder import InstanceRecorder, Recorder
from electorate.runtime.store import Store, StoreError
from electorate.trace.record import Letterhead

INSTANCE = "election"


class NodePort:
    """The port of the instance that lives in a node."""

    def __init__(
        self, config: NodeConfig, machine: Machine[Any], network: Network, store: Store
    ) -> None:
        self._config = config
        self._machine = machine
        self._codec = Codec(machine)
        self._network = network
        self._store = store
        self._recorder: Recorder | None = None
        self._record: InstanceRecorder | None = None
        if config.record is not None:
            try:
                self._recorder = Recorder(config.record)
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
        if self._recorder is not None:
            config, me = self._config, self._config.me
            cluster = config.cluster(self._machine)
            name = config.names.get(me, "")
            self._recorder.begin(me, self._store.incarnation, name, config.names, cluster)
            self._record = self._recorder.instance(INSTANCE, self._network.sent)
            self._record.ruled(self._machine, config.setting.text())
            self._record.booted(stable, state)
            self._recorder.flush()

    def took(self, event: Event, state: State, letterhead: Letterhead | None) -> None:
        """Write down an event and where it leads."""
        if self._record is not None and self._recorder is not None:
            self._record.took(event, state, letterhead)
            self._recorder.flush()

    def ended(self) -> None:
        """Write down that the life ends in an orderly way."""
        if self._record is not None:
            self._record.ended()

    def close(self) -> None:
        """Let go of the record."""
        if self._recorder is not None:
            self._recorder.close()
