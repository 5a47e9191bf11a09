"""All transactions that a node coordinates or takes part in: a service of its host.

Without a database, an open transaction in the log or an application that begins one, it sleeps and
costs nothing.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from electorate.core import Members, NodeId, Stage, Timing, Turns, Wants
from electorate.core.codec import Codec
from electorate.errors import Refused
from electorate.pace import Pace, in_ms
from electorate.protocols.commit.two_phase import TwoPhase
from electorate.protocols.told_leader import ToldLeader
from electorate.runtime.frame import FRAME_MAX, Hello
from electorate.runtime.host import Host, Mail, Service
from electorate.transactions.admin import AdminSocket
from electorate.transactions.guard import ResourceGuard
from electorate.transactions.instance import TransactionInstance, end_node_if_failed
from electorate.transactions.letter import (
    BY_HAND,
    PREFIX,
    Letter,
    LoggedTransaction,
    Parties,
    Party,
    PromiseLost,
    TransactionEnvelope,
    Word,
    decode,
    encode,
    records,
)
from electorate.transactions.reader import WIPED, Reader
from electorate.transactions.recovery import (
    RECOVERY,
    USUAL,
    KnownMembers,
    RecoveryElection,
    expect_election,
)
from electorate.transactions.resource import LogMark, Resource
from electorate.transactions.transaction import Draft, Errands
from electorate.transactions.worker import ResourceWorker

TRANSACTION, LETTER = PREFIX.strip(), "transactions"
"""The receivers of mail: one transaction, or this node as a whole."""

Watch = Callable[[str, str], None]
"""Called with the name of a transaction, and what was just done for it."""

Commitment = TwoPhase.over(ToldLeader)
"""What decides a transaction. It is told the leader of the recovery election."""

_messages = Codec(Commitment)
_steps = msgspec.msgpack.Decoder(TransactionEnvelope)


class TransactionHost(Service):
    """All transactions of one node."""

    kinds = (TRANSACTION, LETTER, RECOVERY)
    host: Host
    worker: ResourceWorker | None = None
    guard: ResourceGuard
    errands: Errands
    recovery: RecoveryElection

    def __init__(
        self,
        members: KnownMembers,
        pace: Pace,
        folder: Path,
        database: Resource | None = None,
        recovery: str = USUAL,
        watch: Watch | None = None,
    ) -> None:
        self.members = members
        self.pace = pace
        self.instances: dict[str, TransactionInstance] = {}
        self.by_hand: dict[str, str] = {}
        """What people have decided of transactions that are in the database and not in the log."""
        self.losses: dict[str, str] = {}
        """Transactions that others count on and this node does not know, and why."""
        if recovery != USUAL:
            expect_election(recovery)
        self._protocol = recovery
        self._database = database
        self._folder = folder
        self._watch = watch
        self._turns: dict[tuple[NodeId, ...], Turns] = {}
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._admin: AdminSocket | None = None
        self._lives = False

    # --- a service of its host ---

    def begin(self, host: Host) -> None:
        """Go on with every transaction that is in the log."""
        self.host = host
        kept = any(name.startswith((PREFIX, BY_HAND)) for name in host.store.names())
        if kept or self._database is not None:
            self._wake()

    @property
    def is_awake(self) -> bool:
        """Whether anybody has wanted a transaction here so far."""
        return self._admin is not None

    def _wake(self) -> None:
        if self.is_awake:
            return
        host, database = self.host, self._database
        self._process = f"{host.environment.chance('transactions').getrandbits(48):012x}"
        self.worker = (
            None
            if database is None
            else ResourceWorker(
                *(database, in_ms(self.pace.idle_timeout), host.now_ms),
                lambda: LogMark(host.store.identity, host.store.incarnation),
            )
        )
        self.guard = ResourceGuard(self, self.worker)
        self.errands = Errands(self)
        self._reader = Reader(self)
        self.recovery = RecoveryElection(
            self._protocol, self.pace.transaction_timing, self.members, self._name_all
        )
        self._admin = AdminSocket(self, self._folder)
        self._opening = asyncio.ensure_future(self._admin.open())
        for tx, record in records(host.store).items():
            self._go_on(tx, record)
        for name in host.store.names():
            if name.startswith(BY_HAND):
                decided = (host.store.load(name) or b"").decode()
                self.by_hand[name.removeprefix(BY_HAND)] = decided
        self.guard.begin()
        self.start(self._remind())
        if self._lives:
            self.recovery.begin(self.host)

    async def opened(self) -> None:
        """Wait until people can ask about transactions here, if there may be any."""
        if self.is_awake:
            await asyncio.wait([self._opening])

    def lives(self, alive: frozenset[NodeId]) -> None:
        """The others were reached, as far as they can be."""
        self._lives = True
        if self.is_awake:
            self.recovery.begin(self.host)

    def viewed(self, alive: frozenset[NodeId]) -> None:
        """The set of suspects changed."""
        if self.is_awake and self._lives:
            self.recovery.look()

    def halted(self) -> None:
        """The life of the host is over."""
        self._lives = False
        if self.is_awake:
            self.recovery.halt()

    def met(self, hello: Hello) -> None:
        """Another node has connected: does it remember what it has promised?"""
        sender = self.members.sender(hello)
        if sender is None or not self.is_awake:
            return
        for instance in self.instances.values():
            self._reader.sender_in(instance, sender, hello)
        self.guard.met(sender, hello)
        self.recovery.met(sender)

    def refused(self, name: str, hello: Hello) -> None:
        """A node was refused: it may be a participant that has lost its memory."""
        for instance in self.instances.values():
            for part in instance.parts.all:
                if part.name == name and part.lost_by(hello):
                    instance.damage = f"{name} {WIPED}"

    def decode(self, kind: str, body: bytes) -> Any:
        """A letter, or the message of a machine with those who take part."""
        if kind == RECOVERY:
            return self.recovery.decode(body) if self.is_awake else None
        if kind == LETTER:
            return decode(body)
        step = _steps.decode(body)
        return step.parts, _messages.message(bytes(step.body))

    def receive(self, kind: str, mail: Mail) -> None:
        """A letter, or the message of a machine, has come."""
        self._wake()
        if kind == RECOVERY:
            self.recovery.receive(mail)
        elif kind == LETTER:
            self._reader.read(mail.sender, mail.hello, mail.message)
        else:
            self._reader.step(mail)

    async def end(self) -> None:
        """Stop everything; the next life goes on with what is in the log."""
        if self._admin is None:
            return
        self._opening.cancel()
        self._admin.close()
        for task in self._tasks:
            task.cancel()
        for instance in self.instances.values():
            instance.close()
        self.instances.clear()
        self.errands.close()
        for _ in range(3):
            await asyncio.sleep(0)  # Whoever waits for something hears that it will not come.
        await self.guard.close()

    # --- what an application may want ---

    async def draft(self) -> Draft:
        """A new transaction, without any work yet."""
        self.enter(self._wake)
        draft = Draft(self)
        self.errands.drafts[draft.tx] = draft
        return draft

    async def leave(self) -> None:
        """The node is about to end in an orderly way: nobody is to wait for it."""
        if self.is_awake:
            await self.guard.leave()
            await self.host.network.flushed()

    def now_ms(self) -> float:
        """The clock of the node."""
        return self.host.now_ms()

    def new_name(self) -> str:
        """The name of a transaction: no two ever share one."""
        return f"{self.members.called(self.members.me)}-{self._process}-{next(self._numbers)}"

    def me_as_part(self) -> Party:
        """This node, with the memory that it has."""
        store, me = self.host.store, self.members.me
        return Party(me, store.identity, store.incarnation, self.members.called(me))

    def open(
        self, tx: str, parts: Parties, *, begins: bool, held: Stage = Stage.WORKING
    ) -> TransactionInstance:
        """A transaction that begins here, or one that others know and this node's log does not.

        What is held is how far the database has come with it.
        """
        turns, me = self.turns(parts), self.members.me
        instance = self.instances[tx] = TransactionInstance(self, tx, parts, turns, me)
        machine: Any = turns.machine
        instance.is_held = held is not Stage.WORKING
        unknown = machine.holding(me, held) if instance.is_held else machine.unknown(me)
        instance.boot(None, None if begins else unknown)
        return instance

    def send(self, to: NodeId, letter: Letter) -> None:
        """Send a letter, or drop it."""
        body = encode(letter)
        if len(body) > FRAME_MAX - 1000:
            raise Refused(f"{len(body):,} bytes are too many for one message")
        self.enter(self.host.tell, LETTER, to, body)

    def turns(self, parts: Parties) -> Turns:
        """The machine for these nodes; transactions among the same nodes share it."""
        key = (parts.coordinator.node, *sorted(part.node for part in parts.participants))
        if key not in self._turns:
            node = parts.coordinator.node
            lengths = self.pace.transaction_lengths
            rules = replace(Commitment.form("sound"), coordinator=node, **lengths)
            self._turns[key] = Turns(Commitment(Members.of(parts.ids), Timing(), rules))
        return self._turns[key]

    # --- what its instances need ---

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's loop; an exception ends the node."""
        self.host.enter(act, *given)

    def watch(self, tx: str, what: str) -> None:
        """Report what was just done, if anybody watches."""
        if self._watch is not None:
            self._watch(tx, what)

    async def missing(self, tx: str) -> list[str]:
        """What prepared work would change, in words."""
        return await self.guard.missing(tx)

    async def do(self, tx: str, wants: Wants) -> None:
        """Have the resource prepare, commit or abort."""
        await self.guard.do(tx, wants)

    def confess(self, instance: TransactionInstance, reason: str, *, lost: bool) -> None:
        """Tell the coordinator why the vote is no, or that what was promised is lost."""
        kind = PromiseLost if lost else Word
        self.send(instance.parts.coordinator.node, kind(instance.tx, reason))

    def moved(self, instance: TransactionInstance) -> None:
        """Let go of a transaction that is over, once nothing is being done for it."""
        if instance.is_blank:
            self.host.then(self._forget, instance)

    def _forget(self, instance: TransactionInstance) -> None:
        if (
            self.instances.get(instance.tx) is not instance
            or instance.busy
            or not instance.is_blank
        ):
            return
        del self.instances[instance.tx]
        is_over = instance.view.over
        self.resolved(instance.tx, "")
        instance.ended.set_result(None)
        instance.close()
        if is_over:
            self.watch(instance.tx, "forgot")
            self.guard.forget(instance.tx)

    def abandon(self, instance: TransactionInstance) -> None:
        """Forget a transaction by hand, whatever the others think of it."""
        self.enter(self._abandon, instance)

    def _abandon(self, instance: TransactionInstance) -> None:
        instance.drop()
        self.resolved(instance.tx, "")
        del self.instances[instance.tx]
        takes_part = not instance.view.coordinates
        instance.close()
        if takes_part:
            self.guard.undo(instance.tx)  # The database must not stay locked for it.

    def resolved(self, tx: str, how: str) -> None:
        """Keep in the log what a person has decided of a transaction that is not in it."""
        if how:
            self.by_hand[tx] = how
            self.host.keep(BY_HAND + tx, how.encode())
        elif self.by_hand.pop(tx, None):
            self.host.keep(BY_HAND + tx, None)

    # --- one transaction ---

    def _go_on(self, tx: str, record: LoggedTransaction) -> None:
        turns = self.turns(record.parts)
        instance = self.instances[tx] = TransactionInstance(
            self, tx, record.parts, turns, self.members.me
        )
        instance.boot(record, Codec(turns.machine).stable(record.stable))

    def whom(self, instance: TransactionInstance) -> NodeId | None:
        """The node that finds out the decision: the elected one, else the strongest participant."""
        if self.recovery.leader in instance.parts.ids:
            return self.recovery.leader
        alive = self.members.alive & {part.node for part in instance.parts.participants}
        return instance.machine.members.strongest_of(alive) if alive else None

    def _name_all(self) -> None:
        for instance in list(self.instances.values()):
            instance.name(self.whom(instance))

    # --- what is done beside everything else ---

    async def _remind(self) -> None:
        """Say again what may have been lost, and tell transactions whom they may ask by now."""
        while True:
            await asyncio.sleep(self.pace.sweep_every)
            if self._lives:
                self.enter(self.recovery.look)
            self.enter(self._name_all)
            for instance in list(self.instances.values()):
                self.enter(instance.remind)

    def start(self, act: Coroutine[Any, Any, None]) -> None:
        """Run this beside everything else."""
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(partial(end_node_if_failed, self.enter))
