"""Money that goes from one database to another: by transactions, and by the databases alone.

The members are processes of their own, each with its database and its log, on this machine.
"""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal, NamedTuple

from electorate.cli.supervisor import Supervisor
from electorate.errors import Aborted
from electorate.node import Node
from electorate.transactions.config import arguments
from electorate.transactions.sqlite import Sqlite
from examples.bank.run import free_addresses
from examples.bank.server import Server

Kind = Literal["postgres", "sqlite"]

PLACES = ("savings", "checking")
TELLER = "teller"
CLIENTS_MAX = 64
APART = 400
"""Clients have one account in so many each, and the floor has the last one of all.

PostgreSQL keeps serializable transactions apart by the pages and tables that they have read: where
all accounts fit on a page it aborts nearly everything, though no two transactions touch one row.
"""
FLOOR = CLIENTS_MAX * APART
ACCOUNT = "create table account (id integer primary key, balance integer)"
PAUSE_S = 0.02
"""How long a client waits at most before it tries again what was aborted."""
READY_S = 30.0
END_S = 10.0


class Run(NamedTuple):
    """What was done in a while."""

    seconds: float
    latencies_s: tuple[float, ...]
    """Of all that were committed."""
    aborted: int = 0
    why: str = ""
    """Why the last one was aborted that was."""

    @property
    def rate(self) -> float:
        """Transactions in a second."""
        return len(self.latencies_s) / self.seconds


class Wrong(Exception):
    """Money was lost or made."""


class Site:
    """Two databases of a kind with a member each, one that coordinates, and the floor."""

    def __init__(self, node: Node, kind: Kind, floor: Callable[[int], None]) -> None:
        self._node = node
        self._mark = "%s" if kind == "postgres" else "?"
        self._floor = floor
        self._floors = 0

    async def transfer(self, client: int) -> None:
        """Move 1 from the client's account in one database to that in the other."""
        move = f"update account set balance = balance + {self._mark} where id = {self._mark}"
        async with self._node.transaction() as tx:
            for place, amount in zip(PLACES, (-1, 1), strict=True):
                await tx.on(place).execute(move, amount, client * APART)

    async def clients(self, count: int, seconds: float) -> Run:
        """So many clients at once, each with one transfer after the other."""
        latencies: list[float] = []
        aborted, why = 0, ""
        began = time.perf_counter()

        async def client(number: int) -> None:
            nonlocal aborted, why
            while (at := time.perf_counter()) < began + seconds:
                try:
                    await self.transfer(number)
                    latencies.append(time.perf_counter() - at)
                except Aborted as error:
                    aborted, why = aborted + 1, error.reason
                    await asyncio.sleep(random.uniform(0, PAUSE_S))

        await asyncio.gather(*map(client, range(count)))
        return Run(time.perf_counter() - began, tuple(latencies), aborted, why)

    def floor(self, seconds: float) -> Run:
        """One client that has both databases prepare and then commit, and writes no log."""
        latencies: list[float] = []
        began = time.perf_counter()
        while (at := time.perf_counter()) < began + seconds:
            self._floors += 1
            self._floor(self._floors)
            latencies.append(time.perf_counter() - at)
        return Run(time.perf_counter() - began, tuple(latencies))

    async def ready(self) -> None:
        """Wait until transfers come through."""
        deadline = time.monotonic() + READY_S
        while True:
            try:
                await self.transfer(0)
                return
            except Aborted as error:
                if time.monotonic() > deadline:
                    raise Wrong(f"no transfer comes through: {error.reason}") from None
            await asyncio.sleep(0.1)

    async def audit(self) -> None:
        """What has left one database is in the other, for every client."""
        query = f"select id, balance from account where id < {FLOOR} and balance <> 0 order by id"
        async with self._node.transaction() as tx:
            rows = [(await tx.on(place).execute(query)).rows for place in PLACES]
        left, come = (dict(map(tuple, found)) for found in rows)
        for account in sorted(left.keys() | come.keys()):
            if left.get(account, 0) + come.get(account, 0):
                raise Wrong(f"account {account}: {left.get(account)} and {come.get(account)}")


