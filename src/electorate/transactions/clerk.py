"""The clerk of a node: carries on all transactions that the node coordinates or takes part in.

It is a service of its host. The one election of that host names, for every transaction, the node
that finds out the decision if its coordinator is gone: a thousand transactions in doubt hold one
election.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from itertools import count
from typing import Any

import msgspec
from msgspec.structs import replace

from electorate.core import Members, Message, NodeId, Timing, Turns, Wants
from electorate.core.codec import Codec
from electorate.errors import Refused
from electorate.pace import Pace
from electorate.protocols.commit.two_phase import TwoPhase
from electorate.protocols.told_leader import ToldLeader
from electorate.runtime.frame import FRAME_MAX, Hello
from electorate.runtime.host import Host, Mail, Service
from electorate.transactions.caretaker import Caretaker
from electorate.transactions.deal import Deal, end_node_if_failed, presumed_abort
from electorate.transactions.errand import Errands
from electorate.transactions.letter import (
    Letter,
    Lost,
    Part,
    Parts,
    Settled,
    Step,
    Word,
    decode,
    encode,
)
from electorate.transactions.log import PREFIX, Record, records
from electorate.transactions.reader import Reader
from electorate.transactions.resource import Resource
from electorate.transactions.worker import Worker

TRANSACTION, LETTER = PREFIX.strip(), "transactions"
"""For whom mail is: one transaction, or this node as a whole."""

Commitment = TwoPhase.over(ToldLeader)
"""What decides a transaction. It is told the leader of the host's election."""

_messages = Codec(Commitment)
_steps = msgspec.msgpack.Decoder(Step)


