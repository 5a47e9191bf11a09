"""Fences: stores that refuse the late write of a leader whose term is over.

A process can be stopped between its last `term.check()` and its write, and write an hour later.
Nothing that the process does about that is certain; the store can be, if each write carries
`term.token` and the store keeps the largest token that it has seen. Here this is done for
PostgreSQL, SQLite, Redis and files:

    fence = electorate.fence.PostgresFence("primary")
    with fence.guard(connection, term.token):  # StaleToken if a larger token was seen
        connection.execute("update accounts set …")

What is compared and what is written is one transaction: no larger token can come in between.
Tokens have up to 63 bits: they grow by a billion with every change of members, and PostgreSQL's
`int` is too short for the third. The tokens of groups (`safety="group"`) fence nothing.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from electorate.errors import StaleToken

if TYPE_CHECKING:
    import sqlite3

    import psycopg
    import redis
    import redis.asyncio

TOKEN_MAX = 2**63 - 1
"""The largest token: what PostgreSQL calls a bigint."""
NO_PSYCOPG = "PostgresFence needs psycopg: pip install 'electorate[postgres]'"
NO_REDIS = "RedisFence needs redis: pip install 'electorate[redis]'"
WORDS_MAX = 7_000
"""Words of one command for Redis: its scripts can handle no more than about 8,000 values."""
POLL_S = 0.005

TABLE = "create table if not exists electorate_fence (name text primary key, token bigint not null)"
TAKE = (
    "insert into electorate_fence (name, token) values (%s, %s) on conflict (name) "
    "do update set token = excluded.token where electorate_fence.token <= excluded.token"
)
SEEN = "select token from electorate_fence where name = %s"
HOLD = "select set_config('idle_in_transaction_session_timeout', %s, true)"
SETTING_UP = 7_308_332_017
"""The number of the lock under which the table is made: two at once would disturb each other."""

# Numbers of Redis scripts are doubles, which cannot tell large tokens apart; their halves can be.
SCRIPT = """
local function halves(token)
  local padded = string.rep('0', 20 - #token) .. token
  return tonumber(string.sub(padded, 1, 10)), tonumber(string.sub(padded, 11))
end
local token, seen = ARGV[1], redis.call('get', KEYS[1])
if seen then
  local high, low = halves(token)
  local seen_high, seen_low = halves(seen)
  if high < seen_high or (high == seen_high and low < seen_low) then
    return {seen}
  end
end
if token ~= seen then
  redis.call('set', KEYS[1], token)
end
local answers, at = {}, 2
while ARGV[at] do
  local last = at + tonumber(ARGV[at])
  answers[#answers + 1] = redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return {false, answers}
"""


def expect_token(token: object) -> int:
    """A token that every store can keep; ValueError if it is none."""
    if isinstance(token, bool) or not isinstance(token, int) or not 1 <= token <= TOKEN_MAX:
        raise ValueError(f"a token is a whole number from 1 to {TOKEN_MAX}, not {token!r}")
    return token


class PostgresFence:
    """A fence in a PostgreSQL database, of the name that all writers give it.

    The table `electorate_fence` has a row for each name. While a block runs, its row is locked: a
    writer with a larger token waits until the one before it has committed or was rolled back. So
    that a writer that stands still in the middle delays it no longer than `hold_s` seconds, the
    server ends a session that says nothing for so long.
    """

    def __init__(self, name: str, hold_s: float = 5.0) -> None:
        if hold_s < 0.001:
            raise ValueError(f"hold_s is 0.001 seconds or more, not {hold_s!r}")
        self.name = name
        self._hold = f"{hold_s * 1000:.0f}"

    @staticmethod
    def set_up(connection: "psycopg.Connection[Any]") -> None:
        """Make the table, unless it is there: once, as a user that may do so."""
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (SETTING_UP,))
            connection.execute(TABLE)

    def seen(self, connection: "psycopg.Connection[Any]") -> int:
        """The largest token so far; 0 if there was none."""
        return int(row[0]) if (row := _cursor(connection).execute(*self._seen()).fetchone()) else 0

    @contextmanager
    def guard(self, connection: "psycopg.Connection[Any]", token: int) -> Iterator[None]:
        """Do the block in a transaction that commits only under this token, or raise StaleToken.

        In a transaction that is open already the block is a savepoint, and the fence holds until
        that transaction ends.
        """
        expect_token(token)
        with _explained(), connection.transaction():
            cursor = _cursor(connection)
            cursor.execute(HOLD, (self._hold,))
            if not cursor.execute(TAKE, (self.name, token)).rowcount:
                cursor.execute(*self._seen())
                raise StaleToken(self.name, token, int(cursor.fetchone()[0]))
            yield

    @asynccontextmanager
    async def guard_async(
        self, connection: "psycopg.AsyncConnection[Any]", token: int
    ) -> AsyncIterator[None]:
        """The same for an asynchronous connection."""
        expect_token(token)
        with _explained():
            async with connection.transaction():
                cursor = _cursor(connection)
                await cursor.execute(HOLD, (self._hold,))
                if not (await cursor.execute(TAKE, (self.name, token))).rowcount:
                    await cursor.execute(*self._seen())
                    raise StaleToken(self.name, token, int((await cursor.fetchone())[0]))
                yield

    def _seen(self) -> tuple[str, tuple[str]]:
        return SEEN, (self.name,)


def _cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, however those of the connection look."""
    try:
        from psycopg.rows import tuple_row
    except ImportError:
        raise ImportError(NO_PSYCOPG) from None
    return connection.cursor(row_factory=tuple_row)


@contextmanager
def _explained() -> Iterator[None]:
    """Say what to do where there is no table."""
    try:
        import psycopg.errors
    except ImportError:
        raise ImportError(NO_PSYCOPG) from None
    try:
        yield
    except psycopg.errors.UndefinedTable as error:
        if "electorate_fence" in str(error):
            error.add_note("PostgresFence.set_up(connection) makes this table; call it once")
        raise


class SqliteFence:
    """A fence in a SQLite database, of the name that all writers give it.

    While a block runs, nobody else writes to this database. A process that is stopped in the middle
    delays the others until it goes on or is killed: a file has no server that could end it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def seen(self, connection: "sqlite3.Connection") -> int:
        """The largest token so far; 0 if there was none."""
        cursor = _plain(connection)
        if not cursor.execute(
            "select 1 from sqlite_master where name = 'electorate_fence'"
        ).fetchone():
            return 0
        return self._largest(cursor)

    @contextmanager
    def guard(self, connection: "sqlite3.Connection", token: int) -> Iterator[None]:
        """Do the block in a transaction that commits only under this token, or raise StaleToken."""
        expect_token(token)
        if connection.in_transaction:
            raise ValueError("this connection is in a transaction already: end it before the fence")
        cursor = _plain(connection)
        cursor.execute("begin immediate")
        try:
            cursor.execute(TABLE)
            if not cursor.execute(TAKE.replace("%s", "?"), (self.name, token)).rowcount:
                raise StaleToken(self.name, token, self._largest(cursor))
            yield
            if not _is_open(connection):
                raise RuntimeError(
                    "the block of a fence has ended its transaction: what it did after that may "
                    "be stale. It commits by itself, and is rolled back if it raises"
                )
            cursor.execute("commit")
        except BaseException:
            if _is_open(connection):
                cursor.execute("rollback")
            raise

    def _largest(self, cursor: "sqlite3.Cursor") -> int:
        row = cursor.execute(SEEN.replace("%s", "?"), (self.name,)).fetchone()
        return int(row[0]) if row else 0


def _is_open(connection: "sqlite3.Connection") -> bool:
    return connection.in_transaction


def _plain(connection: "sqlite3.Connection") -> "sqlite3.Cursor":
    """A cursor whose rows are tuples, however those of the connection look."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor


class RedisFence:
    """A fence in Redis, under the key `name`: commands that are run only if the token is not stale.

    It is as durable as that Redis. One that evicts keys, loses what it wrote last, or fails over to
    a replica that is behind may forget a token, and take an older one again.
    """

    def __init__(self, name: str, client: "redis.Redis | redis.asyncio.Redis") -> None:
        try:
            import redis
        except ImportError:
            raise ImportError(NO_REDIS) from None
        self.name = name
        self._is_async = not isinstance(client, redis.Redis)
        self._script: Any = client.register_script(SCRIPT)

    def write(self, token: int, *commands: Sequence[Any]) -> list[Any]:
        """Run the commands, like ("set", "key", 5), together; or none of them, and StaleToken.

        Returns their answers. As in all of Redis, a command that fails does not undo those before.
        """
        if self._is_async:
            raise TypeError("this fence has an asynchronous client: await write_async(…)")
        return self._answers(token, self._script([self.name], _words(token, commands)))

    async def write_async(self, token: int, *commands: Sequence[Any]) -> list[Any]:
        """The same for an asynchronous client."""
        if not self._is_async:
            raise TypeError("this fence has a client for threads: call write(…)")
        return self._answers(token, await self._script([self.name], _words(token, commands)))

    def _answers(self, token: int, told: list[Any]) -> list[Any]:
        if told[0] is not None:
            raise StaleToken(self.name, token, int(told[0]))
        return list(told[1])


def _words(token: int, commands: Sequence[Sequence[Any]]) -> list[Any]:
    """The token, and for each command how many words it has, and those."""
    words: list[Any] = [expect_token(token)]
    for command in commands:
        if isinstance(command, str | bytes) or not 0 < len(command) <= WORDS_MAX:
            raise ValueError(f'a command is a tuple of words like ("set", "a", 5), not {command!r}')
        words += [len(command), *command]
    return words


class FileFence:
    """A fence for a file. The largest token is in a file beside it, NAME.fence; leave that there.

    Writers exclude each other by a lock of the system (flock), so all of them have to be on one
    machine: on a network file system a writer may have lost its lock without knowing it. One that
    is stopped in the middle delays the others until it goes on or is killed.
    """

    def __init__(self, path: str | os.PathLike[str], wait_s: float = 5.0) -> None:
        # By whatever link a writer comes here, it has to find the same token.
        self.path = Path(path).resolve()
        self._tokens = self.path.with_name(f"{self.path.name}.fence")
        self._wait_s = wait_s

    def seen(self) -> int:
        """The largest token so far; 0 if there was none."""
        try:
            with self._tokens.open("rb") as tokens:
                return _last(tokens.fileno())[0]
        except FileNotFoundError:
            return 0

    @contextmanager
    def guard(self, token: int) -> Iterator[None]:
        """Do the block while no other writer does anything, or raise StaleToken.

        The token is kept before the block begins: if that fails half-way, older ones are refused
        nevertheless. TimeoutError if another writer does not end within `wait_s` seconds.
        """
        expect_token(token)
        mode = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        tokens = os.open(self._tokens, mode, 0o600)
        try:
            self._lock(tokens)
            seen, end = _last(tokens)
            if token < seen:
                raise StaleToken(self.path.name, token, seen)
            if token > seen:
                # A line that is torn was of somebody who had not begun to write.
                os.ftruncate(tokens, end)
                os.pwrite(tokens, b"%d\n" % token, end)
                os.fsync(tokens)
                _sync_folder(self.path)
            yield
        finally:
            os.close(tokens)

    def write(self, token: int, data: bytes | str) -> None:
        """Replace the contents: a reader finds all of the old or all of the new, crash or not."""
        with self.guard(token):
            new = self.path.with_name(f".{self.path.name}.new")
            with new.open("wb") as file:
                if self.path.exists():
                    os.fchmod(file.fileno(), self.path.stat().st_mode & 0o7777)
                file.write(data.encode() if isinstance(data, str) else data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
            _sync_folder(self.path)

    async def write_async(self, token: int, data: bytes | str) -> None:
        """The same in a thread: the loop goes on meanwhile, and so does a write that is cancelled.

        It is fenced all the same.
        """
        await asyncio.to_thread(self.write, token, data)

    def _lock(self, tokens: int) -> None:
        import fcntl

        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                return fcntl.flock(tokens, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise TimeoutError(
                        f"another writer has held {self.path} for {self._wait_s:g} s; if it "
                        "stands still, kill it"
                    ) from None
                time.sleep(POLL_S)


def _last(tokens: int) -> tuple[int, int]:
    """The last token that is written down whole, and where it ends; each has a line."""
    size = os.fstat(tokens).st_size
    begin = max(0, size - 64)
    tail = os.pread(tokens, size - begin, begin)
    end = tail.rfind(b"\n") + 1
    lines = tail[:end].split()
    return (int(lines[-1]) if lines else 0), begin + end


def _sync_folder(path: Path) -> None:
    """Make what was created or renamed there durable."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
