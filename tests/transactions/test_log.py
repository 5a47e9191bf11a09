"""The log: forced, forgotten, and cut off at every byte of its last record."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from electorate.core import Members, Stage, Timing, Turns, Wants
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.runtime.store import Connection, Store
from electorate.transactions.host import Commitment
from electorate.transactions.letter import PREFIX, LoggedTransaction, Parties, Party, records
from tests.runtime.disk import Volume, opener

PARTS = Parties(Party(3, "c", 1), (Party(1, "a", 1), Party(2, "b", 4)))
MACHINE = Commitment(Members.of([1, 2, 3]), Timing())


def record(stage: Stage) -> LoggedTransaction:
    blank = MACHINE.boot(1, None)[0].stable
    stable = msgspec.structs.replace(blank, stage=stage)
    return LoggedTransaction(PARTS, Codec.encode(stable), 12.5)


def save(store: Store, tx: str, what: LoggedTransaction | None) -> None:
    store.save({PREFIX + tx: None if what is None else msgspec.msgpack.encode(what)})


def stage_of(found: LoggedTransaction) -> Stage:
    stage: Stage = Codec(MACHINE).stable(found.stable).stage  # type: ignore[attr-defined]
    return stage


def test_what_is_saved_is_there_again_until_it_is_forgotten(tmp_path: Path) -> None:
    with closing(Store(tmp_path, 1)) as store:
        store.save({"election": b"x"})
        save(store, "a", record(Stage.UNCERTAIN))
        save(store, "b", record(Stage.UNCERTAIN))
        save(store, "a", record(Stage.COMMITTED))
    with closing(Store(tmp_path, 1)) as store:
        assert records(store) == {"a": record(Stage.COMMITTED), "b": record(Stage.UNCERTAIN)}
        save(store, "a", None)
        save(store, "a", None)
    with closing(Store(tmp_path, 1)) as store:
        assert records(store) == {"b": record(Stage.UNCERTAIN)}
        assert store.load("election") == b"x"


def test_a_record_that_cannot_be_read_stops_the_node(tmp_path: Path) -> None:
    with closing(Store(tmp_path, 1)) as store:
        store.save({f"{PREFIX}a": b"what is this?"})
        with pytest.raises(StoreError, match="the record of transaction a cannot be read"):
            records(store)


def small_pages(volume: Volume) -> Callable[[Path], Connection]:
    """Pages of 512 bytes: a record is short, and there are fewer places to cut it."""

    def open_file(path: Path) -> Connection:
        found = opener(volume, checkpoint_pages=10_000)(path)
        found.execute("pragma page_size=512")
        return found

    return open_file


def test_a_log_that_is_cut_off_anywhere_in_its_last_record_has_the_one_before(
    tmp_path: Path,
) -> None:
    volume = Volume()
    with closing(Store(tmp_path, 1, small_pages(volume))) as store:
        save(store, "a", record(Stage.UNCERTAIN))
        before = {name: bytes(data) for name, data in volume.seen.items()}
        save(store, "a", record(Stage.COMMITTED))
        after = {name: bytes(data) for name, data in volume.seen.items()}
    (wal,) = (name for name in after if name.endswith("-wal"))
    first, last = len(before[wal]), len(after[wal])
    assert after[wal][:first] == before[wal], "the last record comes after the others"
    assert last - first > 500
    turns, stages = Turns(MACHINE), []
    for cut in range(first, last + 1):
        found = Volume({**after, wal: after[wal][:cut]})
        with closing(Store(tmp_path, 1, small_pages(found))) as store:
            kept = records(store)["a"]
        stages.append(stage_of(kept))
        booted = turns.boot(1, Codec(MACHINE).stable(kept.stable)).state
        wants = Wants.COMMIT if stages[-1] is Stage.COMMITTED else Wants.NOTHING
        assert turns.view(booted).wants is wants  # type: ignore[attr-defined]
    # The end of a record is repeated until the sector is full: without all of that it is whole.
    torn = stages.index(Stage.COMMITTED)
    assert torn > 500
    assert stages == [Stage.UNCERTAIN] * torn + [Stage.COMMITTED] * (len(stages) - torn)