class Clerk(Service):
    """All transactions of one node."""

    kinds = (TRANSACTION, LETTER)
    host: Host

    def __init__(
        self,
        names: dict[str, NodeId],
        resource: Resource | None,
        pace: Pace,
        watch: Callable[[str, str], None] | None = None,
    ) -> None:
        self.names = names
        self.pace = pace
        self.deals: dict[str, Deal] = {}
        self.losses: dict[str, str] = {}
        """Transactions that others count on and this node knows nothing of, and why."""
        self.leader: NodeId | None = None
        self.worker = (
            None if resource is None else Worker(resource, pace.idle_ms, lambda: self.host.now_ms())
        )
        self.caretaker = Caretaker(self, self.worker)
        self.closing: list[Callable[[], None]] = []
        """What else is to be closed with it."""
        self._watch = watch
        self._turns: dict[tuple[NodeId, ...], Turns] = {}
        self.errands = Errands(self)
        self._reader = Reader(self)
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    # --- a service of its host ---

    def begin(self, host: Host) -> None:
        """Go on with every transaction that is in the log."""
        self.host = host
        self._process = f"{host.environment.chance('transactions').getrandbits(48):012x}"
        for tx, record in records(host.store).items():
            self._go_on(tx, record)
        self.caretaker.begin()
        self.start(self._remind())

    def met(self, hello: Hello) -> None:
        """Another node has connected: does it remember what it has promised?"""
        for deal in self.deals.values():
            self._reader.is_sound(hello, deal)
        self.caretaker.met(hello)

    def decode(self, kind: str, body: bytes) -> Any:
        """A letter, or the message of a machine with those who take part."""
        if kind == LETTER:
            return decode(body)
        step = _steps.decode(body)
        return step.parts, _messages.message(bytes(step.body))

    def receive(self, kind: str, mail: Mail) -> None:
        """A letter, or the message of a machine, has come."""
        if kind == LETTER:
            self._reader.read(mail.hello, mail.message)
        else:
            self._reader.step(mail)

    async def end(self) -> None:
        """Stop everything; what is in the log is gone on with in the next life."""
        for close in self.closing:
            close()
        for task in self._tasks:
            task.cancel()
        for deal in self.deals.values():
            deal.close()
        self.deals.clear()
        self.errands.close()
        for _ in range(3):
            await asyncio.sleep(0)  # Whoever waits for something hears that it will not come.
        await self.caretaker.close()

    def led(self, leader: NodeId | None) -> None:
        """The node's election has named somebody, or nobody."""
        self.leader = leader
        self._name_all()

    # --- what an application may want ---

    def new_name(self) -> str:
        """The name of a transaction: no two ever share one."""
        return f"{self.host.me}-{self._process}-{next(self._numbers)}"

    def name_of(self, node: NodeId) -> str:
        """What people call a node."""
        return next((name for name, other in self.names.items() if other == node), str(node))

    def me_as_part(self) -> Part:
        """This node, with the memory that it has."""
        store = self.host.store
        return Part(self.host.me, store.identity, store.incarnation)

    def open(self, tx: str, parts: Parts) -> Deal:
        """A transaction that is to be decided."""
        deal = self.deals[tx] = Deal(self, tx, parts, self.turns(parts), self.host.me)
        deal.boot(None, None)
        return deal

    def presume_aborted(self, tx: str, parts: Parts) -> Deal:
        """A transaction of this coordinator of which there is nothing in the log."""
        turns = self.turns(parts)
        deal = self.deals[tx] = Deal(self, tx, parts, turns, self.host.me)
        deal.boot(None, presumed_abort(turns, self.host.me))
        return deal

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""
        body = encode(letter)
        if len(body) > FRAME_MAX - 1000:
            raise Refused(f"{len(body):,} bytes are too many for one message")
        self.enter(self.host.tell, LETTER, to, body)

    def send_alone(self, to: NodeId, tx: str, parts: Parts, message: Message) -> None:
        """Send a message of a machine that is no more."""
        step = Step(parts, msgspec.Raw(Codec.encode(message)))
        self.enter(self.host.tell, PREFIX + tx, to, msgspec.msgpack.encode(step))

    def turns(self, parts: Parts) -> Turns:
        """The machine for these nodes; transactions of the same nodes share it."""
        key = (parts.coordinator.node, *sorted(part.node for part in parts.participants))
        if key not in self._turns:
            node = parts.coordinator.node
            lengths = self.pace.transaction_lengths
            rules = replace(Commitment.form("sound"), coordinator=node, **lengths)
            self._turns[key] = Turns(Commitment(Members.of(parts.ids), Timing(), rules))
        return self._turns[key]

    # --- the desk of its deals ---

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done; what it raises ends the node."""
        self.host.enter(act, *given)

    def watch(self, tx: str, what: str) -> None:
        """Somebody may want to know what was just done."""
        if self._watch is not None:
            self._watch(tx, what)

    async def do(self, tx: str, wants: Wants) -> None:
        """Have the resource prepare, commit or abort."""
        await self.caretaker.do(tx, wants)

    def settled(self, deal: Deal) -> None:
        """Tell the coordinator that this is done: its word that it is over may have been lost."""
        self.send(deal.parts.coordinator.node, Settled(deal.tx, deal.parts, deal.view.state))

    def confess(self, deal: Deal, reason: str, *, lost: bool) -> None:
        """Tell the coordinator why the vote is no, or that what was promised is lost."""
        kind = Lost if lost else Word
        self.send(deal.parts.coordinator.node, kind(deal.tx, reason))

    def moved(self, deal: Deal) -> None:
        """Forget a transaction that is over, once nothing more is being done for it."""
        if not deal.view.over or deal.busy or deal.tx not in self.deals:
            return
        deal.drop()
        self.host.then(self._forget, deal)

    def _forget(self, deal: Deal) -> None:
        if self.deals.get(deal.tx) is not deal:
            return
        del self.deals[deal.tx]
        deal.ended.set_result(None)
        deal.close()
        self.watch(deal.tx, "forgot")
        self.caretaker.forget(deal.tx)

    def abandon(self, deal: Deal) -> None:
        """Forget a transaction by hand, whatever the others think of it."""
        self.enter(self._abandon, deal)

    def _abandon(self, deal: Deal) -> None:
        deal.drop()
        del self.deals[deal.tx]
        deal.close()

    # --- one transaction ---

    def _go_on(self, tx: str, record: Record) -> None:
        turns = self.turns(record.parts)
        deal = self.deals[tx] = Deal(self, tx, record.parts, turns, self.host.me)
        deal.boot(record, Codec(turns.machine).stable(record.stable))

    def whom(self, deal: Deal) -> NodeId | None:
        """Who finds out the decision: the elected node, or if it takes no part, the strongest."""
        if self.leader in deal.parts.ids:
            return self.leader
        alive = self.host.network.alive() & {part.node for part in deal.parts.participants}
        return deal.machine.members.strongest_of(alive) if alive else None

    def _name_all(self) -> None:
        for deal in list(self.deals.values()):
            deal.name(self.whom(deal))

    # --- what is done beside everything else ---

    async def _remind(self) -> None:
        """Say again what may have been lost, and to whom one may turn by now."""
        while True:
            await asyncio.sleep(self.pace.sweep_ms / 1000)
            self.enter(self._name_all)
            for deal in list(self.deals.values()):
                self.enter(deal.remind)

    def start(self, act: Coroutine[Any, Any, None]) -> None:
        """Have something done beside everything else."""
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(partial(end_node_if_failed, self.enter))
