"""Elections and transactions at one node, on one port and in one folder: asyncio and threads."""

import asyncio
import inspect
import os
import re
import signal
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
    suppress,
)
from pathlib import Path
from typing import Any

import msgspec
import pytest

import electorate
from electorate import (
    Aborted,
    LeadershipLost,
    Node,
    NodeStopped,
    OutcomeUnknown,
    Pace,
    Sqlite,
    StoreError,
    Term,
    Transaction,
    Triple,
    sync,
)
from electorate.cli.replay import CHANGED
from electorate.leadership.directory import number
from electorate.runtime.store import FILE, Store
from electorate.transactions.admin import ask
from electorate.transactions.host import TransactionHost
from tests.cli.run import runner
from tests.leadership.cluster import run, until
from tests.runtime.cluster import free_addresses

PACE = Pace(
    grace=1.0,
    votes_timeout=1.5,
    decision_timeout=0.3,
    retry_every=0.2,
    idle_timeout=5.0,
    sweep_every=0.1,
)
SETUP = "create table log (entry text, fence int)"
NOTE = "insert into log values (?, ?)"
COUNT = "select count(*) from log"


class Crash(Exception):
    """The node is gone."""


class Site:
    """Nodes a, b, c and d, of which all but a have a database."""

    def __init__(self, folder: Path, names: str = "abc") -> None:
        self.folder = folder
        found = zip("abcd", free_addresses(4), strict=True)
        self.places = {name: f"{name}@{host}:{port}" for name, (host, port) in found}
        self.founders = [self.places[name] for name in names]
        self.crashes: dict[str, str] = {}
        """Who crashes where."""

    def told(self, name: str, **changed: Any) -> dict[str, Any]:
        """What a node is told."""
        database = Sqlite(self.folder / f"{name}.db", wait_s=0.3) if name != "a" else None
        return {
            "me": self.places[name],
            "members": self.founders,
            "data_dir": self.folder / name,
            "pace": PACE,
            "database": database,
            "watch": lambda tx, what: self._watch(name, what),
            **changed,
        }

    def _watch(self, name: str, what: str) -> None:
        if self.crashes.get(name) == what:
            del self.crashes[name]
            raise Crash(f"{name} {what}")

    def entries(self, name: str) -> int:
        """How many are in the database of a node that does not run."""
        db = sqlite3.connect(self.folder / f"{name}.db")
        (found,) = db.execute(COUNT).fetchone()
        db.close()
        return int(found)


@asynccontextmanager
async def running(site: Site, names: str = "abc") -> AsyncIterator[list[Node]]:
    async with AsyncExitStack() as stack:
        nodes = [Node(**site.told(name)) for name in names]
        for node in nodes:
            stack.push_async_callback(left, node)
        await asyncio.gather(*(node.__aenter__() for node in nodes))
        await noted(nodes[0], "b", "c", statement=SETUP)
        yield nodes


async def left(node: Node) -> None:
    with suppress(Crash):
        await node.__aexit__()


@contextmanager
def threads(site: Site, names: str = "abc") -> Iterator[list[sync.Node]]:
    with ExitStack() as stack:
        nodes = [stack.enter_context(sync.Node(**site.told(name))) for name in names]
        with nodes[0].transaction() as tx:
            for name in ("b", "c"):
                tx.on(name).execute(SETUP)
        yield nodes


async def done(tx: Transaction, statement: str, *names: str, fence: int = 0) -> None:
    """Do the same at several nodes."""
    async with tx:
        for name in names:
            await tx.on(name).execute(statement, *(("x", fence) if statement == NOTE else ()))


async def noted(node: Node, *names: str, statement: str = NOTE, fence: int = 0) -> None:
    """Write to several databases, again if somebody was not reached yet."""
    for attempt in range(20):
        try:
            await done(node.transaction(), statement, *names, fence=fence)
            return
        except Aborted:
            assert attempt < 19
            await asyncio.sleep(0.1)


def host(node: Node | sync.Node) -> TransactionHost:
    """The transactions of a node."""
    inner = node._node if isinstance(node, sync.Node) else node
    assert inner._caller is not None
    return inner._caller.transactions


