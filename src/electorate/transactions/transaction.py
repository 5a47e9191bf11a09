"""A transaction as an application writes it, and while its work is being done:

    async with node.transaction() as tx:
        await tx.on("savings").execute("update account set balance = balance - 100")
        await tx.on("checking").execute("update account set balance = balance + 100")

The end of the block is the commit point. Whatever is raised inside aborts, and is raised again;
if the others abort, `Aborted` is raised.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar
from weakref import WeakValueDictionary

from electorate.core import NodeId, Stage
from electorate.errors import Aborted, NodeStopped, OutcomeUnknown, Refused
from electorate.pace import Pace, in_ms
from electorate.protocols.commit.state import Begin
from electorate.runtime.frame import Hello
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import (
    Failed,
    Leave,
    Letter,
    Parties,
    Party,
    Work,
    Worked,
    expect_sendable,
)
from electorate.transactions.recovery import KnownMembers
from electorate.transactions.resource import Answer

R = TypeVar("R")

OVER = "a transaction is over with its block: begin another one"
UNHEARD = "an answer was not waited for"


class NodeLoop(Protocol):
    """Something that awaits in the loop of the node."""

    async def call(self, act: Coroutine[Any, Any, R]) -> R:
        """The result; NodeStopped if the node ends before."""


class DraftPort(Protocol):
    """What the work of a transaction needs of its node."""

    pace: Pace
    members: KnownMembers
    errands: "Errands"

    def now_ms(self) -> float:
        """The clock of the node."""

    def new_name(self) -> str:
        """The name of a transaction: no two ever share one."""

    def me_as_part(self) -> Party:
        """This node, with the memory that it has."""

    def open(self, tx: str, parts: Parties, *, begins: bool) -> TransactionInstance:
        """A transaction that begins here, or one that others know and this node's log does not."""

    def enter(self, act: Any, *given: Any) -> None:
        """Run this in the node's loop; an exception ends the node."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Send a letter, or drop it."""


class DraftSource(Protocol):
    """Something that begins transactions."""

    async def draft(self) -> "Draft":
        """A new transaction, without any work yet."""


class Participant:
    """A member where work is to be done."""

    def __init__(self, caller: NodeLoop, draft: "Draft", name: str) -> None:
        self._caller = caller
        self._draft = draft
        self._name = name

    async def execute(self, statement: Any, *values: Any) -> Answer:
        """Do a piece of work, with its parameters one by one; Aborted if it cannot be done."""
        return await self._caller.call(self._draft.execute(self._name, statement, values))

    async def call(self, operation: str, *values: Any) -> Answer:
        """Have an operation carried out that the member has declared; Aborted if it cannot be."""
        work = self._draft.execute(self._name, operation, values, named=True)
        return await self._caller.call(work)


class Transaction:
    """All of its work is committed, or none of it."""

    def __init__(self, caller: NodeLoop, host: DraftSource) -> None:
        self._caller = caller
        self._host = host
        self._draft: Draft | None = None

    @property
    def name(self) -> str:
        """What it is called in logs, and by `electorate tx`."""
        return self._begun().tx

    def on(self, name: str) -> Participant:
        """A member, by its name."""
        return Participant(self._caller, self._begun(), name)

    def _begun(self) -> "Draft":
        if self._draft is None:
            raise RuntimeError("a transaction begins with its block: `async with` it first")
        return self._draft

    async def __aenter__(self) -> Self:
        if self._draft is not None:
            raise RuntimeError(OVER)
        self._draft = await self._caller.call(self._host.draft())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            await self._caller.call(self._begun().commit())
        else:
            with suppress(NodeStopped):
                await self._caller.call(self._begun().abort())


# --- in the loop of the node ---


