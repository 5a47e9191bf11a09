"""Folders, files and sockets that only their owner can open.

What a node keeps identifies it and its peers: whoever reads it can speak in its name where nothing
else proves who speaks. So folders are made with mode 0700 and files with 0600; what is found open
to others stays as it is, and is named in the log.
"""

import contextlib
import logging
import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
OTHERS = 0o077
"""What a mode allows to anybody but the owner."""
NETWORK_FILE_SYSTEMS = {
    *("9p", "afs", "ceph", "cifs", "coda", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4"),
    *("ocfs2", "smb2", "smb3", "smbfs", "virtiofs"),
    *("fuse.ceph", "fuse.glusterfs", "fuse.juicefs", "fuse.s3fs", "fuse.sshfs"),
}
MOUNTS = Path("/proc/self/mountinfo")

log = logging.getLogger("electorate.runtime")


def make_private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, so that it survives a power cut.

    If it is there already it stays as it is; a warning says if others may read it, or if it is on
    a network file system.
    """
    above = next(each for each in (folder, *folder.parents) if each.exists())
    if not above.is_dir():
        raise NotADirectoryError(
            f"it is kept in a folder, and {str(above)!r} is a file: name another"
        )
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=FOLDER_MODE)
    for each in missing:
        descriptor = os.open(each.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    _warn(folder)


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner alone, unless it is there."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def write_private_file(path: Path, data: bytes) -> None:
    """Write a file for its owner alone, at once: others see what was there before, or all of it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    with open(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def is_open_to_others(path: Path) -> bool:
    """Whether anybody but its owner may read or enter this."""
    return os.name == "posix" and bool(stat.S_IMODE(path.stat().st_mode) & OTHERS)


def network_file_system(path: Path, mounts: Path | None = None) -> str | None:
    """The network file system on which this lies; None if it is on none that is known."""
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # Not every system tells.
        return None
    where, kind = Path(path).resolve(), ""
    longest = -1
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(before.split()[4].replace("\\040", " "))
        # Of several that are mounted at one point, the last one covers the others.
        if where.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), after.split()[0]
    return kind if kind in NETWORK_FILE_SYSTEMS else None


def _warn(folder: Path) -> None:
    if is_open_to_others(folder):
        mode = stat.S_IMODE(folder.stat().st_mode)
        log.warning(
            "%s is open to others (mode %o): what is in it identifies the members; chmod -R go= %s",
            *(folder, mode, folder),
        )
    kind = network_file_system(folder)
    if kind is not None:
        log.warning(
            "%s is on a network file system (%s): locks and syncing may not hold what they promise "
            "there, and whoever serves it reads along; use a disk of this machine",
            *(folder, kind),
        )
