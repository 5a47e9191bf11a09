"""What a transaction has changed in an SQLite file: noted row by row, so that it can be made again.

Statements are no record of what they did: a default, a trigger or a function may give something
else when they are played again. So SQLite itself tells which rows are touched, by the hook on which
its session extension is built. What is kept is what these rows hold in the end, whatever made them
so: defaults, triggers, generated columns, foreign keys, REPLACE, chance or the time. To make it
again means to put these rows there, with all triggers and foreign keys off.

The session extension itself leaves out rows without a primary key or with a NULL in it, the rowids
of tables that have another key, and what `autoincrement` has handed out; here all of it is kept. A
statement that changes the schema is the one thing that is kept as a statement: it has no values.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from electorate.errors import ElectorateError

if TYPE_CHECKING:
    import apsw

Key = tuple[Any, ...]
Row = list[Any]
"""What a row holds; a text is a list with its bytes, which need not be Unicode."""

OURS = "electorate_"
COLUMNS_MAX = 900
"""SQLite gives 2,000 columns of a result, and a row is read with the types of its values."""
ROWID_NAMES = ("_rowid_", "rowid", "oid")
TOLD_ROWS = 20
"""As many rows are told in words."""


class ChangesDiffer(ElectorateError):
    """Made again, it does not come out as it was; the text says what differs."""


class SchemaChange(msgspec.Struct, frozen=True, tag=True):
    """A statement that changes the schema."""

    statement: str


class RowChanges(msgspec.Struct, frozen=True, tag=True):
    """What rows of one table hold in the end; None for one that is gone."""

    table: str
    keys: list[Key]
    rows: list[Row | None]


class Changes(msgspec.Struct, frozen=True):
    """All that a transaction has changed."""

    steps: list[SchemaChange | RowChanges]
    sequences: list[Row]
    """What `autoincrement` has handed out, for each table."""
    schema: bytes
    """A digest of the schema that it leaves."""
    before: bytes
    """A digest of the schema that it found, and of what these rows held then."""

    def told(self) -> list[str]:
        """The changes in words, for people who have to make them by hand; long ones cut off."""
        lines: list[str] = []
        for step in self.steps:
            if isinstance(step, SchemaChange):
                lines.append(step.statement)
                continue
            for key, row in zip(step.keys, step.rows, strict=True):
                which = f"{step.table}[{', '.join(map(repr, key))}]"
                held = "is deleted" if row is None else f"becomes {', '.join(map(_told, row))}"
                lines.append(f"{which} {held}")
        more = len(lines) - TOLD_ROWS
        return lines[:TOLD_ROWS] + ([f"and {more} more"] if more > 0 else [])


class ChangeRecorder:
    """Notes which rows a transaction touches."""

    def __init__(self, db: "apsw.Connection") -> None:
        self._db = db
        self._touched: dict[str, dict[Key, None]] = {}
        self._steps: list[SchemaChange | RowChanges] = []
        self._keys: dict[str, list[int]] | None = None
        """Which columns are the key, for each table without rowids."""
        self.count = 0
        """How many changes of rows there were."""

    def begin(self) -> None:
        """Forget what was noted: another transaction is about to begin."""
        self._touched, self._steps, self._keys, self.count = {}, [], None, 0

    def look(self) -> None:
        """Look at the schema before a statement touches rows: the hook may not ask for anything."""
        if self._keys is not None:
            return
        query = "select name from pragma_table_list where schema = 'main' and wr"
        self._keys = {}
        for name in _column(self._db, query):
            info = "select cid, pk from pragma_table_xinfo(?) where pk order by pk"
            self._keys[name] = [int(cid) for cid, _ in self._db.execute(info, (name,))]

    def note(self, change: "apsw.PreUpdate") -> None:
        """A row is about to change: SQLite calls this."""
        table = change.table_name
        if change.database_name != "main" or table.startswith(OURS) or self._keys is None:
            return
        self.count += 1
        touched = self._touched.setdefault(table, {})
        cids = self._keys.get(table)
        if cids is None:
            touched[(change.rowid,)] = touched[(change.rowid_new,)] = None
            return
        for row in (change.old, change.new):
            if row is not None:
                touched[tuple(row[cid] for cid in cids)] = None

    def changes_schema(self) -> None:
        """A statement is about to change the schema: rows are read under the one they were in."""
        self._flush()

    def changed_schema(self, statement: str) -> None:
        """That statement was carried out."""
        # It may have touched rows, too; they come after it.
        self._steps.append(SchemaChange(statement))
        self._keys = None

    @property
    def has_changed_schema(self) -> bool:
        """Whether another transaction finds another schema if this one is undone."""
        return any(isinstance(step, SchemaChange) for step in self._steps)

    def finish(self) -> Changes:
        """All that was changed; the work itself is undone."""
        self._flush()
        sequences, schema = _sequences(self._db), _schema(self._db)
        self._keys = None  # What happens from here on is our own work.
        self._db.execute("rollback")
        return Changes(self._steps, sequences, schema, _before(self._db, self._steps))

    def _flush(self) -> None:
        present = {*_column(self._db, "select name from sqlite_schema where type = 'table'")}
        for table in sorted(self._touched.keys() & present):
            keys = list(self._touched[table])
            self._steps.append(RowChanges(table, keys, TableForm(self._db, table).read(keys)))
        self._touched = {}


def redo(db: "apsw.Connection", changes: Changes) -> None:
    """Make the changes, inside of a transaction; ChangesDiffer if they come out otherwise."""
    if _before(db, changes.steps) != changes.before:
        raise ChangesDiffer(
            "somebody else has changed these rows, or the schema, since it was prepared"
        )
    for step in changes.steps:
        if isinstance(step, SchemaChange):
            db.execute(step.statement)
            continue
        form = TableForm(db, step.table)
        form.write(step.keys, step.rows)
        if form.read(step.keys) != step.rows:
            raise ChangesDiffer(f"rows of {step.table} came out differently")
    if _sequences(db) != changes.sequences:
        db.execute("delete from sqlite_sequence")
        insert = "insert into sqlite_sequence(_rowid_, name, seq) values (?, ?, ?)"
        db.executemany(insert, changes.sequences)
    if _schema(db) != changes.schema:
        raise ChangesDiffer("the schema came out differently")


class TableForm:
    """How the rows of one table are found, read and written."""

    def __init__(self, db: "apsw.Connection", table: str) -> None:
        self._db = db
        self._table = quoted(table)
        info = "select name, pk from pragma_table_xinfo(?) where not hidden"
        columns = list(db.execute(info, (table,)))
        query = "select wr from pragma_table_list where schema = 'main' and name = ?"
        if _column(db, query, table) == [1]:
            keyed = sorted((place, name) for name, place in columns if place)
            self._key = [quoted(name) for _, name in keyed]
            self._hidden_key: list[str] = []
        else:
            self._key = self._hidden_key = [free_rowid_name([name for name, _ in columns])]
        self._columns = [quoted(name) for name, _ in columns]
        self._where = " and ".join(f"{name} = ?" for name in self._key)

    def read(self, keys: Iterable[Key]) -> list[Row | None]:
        """What these rows hold."""
        both = (
            f"typeof({c}), iif(typeof({c}) = 'text', cast({c} as blob), {c})" for c in self._columns
        )
        query = f"select {', '.join(both)} from {self._table} where {self._where}"
        return [self._row(query, key) for key in keys]

    def _row(self, query: str, key: Key) -> Row | None:
        for found in self._db.execute(query, key):
            pairs = zip(found[::2], found[1::2], strict=True)
            return [[value] if kind == "text" else value for kind, value in pairs]
        return None

    def write(self, keys: Sequence[Key], rows: Sequence[Row | None]) -> None:
        """Have these rows hold that."""
        self._db.executemany(f"delete from {self._table} where {self._where}", keys)
        for key, row in _distinct(keys, rows, is_keyed_by_rowid=bool(self._hidden_key)):
            given = [*key, *row] if self._hidden_key else row
            marks = ("cast(? as text)" if isinstance(each, list) else "?" for each in given)
            names = ", ".join([*self._hidden_key, *self._columns])
            # Whatever the table does about conflicts: there are none.
            insert = f"insert or abort into {self._table} ({names}) values ({', '.join(marks)})"
            plain = [each[0] if isinstance(each, list) else each for each in given]
            self._db.execute(insert, plain)


def unkept(db: "apsw.Connection") -> dict[str, str]:
    """Tables to which no transaction can write here, because it could not be kept; and why."""
    found: dict[str, str] = {}
    for name, kind, without_rowid in db.execute(
        "select name, type, wr from pragma_table_list where schema = 'main' and type != 'view'"
    ):
        info = "select name, hidden from pragma_table_xinfo(?)"
        columns = list(db.execute(info, (name,)))
        names = [column for column, _ in columns]
        if kind != "table":
            found[name] = f"it is a {kind} table: SQLite does not tell what changes in one"
        elif name.startswith("sqlite_"):
            found[name] = "it belongs to SQLite"
        elif len(columns) > COLUMNS_MAX:
            found[name] = f"it has more than {COLUMNS_MAX} columns"
        elif not without_rowid and not free_rowid_name(names):
            found[name] = "its columns have all the names of a rowid"
        elif without_rowid and any(hidden for _, hidden in columns):
            found[name] = "it has generated columns and no rowids: SQLite does not tell its keys"
    return found


def free_rowid_name(columns: Iterable[str]) -> str:
    """A name of the rowid that is no column; empty if there is none."""
    taken = {name.lower() for name in columns}
    return next((name for name in ROWID_NAMES if name not in taken), "")


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _distinct(
    keys: Sequence[Key], rows: Sequence[Row | None], *, is_keyed_by_rowid: bool
) -> list[tuple[Key, Row]]:
    """Rows to write: two keys that a collation takes for equal have found the same row."""
    found: dict[bytes, tuple[Key, Row]] = {}
    for key, row in zip(keys, rows, strict=True):
        if row is not None:
            found[msgspec.msgpack.encode(key if is_keyed_by_rowid else row)] = (key, row)
    return list(found.values())


def _before(db: "apsw.Connection", steps: Iterable[SchemaChange | RowChanges]) -> bytes:
    held = [_schema(db)]
    for step in steps:
        if isinstance(step, SchemaChange):
            break  # Rows that were touched later may be of tables that were not there.
        held += map(msgspec.msgpack.encode, TableForm(db, step.table).read(step.keys))
    return _digest(held)


def _schema(db: "apsw.Connection") -> bytes:
    query = "select type, name, tbl_name, sql from sqlite_schema order by type, name"
    found = (row for row in db.execute(query) if not str(row[2]).startswith(OURS))
    return _digest(map(msgspec.msgpack.encode, found))


def _sequences(db: "apsw.Connection") -> list[Row]:
    if not _column(db, "select 1 from sqlite_schema where name = 'sqlite_sequence'"):
        return []
    return [[*row] for row in db.execute("select _rowid_, name, seq from sqlite_sequence")]


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _column(db: "apsw.Connection", query: str, *values: Any) -> list[Any]:
    return [found for (found,) in db.execute(query, values)]


def _told(value: Any) -> str:
    text = repr(value[0].decode(errors="replace") if isinstance(value, list) else value)
    return text if len(text) <= 60 else f"{text[:57]}..."
