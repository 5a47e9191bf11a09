"""Single keys from a terminal, without waiting for Enter; silent where there is no terminal."""

import contextlib
import os
import select
import termios
import tty
from typing import Any, Self, TextIO

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}


class Keyboard:
    """Puts the terminal into a mode that hands over every key, and back again at the end."""

    def __init__(self, terminal: TextIO) -> None:
        self._before: list[Any] | None = None
        self._descriptor: int | None = None
        with contextlib.suppress(OSError, ValueError):
            if terminal.isatty():
                self._descriptor = terminal.fileno()

    def __enter__(self) -> Self:
        if self._descriptor is not None:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None and self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def pressed(self) -> list[str]:
        """The keys pressed since the last call; arrows by name."""
        if self._descriptor is None:
            return []
        typed = b""
        while select.select([self._descriptor], [], [], 0)[0]:
            data = os.read(self._descriptor, 64)
            if not data:
                break
            typed += data
        return _keys(typed.decode(errors="ignore"))


def _keys(typed: str) -> list[str]:
    keys: list[str] = []
    while typed:
        if typed[:2] == "\x1b[" and typed[2:3] in ARROWS:
            keys.append(ARROWS[typed[2]])
            typed = typed[3:]
        else:
            keys.append(typed[0])
            typed = typed[1:]
    return keys
