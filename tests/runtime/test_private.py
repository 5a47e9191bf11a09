"""What a node keeps is for its owner alone, and what is found otherwise is named."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from electorate.runtime.private import (
    is_open_to_others,
    make_private_folder,
    network_file_system,
    write_private_file,
)
from electorate.runtime.store import Store


@pytest.fixture(autouse=True)
def wide_open() -> Iterator[None]:
    """Let files be as open as a program asks for, as on a machine with a careless umask."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_and_files_of_a_store_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "data" / "a", 1)
    store.begin_life()
    assert mode(tmp_path / "data" / "a") == 0o700
    files = list((tmp_path / "data" / "a").iterdir())
    assert {file.name for file in files} == {"electorate.db", "electorate.db-wal"}
    assert {mode(file) for file in files} == {0o600}
    store.close()


def test_a_folder_that_is_found_open_to_others_is_named_and_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    Store(tmp_path / "data", 1).close()
    assert mode(tmp_path / "data") == 0o755
    (told,) = caplog.messages
    assert told.startswith(f"{tmp_path / 'data'} is open to others (mode 755)")
    assert told.endswith(f"chmod -R go= {tmp_path / 'data'}")


def test_nothing_is_said_of_a_folder_that_is_private(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_private_folder(tmp_path / "data")
    make_private_folder(tmp_path / "data")
    assert not is_open_to_others(tmp_path / "data")
    assert caplog.messages == []


def test_a_folder_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match=r"'.*file' is a file: name another"):
        make_private_folder(tmp_path / "file" / "data")


def test_a_private_file_is_replaced_at_once_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    write_private_file(path, b"one")
    write_private_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


MOUNTS = """22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/root rw
30 22 0:50 / {0}/far rw,relatime - nfs4 server:/far rw
31 30 0:51 / {0}/far/near\\040here rw,relatime - xfs /dev/sdb rw
32 22 0:52 / {0}/far-away rw,relatime - fuse.sshfs you@there rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("local", None),
        ("far/data", "nfs4"),
        ("far/near here/data", None),
        ("far-away", "fuse.sshfs"),
    ],
)
def test_a_network_file_system_is_recognised(tmp_path: Path, folder: str, kind: str | None) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(tmp_path))
    assert network_file_system(tmp_path / folder, mounts) == kind


def test_a_folder_on_a_network_file_system_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.format(tmp_path))
    monkeypatch.setattr("electorate.runtime.private.MOUNTS", mounts)
    make_private_folder(tmp_path / "far" / "data")
    assert caplog.messages[0].startswith(
        f"{tmp_path / 'far' / 'data'} is on a network file system (nfs4)"
    )
