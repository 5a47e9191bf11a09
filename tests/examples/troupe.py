"""An example as several processes: started by name, heard, hurt, and ended by Ctrl-C."""

import os
import re
import signal
import sys
from pathlib import Path
from typing import Self

from electorate.cli.supervisor import Supervisor, free_ports
from tests.runtime.cluster import wait_until
from tests.script import ROOT

PATIENCE_S = 30.0


class Troupe:
    """The processes of one example, and what each has said."""

    def __init__(
        self,
        example: str,
        folder: Path,
        *names: str,
        words: tuple[str, ...] = (),
        runs: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.names = runs or names
        """The processes: one for each member, unless one runs them all."""
        self._words = [sys.executable, str(ROOT / "examples" / example)]
        self._more = words
        ports = free_ports(len(names))
        where = [f"{name}@127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)]
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        self._env = {**os.environ, "MEMBERS": " ".join(where), "PYTHONUNBUFFERED": "1"}
        self._env["PYTHONPATH"] = path
        self._processes = Supervisor[str]()

    def __enter__(self) -> Self:
        for name in self.names:
            self.start(name)
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    def start(self, name: str) -> None:
        """Start a process, for the first time or again."""
        words, log = [*self._words, name, *self._more], self.folder / f"{name}.txt"
        self._processes.start(name, words, log=log, cwd=self.folder, env=self._env)

    def said(self, name: str) -> str:
        """Everything that a process has said."""
        return (self.folder / f"{name}.txt").read_text()

    def await_word(self, pattern: str, *names: str) -> str:
        """Wait until one of these has said something like that; who that was."""
        found: list[str] = []

        def hear() -> bool:
            found[:] = [n for n in names or self.names if re.search(pattern, self.said(n))]
            return bool(found)

        wait_until(hear, PATIENCE_S)
        return found[0]

    def signal(self, name: str, number: signal.Signals) -> None:
        """Kill, stop, or continue it."""
        self._processes[name].signal(number)

    def kill(self, name: str) -> None:
        """End it at once."""
        self._processes[name].kill()

    def wait(self, name: str) -> int | None:
        """Wait until it has ended by itself; its exit code."""
        return self._processes[name].wait(PATIENCE_S)

    def end(self, *names: str) -> dict[str, int | None]:
        """Ctrl-C for these, or for everybody that is left; their exit codes."""
        wanted = {name: self._processes[name] for name in names or self.names}
        left = [name for name, process in wanted.items() if process.signal(signal.SIGINT)]
        return {name: wanted[name].wait(PATIENCE_S) for name in left}
