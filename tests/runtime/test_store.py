"""The durable memory of one node, on a real file system."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from electorate.errors import StoreError
from electorate.runtime.store import FILE, Store


def lived(folder: Path) -> Store:
    """A store with a life behind it."""
    with closing(Store(folder, 1)) as store:
        store.begin_life()
        store.save({"election": b"promised", "other": b"\x00\xff"})
        store.meet(2, "their store", 7)
    return store


def edit(folder: Path, sql: str, *values: object) -> None:
    """Change the file behind the store's back."""
    with closing(sqlite3.connect(folder / FILE)) as db:
        db.execute(sql, values)
        db.commit()


def test_what_was_saved_is_there_again_and_every_life_is_numbered(tmp_path: Path) -> None:
    first = lived(tmp_path / "new" / "folder")
    assert first.first_start
    with closing(Store(tmp_path / "new" / "folder", 1)) as again:
        assert not again.first_start
        assert again.identity == first.identity
        assert again.load("election") == b"promised"
        assert again.load("other") == b"\x00\xff"
        assert again.load("third") is None
        assert again.last_seen(2) == ("their store", 7)
        assert again.last_seen(3) is None
        assert [again.begin_life(), again.begin_life()] == [2, 3]


def test_two_stores_have_different_identities(tmp_path: Path) -> None:
    assert lived(tmp_path / "a").identity != lived(tmp_path / "b").identity


def test_another_node_that_comes_back_changed_is_noticed(tmp_path: Path) -> None:
    with closing(Store(tmp_path, 1)) as store:
        assert store.meet(2, "s", 5) is None
        assert store.meet(2, "s", 5) is None
        assert store.meet(2, "s", 6) is None
        assert store.meet(2, "s", 4) == "an older memory"
        assert store.meet(2, "t", 1) == "its memory wiped"
        assert store.meet(2, "t", 2) is None


def test_a_second_process_cannot_use_the_same_folder(tmp_path: Path) -> None:
    with (
        closing(Store(tmp_path, 1)),
        pytest.raises(StoreError, match=r"electorate\.db is in use by another process"),
    ):
        Store(tmp_path, 1)
    Store(tmp_path, 1).close()


def test_a_damaged_record_is_noticed(tmp_path: Path) -> None:
    lived(tmp_path)
    path = tmp_path / FILE
    data = bytearray(path.read_bytes())
    data[data.index(b"promised")] ^= 1
    path.write_bytes(data)
    with (
        closing(Store(tmp_path, 1)) as store,
        pytest.raises(StoreError, match=r"the record of election in .* is damaged"),
    ):
        store.load("election")


def test_a_byte_flipped_anywhere_in_the_file_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    identity = lived(tmp_path).identity
    path = tmp_path / FILE
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        flipped = bytearray(whole)
        flipped[place] ^= 0x10
        path.write_bytes(flipped)
        try:
            with closing(Store(tmp_path, 1)) as store:
                assert store.load("election") == b"promised"
                assert (store.identity, store.incarnation) == (identity, 1)
        except StoreError:
            continue
        finally:
            for spare in tmp_path.glob(f"{FILE}-*"):
                spare.unlink()


def test_a_damaged_count_of_lives_is_noticed(tmp_path: Path) -> None:
    lived(tmp_path)
    edit(tmp_path, "update life set incarnation = 0")
    with pytest.raises(StoreError, match=r"the record of past lives in .* is damaged"):
        Store(tmp_path, 1)


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    lived(tmp_path)
    edit(tmp_path, "update life set format = 9")
    with pytest.raises(StoreError, match=r"has format 9; this version reads 1"):
        Store(tmp_path, 1)


def test_the_folder_of_another_node_is_refused(tmp_path: Path) -> None:
    lived(tmp_path)
    with pytest.raises(StoreError, match=r"belongs to node 1, not to node 2"):
        Store(tmp_path, 2)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"what is this? " * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(tmp_path, 1)


@pytest.mark.parametrize("name", ["file", "file/inside"])
def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot keep data in"):
        Store(tmp_path / name, 1)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_place_where_nothing_can_be_created_is_refused() -> None:
    with pytest.raises(StoreError, match="cannot keep data in /proc/electorate"):
        Store(Path("/proc/electorate"), 1)


def test_a_store_that_fails_says_so_in_one_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path, 1)
    store.close()
    with pytest.raises(StoreError, match=r"cannot write .*electorate\.db: Cannot operate on a cl"):
        store.save({"election": b"x"})
    with pytest.raises(StoreError, match=r"cannot read .*electorate\.db: Cannot operate on a clo"):
        store.load("election")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KB, where mounting one is permitted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_fails_a_save_and_keeps_what_was_saved(small_disk: Path) -> None:
    saved: list[int] = []

    def save_on(store: Store) -> None:
        for number in range(1000):
            store.save({"election": str(number).encode().rjust(2000)})
            saved.append(number)

    with (
        closing(Store(small_disk, 1)) as store,
        pytest.raises(StoreError, match=r"cannot write .*(full|I/O error)"),
    ):
        save_on(store)
    with closing(Store(small_disk, 1)) as store:
        found = store.load("election")
        assert found is not None
        assert int(found) in (saved[-1], saved[-1] + 1)


def test_a_disk_that_is_full_from_the_start_is_refused(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (252 << 10))
    with pytest.raises(StoreError, match=r"cannot keep data in .*(full|I/O error)"):
        Store(small_disk, 1)


def test_a_disk_that_may_only_be_read_is_refused(small_disk: Path) -> None:
    lived(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(StoreError, match="cannot keep data in"):
        Store(small_disk, 1)
    with pytest.raises(StoreError, match="cannot keep data in"):
        Store(small_disk / "new", 1)
