"""One node process on this machine, as whoever started it sees it."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Standing

STOP_S = 3.0


class Member:
    """A node: its process, if it has one, and what it said last."""

    def __init__(self, node: int, port: int) -> None:
        self.node = node
        self.port = port
        self.process: subprocess.Popen[str] | None = None
        self.told: dict[str, Any] = {}
        self.since_s = 0.0
        self.paused = False
        self.cut = False

    @property
    def running(self) -> bool:
        """Whether its process exists, paused or not."""
        return self.process is not None and self.process.poll() is None

    @property
    def at_work(self) -> bool:
        """Whether its process runs and the others can reach it."""
        return self.running and not self.paused and not self.cut

    @property
    def status(self) -> str:
        """What a table shows."""
        if not self.running:
            return "down"
        return "paused" if self.paused else str(self.told.get("status") or "starting")

    @property
    def leader(self) -> int | None:
        """Whom it follows, as far as it said."""
        return self.told.get("leader") if self.running else None

    @property
    def standing(self) -> Standing | None:
        """What it believes, as far as it said."""
        if not self.running or self.told.get("status") is None:
            return None
        told = {name: self.told[name] for name in ("status", "leader", "group", "token")}
        return msgspec.convert(told, Standing)

    def start(self, words: list[str], log: Path) -> subprocess.Popen[str]:
        """Run these words as its process; what it complains of goes to `log`."""
        with log.open("a") as complaints:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            )
        self.told, self.paused, self.cut = {}, False, False
        return self.process

    def signal(self, number: signal.Signals) -> bool:
        """Send its process a signal; whether there was one to send it to."""
        if self.process is None or not self.running:
            return False
        self.process.send_signal(number)
        return True

    def order(self, order: dict[str, Any]) -> None:
        """Have its process do something."""
        if self.process is None or self.process.stdin is None or not self.running:
            return
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # It has just died; it will learn when it is back.

    def await_end(self, seconds: float) -> None:
        """Wait for its process to end, and end it after so long."""
        if self.process is None:
            return
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
