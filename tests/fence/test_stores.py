"""What is particular to the fence of each store."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import psycopg.rows
import pytest
import redis
import redis.asyncio

from electorate.errors import StaleToken
from electorate.fence import FileFence, PostgresFence, RedisFence, SqliteFence
from tests.runtime.cluster import wait_until

FENCE = PostgresFence("state")


# --- PostgreSQL ---


@pytest.mark.postgres
def test_a_write_in_the_middle_is_over_before_a_newer_one_begins(conninfo: str) -> None:
    with psycopg.connect(conninfo) as old, psycopg.connect(conninfo) as new:
        FENCE.set_up(old)
        old.commit()
        began = threading.Event()

        def take_over() -> None:
            began.set()
            with FENCE.guard(new, 2):
                order.append("new")

        order: list[str] = []
        thread = threading.Thread(target=take_over)
        with FENCE.guard(old, 1):
            thread.start()
            began.wait()
            wait_until(lambda: waits(conninfo), 10)
            order.append("old")
        thread.join()
        assert order == ["old", "new"]
        assert FENCE.seen(new) == 2


def waits(conninfo: str) -> bool:
    """Whether somebody waits for a lock."""
    with psycopg.connect(conninfo) as db:
        ask = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
        row = db.execute(ask).fetchone()
    return bool(row and row[0])


@pytest.mark.postgres
def test_a_writer_that_stands_still_is_thrown_out_and_has_written_nothing(conninfo: str) -> None:
    """The connection of a stopped process stays open, and its lock would stay with it."""
    with psycopg.connect(conninfo, autocommit=True) as db:
        FENCE.set_up(db)
        db.execute("create table state (value int)")
        still = psycopg.connect(conninfo)
        work = PostgresFence("state", hold_s=0.05).guard(still, 1)
        work.__enter__()
        still.execute("insert into state values (1)")
        with FENCE.guard(db, 2):  # As the next leader, while the first stands still.
            db.execute("insert into state values (2)")
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            work.__exit__(None, None, None)
        still.close()
        assert db.execute("select value from state").fetchall() == [(2,)]


@pytest.mark.postgres
def test_work_that_fails_leaves_neither_its_writes_nor_its_token(conninfo: str) -> None:
    with psycopg.connect(conninfo, autocommit=True, row_factory=psycopg.rows.dict_row) as db:
        FENCE.set_up(db)
        FENCE.set_up(db)
        assert FENCE.seen(db) == 0
        with pytest.raises(ZeroDivisionError), FENCE.guard(db, 7):
            _ = 1 / 0
        assert FENCE.seen(db) == 0
        with FENCE.guard(db, 5):
            pass
        with pytest.raises(StaleToken), FENCE.guard(db, 4):
            pytest.fail("the block was entered")
        assert FENCE.seen(db) == 5


@pytest.mark.postgres
def test_without_its_table_it_says_how_to_make_it(conninfo: str) -> None:
    with (
        psycopg.connect(conninfo) as db,
        pytest.raises(psycopg.errors.UndefinedTable) as error,
        FENCE.guard(db, 1),
    ):
        pass
    assert error.value.__notes__ == [
        "PostgresFence.set_up(connection) makes this table; call it once"
    ]


# --- SQLite ---


def test_a_connection_that_has_begun_something_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as db:
        db.execute("create table state (value int)")
        db.execute("insert into state values (1)")
        with (
            pytest.raises(ValueError, match="in a transaction already"),
            SqliteFence("state").guard(db, 1),
        ):
            pass


def test_a_block_that_commits_by_itself_is_told_so(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as db:
        fence = SqliteFence("state")
        assert fence.seen(db) == 0
        db.row_factory = lambda cursor, row: {"only": row}
        with pytest.raises(RuntimeError, match="has ended its transaction"), fence.guard(db, 1):
            db.commit()
        with pytest.raises(ZeroDivisionError), fence.guard(db, 2):
            _ = 1 / 0
        assert fence.seen(db) == 1
        assert not db.in_transaction
        with pytest.raises(RuntimeError, match="has ended its transaction"), fence.guard(db, 2):
            db.rollback()
        assert fence.seen(db) == 1


def test_fences_of_different_names_know_nothing_of_each_other(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "app.db")) as db:
        with SqliteFence("one").guard(db, 9):
            pass
        with SqliteFence("other").guard(db, 2):
            pass
        assert SqliteFence("one").seen(db) == 9
        assert SqliteFence("other").seen(db) == 2


# --- Redis ---


@pytest.mark.redis
def test_commands_are_run_together_and_answer_as_always(redis_at: str) -> None:
    with redis.Redis(unix_socket_path=redis_at, decode_responses=True) as client:
        fence = RedisFence("fence", client)
        commands = ("set", "a", "1"), ("get", "none"), ("incr", "a"), ("lrange", "l", 0, -1)
        assert fence.write(2**40, *commands) == ["OK", None, 2, []]
        assert fence.write(2**40 + 1) == []
        with pytest.raises(StaleToken):
            fence.write(2**40, ("set", "a", "x"))
        assert client.get("a") == "2"


@pytest.mark.redis
def test_what_is_no_command_and_a_client_of_the_other_kind_are_refused(redis_at: str) -> None:
    with redis.Redis(unix_socket_path=redis_at) as client:
        fence = RedisFence("fence", client)
        for wrong in ("set a 1", (), ("del", *range(7_000))):
            with pytest.raises(ValueError, match="a command is a tuple of words"):
                fence.write(1, wrong)
        with pytest.raises(TypeError, match="call write"):
            asyncio.run(fence.write_async(1))
        client.set("taken", "by another")
        with pytest.raises(redis.ResponseError):
            RedisFence("taken", client).write(1, ("set", "a", "1"))
        assert client.get("a") is None

    async def write() -> None:
        async with redis.asyncio.Redis(unix_socket_path=redis_at) as client:
            with pytest.raises(TypeError, match="await write_async"):
                RedisFence("fence", client).write(1)

    asyncio.run(write())


# --- files ---


def test_a_writer_that_is_killed_leaves_the_old_contents_and_no_lock(tmp_path: Path) -> None:
    """It is killed in the block: its token counts, and nothing else has come of it."""
    path = tmp_path / "state"
    FileFence(path).write(1, "old")
    script = f"""
