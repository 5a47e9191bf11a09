"""What SQLite has prepared is committed as the transaction saw it, whatever made it so."""

import re
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.errors import Refused
from electorate.transactions.changes import quoted
from electorate.transactions.sqlite import PRAGMAS, Sqlite

MAKES = (
    "default (lower(hex(randomblob(8))))",
    "default current_timestamp",
    "default (random() % 5)",
    "default (julianday('now'))",
    "default 7",
    "collate nocase",
    "unique on conflict replace",
    "unique on conflict ignore",
    "check (b is not 'no')",
    "not null default 'x'",
    "as (b || 'g') virtual",
    "as (length(b)) stored",
)
KEYS = (
    ("id integer primary key autoincrement", ""),
    ("id integer primary key", ""),
    ("id int primary key", ""),
    ("id text primary key collate nocase", ""),
    ("id text primary key collate nocase", "without rowid"),
    ("id blob", ""),
    ("rowid text, id real unique", ""),
)
LINKS = (
    "",
    "references t0(id) on delete cascade on update cascade",
    "references t0(id) on delete set null deferrable initially deferred",
    "references t0(id) on delete set default",
)
TYPES = ("text", "int", "real", "numeric", "blob", "")
VALUES = (
    "null",
    "1",
    "2",
    "-9223372036854775808",
    "1.5",
    "9e999",
    "'a'",
    "'A'",
    "'no'",
    "'5'",
    "x'00ff'",
    "cast(x'c328' as text)",
    "'nul' || char(0) || 'byte'",
    "randomblob(3)",
    "random()",
    "datetime('now')",
    "last_insert_rowid()",
)
TABLES = ("t0", "t1", "t2")

table = st.sampled_from(TABLES)
value = st.sampled_from(VALUES)


@st.composite
def created(draw: st.DrawFn) -> list[str]:
    """The statements that make a database."""
    found = []
    for name in TABLES:
        # Others refer to the first one, and so it has a key that they can refer to.
        key, kind = draw(st.sampled_from(KEYS[:5] if name == "t0" else KEYS))
        columns = [key, f"b {draw(st.sampled_from(TYPES))}"]
        link = "" if name == "t0" else draw(st.sampled_from(LINKS))
        columns.append(f"up {draw(st.sampled_from(TYPES))} {link}")
        made = draw(st.lists(st.sampled_from(MAKES), max_size=3))
        columns += [f"m{n} {draw(st.sampled_from(TYPES))} {make}" for n, make in enumerate(made)]
        found.append(f"create table {name} ({', '.join(columns)}) {kind}")
    when, acts = st.sampled_from(["before", "after"]), ["insert", "update", "update of b", "delete"]
    for number in range(draw(st.integers(0, 3))):
        on, what = draw(table), draw(st.sampled_from(acts))
        body = "; ".join(draw(st.lists(written(), min_size=1, max_size=2)))
        head = f"create trigger g{number} {draw(when)} {what} on {on}"
        found.append(f"{head} begin {body}; end")
    found += draw(st.lists(written(), min_size=2, max_size=8))
    return found


@st.composite
def written(draw: st.DrawFn) -> str:
    """A statement that changes rows."""
    name, one, two = draw(table), draw(value), draw(value)
    how = draw(st.sampled_from(["", "or ignore", "or replace", "or fail"]))
    return draw(
        st.sampled_from(
            [
                f"insert {how} into {name}(b) values ({one}), ({two})",
                f"insert {how} into {name}(id, b) values ({one}, {two}), ({two}, {one})",
                f"insert {how} into {name}(id, up) select id, b from {draw(table)}",
                f"insert into {name}(id, b) values ({one}, {two})"
                f" on conflict do update set b = {two}",
                f"update {how} {name} set b = {one}",
                f"update {how} {name} set id = {one} where id is {two}",
                f"update {how} {name} set up = (select id from t0)",
                f"delete from {name} where id is {one} or b is {two}",
                f"delete from {name}",
            ]
        )
    )


@st.composite
def schema_changed(draw: st.DrawFn) -> str:
    """A statement that changes the schema."""
    name = draw(table)
    return draw(
        st.sampled_from(
            [
                f"drop table {name}",
                f"create table if not exists {name} (id integer primary key, b default (random()))",
                f"alter table {name} rename to u",
                f"alter table u rename to {name}",
                f"alter table {name} add column extra int not null default 3",
                f"alter table {name} add column made as (id || 'x')",
                f"alter table {name} drop column b",
                f"alter table {name} rename column b to bb",
                f"create unique index i on {name}(id)",
                f"create index j on {name}(b || 'x') where b is not null",
                "drop index i",
                f"create view v as select * from {name}",
                "create trigger w instead of insert on v"
                f" begin insert into {name}(b) values (1); end",
                "insert into v(id) values (1)",
                "drop view v",
                "reindex",
            ]
        )
    )


