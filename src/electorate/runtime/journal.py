"""What a node writes down while it runs, one line for each event."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from electorate.core import Event, Machine, Stable, State, text_of
from electorate.runtime.clock import now_ms
from electorate.runtime.config import NodeConfig
from electorate.trace.record import FORMAT, Ended, Entry, Letterhead, Lived, Scribe, line_of


class Journal:
    """The record of one node; without a file it keeps nothing."""

    def __init__(
        self,
        config: NodeConfig,
        machine: Machine[Any],
        incarnation: Callable[[], int],
        wake: Callable[[], int],
    ) -> None:
        self._config = config
        self._scribe = Scribe(machine)
        self._incarnation = incarnation
        self._wake = wake
        self._file = _opened(config.record)

    def booted(self, stable: Stable | None, state: State) -> None:
        """A life begins."""
        if self._file is not None:
            raw, text = self._scribe.raw(stable), self._config.setting.text()
            me, life = self._config.me, self._incarnation()
            self._write(Lived(FORMAT, now_ms(), text, me, life, raw, text_of(state)))

    def took(self, event: Event, state: State, letterhead: Letterhead | None) -> None:
        """An event was taken, and this is where it leads."""
        if self._file is not None:
            self._write(self._scribe.took(now_ms(), event, state, letterhead, self._wake()))

    def ended(self) -> None:
        """The life ends in an orderly way."""
        self._write(Ended(now_ms()))

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, entry: Entry) -> None:
        if self._file is not None:
            self._file.write(f"{line_of(entry)}\n".encode())


def _opened(path: Path | None) -> BinaryIO | None:
    # Without a buffer a line is written at once, or not at all if the disk is full.
    return None if path is None else path.open("ab", buffering=0)
