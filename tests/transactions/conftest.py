"""A PostgreSQL server for the tests that are marked so; without one they fail, and say why."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from electorate.transactions.postgres import Postgres
from examples.bank.server import ADMIN, USER, NoServer, Server

HINT = "; leave these tests out with -m 'not postgres'"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with the databases of the bank."""
    try:
        found = Server("savings", "checking", "moneymkt")
    except NoServer as error:
        pytest.fail(f"{error}{HINT}", pytrace=False)
    with found:
        yield found


@pytest.fixture
def postgres(server: Server) -> Iterator[Callable[..., Postgres]]:
    """Opens a database of the server; what a test leaves there is thrown away."""
    import psycopg

    opened: list[Postgres] = []

    def open_one(name: str = "savings", wait_s: float = 0.3) -> Postgres:
        opened.append(Postgres(name, server.conninfo(name), wait_s))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()
    for name in ("savings", "checking", "moneymkt"):
        as_admin = server.conninfo(name).replace(f"user={USER}", f"user={ADMIN}")
        with psycopg.connect(as_admin, autocommit=True) as db:
            left = "select gid from pg_prepared_xacts where database = current_database()"
            for (gid,) in db.execute(left).fetchall():
                db.execute(f"rollback prepared '{gid}'")
            db.execute("drop schema public cascade")
            db.execute(f"create schema public authorization {USER}")


@pytest.fixture
def short_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose path is short enough for the address of a socket."""
    return tmp_path_factory.mktemp("t")
