"""A cluster of node processes on this machine: started, watched, hurt and stopped."""

import json
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from electorate.cli.error import EXIT_USAGE
from electorate.cli.supervisor import Child, Supervisor, free_ports
from electorate.core import Standing

STOP_S = 3.0


class News(NamedTuple):
    """Something that a node said, or that happened to its process."""

    at_s: float
    """Seconds since the fleet was started."""
    node: int
    what: str
    told: dict[str, Any]


class NodeProcess:
    """A node: its process, if it has one, and what it said last."""

    def __init__(self, node: int, port: int) -> None:
        self.node = node
        self.port = port
        self.process: Child | None = None
        self.life = 0
        """Which of its processes this is."""
        self.told: dict[str, Any] = {}
        self.since_s = 0.0
        self.paused = False
        self.cut = False

    @property
    def running(self) -> bool:
        """Whether its process exists, paused or not."""
        return self.process is not None and self.process.is_running

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
        """The leader that it follows, as far as it has said."""
        return self.told.get("leader") if self.running else None

    @property
    def standing(self) -> Standing | None:
        """What it believes, as far as it has said."""
        if not self.running or self.told.get("status") is None:
            return None
        told = {name: self.told[name] for name in ("status", "leader", "group", "token")}
        return msgspec.convert(told, Standing)


class Fleet:
    """All nodes of one cluster, each its own process on loopback."""

    def __init__(self, command: Sequence[str], count: int, folder: Path, *, record: bool) -> None:
        ports = free_ports(count)
        self.members = {n: NodeProcess(n, port) for n, port in enumerate(ports, start=1)}
        self.news: queue.Queue[News] = queue.Queue()
        self.changes = 0
        self._command = list(command)
        self._folder = folder
        self._record = record
        self._began = time.monotonic()
        self._processes = Supervisor[int](STOP_S)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self._processes)
            for node in self.members:
                self.start(node)
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop()

    @property
    def seconds(self) -> float:
        """How long the fleet has been up."""
        return time.monotonic() - self._began

    def record_of(self, node: int) -> Path:
        """The file in which a node records its events."""
        return self._folder / f"node-{node}.jsonl"

    def log_of(self, node: int) -> Path:
        """The file with a node's errors."""
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
        self._processes.bury(node)
        with self._lock:
            member.life += 1
            member.told, member.paused, member.cut = {}, False, False
            member.process = self._processes.start(
                node,
                words,
                log=self.log_of(node),
                hear=partial(self._told, member, member.life),
                ended=partial(self._ended, member, member.life),
            )
        member.since_s = self.seconds
        self._order_cuts()

    def kill(self, node: int) -> None:
        """End its process at once, like a power cut."""
        process = self.members[node].process
        if process is not None:
            process.kill()

    def pause(self, node: int) -> None:
        """Pause its process."""
        self._signal(node, signal.SIGSTOP, "paused", paused=True)

    def resume(self, node: int) -> None:
        """Let a paused process go on."""
        self._signal(node, signal.SIGCONT, "resumed", paused=False)

    def _signal(self, node: int, number: signal.Signals, what: str, *, paused: bool) -> None:
        process = self.members[node].process
        if process is not None and process.signal(number):
            self._note(self.members[node], what, paused=paused)

    def cut(self, node: int, *, off: bool) -> None:
        """Take a node off the network, or put it back."""
        if not self.members[node].running:
            return
        self.members[node].cut = off
        self._order_cuts()
        self._note(self.members[node], "cut" if off else "healed")

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
        """What each node says that it believes; None for those that are not at work.

        None instead of all of them while one has not spoken yet: it is up, but its state is
        unknown.
        """
        found = {node: member.standing for node, member in self.members.items() if member.at_work}
        if None in found.values():
            return None
        return tuple(found.get(node) for node in self.members)

    def hear(self, timeout_s: float) -> News | None:
        """The next news that changes something, if there is any in time."""
        try:
            return self.news.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def watch(self, seconds: float) -> Iterator[News]:
        """All news during this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            news = self.hear(left)
            if news is not None:
                yield news

    def await_agreement(self, leader: int | None, seconds: float) -> float | None:
        """Wait until all at work follow `leader` (None: anybody); returns how long that took."""
        began = self.seconds

        def agree() -> bool:
            agreed = self.agreed()
            return agreed is not None and leader in (None, agreed)

        at_s = self.await_that(agree, seconds)
        return None if at_s is None else at_s - began

    def await_that(
        self, holds: Callable[[], bool], seconds: float, lasting_s: float = 0.0
    ) -> float | None:
        """Wait until something has been true for so long; returns since when it has been.

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

    def _ended(self, member: NodeProcess, life: int, code: int) -> None:
        if member.life == life:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            complaint = self._last_complaint(member.node) if code == EXIT_USAGE else ""
            self._note(member, f"down: {complaint or how}", paused=False)

    def _told(self, member: NodeProcess, life: int, line: str) -> None:
        told = json.loads(line)
        with self._lock:
            if member.life != life:
                return  # The last words of an earlier process say nothing about this one.
            before, member.told = member.told, told
        if any(told[k] != before.get(k) for k in ("status", "leader", "group", "token")):
            member.since_s = self.seconds
            self.changes += 1
            self.news.put(News(self.seconds, member.node, "standing", told))

    def _last_complaint(self, node: int) -> str:
        lines = self.log_of(node).read_text(errors="replace").splitlines()
        return lines[-1] if lines else ""

    def _note(self, member: NodeProcess, what: str, paused: bool | None = None) -> None:
        if paused is not None:
            member.paused = paused
        member.since_s = self.seconds
        self.changes += 1
        self.news.put(News(self.seconds, member.node, what, member.told))

    def _order_cuts(self) -> None:
        """Tell every node to which others it has no link."""
        for member in self.members.values():
            others = [other for other in self.members.values() if other is not member]
            gone = [other.node for other in others if other.cut or member.cut]
            if member.process is not None:
                # One that has just died will learn when it is back.
                member.process.order(json.dumps({"cut": gone}))
