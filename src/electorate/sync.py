"""The same without `async`, for threads: elections and transactions.

with electorate.sync.Node("a", members=[...], data_dir="data") as node:
    for term in node.election("scheduler").terms():
        with term:
            while not term.lost.wait(1):
                work(term)
    with node.transaction() as tx:
        tx.on("savings").execute("update account set balance = balance - 100")

Nothing is implemented a second time. A `Blocking` call runs an event loop in the calling thread
until the object for asyncio has come to its end, and what the application has given to be called
back is called between two rounds of that loop: so it may make such calls itself.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from electorate import node as asynchronous
from electorate.leadership import engine
from electorate.leadership import term as asynchronous_term
from electorate.leadership.elections import Safety
from electorate.leadership.engine import Leader
from electorate.pace import Pace
from electorate.protocols.mandate.founding import Needs
from electorate.runtime.credentials import Tls
from electorate.runtime.identity import DEFAULT_CLUSTER
from electorate.transactions import transaction as asynchronous_transaction
from electorate.transactions.host import Watch
from electorate.transactions.recovery import USUAL
from electorate.transactions.resource import Answer, Resource

__all__ = ["Election", "GroupTerm", "Node", "Participant", "Term", "Transaction"]

R = TypeVar("R")
Work = Callable[["Term"], object]

IN_A_LOOP = "this thread runs an event loop: use `electorate.Node`, and await what you ask it for"


class Term(asynchronous_term.Term):
    """A term of office: `electorate.Term` for threads."""

    __slots__ = ()

    def confirm(self, timeout: float | None = None) -> None:  # type: ignore[override]
        """Ask a majority whether this term still holds, and wait for the answer.

        LeadershipLost if it is over; TimeoutError if nobody knows after so many seconds.
        """
        wait(super().confirm(), timeout, self._unconfirmed)


class GroupTerm(asynchronous_term.GroupTerm, Term):
    """The term of a group: `electorate.GroupTerm` for threads."""

    __slots__ = ()


def for_threads(given: Any) -> Any:
    """A term as threads use it; anything else as it is."""
    match given:
        case asynchronous_term.GroupTerm():
            return GroupTerm(given._tenure)
        case asynchronous_term.Term():
            return Term(given._tenure)
    return given


class Node:
    """One member of a cluster: `electorate.Node` for threads.

    A call that takes longer than `timeout` seconds raises TimeoutError; None waits for ever.
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
        self._node = asynchronous.Node(
            me,
            members,
            data_dir,
            pace=pace,
            join=join,
            founding=founding,
            record=record,
            database=database,
            recovery=recovery,
            watch=watch,
            cluster=cluster,
            secret=secret,
            tls=tls,
            insecure=insecure,
        )

    def __enter__(self) -> Self:
        wait(self._node.__aenter__(), None, f"{self.name} is not started")
        return self

    def __exit__(self, *_: object) -> None:
        wait(self._node.__aexit__(), None, f"{self.name} is not stopped")

    @property
    def name(self) -> str:
        """The name of this node."""
        return self._node.name

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members."""
        return self._node.members

    @property
    def running(self) -> bool:
        """Whether it was entered, and has neither ended nor failed since."""
        return self._node.running

    @property
    def certificate_expires(self) -> datetime | None:
        """When the certificate of this node expires; None if it has none, or needs no other."""
        return self._node.certificate_expires

    def election(
        self,
        name: str,
        priority: int | None = None,
        *,
        safety: Safety = "quorum",
        on_merge: Callable[[GroupTerm, dict[str, str]], object] | None = None,
    ) -> "Election":
        """The election of that name. This node stands in it while it waits for terms.

        The priority is 1 unless another was set before; 0 votes and never leads. With
        `safety="group"` each side of a partition has a leader; when groups merge, the leader calls
        `on_merge(term, others)` before its work, with the members that came from each other
        leader's group.
        """
        expect_plain(on_merge=on_merge)
        hook = called_back(on_merge) if callable(on_merge) else on_merge
        return Election(self._node.election(name, priority, safety=safety, on_merge=hook))

    def observe(
        self, name: str, *, safety: Safety = "quorum", timeout: float | None = None
    ) -> Iterator[Leader]:
        """The leader of an election, now and whenever it changes, without standing in it."""
        return each(self._node.observe(name, safety=safety), timeout, f"nothing changes in {name}")

    def transaction(self, *, timeout: float | None = None) -> "Transaction":
        """A new transaction; it begins with its block, and is committed or aborted at its end."""
        return Transaction(self._node.transaction(), timeout)

    @property
    def open_transactions(self) -> tuple[str, ...]:
        """The names of those that are not over here, begun by this node or another."""
        return self._node.open_transactions

    def add_member(self, member: str, *, timeout: float | None = None) -> None:
        """Add a member: a node that runs and was told to join. MembersUnchanged if that fails."""
        wait(self._node.add_member(member), timeout, f"{member} was not added")

    def remove_member(self, name: str, *, timeout: float | None = None) -> None:
        """Go on without a member, whether it runs or not; MembersUnchanged if that fails."""
        wait(self._node.remove_member(name), timeout, f"{name} was not removed")

    def replace_member(self, name: str, member: str, *, timeout: float | None = None) -> None:
        """Replace a member by another node. One of the same name has lost its memory, or moved.

        The new node is told to join, like one that is added.
        """
        wait(self._node.replace_member(name, member), timeout, f"{name} was not replaced")

    def pause(self, *, timeout: float | None = None) -> None:
        """Stand in no election until resumed; returns once nothing is led here."""
        wait(self._node.pause(), timeout, f"something is still led at {self.name}")

    def resume(self, *, timeout: float | None = None) -> None:
        """Stand again as before."""
        wait(self._node.resume(), timeout, f"{self.name} does not go on")


class Election:
    """One election, as one node takes part in it: `electorate.Election` for threads."""

    def __init__(self, election: engine.Election) -> None:
        self._election = election

    @property
    def name(self) -> str:
        """The name of the election."""
        return self._election.name

    @property
    def safety(self) -> Safety:
        """Whether it is one leader by quorum, or one in each group."""
        return self._election.safety

    @property
    def node(self) -> str:
        """The node that takes part here."""
        return self._election.node

    @property
    def leader(self) -> Leader:
        """The present leader, as this node knows it."""
        return self._election.leader

    def set_priority(self, priority: int) -> None:
        """Stand with another priority from now on; 0 is a witness, which votes and never leads.

        In a group the member with the highest priority leads, and takes over at once.
        """
        self._election.set_priority(priority)

    @contextmanager
    def lead(self, timeout: float | None = None) -> Iterator[Term]:
        """Wait until this node leads; TimeoutError if it does not within so many seconds.

        A thread cannot be cancelled: look at `term.lost`, or call `term.check()`. The office is
        given up at the end of the block. If LeadershipLost of this term is raised inside, it ends
        the block quietly.
        """
        found = wait(anext(self._election.terms()), timeout, self._not_leading)
        with Term(found._tenure) as term:
            yield term

    def terms(self, *, timeout: float | None = None) -> Iterator[Term]:
        """Every term of this node, one after the other; the next once the work of one has ended.

        TimeoutError if the next one does not begin within so many seconds.
        """
        found = each(self._election.terms(), timeout, self._not_leading)
        return finished(map(for_threads, found))

    def run(self, work: Work, stopped: Work | None = None) -> None:
        """Do this work in every term, and `stopped` after each; neither ever overlaps."""
        expect_plain(work=work, stopped=stopped)
        after = None if stopped is None else called_back(stopped)
        wait(self._election.run(called_back(work), after), None, self._not_leading)

    def observe(self, *, timeout: float | None = None) -> Iterator[Leader]:
        """The leader: the present one first; changes that were missed meanwhile are left out.

        TimeoutError if there is nothing new for so many seconds.
        """
        return each(self._election.observe(), timeout, f"nothing changes in {self.name}")

    def step_down(self, *, timeout: float | None = None) -> None:
        """Have the leader give up its office, once its work has ended; else TransferFailed."""
        wait(self._election.step_down(), timeout, f"nobody has stepped down from {self.name}")

    def transfer(self, name: str, *, timeout: float | None = None) -> None:
        """Have the leader hand over to that member; TransferFailed if that does not succeed."""
        wait(self._election.transfer(name), timeout, f"{name} does not lead {self.name}")

    @property
    def _not_leading(self) -> str:
        return f"{self.node} does not lead {self.name}"


class Participant:
    """A member where work is to be done."""

    def __init__(
        self,
        participant: asynchronous_transaction.Participant,
        name: str,
        transaction: "Transaction",
    ) -> None:
        self._participant = participant
        self._name = name
        self._transaction = transaction

    def execute(self, statement: Any, *values: Any) -> Answer:
        """Do a piece of work, with its parameters one by one; Aborted if it cannot be done."""
        work = self._participant.execute(statement, *values)
        return self._transaction._wait(work, f"{self._name} does not answer")

    def call(self, operation: str, *values: Any) -> Answer:
        """Have an operation carried out that the member has declared; Aborted if it cannot be."""
        work = self._participant.call(operation, *values)
        return self._transaction._wait(work, f"{self._name} does not answer")


class Transaction:
    """All of its work is committed, or none of it. Each step may take `timeout` seconds."""

    def __init__(
        self, transaction: asynchronous_transaction.Transaction, timeout: float | None
    ) -> None:
        expect_timeout(timeout)
        self._transaction = transaction
        self._timeout = timeout
        self._blocking: Blocking | None = None
        self._thread = 0

    @property
    def name(self) -> str:
        """What it is called in logs, and by `electorate tx`."""
        return self._transaction.name

    def on(self, name: str) -> Participant:
        """A member, by its name."""
        return Participant(self._transaction.on(name), name, self)

    def __enter__(self) -> Self:
        self._wait(self._transaction.__aenter__(), "the transaction does not begin")
        self._blocking, self._thread = Blocking(), threading.get_ident()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end = self._transaction.__aexit__(kind, error, trace)
        otherwise = f"transaction {self.name} is not decided, and goes on,"
        assert self._blocking is not None
        with self._blocking:
            try:
                self._wait(end, otherwise)
            finally:
                self._blocking = None

    def _wait(self, awaitable: Awaitable[R], otherwise: str) -> R:
        """Its calls all wait in one loop, as long as they are made in one thread."""
        if self._blocking is not None and self._thread == threading.get_ident():
            return self._blocking.wait(awaitable, self._timeout, otherwise)
        return wait(awaitable, self._timeout, otherwise)


# --- how something for asyncio becomes something for threads ---


class Blocking:
    """An event loop in the calling thread, which runs while that thread waits for something."""

    def __init__(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._loop = asyncio.new_event_loop()
        else:
            raise RuntimeError(IN_A_LOOP)
        self._asked: tuple[Callable[[], object], asyncio.Future[object]] | None = None
        """Calls to make in this thread before the loop goes on, and the futures that wait for
        them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def __del__(self) -> None:
        if hasattr(self, "_loop"):  # Somebody has left a transaction in the middle.
            self._loop.close()

    def wait(self, awaitable: Awaitable[R], timeout: float | None, otherwise: str) -> R:
        """The result; TimeoutError with these words if it takes longer."""
        context = copy_context()
        context.run(_calling.set, self)
        task = self._loop.create_task(_within(awaitable, timeout, otherwise), context=context)
        task.add_done_callback(lambda _: self._loop.stop())
        interrupted: BaseException | None = None
        while not task.done():
            try:
                self._loop.run_forever()
                self._call_back()
            except BaseException as error:  # Ctrl-C: what was begun is ended in an orderly way.
                if interrupted is not None:
                    raise
                interrupted = error
                task.cancel()
        if interrupted is None:
            return task.result()
        if not task.cancelled():
            task.exception()
        raise interrupted

    async def leave(self, act: Callable[[], object]) -> object:
        """Call a function in the calling thread while the loop does not run."""
        done: asyncio.Future[object] = self._loop.create_future()
        self._asked = act, done
        self._loop.stop()
        try:
            return await done
        except asyncio.CancelledError:
            # Its term may have ended meanwhile. Still it is to be known that it has failed.
            if done.done() and not done.cancelled() and (error := done.exception()) is not None:
                raise error from None
            raise

    def _call_back(self) -> None:
        if self._asked is None:
            return
        (act, done), self._asked = self._asked, None
        if done.done():  # Its term has ended just before it was to begin.
            return
        try:
            came = act()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(came)