statements = st.lists(
    st.one_of(written(), written(), written(), schema_changed()), min_size=2, max_size=10
)


@given(created(), statements)
def test_what_was_prepared_is_committed_after_a_crash_as_it_was_seen(
    schema: list[str], work: list[str]
) -> None:
    with TemporaryDirectory() as folder, unsynced():
        path = Path(folder) / "one.db"
        make(path, schema)
        with closing(Sqlite(path)) as db:
            db.open()
            found = list(held(db._db))
            # A statement that is not carried out leaves nothing.
            if not sum(is_done(db, statement) for statement in work):
                return
            seen = list(held(db._db))
            refused = why_not_prepared(db)
            if refused:
                assert re.search("does not exist|was cut short", refused), refused
                db.abort("a")
                assert list(held(db._db)) == found
                return
            assert list(held(db._db)) == found
            crashed = crash(path)
        with closing(Sqlite(crashed)) as again:
            assert again.known() == {"a"}
            again.commit("a")
            assert list(held(again._db)) == seen
        with closing(Sqlite(crash(path))) as undone:
            undone.abort("a")
            assert list(held(undone._db)) == found


def is_done(db: Sqlite, statement: str) -> bool:
    try:
        db.execute("a", statement)
    except Refused:
        return False
    return True


def why_not_prepared(db: Sqlite) -> str:
    try:
        db.prepare("a")
    except Refused as error:
        return str(error)
    return ""


@contextmanager
def unsynced() -> Iterator[None]:
    """Files are written, and not forced: no power fails here."""
    with pytest.MonkeyPatch.context() as patch:
        pragmas = [each.replace("extra", "off") for each in PRAGMAS]
        patch.setattr("electorate.transactions.sqlite.PRAGMAS", pragmas)
        yield


def make(path: Path, schema: list[str]) -> None:
    with closing(apsw.Connection(str(path))) as file:
        file.execute("pragma foreign_keys=on")
        for statement in schema:
            with suppress(apsw.Error):
                file.execute(statement)


def crash(path: Path) -> Path:
    """The files as they are on the disk just now, somewhere else."""
    other = path.parent / "crashed"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    for file in path.parent.glob("one.db*"):
        shutil.copy(file, other)
    return other / path.name


def held(db: apsw.Connection) -> Iterator[Any]:
    """All that is in a database."""
    yield list(db.execute("select type, name, tbl_name, sql from sqlite_schema order by 1, 2"))
    query = "select name, wr from pragma_table_list where schema = 'main' and type = 'table'"
    for name, without_rowid in sorted(db.execute(query)):
        if not name.startswith(("electorate_", "sqlite_schema")):
            info = "select name from pragma_table_xinfo(?)"
            columns = [quoted(column) for (column,) in db.execute(info, (name,))]
            columns += [] if without_rowid else ["_rowid_"]
            both = ", ".join(f"typeof({each}), cast({each} as blob)" for each in columns)
            yield name, columns, sorted(db.execute(f"select {both} from {quoted(name)}"), key=repr)


def test_a_large_transaction_is_kept_too(tmp_path: Path) -> None:
    with closing(Sqlite(tmp_path / "one.db")) as db:
        db.execute(
            "a", "create table t (a integer primary key, b text default (hex(randomblob(4))))"
        )
        count = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)"
        db.execute("a", f"insert into t(a) {count} select i from n")
        seen = list(held(db._db))
        db.prepare("a")
        db.commit("a")
        assert list(held(db._db)) == seen


@pytest.mark.parametrize(
    "statement",
    [
        "update parent set b = random()",
        "insert or replace into parent(id, b) values (1, 5)",
        "update parent set id = id + 10 where id = 2",
        "delete from parent where id = 2",
        "update child set _rowid_ = _rowid_ + 10",
        "update word set text = upper(text)",
        "drop table parent",
        "alter table child rename to grandchild",
        "insert into parent default values returning *",
    ],
)
def test_what_else_follows_from_a_change_is_made_again_as_it_was(
    tmp_path: Path, statement: str
) -> None:
    made = [
        "create table parent (id integer primary key autoincrement, b default (random()))",
        "create table child (up int references parent on update cascade on delete set null)",
        "create table word (text text collate nocase primary key) without rowid",
        "create trigger g after update on child begin update parent set b = b + 1; end",
        "insert into parent default values",
        "insert into parent default values",
        "insert into child values (1), (2), (2), (null)",
        "insert into word values ('a'), ('b')",
    ]
    make(tmp_path / "one.db", made)
    with closing(Sqlite(tmp_path / "one.db")) as db:
        found = list(held(db._db))
        db.execute("a", "update child set up = 3 - up")
        db.execute("a", statement)
        seen = list(held(db._db))
        db.prepare("a")
        assert list(held(db._db)) == found
        db.commit("a")
        assert list(held(db._db)) == seen != found
