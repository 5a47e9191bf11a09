"""What a stranger does at the door: connections, what they cost, and what they are told.

The numbers are those of the attacks that were carried out on an earlier version.
"""

import os
import stat
from pathlib import Path

import electorate
from electorate import sync
from tests.runtime.cluster import free_addresses


def test_attack_7_no_other_user_of_the_machine_can_read_what_a_node_keeps(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    before = os.umask(0)
    try:
        with sync.Node(
            f"a@{host}:{port}",
            [],
            tmp_path / "data",
            record=tmp_path / "record",
            database=electorate.Sqlite(tmp_path / "money.db"),
        ):
            kept = [tmp_path / "data", tmp_path / "record"]
            kept += [file for folder in kept for file in folder.iterdir()]
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in kept}
    finally:
        os.umask(before)
    assert modes.keys() >= {"data", "record", "electorate.db", "electorate.sock"}
    assert not {name for name, mode in modes.items() if mode & 0o077}
