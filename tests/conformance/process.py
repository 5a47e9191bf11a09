"""Nodes on loopback, each in a process that can be killed; only their records tell a story."""

import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from electorate.cli.supervisor import Supervisor
from electorate.core import NodeId, Received
from electorate.runtime.tcp import now_ms
from electorate.trace.merge import Occurrence, merged
from electorate.trace.record import Booted, Line
from tests.conformance.lodging import Lodging
from tests.conformance.loopback import PATIENCE_S, came_about, free_addresses, wait_until
from tests.conformance.probe import ProbeState
from tests.conformance.recorded import lines_of, occurrences
from tests.conformance.rule import heard_of_the_last_speech
from tests.conformance.story import Run

ROOT = Path(__file__).resolve().parents[2]
STOP_S = 5.0


class Processes:
    """A cluster of processes, one node each."""

    def __init__(self, kind: type[Lodging], folder: Path, count: int) -> None:
        folder.mkdir()
        self._folder = folder
        self._lodging = kind(folder, free_addresses(count))
        self._lodging.prepare()
        self.ids = ids = self._lodging.ids
        self.run = Run(self._lodging.setting)
        self.run.timed = self.run.stepped = False
        self.records = {node: self._lodging.record(node) for node in ids}
        self._processes = Supervisor[NodeId](STOP_S)
        self._opened: dict[NodeId, list[float]] = {node: [] for node in ids}

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self._processes)
            for node in self.records:
                self.start(node)
            wait_until(lambda: all(map(self.is_at_work, self.records)))
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._processes.stop()
        if kind is None:
            self._tell()

    def start(self, node: NodeId) -> None:
        """Start the process of a node."""
        told = msgspec.json.encode((node, self._lodging), enc_hook=str).decode()
        words = [sys.executable, "-m", "tests.conformance.child", told]
        self._opened[node].append(now_ms())
        self._processes.start(node, words, log=self._folder / f"{node}.log", cwd=ROOT)

    def order(self, node: NodeId, order: str) -> None:
        """Tell a node what to do."""
        assert self._processes[node].order(order)

    def be_heard(self, node: NodeId) -> None:
        """Have a node speak until all others have heard something: it may have no links yet."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            before = {other: self.turns(other) for other in self.ids if other != node}
            self.order(node, "speak")
            heard = partial(self._have_gone_on, before)
            if came_about(heard, 0.5):
                return
        raise AssertionError(f"nobody hears node {node}")

    def _have_gone_on(self, before: dict[NodeId, int]) -> bool:
        return all(self.turns(node) > turns for node, turns in before.items())

    def doom(self, node: NodeId, letters: int) -> None:
        """Have a node speak, and die after so many letters."""
        self.be_heard(node)
        self.order(node, f"doom {letters}")
        self._mourn(node)

    def kill(self, node: NodeId) -> None:
        """End the process of a node at once."""
        self._processes[node].kill()
        self._mourn(node)

    def _mourn(self, node: NodeId) -> None:
        code = self._processes[node].wait(STOP_S)
        assert code is not None
        assert code < 0
        self._processes.bury(node)

    def restart(self, node: NodeId) -> None:
        """Start a node again, and wait until it has begun its next life."""
        self.start(node)
        wait_until(lambda: self.is_at_work(node))

    def is_at_work(self, node: NodeId) -> bool:
        """Whether the life of its present process has begun."""
        entries = [line.entry for line in self._lines(node)]
        lives = [n for n, entry in enumerate(entries) if isinstance(entry, Booted)]
        return len(lives) == len(self._opened[node]) and len(entries) > lives[-1] + 2

    def turns(self, node: NodeId) -> int:
        """How many events it has written down."""
        return len(self._lines(node))

    def _lines(self, node: NodeId) -> list[Line]:
        return lines_of(self.records[node], self._lodging.instance)

    def _tell(self) -> None:
        """Make the story of what the records say."""
        run, found = self.run, occurrences(self.records, self._lodging.instance)
        run.trace = merged(run.setting, found)
        for node, record in found.items():
            opened = iter(self._opened[node])
            before_it: list[Occurrence] = []
            for occurrence in record:
                if isinstance(occurrence.entry, Booted):
                    for life in run.lives_of(node)[-1:]:
                        life.crashed, life.unsaved = True, _last_wake(before_it)
                    before_it = []
                    life = run.begin(node, next(opened))
                before_it.append(occurrence)
                if occurrence.turn is not None:
                    state, before = occurrence.turn.state, occurrence.before
                    assert isinstance(state, ProbeState)
                    assert before is None or isinstance(before, ProbeState)
                    life.take(occurrence.at, occurrence.at, state, before)
        run.torn += heard_of_the_last_speech(run)


def _last_wake(record: list[Occurrence]) -> int:
    """How many turns the last wake-up of a life had: an event, and what a node told itself."""
    turns = 1
    for occurrence in reversed(record):
        match occurrence.event:
            case Received(sender, _) if sender == occurrence.node:
                turns += 1
            case _:
                break
    return turns
