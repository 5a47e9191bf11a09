"""The processes of the bank: started, told to die, and started again."""

import json
import queue
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from electorate.cli.supervisor import Supervisor
from electorate.transactions.history import DatabaseRow, Read
from examples.bank.doom import STEPS
from examples.bank.place import ATM, ROOT

END_S = 60.0
CALM_S = 1.5
"""Longer than the pause between two rounds of asking about what is in doubt."""


class Stuck(Exception):
    """Something that must happen does not."""


class Crew:
    """All processes, by name; what they say is counted."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self.reads: list[Read] = []
        self.why = ""
        """Why the last transaction was aborted that was."""
        self._folder = folder
        self._names = names
        self._processes = Supervisor[str]()
        self._told: queue.Queue[tuple[str, dict[str, Any]]] = queue.Queue()
        self._life: dict[str, int] = {}
        """What the present life of the cash machine has counted."""
        self._open: dict[str, int] = {}
        """How many transactions each process has left, once it was told to finish."""

    def __enter__(self) -> "Crew":
        with ExitStack() as undo:
            undo.enter_context(self._processes)
            for name in self._names:
                self.start(name)
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    def start(self, name: str) -> None:
        """Start a process, for the first time or again."""
        words = [sys.executable, "-m", "examples.bank.member", str(self._folder), name]
        log, hear = self._folder / f"{name}.log", partial(self._hear, name)
        self._processes.start(name, words, log=log, hear=hear, cwd=ROOT)
        if name == ATM:
            self._life = {}

    def order(self, name: str, line: str) -> None:
        """Tell a process what to do."""
        process = self._processes[name]
        if not process.order(line):
            self._say_how_it_ended(name, process.wait())

    def doom(self, name: str, what: str, times: int) -> None:
        """Have a process die there; it is the cash machine that knows of steps."""
        killer = ATM if what in STEPS else name
        self.order(killer, f"kill {self._processes[name].pid} {times} {what}")

    def await_death(self, name: str, seconds: float) -> bool:
        """Whether the process dies by its own hand in time; it must not end in any other way."""
        process = self._processes[name]
        deadline = time.monotonic() + seconds
        while process.is_running and time.monotonic() < deadline:
            self.listen()
            time.sleep(0.01)
        if process.code not in (None, -signal.SIGKILL):
            self._say_how_it_ended(name, process.code)
        return not process.is_running

    def bury(self, name: str) -> None:
        """Take leave of a process that is dead."""
        self._processes.bury(name)

    def finish(self) -> None:
        """Let everybody come to an end: no transaction, no payment is left anywhere.

        An account that has none left may still be asked about one by another, and so have one
        again: it is over when all have had none for a while.
        """
        for name in sorted(self._names, key=lambda name: name != ATM):
            # While the cash machine is at work, there is no end for the accounts.
            self.order(name, "finish")
            self._await(partial(self._is_done, name), f"{name} comes to no end")
        calm_since = time.monotonic()

        def calm() -> bool:
            nonlocal calm_since
            if any(self._open.values()):
                calm_since = time.monotonic()
            return time.monotonic() - calm_since > CALM_S

        self._await(calm, "the accounts come to no end")

    def _is_done(self, name: str) -> bool:
        return self._open.get(name) == 0

    def _await(self, condition: Callable[[], bool], trouble: str) -> None:
        deadline = time.monotonic() + END_S
        while not condition():
            self.listen()
            self.notice_ends()
            if time.monotonic() > deadline:
                raise Stuck(f"{trouble}: transactions left: {self._open}")
            time.sleep(0.01)

    def listen(self) -> None:
        """Take in what was said."""
        while not self._told.empty():
            name, told = self._told.get()
            if "open" in told:
                self._open[name] = told["open"]
            elif "counts" in told:
                for what, count in told["counts"].items():
                    self.counts[what] += count - self._life.get(what, 0)
                self._life = told["counts"]
                self.why = told["why"]
                for tx, place, key, writer in told["reads"]:
                    self.reads.append(Read(tx, DatabaseRow(place, key), writer))

    def notice_ends(self) -> None:
        """Stuck if a process has ended by itself."""
        for name, process in self._processes.items():
            if not process.is_running:
                self._say_how_it_ended(name, process.code)

    def _say_how_it_ended(self, name: str, code: int | None) -> NoReturn:
        words = (self._folder / f"{name}.log").read_text(errors="replace")[-2000:].strip()
        raise Stuck(f"{name} ended with {code}: {words}")

    def _hear(self, name: str, line: str) -> None:
        self._told.put((name, json.loads(line)))
