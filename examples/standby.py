"""A primary that writes to a database, and standbys that take over.

A process can be stopped between its last look and its write, and wake up when another one is
primary. No lock and no lease can help that; the database can, because every write has a token.

Start it three times, then stop the primary with Ctrl-Z, wait for the next one, and say `fg`:

    python examples/standby.py a
    python examples/standby.py b
    python examples/standby.py c

The row is in shared.db (SQLite). With a second argument it is in PostgreSQL:

    python examples/standby.py a "host=10.0.0.9 dbname=app"
"""

import os
import sqlite3
import sys
import time
from contextlib import closing, suppress
from typing import Any

import electorate

HERE = "a@127.0.0.1:7421 b@127.0.0.1:7422 c@127.0.0.1:7423"
MEMBERS = os.environ.get("MEMBERS", HERE).split()
SECRET = os.environ.get("ELECTORATE_SECRET")
"""All members need the same one if they are not on one machine."""


class FencedRow:
    """A row that takes a write only if no larger token has come before."""

    def __init__(self, connection: Any, fence: Any, placeholder: str) -> None:
        self._connection = connection
        self._fence = fence
        self._placeholder = placeholder
        self._execute("create table if not exists state (id int primary key, value int)")
        self._execute("insert into state (id, value) values (1, 0) on conflict do nothing")

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    def read(self) -> int:
        """The value of the row."""
        return int(self._execute("select value from state where id = 1").fetchone()[0])

    def write(self, value: int, token: int) -> None:
        """Set the value, or raise StaleToken: the fence and the write are one transaction."""
        with self._fence.guard(self._connection, token):
            self._execute("update state set value = ? where id = 1", value)

    def _execute(self, statement: str, *values: object) -> Any:
        return self._connection.execute(statement.replace("?", self._placeholder), values)


def open_row(conninfo: str | None = None) -> FencedRow:
    """The row in PostgreSQL, or in a file of SQLite. In autocommit: blocks are transactions."""
    if conninfo is None:
        shared = sqlite3.connect("shared.db", isolation_level=None)
        return FencedRow(shared, electorate.fence.SqliteFence("primary"), "?")
    import psycopg

    connection = psycopg.connect(conninfo, autocommit=True)
    fence = electorate.fence.PostgresFence("primary")
    fence.set_up(connection)
    return FencedRow(connection, fence, "%s")


def write_on(me: str, term: electorate.Term, row: FencedRow) -> None:
    """Count upwards until the term is over."""
    while True:
        term.check()
        value = row.read() + 1
        print(f"{me}: prepares {value}")
        time.sleep(0.5)  # Here the process may be stopped, for as long as it pleases anybody.
        row.write(value, term.token)
        print(f"{me}: wrote {value} with token {term.token}")


def main(me: str, conninfo: str | None = None) -> None:
    """Stand for office as long as this process lives."""
    with electorate.sync.Node(me, MEMBERS, f"data/standby-{me}", secret=SECRET) as node:
        print(f"{me}: ready")
        for term in node.election("primary").terms():
            try:
                with term, closing(open_row(conninfo)) as row:
                    write_on(me, term, row)
            except electorate.StaleToken as stale:
                print(f"{me}: {stale}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
