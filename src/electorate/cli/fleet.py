"""A cluster of node processes on this machine: started, watched, hurt and stopped."""

import ctypes
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

PR_SET_PDEATHSIG = 1
STOP_S = 3.0


class News(NamedTuple):
    """Something that a node said, or that happened to its process."""

    at_s: float
    """Seconds since the fleet was started."""
    node: int
    what: str
    told: dict[str, Any]


class Member:
    """One node: its process, if it has one, and what it said last."""

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
    def status(self) -> str:
        """What a table shows."""
        if not self.running:
            return "down"
        return "paused" if self.paused else str(self.told.get("status") or "starting")

    @property
    def leader(self) -> int | None:
        """Whom it follows, as far as it said."""
        return self.told.get("leader") if self.running else None


class Fleet:
    """All nodes of one cluster, each its own process on loopback."""

    def __init__(self, command: Sequence[str], count: int, folder: Path, *, record: bool) -> None:
        ports = _free_ports(count)
        self.members = {n: Member(n, port) for n, port in enumerate(ports, start=1)}
        self.news: queue.Queue[News] = queue.Queue()
        self.changes = 0
        self._command = list(command)
        self._folder = folder
        self._record = record
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.callback(self.stop)
            for node in self.members:
                self.start(node)
            undo.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def seconds(self) -> float:
        """How long the fleet has been up."""
        return time.monotonic() - self._began

    def record_of(self, node: int) -> Path:
        """Where a node writes its events down."""
        return self._folder / f"node-{node}.jsonl"

    # --- what can be done to a node ---

    def start(self, node: int) -> None:
        """Start its process, if it has none."""
        member = self.members[node]
        if member.running:
            return
        words = [sys.executable, "-m", "electorate.cli.main", "node", *self._command]
        words += ["--id", str(node), "--data", str(self._folder / f"node-{node}"), "--tethered"]
        for other in self.members.values():
            words += ["--member", f"{other.node}@127.0.0.1:{other.port}"]
        if self._record:
            words += ["--record", str(self.record_of(node))]
        log = (self._folder / f"node-{node}.log").open("a")
        with log:
            member.process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_die_with_parent,
                start_new_session=True,
            )
        member.told, member.paused, member.cut = {}, False, False
        member.since_s = self.seconds
        threading.Thread(target=self._listen, args=(member, member.process), daemon=True).start()

    def kill(self, node: int) -> None:
        """End its process at once, as a power cut would."""
        self._signal(node, signal.SIGKILL)

    def pause(self, node: int) -> None:
        """Stop its process in its tracks."""
        if self._signal(node, signal.SIGSTOP):
            self._note(self.members[node], "paused", paused=True)

    def resume(self, node: int) -> None:
        """Let a paused process go on."""
        if self._signal(node, signal.SIGCONT):
            self._note(self.members[node], "resumed", paused=False)

    def cut(self, node: int, *, off: bool) -> None:
        """Take a node off the network, or put it back."""
        self.members[node].cut = off
        for member in self.members.values():
            gone = [m.node for m in self.members.values() if m.cut and m is not member]
            if member.cut:
                gone = [m.node for m in self.members.values() if m is not member]
            self._order(member, {"cut": gone})
        self._note(self.members[node], "cut" if off else "healed")

    def stop(self) -> None:
        """End every process; none is left, paused or not."""
        running = [m for m in self.members.values() if m.running]
        for member in running:
            if member.paused:
                self._signal(member.node, signal.SIGCONT)
            self._signal(member.node, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        for member in running:
            assert member.process is not None
            try:
                member.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()

    # --- what is known of them ---

    def agreed(self) -> int | None:
        """The leader that every node at work follows; None if they do not agree."""
        at_work = [m for m in self.members.values() if m.running and not m.paused and not m.cut]
        leaders = {m.leader for m in at_work}
        if len(leaders) != 1 or any(m.status != "normal" for m in at_work):
            return None
        leader = leaders.pop()
        return leader if leader in {m.node for m in at_work} else None

    def hear(self, timeout_s: float) -> News | None:
        """The next piece of news that changes something, if there is any in time."""
        try:
            return self.news.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def watch(self, seconds: float) -> Iterator[News]:
        """All news for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            news = self.hear(left)
            if news is not None:
                yield news

    def await_agreement(self, leader: int | None, seconds: float) -> float | None:
        """Wait until all at work follow `leader` (None: anybody); how long that took."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            agreed = self.agreed()
            if agreed is not None and leader in (None, agreed):
                return passed
            self.hear(min(0.2, seconds - passed))
        return None

    def _listen(self, member: Member, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                told = json.loads(line)
                changed = any(told[k] != member.told.get(k) for k in ("status", "leader", "group"))
                if changed:
                    member.since_s = self.seconds
                    self.changes += 1
                member.told = told
                if changed:
                    self.news.put(News(self.seconds, member.node, "standing", told))
        code = process.wait()
        if member.process is process:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            self._note(member, f"down: {how}", paused=False)

    def _note(self, member: Member, what: str, paused: bool | None = None) -> None:
        if paused is not None:
            member.paused = paused
        member.since_s = self.seconds
        self.changes += 1
        self.news.put(News(self.seconds, member.node, what, member.told))

    def _signal(self, node: int, number: signal.Signals) -> bool:
        member = self.members[node]
        if not member.running or member.process is None:
            return False
        os.kill(member.process.pid, number)
        return True

    def _order(self, member: Member, order: dict[str, Any]) -> None:
        process = member.process
        if process is not None and process.stdin is not None and member.running:
            try:
                process.stdin.write(json.dumps(order) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                return  # It has just died; it will learn when it is back.


def _free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on at the moment."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _die_with_parent() -> None:
    """Have the kernel end this process when its parent is gone, even if both are killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