@contextmanager
def site(kind: Kind) -> Iterator[Site]:
    """A site in a temporary folder; nothing of it is left afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-")))
        places, floor = (_postgres if kind == "postgres" else _sqlite)(folder, stack)
        addresses = free_addresses(len(PLACES) + 1)
        lines = []
        for name, address in zip((*PLACES, TELLER), addresses, strict=True):
            lines += [f"[members.{name}]", f'address = "{address}"']
            lines += [f'database = "{places[name]}"'] if name in places else []
        config = folder / "cluster.toml"
        config.write_text("\n".join(lines), encoding="utf-8")
        running = stack.enter_context(Supervisor[str](END_S))
        for name in PLACES:
            _start(config, name, running)
        node = Node(**arguments(config, TELLER))
        asyncio.run(node.__aenter__())
        stack.callback(lambda: asyncio.run(node.__aexit__()))
        yield Site(node, kind, floor)


def _start(config: Path, name: str, running: Supervisor[str]) -> None:
    """Start a member in a process of its own, and wait until it serves."""
    words = [sys.executable, "-m", "benchmarks.teller", str(config), name]
    said: SimpleQueue[str] = SimpleQueue()
    log = config.with_name(f"{name}.log")
    running.start(name, words, log=log, hear=said.put, ended=lambda code: said.put(""))
    with suppress(Empty):
        if said.get(timeout=READY_S):
            return
    raise Wrong(f"the member {name} did not start: {log.read_text(errors='replace')[-2000:]}")


def _postgres(folder: Path, stack: ExitStack) -> tuple[dict[str, str], Callable[[int], None]]:
    """Databases of a server of our own, which forces what it writes as servers do."""
    import psycopg

    server = stack.enter_context(Server(*PLACES))
    server.stop()
    server.start(fsync="on")
    open_all = f"insert into account select n, 0 from generate_series(0, {FLOOR}) n"
    connections = {}
    for name in PLACES:
        db = psycopg.connect(server.conninfo(name), autocommit=True)
        connections[name] = stack.enter_context(closing(db))
        db.execute(f"{ACCOUNT} with (fillfactor = 50)")
        db.execute(open_all)
        db.execute("vacuum analyze account")
    move = f"update account set balance = balance + 1 where id = {FLOOR}"

    def floor(number: int) -> None:
        for name, db in connections.items():
            db.execute("begin isolation level serializable")
            db.execute(move)
            db.execute(f"prepare transaction 'floor-{name}-{number}'")
        for name, db in connections.items():
            db.execute(f"commit prepared 'floor-{name}-{number}'")

    return {name: _uri(server.conninfo(name)) for name in PLACES}, floor


def _uri(conninfo: str) -> str:
    """The same as an address: that is what the file of a cluster has."""
    found = dict(word.split("=") for word in conninfo.split())
    return f"postgresql://{found['user']}@{found['host']}:{found['port']}/{found['dbname']}"


def _sqlite(folder: Path, stack: ExitStack) -> tuple[dict[str, str], Callable[[int], None]]:
    """Files; those of the floor are others, for a member has its file to itself."""
    for name in PLACES:
        with closing(_filled(folder / f"{name}.db")):
            pass
    resources = [
        stack.enter_context(closing(_filled(folder / f"floor-{name}.db"))) for name in PLACES
    ]
    move = f"update account set balance = balance + 1 where id = {FLOOR}"

    def floor(number: int) -> None:
        tx = f"floor-{number}"
        for resource in resources:
            resource.execute(tx, move)
            resource.prepare(tx)
        for resource in resources:
            resource.commit(tx)
            resource.forget(tx)

    return {name: f"sqlite:{name}.db" for name in PLACES}, floor


def _filled(path: Path) -> Sqlite:
    """A file with an account for everybody."""
    found = Sqlite(path)
    found.execute("fill", ACCOUNT)
    numbers = f"with recursive n(i) as (select 0 union all select i + 1 from n where i < {FLOOR})"
    found.execute("fill", f"{numbers} insert into account select i, 0 from n")
    found.prepare("fill")
    found.commit("fill")
    found.forget("fill")
    return found