class Draft:
    """A transaction while its work is being done. Nothing of it is in any log yet.

    Once everything is done an instance is opened, and its machine decides; if anything fails before
    that, the transaction ends without a trace.
    """

    def __init__(self, port: DraftPort) -> None:
        self.tx = port.new_name()
        self._port = port
        self._counts: dict[NodeId, int] = {}
        self._parts: dict[NodeId, Party] = {}
        self._failure: str | None = None
        self._asking: list[str] = []
        """Members that have not answered yet."""
        self._is_over = False

    async def execute(
        self, name: str, statement: Any, values: tuple[Any, ...], *, named: bool = False
    ) -> Answer:
        """Do a piece of work; if it fails, the transaction cannot be committed any more."""
        if self._failure is not None:
            raise Aborted(self.tx, self._failure)
        if self._is_over:
            raise RuntimeError(OVER)
        node = self._node(name)
        expect_sendable(statement, values)
        number = self._counts[node] = self._counts.get(node, 0) + 1
        self._asking.append(name)
        try:
            work = Work(self.tx, number, statement, values, named)
            answer, part = await self._port.errands.ask(node, work)
        except Refused as error:
            self._failure = self._failure or f"{name}: {error}"
            raise Aborted(self.tx, self._failure) from None
        except BaseException:
            self._failure = self._failure or f"{name}: {UNHEARD}"
            raise
        finally:
            self._asking.remove(name)
        self._parts.setdefault(node, part)
        return answer

    def undone_at(self, node: NodeId, reason: str) -> None:
        """A member has undone its work: the transaction cannot be committed any more."""
        name = self._port.members.called(node)
        self._failure = self._failure or f"{name}: {reason}"

    async def commit(self) -> None:
        """Have it decided; Aborted if that is the decision."""
        self._is_over = True
        if self._asking:
            # Its end came while a task was still at work: without that, it would be half of it.
            self._failure = self._failure or f"{self._asking[0]}: {UNHEARD}"
        if self._failure is not None:
            await self.abort()
            raise Aborted(self.tx, self._failure)
        if not self._parts:
            return
        participants = tuple(self._parts[node] for node in sorted(self._parts))
        parts = Parties(self._port.me_as_part(), participants)
        instance = self._port.open(self.tx, parts, begins=True)
        self._port.enter(instance.ask, Begin())
        await asyncio.wait([instance.decided])
        if instance.decided.cancelled():
            raise OutcomeUnknown(self.tx)
        if instance.decided.result() is Stage.ABORTED:
            why = "; ".join(instance.reasons) or "not everybody voted yes in time"
            raise Aborted(self.tx, why)
        await asyncio.wait([instance.ended], timeout=self._port.pace.settle_timeout)

    async def abort(self) -> None:
        """Tell all that have done work to undo it; a node that does not hear it does so in time."""
        self._failure = self._failure or "it was given up"
        self._port.errands.give_up(self.tx)
        for node in self._counts:
            self._port.send(node, Leave(self.tx))
        self._counts.clear()

    def _node(self, name: str) -> NodeId:
        members = self._port.members
        if name not in members.numbers:
            told = ", ".join(members.numbers)
            raise ValueError(f"{name!r} is no member; the members are {told}")
        if members.numbers[name] == members.me:
            raise ValueError(f"{name} coordinates: it takes no part in its own transactions")
        return members.numbers[name]


class Errands:
    """Work that other nodes were asked to do and have not answered yet."""

    def __init__(self, port: DraftPort) -> None:
        self._port = port
        self.drafts: WeakValueDictionary[str, Draft] = WeakValueDictionary()
        """Transactions whose work is being done."""
        self._asked: dict[tuple[str, NodeId, int], asyncio.Future[tuple[Answer, Party]]] = {}

    async def ask(self, to: NodeId, work: Work) -> tuple[Answer, Party]:
        """Have another node do a piece of work; Refused if it could not, or cannot be reached."""
        key, pace = (work.tx, to, work.number), self._port.pace
        answer: asyncio.Future[tuple[Answer, Party]] = asyncio.get_running_loop().create_future()
        self._asked[key] = answer
        deadline = self._port.now_ms() + in_ms(pace.work_timeout)
        suspect = False
        try:
            while not answer.done():
                # Twice in a row: it may have come back just now.
                was_suspect, suspect = suspect, to not in self._port.members.alive
                if suspect and was_suspect:
                    raise Refused("it cannot be reached")
                left_ms = deadline - self._port.now_ms()
                if left_ms <= 0:
                    raise Refused(f"no answer within {pace.work_timeout:g} s")
                # The work or its answer may get lost; a node that has done it already only says so.
                self._port.send(to, work)
                await asyncio.wait([answer], timeout=min(pace.retry_every, left_ms / 1000))
            if answer.cancelled():
                raise Refused("the node has ended")
            return answer.result()
        finally:
            del self._asked[key]

    def answered(self, sender: NodeId, hello: Hello, letter: Worked | Failed) -> None:
        """An answer has come; one that nobody waits for any more is dropped."""
        draft = self.drafts.get(letter.tx)
        if isinstance(letter, Failed) and not letter.number and draft is not None:
            draft.undone_at(sender, letter.reason)
        asked = self._asked.get((letter.tx, sender, letter.number))
        if asked is None or asked.done():
            return
        if isinstance(letter, Worked):
            name = self._port.members.called(sender)
            asked.set_result((letter.answer, Party(sender, hello.store, hello.incarnation, name)))
        else:
            asked.set_exception(Refused(letter.reason))

    def give_up(self, tx: str) -> None:
        """Stop asking for the work of a transaction that is over."""
        for (asked_for, _, _), asked in self._asked.items():
            if asked_for == tx and not asked.done():
                asked.set_exception(Refused("the transaction is over"))

    def close(self) -> None:
        """No answer will come any more."""
        for asked in self._asked.values():
            asked.cancel()
