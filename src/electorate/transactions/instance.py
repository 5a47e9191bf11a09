"""One transaction at one node: its machine, and the task that does what the machine wants.

What was checked is what runs: the machine takes its turns in the driver's `Instance`, and says
nothing before the log is forced. The order that its correctness rests on is kept here: the resource
prepares, then the vote is in the log, then the others hear of it; the decision is in the log, then
the resource does it, then it is acknowledged.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast

import msgspec

from electorate.core import (
    Asked,
    Decision,
    Event,
    Machine,
    Message,
    NodeId,
    Request,
    Stable,
    Stage,
    Turns,
    Wants,
)
from electorate.core.codec import Codec
from electorate.errors import Damaged
from electorate.pace import Pace, in_ms
from electorate.protocols.commit.state import Again, Applied, Done, Vote
from electorate.protocols.told_leader import Name
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance, Owner
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead
from electorate.transactions.letter import PREFIX, LoggedTransaction, Parties, TransactionEnvelope
from electorate.transactions.worker import RETRY_FIRST_S, RETRY_MAX_S


class TransactionPort(Protocol):
    """What one transaction needs of its node."""

    pace: Pace
    host: Host

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's loop; an exception ends the node."""

    def moved(self, instance: "TransactionInstance") -> None:
        """Look at what has changed."""

    def watch(self, tx: str, what: str) -> None:
        """Report what was just done, if anybody watches."""

    async def do(self, tx: str, wants: Wants) -> None:
        """Have the resource prepare, commit or abort."""

    async def missing(self, tx: str) -> list[str]:
        """What prepared work would change, in words."""

    def confess(self, instance: "TransactionInstance", reason: str, *, lost: bool) -> None:
        """Tell the coordinator why the vote is no, or that what was promised is lost."""


