"""Another time and another disk than a process has: `shim.c`, compiled, told what to show, and
what it noted undone after a power cut.
"""

import errno
import mmap
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

SOURCE = Path(__file__).with_name("shim.c")
LAYOUT = struct.Struct("12q")
"""`struct control` of the source: which view, two views of four numbers, and three for the disk."""
HEAD = struct.Struct("2I3Q")
"""`struct head` of the source."""
SECTOR = 512


def compiler() -> str | None:
    """The C compiler here; None if there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def why_no_shim() -> str | None:
    """Why processes cannot be shown another time or disk here; None if they can."""
    if compiler() is None:
        return "no C compiler: apt-get install gcc libc6-dev"
    if os.uname().sysname != "Linux":
        return "only Linux has a library before that of the system as it is needed here"
    return None


def compiled(folder: Path) -> Path:
    """The library, made in this folder."""
    library = folder / "shim.so"
    found = compiler()
    if found is None:
        raise OSError(why_no_shim())
    words = [found, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl", "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{found} cannot compile {SOURCE.name}: {done.stderr.strip()}")
    return library


class View(NamedTuple):
    """The time that a process is shown."""

    since_ns: int = 0
    offset_ns: int = 0
    ppm: int = 0
    wall_ns: int = 0


class Disguise:
    """What one process is shown. It outlives the process, as a machine does."""

    def __init__(self, library: Path, name: str, folder: Path, home: Path) -> None:
        """Of the process of that name whose data lies in `folder`; what is noted, in `home`."""
        self._library = library
        self._folder = folder
        self._control = home / f"{name}.control"
        self._undo = home / f"{name}.undo"
        self._view = View()
        self._current = 0
        self._control.write_bytes(LAYOUT.pack(*[0] * 12))
        with self._control.open("r+b") as file:
            self._shown = mmap.mmap(file.fileno(), LAYOUT.size)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process see it."""
        return {
            "LD_PRELOAD": str(self._library),
            "FAULTS_CONTROL": str(self._control),
            "FAULTS_DISK": str(self._folder),
            "FAULTS_UNDO": str(self._undo),
        }

    # --- time ---

    def add(self, seconds: float) -> None:
        """Have all its clocks jump."""
        self._show(self._view._replace(offset_ns=self._view.offset_ns + round(seconds * 1e9)))

    def add_to_wall(self, seconds: float) -> None:
        """Have the clock that shows the time of day jump."""
        self._show(self._view._replace(wall_ns=self._view.wall_ns + round(seconds * 1e9)))

    def go(self, ppm: int) -> None:
        """Have time pass faster by so many parts in a million, from now on; no clock jumps."""
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        view = self._view
        gone = (now - view.since_ns) * view.ppm // 1_000_000
        self._show(view._replace(since_ns=now, offset_ns=view.offset_ns + gone, ppm=ppm))

    def _show(self, view: View) -> None:
        """Write the view that does not hold, and have it hold: nobody sees half of a change."""
        self._view, self._current = view, 1 - self._current
        struct.pack_into("4q", self._shown, 8 + 32 * self._current, *view)
        struct.pack_into("q", self._shown, 0, self._current)

    # --- the disk ---

    def slow_down(self, seconds: float) -> None:
        """Have every sync take so long."""
        struct.pack_into("q", self._shown, 72, round(seconds * 1e6))

    def refuse_writes(self, *, refused: bool) -> None:
        """Have the disk be read-only, or not."""
        struct.pack_into("q", self._shown, 80, errno.EROFS if refused else 0)

    def lie(self, *, lies: bool) -> None:
        """Have syncs do nothing, and say that all is well."""
        struct.pack_into("q", self._shown, 88, int(lies))

    def cut_power(self, way: str, chance: Random) -> int:
        """Undo what was not synced, after the process was killed; how much that was.

        Nothing of it survives, or with the way `some` any sectors of it, and any names in folders.
        """
        pending = list(_pending(self._undo))
        for record in reversed(pending):
            _undo(record, (lambda: chance.random() < 0.5) if way == "some" else (lambda: True))
        self._undo.unlink(missing_ok=True)
        return len(pending)


class Change(NamedTuple):
    """Something that was done to a file, and what was there before."""

    kind: str
    path: Path
    offset: int
    size: int
    old: bytes


def _pending(undo: Path) -> Iterator[Change]:
    """What was done and not synced, in the order in which it was done."""
    found: list[Change] = []
    for each in _noted(undo.read_bytes() if undo.exists() else b""):
        if each.kind == "S":
            found = [f for f in found if f.path != each.path or f.kind in "CU"]
        elif each.kind == "D":
            found = [f for f in found if f.path.parent != each.path or f.kind not in "CU"]
        else:
            found.append(each)
    yield from found


def _noted(data: bytes) -> Iterator[Change]:
    """All whole records; the last one may have been cut short, and then nothing was done."""
    at = 0
    while at + HEAD.size <= len(data):
        kind, path_length, offset, size, old_length = HEAD.unpack_from(data, at)
        begin = at + HEAD.size
        at = begin + path_length + old_length
        if at <= len(data):
            path = Path(os.fsdecode(data[begin : begin + path_length]))
            yield Change(chr(kind), path, offset, size, data[begin + path_length : at])


def _undo(change: Change, is_lost: Callable[[], bool]) -> None:
    if change.kind == "C":
        if is_lost():
            change.path.unlink(missing_ok=True)
    elif change.kind == "U":
        if is_lost():
            change.path.write_bytes(change.old)
    elif change.path.exists():
        with change.path.open("r+b") as file:
            for at in range(0, len(change.old), SECTOR):
                if is_lost():
                    file.seek(change.offset + at)
                    file.write(change.old[at : at + SECTOR])
            if is_lost():
                file.truncate(change.size)
