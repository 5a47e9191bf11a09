"""Small disks that can be filled: one mounted for every node, in memory, by root."""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from benchmarks.leadership.island import run

NAME = "electorate-faults"
SIZE = "16m"
BALLAST = "ballast"
PIECE = bytes(1 << 16)


def why_no_disks() -> str | None:
    """Why no small disks can be mounted here; None if they can."""
    if os.geteuid() != 0:
        return "only root may mount a small disk"
    if shutil.which("mount") is None:
        return "mount missing: apt-get install mount"
    return None


class SmallDisks:
    """The disks of one run. What is on them is kept in the folder when they are removed."""

    def __init__(self) -> None:
        self._mounted: list[Path] = []

    def mount(self, folder: Path) -> None:
        """Have this folder be on a disk of its own."""
        if folder not in self._mounted:
            folder.mkdir(parents=True, exist_ok=True)
            source = f"{NAME}-{os.getpid()}"
            run("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", source, str(folder))
            self._mounted.append(folder)

    def remove(self) -> None:
        """Unmount all of them, and keep what is on them."""
        for folder in self._mounted:
            free(folder)
            kept = folder.with_name(f"{folder.name}.kept")
            with suppress(OSError):
                shutil.copytree(folder, kept)
            run("umount", "-l", str(folder), may_fail=True)
            if kept.exists():
                folder.rmdir()
                kept.rename(folder)
        self._mounted = []


def fill(folder: Path) -> None:
    """Write to a disk until nothing more fits on it."""
    with (folder / BALLAST).open("ab", buffering=0) as file:
        size = len(PIECE)
        while size:
            try:
                file.write(PIECE[:size])
            except OSError:
                size //= 2


def free(folder: Path) -> None:
    """Remove what it was filled with."""
    (folder / BALLAST).unlink(missing_ok=True)


def remove_leftover_disks() -> None:
    """Unmount what a run that was killed has left behind."""
    for line in Path("/proc/mounts").read_text().splitlines():
        source, target, *_ = line.split()
        pid = source.removeprefix(f"{NAME}-")
        if source.startswith(NAME) and not Path(f"/proc/{pid}").exists():
            subprocess.run(["umount", "-l", target], capture_output=True, check=False)
