"""What all fences do: whoever comes with an older token is refused, and nothing is written."""

import asyncio
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import redis.asyncio

from electorate.errors import StaleToken
from electorate.fence import TOKEN_MAX, FileFence, PostgresFence, RedisFence, SqliteFence


class Value(ABC):
    """A value behind a fence, as one process of several sees it."""

    @abstractmethod
    def write(self, token: int, value: int) -> None: ...

    @abstractmethod
    async def write_async(self, token: int, value: int) -> None: ...

    @abstractmethod
    def read(self) -> int | None: ...


class InFile(Value):
    def __init__(self, path: Path) -> None:
        self.fence = FileFence(path)

    def write(self, token: int, value: int) -> None:
        self.fence.write(token, str(value))

    async def write_async(self, token: int, value: int) -> None:
        await self.fence.write_async(token, str(value))

    def read(self) -> int | None:
        return int(self.fence.path.read_text()) if self.fence.path.exists() else None


class InSqlite(Value):
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, token: int, value: int) -> None:
        with (
            closing(sqlite3.connect(self.path)) as db,
            SqliteFence("state").guard(db, token),
        ):
            db.execute("create table if not exists state (value int)")
            db.execute("delete from state")
            db.execute("insert into state values (?)", (value,))

    async def write_async(self, token: int, value: int) -> None:
        await asyncio.to_thread(self.write, token, value)

    def read(self) -> int | None:
        with closing(sqlite3.connect(self.path)) as db:
            return int(db.execute("select value from state").fetchone()[0])


class InPostgres(Value):
    def __init__(self, conninfo: str) -> None:
        self.conninfo = conninfo
        self.fence = PostgresFence("state")
        with psycopg.connect(conninfo) as db:
            self.fence.set_up(db)
            db.execute("create table if not exists state (value int)")

    def write(self, token: int, value: int) -> None:
        with psycopg.connect(self.conninfo) as db, self.fence.guard(db, token):
            db.execute("delete from state")
            db.execute("insert into state values (%s)", (value,))

    async def write_async(self, token: int, value: int) -> None:
        async with (
            await psycopg.AsyncConnection.connect(self.conninfo) as db,
            self.fence.guard_async(db, token),
        ):
            await db.execute("delete from state")
            await db.execute("insert into state values (%s)", (value,))

    def read(self) -> int | None:
        with psycopg.connect(self.conninfo) as db:
            row = db.execute("select value from state").fetchone()
        return int(row[0]) if row else None


class InRedis(Value):
    def __init__(self, at: str) -> None:
        self.at = at

    def write(self, token: int, value: int) -> None:
        with redis.Redis(unix_socket_path=self.at) as client:
            RedisFence("fence", client).write(token, ("set", "state", value))

    async def write_async(self, token: int, value: int) -> None:
        async with redis.asyncio.Redis(unix_socket_path=self.at) as client:
            await RedisFence("fence", client).write_async(token, ("set", "state", value))

    def read(self) -> int | None:
        with redis.Redis(unix_socket_path=self.at, decode_responses=True) as client:
            value = client.get("state")
        return None if value is None else int(str(value))


@pytest.fixture(
    params=[
        "file",
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.postgres),
        pytest.param("redis", marks=pytest.mark.redis),
    ]
)
def value(request: pytest.FixtureRequest, tmp_path: Path) -> Value:
    kinds: dict[str, Callable[[], Value]] = {
        "file": lambda: InFile(tmp_path / "state"),
        "sqlite": lambda: InSqlite(tmp_path / "app.db"),
        "postgres": lambda: InPostgres(request.getfixturevalue("conninfo")),
        "redis": lambda: InRedis(request.getfixturevalue("redis_at")),
    }
    return kinds[request.param]()


def test_an_older_token_is_refused_and_writes_nothing(value: Value) -> None:
    value.write(3, 10)
    value.write(3, 11)
    value.write(5, 20)
    with pytest.raises(StaleToken, match=r"token 3 is refused: .* has seen token 5") as refused:
        value.write(3, 12)
    assert (refused.value.token, refused.value.seen) == (3, 5)
    assert value.read() == 20
    value.write(5, 21)
    assert value.read() == 21


def test_it_is_the_same_with_asyncio(value: Value) -> None:
    async def write() -> None:
        await value.write_async(3, 10)
        await value.write_async(5, 20)
        with pytest.raises(StaleToken, match=r"token 4 is refused: .* has seen token 5"):
            await value.write_async(4, 12)
        await value.write_async(5, 21)

    asyncio.run(write())
    assert value.read() == 21


@pytest.mark.parametrize("token", [2**31, 3 * 10**9 + 1, 2**32, 2**53, TOKEN_MAX - 1])
def test_tokens_that_need_64_bits_are_told_apart_to_the_last(value: Value, token: int) -> None:
    """After three changes of members a token does not fit into 32 bits, nor later into a double."""
    value.write(token, 1)
    value.write(token + 1, 2)
    with pytest.raises(StaleToken) as refused:
        value.write(token, 3)
    assert (refused.value.token, refused.value.seen) == (token, token + 1)
    with pytest.raises(StaleToken):
        value.write(9, 3)
    assert value.read() == 2


@pytest.mark.parametrize("token", [0, -1, TOKEN_MAX + 1, True, "7", 1.0, None])
def test_what_is_no_token_is_refused(value: Value, token: Any) -> None:
    with pytest.raises(ValueError, match="a token is a whole number from 1 to 9223372036854775807"):
        value.write(token, 1)


def test_the_last_write_is_of_the_largest_token_however_writers_race(value: Value) -> None:
    refused = []

    def write(token: int) -> None:
        for _ in range(10):
            try:
                value.write(token, token)
            except StaleToken:
                refused.append(token)

    value.write(1, 1)
    writers = [threading.Thread(target=write, args=(token,)) for token in range(1, 5)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert value.read() == 4
    assert 4 not in refused
