"""One member of a cluster, for asyncio: its elections and its transactions, on one port.

async with electorate.Node("a@10.0.0.1:7400", members=[...], data_dir="data") as node:
    async for term in node.election("scheduler").terms():
        async with term:
            await work(term)
    async with node.transaction() as tx:
        await tx.on("b").execute("update account set balance = balance - 100")
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from electorate.errors import NodeStopped, StoreError
from electorate.leadership.directory import MemberAddress
from electorate.leadership.election import ElectionInstance
from electorate.leadership.elections import Safety
from electorate.leadership.engine import (
    Election,
    Leader,
    NodeEngine,
    Observed,
    expect_name,
    host_config,
)
from electorate.leadership.term import OnMerge, Tenure
from electorate.pace import Pace, in_ms
from electorate.protocols.mandate.founding import Needs
from electorate.runtime.credentials import Tls
from electorate.runtime.host import Host
from electorate.runtime.identity import DEFAULT_CLUSTER
from electorate.runtime.protection import Protection
from electorate.runtime.recorder import record_file
from electorate.runtime.store import FolderOfAnother
from electorate.runtime.thread import HostThread
from electorate.transactions.host import TransactionHost, Watch
from electorate.transactions.letter import explained
from electorate.transactions.recovery import USUAL
from electorate.transactions.resource import Resource, expect_resource
from electorate.transactions.transaction import Transaction

GRACE_S = 0.5

R = TypeVar("R")


class Node:
    """One member of a cluster. Its network lives in a thread of its own.

    Nothing is opened before it is entered. With `join` it takes no part until a member has added
    it; `members` names some of those then. Nobody leads before the cluster was founded: all members
    have to be there once. With `founding="majority"` a majority is enough, at a risk that
    docs/leadership.md names. With `record` it writes down in that folder everything
    that its elections and transactions go through; `electorate replay` runs that again.

    With `database` it takes part in the transactions of others; every node may begin some. It opens
    the database when it is entered, and closes it in the end. `recovery` is the protocol by which
    the members elect the node that finds out what was decided, if a coordinator is gone. `watch` is
    called with the name of a transaction and what was just done for it; it must not block.

    All nodes of a cluster have the same `cluster`, its name, and the same `secret`, a text or the
    Path of a file with one; or each has certificates, `tls=Tls(ca=…, certificate=…, key=…)`. With
    neither all addresses have to be of this machine, unless `insecure=True` says that everybody on
    the network may do what a member does.
    """

    def __init__(
        self,
        me: str,
        members: Iterable[str],
        data_dir: Path | str,
        *,
        pace: Pace | None = None,
        join: bool = False,
        founding: Needs = "all",
        record: Path | str | None = None,
        database: Resource | None = None,
        recovery: str = USUAL,
        watch: Watch | None = None,
        cluster: str = DEFAULT_CLUSTER,
        secret: str | Path | None = None,
        tls: Tls | None = None,
        insecure: bool = False,
    ) -> None:
        engine = ThreadEngine(
            *(me, members, Path(data_dir), pace, database, recovery, watch),
            join=join,
            founding=founding,
            record=record,
            protect={"cluster": cluster, "secret": secret, "tls": tls, "insecure": insecure},
        )
        self._engine: NodeEngine = engine
        self._caller: ThreadEngine | None = engine

    @classmethod
    def of(cls, engine: NodeEngine) -> Self:
        """The same over a node that runs elsewhere, and has no transactions."""
        node = cls.__new__(cls)
        node._engine, node._caller = engine, None
        return node

    async def __aenter__(self) -> Self:
        await self._engine.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.end()

    @property
    def name(self) -> str:
        """The name of this node."""
        return self._engine.me.name

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members."""
        return self._engine.members

    @property
    def running(self) -> bool:
        """Whether it was entered, and has neither ended nor failed since."""
        return self._engine.running

    @property
    def certificate_expires(self) -> datetime | None:
        """When the certificate of this node expires; None if it has none, or needs no other."""
        return None if self._caller is None else self._caller.protection.expires

    def election(
        self,
        name: str,
        priority: int | None = None,
        *,
        safety: Safety = "quorum",
        on_merge: OnMerge | None = None,
    ) -> Election:
        """The election of that name. This node stands in it while it waits for terms.

        The priority is 1 unless another was set before; 0 votes and never leads. With
        `safety="group"` each side of a partition has a leader; when groups merge, the leader calls
        `on_merge(term, others)` before its work, with the members that came from each other
        leader's group.
        """
        return Election(self._engine, name, priority, safety, on_merge)

    def observe(self, name: str, *, safety: Safety = "quorum") -> Observed:
        """The leader of an election, now and whenever it changes, without standing in it."""
        expect_name(name)
        return Observed(self._engine, self._engine.election(name, safety))

    def transaction(self) -> Transaction:
        """A new transaction; it begins with its block, and is committed or aborted at its end."""
        if self._caller is None:
            raise RuntimeError(f"{self.name} is simulated: it has no transactions")
        return Transaction(self._caller, self._caller.transactions)

    @property
    def open_transactions(self) -> tuple[str, ...]:
        """The names of those that are not over here, begun by this node or another."""
        return () if self._caller is None else tuple(self._caller.transactions.instances)

    async def add_member(self, member: str) -> None:
        """Add a member: a node that runs and was told to join. MembersUnchanged if that fails."""
        await asyncio.wrap_future(self._engine.add_member(member))

    async def remove_member(self, name: str) -> None:
        """Go on without a member, whether it runs or not; MembersUnchanged if that fails."""
        await asyncio.wrap_future(self._engine.remove_member(name))

    async def replace_member(self, name: str, member: str) -> None:
        """Replace a member by another node. One of the same name has lost its memory, or moved.

        The new node is told to join, like one that is added.
        """
        await asyncio.wrap_future(self._engine.replace_member(name, member))

    async def pause(self) -> None:
        """Stand in no election until resumed; returns once nothing is led here."""
        engine = self._engine
        heard = engine.pause(True)
        while True:
            engine.expect_running()
            is_held = any(election.is_held for election in engine.elections.all())
            # Before it has heard of it, it may still come into office.
            if heard.is_set() and not (is_held and engine.elections.paused):
                return
            await asyncio.sleep(0.005)

    async def resume(self) -> None:
        """Stand again as before."""
        self._engine.pause(False)


