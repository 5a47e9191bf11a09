"""Two anomalies between two databases, each of which keeps transactions apart by itself.

What two transactions do is woven together by hand, on real databases. Every row names who wrote it
last, so that what was read and written can be held against the rule that some order of one
transaction after the other would have come to the same (electorate/transactions/history.py).
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec

from electorate.errors import Refused
from electorate.transactions.history import FIRST, DatabaseRow, History, Read, Write
from electorate.transactions.postgres import Postgres
from electorate.transactions.resource import Resource
from electorate.transactions.sqlite import Sqlite
from examples.bank.place import Kind
from examples.bank.server import Server

PLACES = ("savings", "checking")
SETUP = (
    "create table account (id int primary key, balance int, writer text)",
    f"insert into account values (1, 500, '{FIRST}')",
)
POSTGRES_READS = {"lock nothing": "", "lock what they read (for share)": " for share"}
"""What is added to a read: a lock keeps others from writing until its transaction is over."""
WAIT_S = 0.3


class Pair:
    """Two databases, and what was seen and done there."""

    def __init__(self, savings: Resource, checking: Resource, lock: str = "") -> None:
        self.places = dict(zip(PLACES, (savings, checking), strict=True))
        self.told: list[str] = []
        self._reads: list[Read] = []
        self._writes: list[Write] = []
        self._lock = lock
        for db in self.places.values():
            for statement in SETUP:
                db.execute("setup", statement, ())
            db.prepare("setup")
            db.commit("setup")

    def read(self, tx: str, place: str) -> None:
        """A transaction looks at the account."""
        self.told.append(f"{tx} reads {place}")
        found = f"select writer from account where id = 1{self._lock}"
        writer = self.places[place].execute(tx, found, ()).value()
        self.told[-1] += f" as {writer} left it" if writer else " as it was at first"
        self._reads.append(Read(tx, DatabaseRow(place, 1), writer))

    def write(self, tx: str, place: str) -> None:
        """A transaction empties the account."""
        self.told.append(f"{tx} writes {place}")
        db = self.places[place]
        old = db.execute(tx, "select writer from account where id = 1", ()).value()
        db.execute(tx, f"update account set balance = 0, writer = '{tx}' where id = 1", ())
        self._writes.append(Write(tx, DatabaseRow(place, 1), old))

    def prepare(self, tx: str) -> None:
        """Both databases promise that the transaction can commit."""
        self.told.append(f"{tx} is prepared in both")
        for db in self.places.values():
            db.prepare(tx)

    def commit(self, tx: str, *places: str) -> None:
        """Databases hear that the transaction has committed: both, or those that are named."""
        self.told.append(f"{tx} commits in {' and '.join(places or self.places)}")
        for place in places or self.places:
            self.places[place].commit(tx)

    @property
    def flaws(self) -> list[str]:
        """Why no order of one after the other comes to the same; nothing if one does."""
        return History(self._reads, self._writes).flaws()


def half_of_a_move_is_read(pair: Pair) -> None:
    """A reader comes when one database has committed, and the other has not heard of it yet."""
    pair.write("move", "savings")
    pair.write("move", "checking")
    pair.prepare("move")
    pair.commit("move", "savings")
    pair.read("audit", "savings")
    pair.read("audit", "checking")
    pair.prepare("audit")
    pair.commit("audit")
    pair.commit("move", "checking")


def each_reads_what_the_other_writes(pair: Pair) -> None:
    """Each database sees one of them before the other, but not the same one."""
    pair.read("one", "savings")
    pair.read("two", "checking")
    pair.write("one", "checking")
    pair.write("two", "savings")
    for tx in ("one", "two"):
        pair.prepare(tx)
        pair.commit(tx)


STORIES: dict[str, Callable[[Pair], None]] = {
    "half of a transfer is read": half_of_a_move_is_read,
    "each reads what the other writes": each_reads_what_the_other_writes,
}


class Tried(msgspec.Struct, frozen=True):
    """What came of one story."""

    story: str
    reads: str
    """Whether reads lock."""
    told: list[str]
    refused: str
    """What the database would not do; empty if it did everything."""
    flaws: list[str]

    @property
    def is_anomaly(self) -> bool:
        return not self.refused and bool(self.flaws)


def tried(story: str, pair: Pair, reads: str) -> Tried:
    """Play a story, until a database refuses to go on."""
    refused = ""
    try:
        STORIES[story](pair)
    except Refused as error:
        refused = str(error)
    return Tried(story, reads, pair.told, refused, pair.flaws)


def anomalies(kind: Kind, folder: Path) -> Iterator[Tried]:
    """Every story: in SQLite files, or in PostgreSQL with reads that lock nothing and that do."""
    locks = {"lock the file": ""} if kind == "sqlite" else POSTGRES_READS
    tries = [(story, reads) for story in STORIES for reads in locks]
    # Databases of its own for each: they remember which transactions have committed.
    names = [[f"{place}_{number}" for place in PLACES] for number in range(len(tries))]
    with ExitStack() as stack:
        opened: Callable[[str], Sqlite | Postgres]
        if kind == "sqlite":
            opened = partial(_sqlite, folder)
        else:
            opened = partial(_postgres, stack.enter_context(Server(*chain(*names))))
        for (story, reads), pair in zip(tries, names, strict=True):
            savings, checking = (stack.enter_context(closing(opened(name))) for name in pair)
            yield tried(story, Pair(savings, checking, locks[reads]), reads)


def _sqlite(folder: Path, name: str) -> Sqlite:
    return Sqlite(folder / f"{name}.db", WAIT_S)


def _postgres(server: Server, name: str) -> Postgres:
    return Postgres(name, server.conninfo(name), WAIT_S)
