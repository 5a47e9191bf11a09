"""A cluster of node processes on this machine: started, watched, hurt and stopped."""

import contextlib
import json
import queue
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from electorate.cli.error import EXIT_USAGE
from electorate.cli.interrupt import not_now
from electorate.cli.member import STOP_S, Member
from electorate.core import Standing

PORTS = range(20_000, 32_000)
"""Below the ports that systems hand out: a connection that is being opened to a node that is
down must not find itself, and so keep the node from coming back."""


class News(NamedTuple):
    """Something that a node said, or that happened to its process."""

    at_s: float
    """Seconds since the fleet was started."""
    node: int
    what: str
    told: dict[str, Any]


class Fleet:
    """All nodes of one cluster, each its own process on loopback."""

    def __init__(self, command: Sequence[str], count: int, folder: Path, *, record: bool) -> None:
        ports = free_ports(count)
        self.members = {n: Member(n, port) for n, port in enumerate(ports, start=1)}
        self.news: queue.Queue[News] = queue.Queue()
        self.changes = 0
        self._command = list(command)
        self._folder = folder
        self._record = record
        self._began = time.monotonic()
        self._listeners: list[threading.Thread] = []
        self._lock = threading.Lock()

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

    def log_of(self, node: int) -> Path:
        """Where a node's complaints are kept."""
        return self._folder / f"node-{node}.log"

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
        with self._lock, not_now():
            process = member.start(words, self.log_of(node))
        member.since_s = self.seconds
        listener = threading.Thread(target=self._listen, args=(member, process), daemon=True)
        listener.start()
        self._listeners = [each for each in self._listeners if each.is_alive()] + [listener]
        self._order_cuts()

    def kill(self, node: int) -> None:
        """End its process at once, as a power cut would."""
        if self.members[node].signal(signal.SIGKILL):
            self.members[node].await_end(STOP_S)

    def pause(self, node: int) -> None:
        """Stop its process in its tracks."""
        if self.members[node].signal(signal.SIGSTOP):
            self._note(self.members[node], "paused", paused=True)

    def resume(self, node: int) -> None:
        """Let a paused process go on."""
        if self.members[node].signal(signal.SIGCONT):
            self._note(self.members[node], "resumed", paused=False)

    def cut(self, node: int, *, off: bool) -> None:
        """Take a node off the network, or put it back."""
        if not self.members[node].running:
            return
        self.members[node].cut = off
        self._order_cuts()
        self._note(self.members[node], "cut" if off else "healed")

    def stop(self) -> None:
        """End every process; none is left, paused or not."""
        running = [member for member in self.members.values() if member.running]
        for member in running:
            member.signal(signal.SIGTERM)
            member.signal(signal.SIGCONT)
        deadline = time.monotonic() + STOP_S
        for member in running:
            member.await_end(max(0.0, deadline - time.monotonic()))
        for listener in self._listeners:
            listener.join()

    # --- what is known of them ---

    def agreed(self) -> int | None:
        """The leader that every node at work follows; None if they do not agree."""
        at_work = [member for member in self.members.values() if member.at_work]
        leaders = {m.leader for m in at_work}
        if len(leaders) != 1 or any(m.status != "normal" for m in at_work):
            return None
        leader = leaders.pop()
        return leader if leader in {m.node for m in at_work} else None

    def standings(self) -> tuple[Standing | None, ...] | None:
        """What each node says that it believes, None for those that are not at work.

        None for all of them while one has not spoken yet: it is up, but who knows where it stands.
        """
        found = {node: member.standing for node, member in self.members.items() if member.at_work}
        if None in found.values():
            return None
        return tuple(found.get(node) for node in self.members)

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
        began = self.seconds

        def agree() -> bool:
            agreed = self.agreed()
            return agreed is not None and leader in (None, agreed)

        at_s = self.await_that(agree, seconds)
        return None if at_s is None else at_s - began

    def await_that(
        self, holds: Callable[[], bool], seconds: float, lasting_s: float = 0.0
    ) -> float | None:
        """Wait until something holds that goes on holding for so long; when it began to.

        That is in seconds since the fleet was started; None if it did not begin in time.
        """
        deadline = self.seconds + seconds
        since: float | None = None
        while True:
            now = self.seconds
            if not holds():
                since = None
            elif since is None:
                since = now
            if since is not None and now - since >= lasting_s:
                return since
            if since is None and now >= deadline:
                return None
            left = deadline - now if since is None else since + lasting_s - now
            self.hear(min(0.2, max(0.0, left)))

    def _listen(self, member: Member, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        assert process.stdin is not None
        with process.stdout:
            for line in process.stdout:
                self._told(member, process, line)
        code = process.wait()
        with contextlib.suppress(OSError):  # An order that it did not live to read.
            process.stdin.close()
        if member.process is process:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            complaint = self._last_complaint(member.node) if code == EXIT_USAGE else ""
            self._note(member, f"down: {complaint or how}", paused=False)

    def _told(self, member: Member, process: subprocess.Popen[str], line: str) -> None:
        try:
            told = json.loads(line)
        except ValueError:
            return  # It was killed in the middle of a word.
        with self._lock:
            if member.process is not process:
                return  # The last words of an earlier process say nothing about this one.
            before, member.told = member.told, told
        if any(told[k] != before.get(k) for k in ("status", "leader", "group", "token")):
            member.since_s = self.seconds
            self.changes += 1
            self.news.put(News(self.seconds, member.node, "standing", told))

    def _last_complaint(self, node: int) -> str:
        lines = self.log_of(node).read_text(errors="replace").splitlines()
        return lines[-1] if lines else ""

    def _note(self, member: Member, what: str, paused: bool | None = None) -> None:
        if paused is not None:
            member.paused = paused
        member.since_s = self.seconds
        self.changes += 1
        self.news.put(News(self.seconds, member.node, what, member.told))

    def _order_cuts(self) -> None:
        """Tell every node whom it has no link to."""
        for member in self.members.values():
            others = [other for other in self.members.values() if other is not member]
            gone = [other.node for other in others if other.cut or member.cut]
            member.order({"cut": gone})


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on at the moment."""
    ports: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            break
    return ports
