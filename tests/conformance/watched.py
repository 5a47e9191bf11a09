"""Nodes on loopback, each in a thread, whose every turn, save and sending is watched."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest

from electorate.core import Event, NodeId, Request, Stable, State, Timing
from electorate.runtime import thread as thread_module
from electorate.runtime.config import NodeConfig
from electorate.runtime.frame import Said
from electorate.runtime.instance import Instance, Writer
from electorate.runtime.node import INSTANCE, Node
from electorate.runtime.tcp import now_ms
from electorate.runtime.thread import NodeThread
from electorate.trace import Connections, Setting
from electorate.trace.record import RecordError
from tests.conformance.loopback import (
    BEAT_MS,
    PATIENCE_S,
    T_MS,
    TIMEOUT_MS,
    came_about,
    free_addresses,
    wait_until,
)
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


class WatchedNode(Node):
    """Passes everything on, and writes it down."""

    def __init__(self, watch: Watch, *given: Any) -> None:
        self._watch = watch
        self._read = 0.0
        super().__init__(*given)
        self._send = self.network.send
        self.network.send = self._watch_send  # type: ignore[method-assign]

    def begin(self) -> None:
        super().begin()
        self._save, self._next_life = self.store.save, self.store.begin_life
        self.store.save = self._watch_save  # type: ignore[method-assign]
        self.store.begin_life = self._watch_life  # type: ignore[method-assign]

    def _watch_life(self) -> int:
        self._watch.opened = now_ms()
        return self._next_life()

    def add(self, instance: Instance) -> Instance:
        super().add(instance)
        assert instance.record is not None
        instance.record = WatchedRecord(self, self._watch, instance.record)
        return instance

    def now_ms(self) -> float:
        self._read = super().now_ms()
        return self._read

    def _watch_save(self, records: Mapping[str, bytes | None]) -> None:
        self._watch.approach("save")
        time.sleep(self._watch.saving_s)
        self._save(records)
        record = records[INSTANCE]
        assert record is not None
        self._watch.durable = msgspec.msgpack.decode(record, type=Kept)

    def _watch_send(self, to: NodeId, said: list[Said], counted: int = 0) -> None:
        for each in said:
            self._watch.approach("send")
            message = self._only.decode(INSTANCE, bytes(each.body))
            if isinstance(message, Note):
                departure = Departure(self._watch.node, message, self._watch.durable)
                self._watch.run.departures.append(departure)
        self._send(to, said, counted)


class WatchedRecord:
    """Tells of every turn that is written down."""

    def __init__(self, node: WatchedNode, watch: Watch, record: Writer) -> None:
        self._node = node
        self._watch = watch
        self._record = record
        self.ruled, self.halted, self.ended = record.ruled, record.halted, record.ended

    def booted(self, stable: Stable | None, state: State) -> None:
        self._record.booted(stable, state)
        watch = self._watch
        if watch.life is not None:
            watch.life.crashed = True
        watch.life = watch.run.begin(watch.node, watch.opened)
        self._took(state, None)

    def took(self, event: Event, state: State, letterhead: Any) -> None:
        self._record.took(event, state, letterhead)
        assert self._watch.life is not None
        self._took(state, self._watch.life.moments[-1].state)

    def _took(self, state: State, before: ProbeState | None) -> None:
        watch, wake = self._watch, self._node.commit.count
        watch.wake, watch.in_wake = wake, 1 + (watch.in_wake if wake == watch.wake else 0)
        assert self._watch.life is not None
        assert isinstance(state, ProbeState)
        read = self._node._read
        self._watch.life.take(read, read, state, before)


class Nodes:
    """A cluster of watched nodes."""

    def __init__(self, folder: Path, count: int, rules: tuple[str, ...] = ()) -> None:
        ids = tuple(range(1, count + 1))
        setting = Setting("probe", ids, rules, timing=Timing(T_MS), connections=Connections.DIE)
        self.run = Run(setting)
        self.run.stepped = False
        self.run.grain = 2.0
        self.watches = {node: Watch(self.run, node) for node in ids}
        self.threads: dict[NodeId, NodeThread] = {}
        self.addresses = dict(zip(ids, free_addresses(count), strict=True))
        self._folder = folder
        folder.mkdir()

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
            records = {node: self._record(node) for node in self.watches}
            try:
                self.run.trace = recorded(self.run, records)
            except RecordError as error:
                self.run.problem = str(error)

    def _stop(self) -> None:
        for thread in self.threads.values():
            thread.stop()

    def _record(self, node: NodeId) -> Path:
        return self._folder / f"node-{node}.jsonl"

    def start(self, node: NodeId) -> None:
        """Start a node, for the first time or after a power cut."""
        watch = self.watches[node]
        config = NodeConfig(
            node,
            self.run.setting,
            self.addresses,
            self._folder / f"node-{node}",
            self._record(node),
            BEAT_MS,
            TIMEOUT_MS,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(thread_module, "Node", lambda *given: WatchedNode(watch, *given))
            thread = NodeThread(config, self.run.turns.machine, lambda standing: None)
        self.threads[node] = thread
        thread.start()

    def ask(self, node: NodeId, request: Request) -> None:
        """The application's word."""
        self.threads[node].call(self.threads[node].node.ask, request)

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
