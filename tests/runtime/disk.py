"""A disk in memory whose power can be cut: what was not synced may be gone, or there in part.

SQLite writes to it through a VFS of its own (apsw), so that the store under test is the real one.
"""

import contextlib
import random
from collections.abc import Callable
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from electorate.runtime.store import Connection

SECTOR = 512

_names = count()


class Survival(StrEnum):
    """What becomes of writes that were not synced when the power went."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    SOME_SECTORS = "some sectors"  # any of them, in no order: disks may do that


class PowerIsOff(Exception):
    """The disk does nothing any more."""


class Volume:
    """The files of a disk: what the system sees, and what would still be there after a cut."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.seen = {name: bytearray(data) for name, data in (files or {}).items()}
        self.durable = {name: bytes(data) for name, data in (files or {}).items()}
        self.steps = 0
        self.cut_at: int | None = None

    def step(self) -> None:
        """One more write or sync; the power may go before it happens."""
        if self.cut_at is not None and self.steps >= self.cut_at:
            raise PowerIsOff
        self.steps += 1

    def sync(self, name: str) -> None:
        self.durable[name] = bytes(self.seen[name])

    def after_a_cut(self, survival: Survival, chance: random.Random) -> "Volume":
        """The disk as it is found when the power is back."""
        match survival:
            case Survival.NOTHING:
                return Volume(self.durable)
            case Survival.EVERYTHING:
                return Volume({name: bytes(data) for name, data in self.seen.items()})
            case Survival.SOME_SECTORS:
                names = self.seen.keys() | self.durable.keys()
                return Volume({name: self._mixed(name, chance) for name in sorted(names)})

    def _mixed(self, name: str, chance: random.Random) -> bytes:
        old, new = self.durable.get(name, b""), bytes(self.seen.get(name, b""))
        length = chance.choice([len(old), len(new)])
        mixed = bytearray()
        for at in range(0, length, SECTOR):
            sector = chance.choice([old, new])[at : at + SECTOR]
            mixed += sector.ljust(min(SECTOR, length - at), b"\0")
        return bytes(mixed[:length])


class File(apsw.VFSFile):
    """One open file."""

    def __init__(self, volume: Volume, name: str, flags: list[int]) -> None:
        # The base class is not asked: there is no file of the system's behind this one.
        self._volume = volume
        self._name = name
        volume.seen.setdefault(name, bytearray())

    @property
    def _data(self) -> bytearray:
        return self._volume.seen[self._name]

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self._data[offset : offset + amount])

    def xWrite(self, data: Any, offset: int) -> None:
        self._volume.step()
        if len(self._data) < offset:
            self._data.extend(bytes(offset - len(self._data)))
        self._data[offset : offset + len(data)] = bytes(data)

    def xTruncate(self, newsize: int) -> None:
        self._volume.step()
        del self._data[newsize:]

    def xSync(self, flags: int) -> None:
        self._volume.step()
        self._volume.sync(self._name)

    def xFileSize(self) -> int:
        return len(self._data)

    def xClose(self) -> None: ...

    def xLock(self, level: int) -> None: ...

    def xUnlock(self, level: int) -> None: ...

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, ptr: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return SECTOR

    def xDeviceCharacteristics(self) -> int:
        return 0


class Vfs(apsw.VFS):
    """SQLite's way to a volume."""

    def __init__(self, volume: Volume) -> None:
        self._volume = volume
        self.name = f"disk-{next(_names)}"
        super().__init__(self.name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        flags[1] = flags[0]
        return File(self._volume, path, flags)

    def xAccess(self, pathname: str, flags: int) -> bool:
        return pathname in self._volume.seen

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self._volume.step()
        self._volume.seen.pop(filename, None)
        if syncdir:
            self._volume.durable.pop(filename, None)

    def xFullPathname(self, name: str) -> str:
        return name


def opener(
    volume: Volume, *, syncing: str = "extra", checkpoint_pages: int = 8
) -> Callable[[Path], Connection]:
    """How a store opens its file on this volume; `syncing` may be less than the store asks for."""

    def open_file(path: Path) -> Connection:
        vfs = Vfs(volume)
        found = apsw.Connection(str(path), vfs=vfs.name)
        # A small log, so that a short test sees it being written back and begun anew.
        found.execute(f"pragma wal_autocheckpoint={checkpoint_pages}")
        return Session(found, vfs, syncing)

    return open_file


class Session:
    """A connection that keeps its disk in existence."""

    def __init__(self, found: apsw.Connection, vfs: Vfs, syncing: str) -> None:
        self._found = found
        self._vfs = vfs
        self._syncing = syncing

    def execute(self, sql: str, values: Any = (), /) -> Any:
        sql = sql.replace("synchronous=extra", f"synchronous={self._syncing}")
        return self._found.execute(sql, values)

    def close(self) -> None:
        with contextlib.suppress(PowerIsOff):
            self._found.close(True)
        self._vfs.unregister()