def test_one_node_leads_and_commits_on_one_port_and_in_one_folder(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(site) as (a, _, c):
            term = await anext(a.election("writer").terms())
            async with term:
                await noted(a, "b", "c", fence=term.token)
                term.check()
            async with c.transaction() as tx:
                answer = await tx.on("b").execute("select fence from log")
            assert answer.rows == [(term.token,)]
            await until(lambda: not any(node.open_transactions for node in (a, c)))

    site = Site(tmp_path)
    run(scene())
    assert {file.name for file in (tmp_path / "a").iterdir()} == {"electorate.db"}
    assert site.entries("b") == site.entries("c") == 1


def test_threads_lead_and_commit_by_the_same_interface(tmp_path: Path) -> None:
    done: list[int] = []

    def work(term: Term) -> None:
        with a.transaction(timeout=10) as tx:
            for name in ("b", "c"):
                tx.on(name).execute(NOTE, "x", term.token)
        done.append(term.token)
        if len(done) == 2:
            raise KeyError("enough")

    site = Site(tmp_path)
    with threads(site) as (a, b, _):
        with pytest.raises(KeyError, match="enough"):
            a.election("writer").run(work)
        with b.election("writer").lead(timeout=10) as term:
            assert term.token > done[-1] > done[0]
    assert site.entries("b") == site.entries("c") == 2


def test_a_member_that_is_added_takes_part_in_transactions(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(site) as (a, b, c), Node(**site.told("d", join=True)) as d:
            with pytest.raises(ValueError, match="'d' is no member; the members are a, b, c"):
                await done(a.transaction(), SETUP, "d")
            await a.add_member(site.places["d"])
            await noted(a, "d", statement=SETUP)
            await noted(a, "b", "d")
            await noted(d, "b", "c")
            assert host(d).members.me != number("d"), "who joins has a number of its own"
            everybody = [host(node) for node in (a, b, c, d)]
            await until(lambda: len(agreed(everybody)) == 1 and agreed(everybody) != {None})
            async with a.transaction() as tx:
                assert (await tx.on("d").execute(COUNT)).value() == 1

    def agreed(hosts: list[TransactionHost]) -> set[Any]:
        members = {tuple(sorted(each.members.numbers)) for each in hosts}
        assert members == {("a", "b", "c", "d")}
        return {each.recovery.leader for each in hosts}

    site = Site(tmp_path)
    run(scene())


def test_what_was_promised_to_a_removed_member_stays_in_doubt_and_says_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async def scene() -> None:
        async with running(site) as (a, b, c):
            site.crashes["b"] = "saved committed"
            tx = b.transaction()
            with pytest.raises(OutcomeUnknown):
                await done(tx, NOTE, "c")
            await until(lambda: c.open_transactions)
            await a.remove_member("b")
            await until(lambda: "b (no member any more)" in waits())
            assert c.open_transactions == (tx.name,)
            with pytest.raises(Aborted, match=f"transaction {tx.name} has the database"):
                await done(a.transaction(), NOTE, "c")
            ask(site.folder / "c", {"do": "resolve", "tx": tx.name, "how": "abort"})

    def waits() -> str:
        found = ask(site.folder / "c", {"do": "list"})["found"]
        return str(found[0]["waits_for"]) if found else ""

    site = Site(tmp_path_factory.mktemp("t"))
    run(scene())


def test_a_node_goes_on_with_elections_and_transactions_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        site.crashes["a"] = "saved committed"
        async with Node(**site.told("b")) as b:
            async with Node(**site.told("c")):
                with pytest.raises(Crash):
                    await first_life(b)
            async with Node(**site.told("c")) as c:
                assert len(c.open_transactions) == len(b.open_transactions) == 1, "in doubt"
                async with Node(**site.told("a")) as a:
                    await until(lambda: not any(n.open_transactions for n in (a, b, c)))
                    term = await anext(a.election("writer").terms())
                    assert term.token > tokens[0]
                    term.finish()

    async def first_life(b: Node) -> None:
        async with Node(**site.told("a")) as a:
            term = await anext(a.election("writer").terms())
            tokens.append(term.token)
            term.finish()
            with pytest.raises(OutcomeUnknown):
                await done(a.transaction(), SETUP, "b", "c")

    tokens: list[int] = []
    site = Site(tmp_path)
    run(scene())
    assert site.entries("b") == site.entries("c") == 0, "the tables are there"


def test_what_both_go_through_is_recorded_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        told = [site.told(name, record=tmp_path / "record") for name in "abc"]
        joins = site.told("d", record=tmp_path / "record", join=True)
        async with Node(**told[0]) as a, Node(**told[1]), Node(**told[2]), Node(**joins) as d:
            await noted(a, "b", "c", statement=SETUP)
            await a.add_member(site.places["d"])
            await noted(d, "b", "c")
            term = await anext(d.election("writer").terms())
            term.finish()
            await until(lambda: not d.open_transactions)

    site = Site(tmp_path)
    run(scene())
    told = runner(capsys)("replay", str(tmp_path / "record"))
    assert told.code == 0, told.out + told.err
    assert "each led to the recorded state" in told.out
    for instance in ("office writer", "transaction a-", "transaction d-"):
        assert instance in told.out
    elections = {*re.findall("recovery [0-9a-f]{8}", told.out)}
    assert len(elections) == 2, "each list of members has an election of its own"
    for name in elections:
        told = runner(capsys)("replay", str(tmp_path / "record"), "--instance", name)
        assert told.code == 0, told.out + told.err
        assert CHANGED not in told.err, "it ran one machine"
    for member in "abcd":
        kept = {name for name in stored(tmp_path / member) if name.startswith("recovery")}
        assert len(kept) == 1, "what was saved among other members is gone"


def stored(folder: Path) -> list[str]:
    """Under which names a node that does not run has saved something."""
    with closing(sqlite3.connect(folder / FILE)) as db:
        return [name for (name,) in db.execute("select instance from stable")]


# --- what it costs, and when ---


def test_a_node_that_is_not_entered_opens_nothing(tmp_path: Path) -> None:
    before = {*threading.enumerate()}, {*Path("/proc/self/fd").iterdir()}
    site = Site(tmp_path)
    nodes: list[Node | sync.Node] = []
    for kind in (Node, sync.Node):
        nodes.append(kind(**site.told("b", record=tmp_path / "record")))
        triple = Triple(lambda tx, work: None, print, print, tmp_path / "notes.db")
        nodes.append(kind(**site.told("c", database=triple, recovery="ring-list")))
    assert ({*threading.enumerate()}, {*Path("/proc/self/fd").iterdir()}) == before
    assert list(tmp_path.iterdir()) == []
    for node in nodes:
        assert not node.running


def test_nothing_is_hosted_for_transactions_until_somebody_wants_one(tmp_path: Path) -> None:
    async def scene() -> None:
        told = [site.told(name, database=None) for name in "abc"]
        async with Node(**told[0]) as a, Node(**told[1]) as b, Node(**told[2]):
            term = await anext(a.election("x").terms())
            for node in (a, b):
                assert not host(node).is_awake
                hosted = node._engine.elections.host.instances
                assert {name.partition(" ")[0] for name in hosted} == {
                    "directory",
                    "founding",
                    "members",
                    "office",
                }
            with pytest.raises(Aborted, match="b: there is no database at this node"):
                await done(a.transaction(), SETUP, "b")
            assert host(a).is_awake
            assert host(b).is_awake, "mail has come"
            term.finish()

    site = Site(tmp_path)
    run(scene())


def test_a_start_that_fails_leaves_nothing_open(tmp_path: Path) -> None:
    site = Site(tmp_path)
    (tmp_path / "b.db").write_text("what is this? " * 100)
    (tmp_path / "c").write_text("no folder")

    async def scene() -> None:
        with pytest.raises(electorate.Damaged, match="not a database"):
            await Node(**site.told("b")).__aenter__()
        with pytest.raises(StoreError):
            await Node(**site.told("c")).__aenter__()

    run(scene())
    sqlite3.connect(tmp_path / "c.db").execute("create table free (x int)").connection.close()


def is_running(node: Node | sync.Node) -> bool:
    return node.running


def test_a_node_can_be_entered_once(tmp_path: Path) -> None:
    node = sync.Node(**Site(tmp_path, "a").told("a"))
    with node:
        assert is_running(node)
        with pytest.raises(RuntimeError, match="a was entered before"):
            node.__enter__()
    assert not is_running(node)
    with pytest.raises(NodeStopped):
        node.transaction().__enter__()
    with pytest.raises(RuntimeError, match="a was entered before"):
        node.__enter__()


def test_an_election_that_nobody_knows_cannot_name_who_finds_out(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no election is called 'dice'"):
        Node(**Site(tmp_path).told("a", recovery="dice"))


@pytest.mark.parametrize("recovery", ["ring-list", "invitation"])
def test_other_elections_name_who_finds_out(tmp_path: Path, recovery: str) -> None:
    async def scene() -> None:
        told = [site.told(name, recovery=recovery) for name in "abc"]
        async with Node(**told[0]) as a, Node(**told[1]) as b, Node(**told[2]) as c:
            await noted(a, "b", "c", statement=SETUP)
            hosts = [host(node) for node in (a, b, c)]
            await until(lambda: len({each.recovery.leader for each in hosts} - {None}) == 1)

    site = Site(tmp_path)
    run(scene())


# --- the interface for threads ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Node, sync.Node),
        (electorate.Election, sync.Election),
        (Transaction, sync.Transaction),
    ],
)
def test_threads_have_every_method_with_the_same_parameters(one: type, other: type) -> None:
    def shown(kind: type) -> dict[str, Any]:
        return {name: each for name, each in vars(kind).items() if not name.startswith("_")}

    mine, theirs = shown(one), shown(other)
    assert mine.keys() - {"of"} <= theirs.keys()
    for name in mine.keys() & theirs.keys():
        if inspect.isfunction(mine[name]):
            given, taken = (
                [each for each in inspect.signature(found).parameters if each != "timeout"]
                for found in (mine[name], theirs[name])
            )
            assert given == taken, name


def test_a_call_that_takes_too_long_says_what_was_waited_for(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with threads(site) as (a, b, _):
        with a.election("x").lead(timeout=10):
            with pytest.raises(TimeoutError, match=r"b does not lead x after 0.2 s"):
                next(b.election("x").terms(timeout=0.2))
            seen = b.election("x").observe(timeout=0.3)
            with pytest.raises(TimeoutError, match=r"nothing changes in x after 0.3 s"):
                list(seen)
            with pytest.raises(TimeoutError, match=r"something is still led at a after 0.2 s"):
                a.pause(timeout=0.2)
        a.resume()
        with pytest.raises(TimeoutError, match=r"was not added after 0.2 s"):
            a.add_member(site.places["d"], timeout=0.2)
        with a.transaction() as busy:
            busy.on("b").execute(NOTE, "x", 0)
            with (
                pytest.raises(TimeoutError, match=r"b does not answer after 0.05 s"),
                a.transaction(timeout=0.05) as tx,
            ):
                tx.on("b").execute(NOTE, "y", 0)


def test_a_wait_can_be_interrupted_and_nobody_stands_any_more(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with threads(site) as (a, b, c):
        with a.election("x").lead(timeout=10):
            interrupt = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
            interrupt.start()
            with pytest.raises(KeyboardInterrupt):
                next(b.election("x").terms())
            interrupt.join()
        time.sleep(2 * PACE.lease)
        assert c.election("x").leader.leader is None


def test_threads_are_not_for_event_loops(tmp_path: Path) -> None:
    site = Site(tmp_path, "a")

    async def scene() -> None:
        with pytest.raises(RuntimeError, match=r"use `electorate.Node`"):
            sync.Node(**site.told("a")).__enter__()
        assert not list(tmp_path.iterdir())

    run(scene())


def test_a_transaction_is_used_within_its_block_and_once(tmp_path: Path) -> None:
    with threads(Site(tmp_path)) as (a, _, _):
        tx = a.transaction()
        with pytest.raises(RuntimeError, match="begins with its block"):
            tx.on("b")
        with tx:
            tx.on("b").execute(NOTE, "x", 0)
        with pytest.raises(RuntimeError, match="begin another one"):
            tx.__enter__()


def test_a_transaction_may_be_used_by_several_threads(tmp_path: Path) -> None:
    site = Site(tmp_path)
    with threads(site) as (a, _, _), a.transaction() as tx:
        works = [threading.Thread(target=tx.on(name).execute, args=[NOTE, "x", 0]) for name in "bc"]
        for work in works:
            work.start()
        for work in works:
            work.join(10)
    assert site.entries("b") == site.entries("c") == 1


# --- a term ---


def test_a_term_cannot_be_changed(tmp_path: Path) -> None:
    with (
        sync.Node(**Site(tmp_path, "a").told("a")) as node,
        node.election("x").lead(timeout=10) as term,
    ):
        for name in ("election", "token", "members", "lost", "abandoned", "anything"):
            with pytest.raises(AttributeError):
                setattr(term, name, 7)
        shown = {name for name in dir(term) if not name.startswith("_")}
        assert shown == {
            *("abandoned", "ask_to_end", "check", "confirm", "election", "finish", "lost"),
            *("members", "remaining", "token"),
        }
        term.check()
    with pytest.raises(LeadershipLost):
        term.check()


# --- folders of earlier versions ---

STEP = Callable[[Store], None]


def with_open_transaction(store: Store) -> None:
    part = {"node": 1, "store": "s", "incarnation": 1}
    parts = {"coordinator": part, "participants": [{**part, "node": 2}]}
    record = {"parts": parts, "stable": b"", "began": 1.5, "by_hand": None}
    store.save({"transaction 1-9f3a1c20b7de-17": msgspec.msgpack.encode(record)})


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (lambda store: None, "was not written by a Node: start it in an empty folder"),
        (with_open_transaction, r"transactions are open in it \(1-9f3a1c20b7de-17\): run that"),
    ],
)
def test_a_folder_of_transactions_alone_is_refused_with_what_to_do(
    tmp_path: Path, written: STEP, told: str
) -> None:
    store = Store(tmp_path / "a", 1)  # Its members were numbered as they were listed.
    store.save({"election": b"\x80"})
    written(store)
    store.close()
    with pytest.raises(StoreError, match=told):
        sync.Node(**Site(tmp_path, "a").told("a")).__enter__()


MEMORY = "6d4f91b8ba434efe9447a1b9f1fd51e6"
LIFE = (1, 1699463305, MEMORY, 1, 146702404)
DIRECTORY = (
    "86a7636c7573746572b063613937383131326361316262646361a8666f756e6465727391ce654bc089a56b6e6f77"
    "6e81ce654bc08993b061403132372e302e302e313a37343939d920366434663931623862613433346566653934343"
    "761316239663166643531653600a4726f6c6c83a776657273696f6e920000a36f6c6491ce654bc089a36e657791ce"
    "654bc089a66c697374656481ce654bc089b061403132372e302e302e313a37343939a6666f726d657280"
)
OFFICE = (
    "83a770726f6d69736583a565706f636802a6686f6c646572ce654bc089a561626f766500a5696e6e657280a6726f"
    "7374657283a776657273696f6e920000a36f6c6491ce654bc089a36e657791ce654bc089"
)


def test_a_folder_of_elections_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """These are the bytes that a node alone had written which had led twice."""
    store = Store(tmp_path / "a", number("a"))
    records = {"directory": DIRECTORY, "election": "80", "pace": "cd0258", "office x": OFFICE}
    store.save({name: bytes.fromhex(data) for name, data in records.items()})
    store.close()
    with closing(sqlite3.connect(tmp_path / "a" / "electorate.db")) as db, db:
        db.execute("delete from life")
        db.execute("insert into life values (?, ?, ?, ?, ?)", LIFE)
    with sync.Node(**Site(tmp_path, "a").told("a")) as node:
        assert node._node._engine.elections.host.store.identity == MEMORY
        with node.election("x").lead(timeout=10) as term:
            assert term.token == 3