import os, signal
from electorate.fence import FileFence
with FileFence({str(path)!r}).guard(2):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    with pytest.raises(StaleToken):
        FileFence(path).write(1, "stale")
    FileFence(path).write(2, "new")
    assert path.read_text() == "new"


def test_a_token_that_was_torn_by_a_crash_does_not_count(tmp_path: Path) -> None:
    """Its writer had not written anything else."""
    fence = FileFence(tmp_path / "state")
    fence.write(7, b"a")
    with (tmp_path / "state.fence").open("ab") as tokens:
        tokens.write(b"99")
    assert fence.seen() == 7
    fence.write(8, b"b")
    assert fence.seen() == 8
    assert (tmp_path / "state.fence").read_bytes() == b"7\n8\n"


def test_a_writer_that_waits_for_too_long_says_for_what(tmp_path: Path) -> None:
    path = tmp_path / "state"
    with (
        FileFence(path).guard(1),
        pytest.raises(TimeoutError, match=r"another writer has held .*state for 0\.02 s"),
    ):
        FileFence(path, wait_s=0.02).write(2, "new")
    assert not path.exists()


def test_a_link_to_a_file_is_behind_the_same_fence_and_its_mode_stays(tmp_path: Path) -> None:
    path, link = tmp_path / "state", tmp_path / "link"
    link.symlink_to(path)
    path.write_text("first")
    path.chmod(0o640)
    FileFence(link).write(5, "new")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(StaleToken):
        FileFence(path).write(4, "stale")


def test_what_a_reader_finds_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "state"
    fence = FileFence(path)
    fence.write(1, "a" * 100_000)
    found = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            found.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for token in range(2, 12):
        fence.write(token, "ab"[token % 2] * 100_000)
    over.set()
    reader.join()
    assert found <= {"a" * 100_000, "b" * 100_000}


def test_a_write_that_is_cancelled_goes_on_behind_the_fence(tmp_path: Path) -> None:
    path = tmp_path / "state"

    async def write() -> None:
        with FileFence(path).guard(1):
            late = asyncio.create_task(FileFence(path).write_async(1, "late"))
            await asyncio.sleep(0.02)
            late.cancel()
            with suppress(asyncio.CancelledError):
                await late
        deadline = time.monotonic() + 10
        while not path.exists() and time.monotonic() < deadline:
            await asyncio.sleep(0.01)

    asyncio.run(write())
    assert path.read_text() == "late"


# --- libraries ---


@pytest.mark.parametrize(
    ("missing", "use", "said"),
    [
        (
            "psycopg",
            "with PostgresFence('a').guard(None, 1): pass",
            "PostgresFence needs psycopg: pip install 'electorate[postgres]'",
        ),
        (
            "redis",
            "RedisFence('a', None)",
            "RedisFence needs redis: pip install 'electorate[redis]'",
        ),
    ],
)
def test_a_library_is_needed_only_by_its_fence_which_says_so(
    missing: str, use: str, said: str
) -> None:
    script = f"""
import sys
sys.modules[{missing!r}] = None
from electorate.fence import PostgresFence, RedisFence, FileFence
assert not {{"sqlite3", "redis", "psycopg"}} & {{name for name, at in sys.modules.items() if at}}
try:
    {use}
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (said, "")
    assert os.environ.get("PYTHONPATH") is None or done.returncode == 0