class TransactionInstance(Owner):
    """A transaction, from when its decision is asked for until it is over."""

    looks_inside = True

    def __init__(
        self, port: TransactionPort, tx: str, parts: Parties, turns: Turns, me: NodeId
    ) -> None:
        self.tx = tx
        self.parts = parts
        self.began = time.time()
        self.by_hand: str | None = None
        """What a person has decided by hand, if so."""
        self.confirmed = False
        """Whether the others have decided the same."""
        self.damage: str | None = None
        """What was promised and cannot be done; nobody may guess."""
        self.trouble: str | None = None
        """Why the resource does not do what it is asked to; it is asked again and again."""
        self.reasons: list[str] = []
        """Why participants have voted no."""
        self.decided: asyncio.Future[Stage] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._port = port
        self._turns = turns
        self._instance = port.host.add(Instance(PREFIX + tx, turns, me, port.host, self))
        self.is_held = False
        """Whether the database held it and the log did not know it."""
        self.missing: list[str] = []
        """What could not be done of what was decided, in words."""
        self._hand: asyncio.Task[None] | None = None
        self._lost = False
        self._kept = False
        """Whether it may be in the log."""
        self._said_ms = self._port.host.now_ms()

    def boot(self, record: LoggedTransaction | None, stable: Stable | None) -> None:
        """Begin, or go on from what is in the log."""
        if record is not None:
            self.began, self.by_hand, self._kept = record.began, record.by_hand, True
        self._instance.boot(stable, frozenset())

    def take(self, event: Event, head: Letterhead | None = None) -> None:
        """Take one event to its end."""
        self._instance.take(event, head)

    def ask(self, request: Request) -> None:
        """The application's word."""
        self.take(Asked(request))

    def name(self, leader: NodeId | None) -> None:
        """The recovery election has named a leader, or None."""
        if self.view.leader != leader:
            machine: Any = self._turns.machine
            self.ask(machine.lift.request(Name(leader)))

    def close(self) -> None:
        """Stop: nothing more happens here."""
        self._port.host.remove(self._instance)
        if self._hand is not None:
            self._hand.cancel()
        for future in (self.decided, self.ended):
            future.cancel()

    @property
    def view(self) -> Decision:
        """How far it has come, and what it wants."""
        return cast(Decision, self._instance.view)

    @property
    def state(self) -> Any:
        """The state of the machine."""
        assert self._instance.state is not None
        return self._instance.state

    @property
    def machine(self) -> Machine[Any]:
        """The machine that decides."""
        return self._turns.machine

    @property
    def _is_alone(self) -> bool:
        """Whether it was decided by hand here, and the others may decide otherwise."""
        return self.by_hand is not None and not self.confirmed

    @property
    def busy(self) -> bool:
        """Whether the resource is being asked for something."""
        return self._hand is not None and not self._hand.done()

    def drop(self) -> None:
        """Force it out of the log, once."""
        if self._kept:
            self._kept = False
            self._port.host.keep(PREFIX + self.tx, None)

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to remember or to do: it is over, or was not for this node."""
        view = self.view
        is_blank = view.state is Stage.WORKING and view.wants is Wants.NOTHING
        return is_blank and (view.over or not view.coordinates)

    def remind(self) -> None:
        """Have the machine say again what was not answered: it may have been lost.

        If this comes too soon, it may reach a node that is just done with the transaction, and has
        to be told anew.
        """
        if self._port.host.now_ms() - self._said_ms < in_ms(self._port.pace.retry_every):
            return
        self._said_ms = self._port.host.now_ms()
        if Again() in self._turns.may_ask(self.view) and not self._is_alone:
            self.ask(Again())
        if self.damage is not None and not self.view.coordinates:
            self._port.confess(self, self.damage, lost=True)

    @property
    def is_stuck(self) -> bool:
        """Whether what was decided cannot be done here."""
        return self._lost and self.view.wants is not Wants.NOTHING

    def end_without(self, stage: Stage) -> None:
        """A person ends here what cannot be done; it is told as done if that is the decision."""
        if stage is self.view.state:
            self.damage = "lacks what could not be done: it was ended by hand"
            self.take(Asked(Applied()))
        else:
            decided = self.view.state
            self.damage = f"was {stage} by hand here, but {decided} is what was decided"
            self.by_hand = stage

    def after(self) -> None:
        """See what the machine wants now, and whether it has decided."""
        host, view = self._port.host, self.view
        if view.wants is not Wants.NOTHING:
            host.then(self._begin_to_serve)
        if view.state.is_final and not self.decided.done():
            host.then(self._tell, view.state)
        self._port.moved(self)

    def _tell(self, stage: Stage) -> None:
        if not self.decided.done():
            self.decided.set_result(stage)

    # --- the hand ---

    def _begin_to_serve(self) -> None:
        """What the machine wants rests on what is in the log by now."""
        is_over = self._instance.state is None or self.view.wants is Wants.NOTHING
        if not is_over and not self.busy and not self._lost:
            self._hand = asyncio.ensure_future(self._serve())
            self._hand.add_done_callback(partial(end_node_if_failed, self._port.enter))

    async def _serve(self) -> None:
        """Have the resource do what the machine wants, until it wants nothing more."""
        pause_s = RETRY_FIRST_S
        while (wants := self.view.wants) is not Wants.NOTHING:
            done: Request = Vote(True) if wants is Wants.PREPARE else Applied()
            try:
                await self._port.do(self.tx, wants)
            except Damaged as error:
                self.damage, self._lost = str(error), True
                self.missing = await self._port.missing(self.tx)
                self._port.confess(self, self.damage, lost=True)
                break
            except Exception as error:
                self.trouble = str(error) or type(error).__name__
                if wants is Wants.PREPARE:
                    self._port.confess(self, self.trouble, lost=False)
                    done = Vote(False)
                else:
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, RETRY_MAX_S)
                    continue
            else:
                self.trouble = None
                self._port.watch(self.tx, f"did {wants}")
            self._port.enter(self.take, Asked(done))
        self._hand = None
        self._port.enter(self._instance.look)

    # --- what its instance asks of it ---

    def packed(self, stable: Any) -> bytes | None:
        """What is forced into the log; before the vote there is nothing to remember."""
        if stable.stage is Stage.WORKING:
            self.drop()  # If anything was there, it is over: out of the log before that is said.
            return None
        self._kept = True
        host = self._port.host
        host.commit.once_kept(self._port.watch, self.tx, f"saved {stable.stage}")
        return msgspec.msgpack.encode(
            LoggedTransaction(self.parts, Codec.encode(stable), self.began, self.by_hand)
        )

    def lets_out(self, message: Message) -> bool:
        """Whether a message may be sent; after a decision by hand this node must not say `Done`."""
        return not (isinstance(message, Done) and self._is_alone)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "two-phase")

    def wrapped(self, body: bytes) -> bytes:
        """A message goes with the list of those who take part."""
        return msgspec.msgpack.encode(TransactionEnvelope(self.parts, msgspec.Raw(body)))

    def sends(self, to: NodeId, message: Message) -> None:
        """A message is about to be sent."""
        self._said_ms = self._port.host.now_ms()
        what = f"sent {type(message).__name__}"
        self._port.host.once_said(to, self._port.watch, self.tx, what)


def end_node_if_failed(enter: Callable[..., None], task: asyncio.Task[Any]) -> None:
    """End the node after an error that nobody expected, rather than guess."""

    def fail(error: BaseException) -> None:
        raise error

    if not task.cancelled() and (error := task.exception()) is not None:
        enter(fail, error)
