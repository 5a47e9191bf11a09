"""Nodes on loopback, each in a thread, whose every turn, save and sending is watched."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from electorate.core import Asked, Event, NodeId, Request, Stable, State
from electorate.runtime.frame import Said
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance, Writer
from electorate.runtime.node import ProtocolNode
from electorate.runtime.tcp import now_ms
from electorate.runtime.thread import HostThread
from electorate.trace.record import RecordError
from tests.conformance.lodging import Lodging
from tests.conformance.loopback import PATIENCE_S, came_about, free_addresses, wait_until
from tests.conformance.probe import Kept, Note, ProbeState, Speak
from tests.conformance.recorded import recorded
from tests.conformance.story import Departure, Life, Pause, Run


class PowerCut(Exception):
    """Ends a node at this very point."""


class Watch:
    """What is known of one node, over all its lives, and what is to happen to it."""

    def __init__(self, run: Run, node: NodeId) -> None:
        self.run = run
        self.node = node
        self.life: Life | None = None
        self.opened = 0.0
        self.durable: Kept | None = None
        self.saving_s = 0.0
        self.wake = self.in_wake = 0
        """The present wake-up, and how many turns it has had."""
        self.dies_in: tuple[str, int] | None = None
        """Cut the power in the so-manieth `save` or `send` from now on."""

    @property
    def turns(self) -> int:
        """How many turns its present life has had."""
        return 0 if self.life is None else len(self.life.moments)

    def heard(self, sender: NodeId) -> list[Note]:
        """The notes of one node in the present life."""
        facts = self.life.moments[-1].state.facts if self.life and self.life.moments else ()
        return [f.message for f in facts if f.sender == sender and isinstance(f.message, Note)]

    def approach(self, point: str) -> None:
        """The node is about to save or to send."""
        if self.dies_in is None or self.dies_in[0] != point:
            return
        self.dies_in = (point, self.dies_in[1] - 1)
        if self.dies_in[1] < 1:
            self.dies_in = None
            assert self.life is not None
            self.life.unsaved = self.in_wake if point == "save" else 0
            raise PowerCut


class WatchedHost(Host):
    """Passes everything on, and writes down what concerns the probe in it."""

    def __init__(self, watch: Watch, lodging: Lodging, *given: Any) -> None:
        self._watch = watch
        self._lodging = lodging
        self._read = 0.0
        super().__init__(*given)
        self._send = self.network.send
        self.network.send = self._watch_send  # type: ignore[method-assign]

    def begin(self) -> None:
        self._watch.opened = now_ms()
        super().begin()
        self._next_life = self.store.begin_life
        self.store.begin_life = self._watch_life  # type: ignore[method-assign]

    def _watch_life(self) -> int:
        self._watch.opened = now_ms()
        return self._next_life()

    def add(self, instance: Instance) -> Instance:
        super().add(instance)
        if instance.name != self._lodging.instance:
            return instance
        assert instance.record is not None
        instance.record = WatchedRecord(self, self._watch, instance.record)
        return instance

    def _look(self) -> float:
        self._read = self.environment.now_ms()
        return self._read

    # Whoever looks at the clock of this host is noticed, from its beginning on.
    now_ms = property(lambda self: self._look, lambda self, clock: None)

    def save(self, records: Mapping[str, bytes | None]) -> None:
        record = records.get(self._lodging.instance)
        if record is None:
            super().save(records)
            return
        self._watch.approach("save")
        time.sleep(self._watch.saving_s)
        super().save(records)
        self._watch.durable = self._lodging.kept(record)

    def _watch_send(self, to: NodeId, said: list[Said], counted: int = 0) -> None:
        for each in (each for each in said if each.to == self._lodging.instance):
            self._watch.approach("send")
            message = self._lodging.message(bytes(each.body))
            if isinstance(message, Note):
                departure = Departure(self._watch.node, message, self._watch.durable)
                self._watch.run.departures.append(departure)
        self._send(to, said, counted)


class WatchedNode(WatchedHost, ProtocolNode):
    """The same for a node of one protocol."""


class WatchedRecord:
    """Tells of every turn that is written down."""

    def __init__(self, node: WatchedHost, watch: Watch, record: Writer) -> None:
        self._node = node
        self._watch = watch
        self._record = record
        self.ruled, self.halted, self.ended = record.ruled, record.halted, record.ended

    def booted(self, stable: Stable | None, state: State) -> None:
        read = self._node._read  # Whoever writes it down looks at the clock, too.
        self._record.booted(stable, state)
        watch = self._watch
        if watch.life is not None:
            watch.life.crashed = True
        watch.life = watch.run.begin(watch.node, watch.opened)
        self._took(read, state, None)

    def took(
        self, event: Event, state: State, letterhead: Any = None, source: str | None = None
    ) -> None:
        read = self._node._read
        self._record.took(event, state, letterhead)
        assert self._watch.life is not None
        self._took(read, state, self._watch.life.moments[-1].state)

    def _took(self, read: float, state: State, before: ProbeState | None) -> None:
        watch, wake = self._watch, self._node.commit.count
        watch.wake, watch.in_wake = wake, 1 + (watch.in_wake if wake == watch.wake else 0)
        assert self._watch.life is not None
        assert isinstance(state, ProbeState)
        self._watch.life.take(read, read, state, before)


class Nodes:
    """A cluster of watched nodes."""

    def __init__(self, kind: type[Lodging], folder: Path, count: int) -> None:
        folder.mkdir()
        self.lodging = kind(folder, free_addresses(count))
        self.lodging.prepare()
        self.run = Run(self.lodging.setting)
        self.run.stepped = False
        self.run.grain = 2.0
        self.ids = self.lodging.ids
        self.watches = {node: Watch(self.run, node) for node in self.ids}
        self.threads: dict[NodeId, HostThread] = {}

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self._stop)
            for node in self.watches:
                self.start(node)
            wait_until(lambda: all(watch.turns > 2 for watch in self.watches.values()))
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        if kind is None:
            records = {node: self.lodging.record(node) for node in self.ids}
            try:
                self.run.trace = recorded(self.run, records, self.lodging.instance)
            except RecordError as error:
                self.run.problem = str(error)

    def _stop(self) -> None:
        for thread in self.threads.values():
            thread.stop()

    def start(self, node: NodeId) -> None:
        """Start a node, for the first time or after a power cut."""
        given = self.watches[node], self.lodging
        host = self.lodging.host(node, partial(WatchedNode, *given), partial(WatchedHost, *given))
        thread = self.threads[node] = HostThread(host)
        thread.start()

    def ask(self, node: NodeId, request: Request) -> None:
        """The application's word."""
        self.enter(node, lambda host: host.instances[self.lodging.instance].take(Asked(request)))

    def enter(self, node: NodeId, act: Callable[[Host], None]) -> None:
        """Have something done in a wake-up of a node."""
        thread = self.threads[node]
        thread.call(thread.host.enter, act, thread.host)

    def cut_power(self, node: NodeId, request: Request, point: str, count: int = 1) -> None:
        """Ask for something, and let the node die in the middle of it."""
        self.watches[node].dies_in = (point, count)
        self.ask(node, request)
        wait_until(self.threads[node].ended.is_set)
        assert isinstance(self.threads[node].error, PowerCut), self.threads[node].error

    def restart(self, node: NodeId) -> None:
        """Start a node again, and wait until it is linked and at work."""
        life = self.watches[node].life
        self.start(node)
        wait_until(lambda: self.watches[node].life is not life and self.watches[node].turns > 2)

    def pause(self, node: NodeId, seconds: float) -> None:
        """Let a node stand still, beginning at once."""
        self.threads[node].call(self._stand_still, node, seconds)

    def _stand_still(self, node: NodeId, seconds: float) -> None:
        began = now_ms()
        time.sleep(seconds)
        ended = now_ms()
        self.run.pauses.append(Pause(node, began, ended, began, ended))

    def be_heard(self, speaker: NodeId, *listeners: NodeId) -> None:
        """Have a node speak until all these have heard it: what is sent may be lost."""
        watches = [self.watches[node] for node in listeners]
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            before = [(watch.life, len(watch.heard(speaker))) for watch in watches]

            def is_heard(before: list[tuple[Life | None, int]] = before) -> bool:
                return all(
                    watch.life is life and len(watch.heard(speaker)) >= count + 3
                    for watch, (life, count) in zip(watches, before, strict=True)
                )

            self.ask(speaker, Speak())
            if came_about(is_heard, 0.5):
                return
        raise AssertionError(f"nobody hears node {speaker}")
