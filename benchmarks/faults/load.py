"""How much of the processors others take: while that is much, no lateness is judged."""

import os
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

SAMPLE_S = 0.5
MUCH = 0.25
"""If others take more than this part of all processors, the machine is busy."""


class LoadWatch:
    """A thread that says when the machine was busy with other things than our processes."""

    def __init__(
        self,
        ours: Callable[[], Collection[int]],
        busy: Callable[[int], None],
        much: float = MUCH,
    ) -> None:
        """`ours` are the processes that are ours; `busy` is told since when it has been so."""
        self._ours = ours
        self._busy = busy
        self._much = much
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until it has."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        before, known = taken(), {pid: taken_by(pid) for pid in self._pids()}
        since_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        while not self._over.wait(SAMPLE_S):
            now, all_now = taken(), {pid: taken_by(pid) for pid in self._pids()}
            ours = sum(each - known.get(pid, 0) for pid, each in all_now.items())
            total = now[1] - before[1]
            if total and now[0] - before[0] - ours > self._much * total:
                self._busy(since_ns)
            before, known = now, all_now
            since_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    def _pids(self) -> list[int]:
        return [os.getpid(), *self._ours()]


def taken() -> tuple[int, int]:
    """How much time processors were busy, and how much there was, in ticks of the system.

    What a hypervisor took counts as busy.
    """
    words = Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]
    user, nice, system, idle, waiting, *rest = map(int, words)
    busy = user + nice + system + sum(rest)
    return busy, busy + idle + waiting


def taken_by(pid: int) -> int:
    """How much of it a process took; 0 if it is gone."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(words[11]) + int(words[12])