_calling: ContextVar[Blocking] = ContextVar("calling")
"""The blocking call that the running task belongs to."""


async def _within(awaitable: Awaitable[R], timeout: float | None, otherwise: str) -> R:
    try:
        async with asyncio.timeout(timeout) as limit:
            return await awaitable
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeoutError(f"{otherwise} after {timeout:g} s") from None


def wait(awaitable: Awaitable[R], timeout: float | None, otherwise: str) -> R:
    """Wait for an awaitable; TimeoutError if that takes longer."""
    try:
        expect_timeout(timeout)
        blocking = Blocking()
    except (RuntimeError, TypeError):
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        raise
    with blocking:
        return blocking.wait(awaitable, timeout, otherwise)


def each(items: AsyncIterable[R], timeout: float | None, otherwise: str) -> Iterator[R]:
    """Wait for one item after the other; TimeoutError if one takes longer."""
    expect_timeout(timeout)
    with Blocking() as blocking:
        iterator = aiter(items)
        while True:
            try:
                item = blocking.wait(anext(iterator), timeout, otherwise)
            except StopAsyncIteration:
                return
            yield item


def expect_timeout(timeout: object) -> None:
    """TypeError if this is no number of seconds, nor None for ever."""
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not is_number:
        raise TypeError(f"timeout is a number of seconds, or None for no limit, not {timeout!r}")


def expect_plain(**given: object) -> None:
    """ValueError if a function is given that has to be awaited."""
    for name, act in given.items():
        if inspect.iscoroutinefunction(act):
            raise ValueError(f"{name} has to be a plain function: a thread cannot await another")


def called_back(act: Callable[..., object]) -> Callable[..., Awaitable[object]]:
    """The same function, to be awaited: it is called in the waiting thread, outside of any loop."""

    async def call(*given: Any) -> object:
        shown = [for_threads(each) for each in given]
        return await _calling.get().leave(lambda: act(*shown))

    return call


def finished(terms: Iterator[Term]) -> Iterator[Term]:
    """Terms whose work ends when the next one is asked for, or no more are."""
    for term in terms:
        try:
            yield term
        finally:
            term.finish()