class ThreadEngine(NodeEngine):
    """A node on the network, in a thread of its own: a blocked application costs it no office."""

    def __init__(
        self,
        me: str,
        members: Iterable[str],
        folder: Path,
        pace: Pace | None,
        database: Resource | None,
        recovery: str,
        watch: Watch | None,
        *,
        join: bool,
        founding: Needs,
        record: Path | str | None,
        protect: dict[str, Any],
    ) -> None:
        super().__init__(me, members, pace, join=join, founding=founding)
        where = [member.address for member in self.addresses.values()]
        self.protection = Protection(self.me.name, where, **protect)
        if database is not None:
            expect_resource(database)
        elections = self.elections
        self.transactions = TransactionHost(elections, self.pace, folder, database, recovery, watch)
        elections.refusing = self.transactions.refused
        self._folder = folder
        self._database = database
        file = None if record is None else record_file(Path(record), self.me.name)
        cluster, environment = self.protection.cluster, self.protection.environment()
        config = host_config(self.me.id, self.addresses, self.pace, folder, file, cluster)
        services = [elections, self.transactions]
        self._thread = HostThread(Host(config, services, elections, environment))
        self._thread.on_end = self._ended
        elections.call = self._thread.call
        self._was_entered = False
        self._waits: set[Future[Any]] = set()
        self._observers: list[Callable[[Leader], None]] = []

    async def begin(self) -> None:
        """Start, and wait until the others were reached or proved unreachable."""
        if self._was_entered:
            raise RuntimeError(f"{self.me.name} was entered before: make another Node")
        self._was_entered = True
        if self._database is not None:
            try:
                await asyncio.to_thread(self._database.open)
            except asyncio.CancelledError:
                await asyncio.to_thread(self._database.close)
                raise
        await self._thread.begin(self._start)

    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""
        if self._thread.has_begun:
            await asyncio.to_thread(self._stop)

    def expect_allowed(self, member: MemberAddress) -> None:
        """ValueError if this node must not have a connection with that address."""
        self.protection.expect_allowed([member.address])

    def _start(self) -> None:
        try:
            self.protection.open()
            self._thread.start()
            self._thread.submit(self.elections.begun()).result()
            self._thread.submit(self.transactions.opened()).result()
        except NodeStopped:
            self._thread.ended.wait()  # What has ended it is said below.
        except FolderOfAnother as error:
            raise StoreError(explained(self._told(error), self._folder)) from error
        except StoreError as error:
            raise StoreError(explained(str(error), self._folder)) from error
        finally:
            # Who never came to use it does not close it either.
            if self._database is not None and not self.transactions.is_awake:
                self._database.close()
        self.expect_running()

    def _told(self, error: FolderOfAnother) -> str:
        """The name of the node whose folder this is."""
        owner = self.addresses.get(error.owner)
        whose = "a node of another name" if owner is None else owner.name
        return f"{self._folder} belongs to {whose}: give {self.me.name} a folder of its own"

    def _stop(self) -> None:
        try:
            with suppress(NodeStopped):
                self.pause(True)
                self._await_end_of_work()
                with suppress(NotYet):
                    self._thread.submit(self.transactions.leave()).result(GRACE_S)
        finally:
            self._thread.stop()
        if self._thread.error is not None:
            raise self._thread.error
        self.elections.directory.expect_member()

    @property
    def running(self) -> bool:
        """Whether it has begun, and has not ended."""
        return self._thread.has_begun and not self._thread.ended.is_set()

    def expect_running(self) -> None:
        """Raise the error that has ended the node, if one has."""
        if self._thread.ended.is_set():
            raise self._thread.error or NodeStopped("the node has stopped")

    def do(self, act: Callable[..., None], *given: object) -> None:
        """Run this in the node's thread."""
        self._expect_begun()
        self.elections.enter(act, *given)

    def _expect_begun(self) -> None:
        if not self._thread.has_begun:
            raise NodeStopped(f"{self.me.name} is not started: use it inside of `with`")
        if self._thread.ended.is_set():
            raise self._stopped()

    def election(self, name: str, safety: Safety) -> ElectionInstance:
        """The election of that name; ValueError if it is of another kind."""
        made: Future[ElectionInstance] = Future()

        def open_it() -> None:
            try:
                made.set_result(self.elections.named(name, safety))
            except ValueError as error:
                made.set_exception(error)

        self.do(open_it)
        while True:
            try:
                return made.result(0.1)
            except NotYet:
                self.expect_running()

    def wait(self, election: ElectionInstance) -> "Future[Tenure]":
        """A term, once there is one; NodeStopped if the node ends before."""
        future: Future[Tenure] = Future()
        self.do(election.wait, future)
        self._expect(future)
        return future

    def observe(
        self, election: ElectionInstance, tell: Callable[[Leader], None]
    ) -> Callable[[], None]:
        """Tell who leads, and once more when the node has ended; returns how to stop that."""
        end = super().observe(election, tell)
        self._observers.append(tell)
        if not self.running:
            tell(Leader(None, None))

        def forget() -> None:
            self._observers.remove(tell)
            end()

        return forget

    def submit(self, act: Callable[[], Coroutine[Any, Any, R]]) -> "Future[R]":
        """Await this in the node's loop; NodeStopped if it has ended."""
        self._expect_begun()
        asked: Future[R] = Future()

        async def carry_out() -> None:
            try:
                came = await act()
            except Exception as error:
                with suppress(InvalidStateError):  # It was cancelled just now.
                    asked.set_exception(error)
            else:
                with suppress(InvalidStateError):
                    asked.set_result(came)

        errand = self._thread.submit(carry_out())
        self._expect(asked)
        asked.add_done_callback(lambda _: errand.cancel() if asked.cancelled() else None)
        return asked

    async def call(self, act: Coroutine[Any, Any, R]) -> R:
        """The result of something that is awaited in the node's loop."""
        try:
            self._expect_begun()
        except NodeStopped:
            act.close()
            raise
        return await asyncio.wrap_future(self._thread.submit(act))

    def _expect(self, future: "Future[Any]") -> None:
        """Fail the future with NodeStopped if the node ends before."""
        self._waits.add(future)
        future.add_done_callback(self._waits.discard)
        if not self.running:
            self._fail_waits()

    def _ended(self) -> None:
        self._fail_waits()
        for tell in list(self._observers):
            tell(Leader(None, None))

    def _stopped(self) -> NodeStopped:
        """The error that says that the node has ended, and why."""
        why = self._thread.error
        error = NodeStopped(
            "the node has stopped" if why is None else f"the node has stopped: {why}"
        )
        error.__cause__ = why
        return error

    def _fail_waits(self) -> None:
        """What was asked for while the node was ending has reached nobody."""
        error = self._stopped()
        for future in list(self._waits):
            with suppress(InvalidStateError):
                future.set_exception(error)

    def _await_end_of_work(self) -> None:
        """Wait until no work is left and the others have been told, but not for ever."""
        ended = threading.Event()
        deadline = self.elections.now_ms() + in_ms(self.pace.grace)

        def look() -> None:
            if not self.is_busy:
                ended.set()

        while self.elections.now_ms() < deadline and not self._thread.ended.is_set():
            self.do(look)
            if ended.wait(0.005):
                # What was said last is still on its way.
                with suppress(NodeStopped, NotYet):
                    self._thread.submit(self.elections.host.network.flushed()).result(GRACE_S)
                return
