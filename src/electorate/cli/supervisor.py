"""Processes on this machine: started, given orders, listened to, hurt, and ended all together."""

import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Generic, Self, TypeVar

PORTS = range(20_000, 32_000)
"""Below the ports that systems assign: a connection that is being opened to a node that is down
must not find itself, and so keep the node from coming back."""

K = TypeVar("K", bound=Hashable)


class Child:
    """A process that we have started. Ctrl-C goes only to us, and we end the process then."""

    def __init__(
        self,
        words: Sequence[str],
        log: Path | None,
        hear: Callable[[str], None] | None,
        ended: Callable[[int], None] | None,
        cwd: Path | None,
        env: Mapping[str, str] | None,
    ) -> None:
        with ExitStack() as stack:
            complaints = stack.enter_context(log.open("ab")) if log else subprocess.DEVNULL
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=complaints if hear is None else subprocess.PIPE,
                stderr=complaints,
                text=True,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._listener: threading.Thread | None = None
        if hear is not None:
            self._listener = threading.Thread(target=self._listen, args=(hear, ended), daemon=True)
            self._listener.start()

    @property
    def code(self) -> int | None:
        """Its exit code; None as long as it exists, stopped or not."""
        return self._process.poll()

    @property
    def is_running(self) -> bool:
        """Whether it exists, stopped or not."""
        return self.code is None

    def order(self, line: str) -> bool:
        """Send it a line; returns whether it was there."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def signal(self, number: signal.Signals) -> bool:
        """Send it a signal; returns whether it was there."""
        was_running = self.is_running
        self._process.send_signal(number)
        return was_running

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code; None if it does not end within this time."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """End it at once, like a power cut."""
        self._process.kill()
        self._process.wait()

    def dismiss(self) -> None:
        """Send no more orders: it is to end in an orderly way, also if it was stopped."""
        assert self._process.stdin is not None
        with suppress(OSError):  # An order that it did not live to read.
            self._process.stdin.close()
        self.signal(signal.SIGCONT)

    def close(self) -> None:
        """End it, and read what it prints until then."""
        self.kill()
        self.dismiss()
        if self._listener is not None:
            self._listener.join()

    def _listen(self, hear: Callable[[str], None], ended: Callable[[int], None] | None) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                if line.endswith("\n"):  # It was not killed in the middle of a word.
                    hear(line.rstrip("\n"))
        code = self._process.wait()
        if ended is not None:
            ended(code)


class Supervisor(Generic[K]):
    """Processes by name. When its block ends none is left, stopped or not."""

    def __init__(self, grace_s: float = 0.0) -> None:
        self._grace_s = grace_s
        """How long all have to end in an orderly way before they are killed."""
        self._children: dict[K, Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __getitem__(self, name: K) -> Child:
        return self._children[name]

    def items(self) -> Iterator[tuple[K, Child]]:
        """All of them, and their names."""
        return iter(list(self._children.items()))

    def start(
        self,
        name: K,
        words: Sequence[str],
        *,
        log: Path | None = None,
        hear: Callable[[str], None] | None = None,
        ended: Callable[[int], None] | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a process, for the first time or again.

        A thread of its own calls `hear` with every line that it prints, and then `ended` with its
        exit code. Without these, what it prints goes to the log, as its errors do.
        """
        self.bury(name)
        with not_now():  # Or it would be there, and nobody would know of it.
            child = self._children[name] = Child(words, log, hear, ended, cwd, env)
        return child

    def bury(self, name: K) -> None:
        """End a process, if it has not ended, and forget it."""
        if name in self._children:
            self._children[name].close()
            del self._children[name]

    def stop(self) -> None:
        """End every process, and wait until it is gone."""
        with not_now():
            if self._grace_s:
                for child in self._children.values():
                    child.dismiss()
            deadline = time.monotonic() + self._grace_s
            for child in self._children.values():
                child.wait(max(0.0, deadline - time.monotonic()))
                child.close()


def free_ports(count: int) -> list[int]:
    """Ports on loopback where nobody listens at the moment."""
    ports: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError("there are too few free ports on loopback")


# --- ends that come from outside: Ctrl-C, a signal, a terminal that is gone ---


@contextmanager
def any_end_is_ctrl_c() -> Iterator[None]:
    """However the command ends, what it began is put back in order first."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, signal.SIGTERM, signal.SIGHUP):
        yield


@contextmanager
def not_now() -> Iterator[None]:
    """A signal that comes meanwhile is handled afterwards."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Only the main thread is ever interrupted.
        return
    heard: list[int] = []
    with _handled(
        lambda number, _: heard.append(number), signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    ):
        yield
    for number in heard:
        signal.raise_signal(number)


@contextmanager
def _handled(
    handler: Callable[[int, FrameType | None], object], *numbers: signal.Signals
) -> Iterator[None]:
    """Handle these signals, except for those that are ignored, as under nohup."""
    before = {number: signal.getsignal(number) for number in numbers}
    heeded = [number for number, was in before.items() if was not in (signal.SIG_IGN, None)]
    try:
        for number in heeded:
            signal.signal(number, handler)
        yield
    finally:
        for number in heeded:
            signal.signal(number, before[number])
