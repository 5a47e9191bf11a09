"""One machine at one host: takes events one at a time, to their end, and carries out its orders.

These rules of the driver's contract live here: a changed `stable` is saved before the first effect
of its turn; effects go out in order; a timer fires at most once per setting, never early, and never
after it was cancelled or set again; an office that has run out ends before anything else.
"""

import math
from collections import deque
from typing import Any, NamedTuple, Protocol

from electorate.core import (
    CancelTimer,
    Event,
    Machine,
    Message,
    NodeId,
    ProtocolError,
    Received,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    TimedOut,
    Turn,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.runtime.wiring import Inlet, Output
from electorate.trace.record import Letterhead

TURNS_MAX = 1000


class Port(Protocol):
    """What an instance needs of its host."""

    def now_ms(self) -> float:
        """The clock of the host."""

    def jitter(self, up_to: int) -> float:
        """A random number up to this."""

    def keep(self, name: str, record: bytes) -> None:
        """Make this durable before anything that follows leaves the host."""

    def send(self, instance: "Instance", to: NodeId, message: Message) -> None:
        """Send a message once what was kept is durable; it may be lost."""

    def schedule(self, instance: "Instance") -> None:
        """Wake the instance when it is due, which is earlier than it was queued for."""


class Writer(Protocol):
    """Writes down what an instance goes through, before the effects."""

    def ruled(self, machine: Machine[Any], cluster: str) -> None:
        """From now on the instance runs this machine, which a `cluster` line describes."""

    def booted(self, stable: Stable | None, state: State) -> None:
        """A life begins."""

    def took(
        self,
        event: Event,
        state: State,
        letterhead: Letterhead | None = None,
        source: str | None = None,
    ) -> None:
        """An event was taken, and led to this state; a wire from `source` may have brought it."""

    def halted(self) -> None:
        """The life ends as a crash would."""

    def ended(self, *, over: bool) -> None:
        """The life ends in an orderly way; there may be nothing more to do for the instance."""


class Owner:
    """The owner of an instance hears what happens to it, and overrides what it has a use for."""

    wakes_ms: float | None = None
    """When to wake the instance although none of its timers runs out."""
    looks_inside = False
    """Whether it wants to hear of single turns and messages: of `turns`, `lets_out`, `sends` and
    `wrapped`."""

    @property
    def is_urgent(self) -> bool:
        """Whether its timers must not wait until messages that have arrived are read."""
        return False

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script, from which a record can be re-run."""
        raise NotImplementedError

    def before(self) -> None:
        """An event is about to be taken."""

    def turns(self, before: State | None, after: State) -> None:
        """The machine turns from one state to another; no effect has been carried out yet."""

    def after(self) -> None:
        """Events were taken, and something has changed."""

    def packed(self, stable: Stable) -> bytes | None:
        """The bytes to save for it; None to delete what was saved."""
        return Codec.encode(stable)

    def lets_out(self, message: Message) -> bool:
        """Whether a message of the machine may be sent."""
        return True

    def sends(self, to: NodeId, message: Message) -> None:
        """A message of the machine is about to be sent."""

    def wrapped(self, body: bytes) -> bytes:
        """A message in bytes, with what the same service at another node is told along with it."""
        return body


class PendingTimer(NamedTuple):
    """One setting of a timer."""

    deadline_ms: float
    number: int


class Instance:
    """A machine in operation."""

    def __init__(
        self, name: str, turns: Turns, me: NodeId, port: Port, owner: Owner | None = None
    ) -> None:
        self.name = name
        """The name by which it is reached at every node, and under which it is saved."""
        self.me = me
        self.owner = owner or Owner()
        self.state: State | None = None
        self.record: Writer | None = None
        """Writes the record, if there is one."""
        self.outputs: list[Output] = []
        """What it tells others at this host by wires."""
        self.inlets: list[Inlet] = []
        """The wires by which it is told itself."""
        self.changes = 0
        """Grows with every turn that changed the state or a timer, or had an effect."""
        self.due_ms = self.queued_ms = math.inf
        """When to wake it, and when the host would look at it: see `timers.Sleeper`."""
        self._turns = turns
        self._port = port
        self._view: Standing | None = None
        self._view_of: State | None = None
        self._armed: dict[str, PendingTimer] = {}
        self._settings = 0
        self._said: deque[Message] = deque()

    def boot(self, stable: Stable | None, alive: frozenset[NodeId]) -> None:
        """Begin a life with what the last one saved; a machine that uses views sees `alive`."""
        self.halt()
        taken = self._port.now_ms()
        turn = self._turns.boot(self.me, stable)
        if self.record is not None:
            self.record.ruled(self.machine, self.owner.described(self.machine))
            self.record.booted(stable, turn.state)
        if self.owner.looks_inside:
            self.owner.turns(None, turn.state)
        for output in self.outputs:
            output.look(turn.state.stable)
        for inlet in self.inlets:
            inlet.forget()
        self._carry_out(turn, stable, taken)
        self._hear()
        if self._turns.machine.uses_views:
            self._take(Viewed(alive))
        self._settle()
        self._finish()

    def halt(self) -> None:
        """End this life: the state, the timers and what the node said to itself are gone."""
        if self.record is not None and self.state is not None:
            self.record.halted()
        self.state = self._view_of = self._view = None
        self._armed.clear()
        self._said.clear()
        self.due_ms = math.inf

    def take(self, event: Event, letterhead: Letterhead | None = None) -> None:
        """Take one event to its end, after an office that has run out by now."""
        self.owner.before()
        changes = self.changes
        self._settle()
        self._hear()
        self._take(event, letterhead)
        self._settle()
        # Many answers change nothing: a majority has answered before.
        if self.changes != changes:
            self._finish()

    def wake(self) -> None:
        """Fire every timer that has run out, the earliest first."""
        self.owner.before()
        now = self._port.now_ms()
        due = sorted((alarm, timer) for timer, alarm in self._armed.items())
        for alarm, timer in due:
            self._settle()
            if alarm.deadline_ms <= now and self._armed.get(timer) == alarm:
                self._hear()
                if self._armed.get(timer) == alarm:
                    self._fire(timer)
        self._settle()
        self._finish()

    def hear(self) -> None:
        """Take what wires have for it, even if nothing else happens to it."""
        self.owner.before()
        changes = self.changes
        self._settle()
        self._hear()
        if self.changes != changes:
            self._settle()
            self._finish()

    def look(self) -> None:
        """Have the owner look again: something outside the machine has changed."""
        if self.state is not None:
            self._finish()

    @property
    def is_urgent(self) -> bool:
        """Whether its timers must not wait until messages that have arrived are read."""
        return self.owner.is_urgent

    @property
    def next_deadline_ms(self) -> float | None:
        """When `wake` should be called next; None if no timer is armed."""
        return min(self._armed.values())[0] if self._armed else None

    def deadline_ms(self, timer: str) -> float:
        """When that timer runs out; it must be armed."""
        return self._armed[timer].deadline_ms

    @property
    def machine(self) -> Machine[Any]:
        """The machine that takes its turns here."""
        return self._turns.machine

    @property
    def assumptions(self) -> frozenset[Any]:
        """What its machine relies on."""
        return frozenset(self._turns.machine.assumptions)

    @property
    def standing(self) -> Standing | None:
        """The standing to believe right now; None while the node is down."""
        seen = self._seen()
        if seen is None or seen.until is None or self._runs(seen.until):
            return seen
        return seen.expired(frozenset())

    @property
    def view(self) -> Any:
        """What the present state shows, as if no time had passed; the node must be up."""
        return self._seen()

    def _seen(self) -> Standing | None:
        if self._view_of is not self.state:
            self._view_of = self.state
            self._view = None if self.state is None else self._turns.view(self.state)
        return self._view

    def _runs(self, timer: str) -> bool:
        alarm = self._armed.get(timer)
        return alarm is not None and alarm[0] > self._port.now_ms()

    def _hear(self) -> None:
        """Take what wires have for it, before its next event."""
        for inlet in self.inlets:
            if inlet.heard != inlet.output.version and self.state is not None:
                self._take(inlet.asked(), source=inlet.output.source)

    def _finish(self) -> None:
        """After the last turn: see what follows from it, and when to wake up next."""
        self.owner.after()
        self.reschedule()

    def reschedule(self) -> None:
        """Wake up when the first timer runs out, or when the owner wants it."""
        due_ms, wakes_ms = self.next_deadline_ms, self.owner.wakes_ms
        if due_ms is None or (wakes_ms is not None and wakes_ms < due_ms):
            due_ms = wakes_ms
        self.due_ms = math.inf if due_ms is None or self.state is None else due_ms
        if self.due_ms < self.queued_ms:
            self._port.schedule(self)

    def _settle(self) -> None:
        """Before anything else: take what the node told itself, then end an office that is over.

        What a node tells itself belongs to the turn that said it, which was taken in time.
        """
        for _ in range(TURNS_MAX):
            if self._said:
                self._take(Received(self.me, self._said.popleft()))
            elif (office := self._office_over()) is not None:
                self._fire(office)
            else:
                return
        where = f"node {self.me}"
        raise ProtocolError(self._turns.machine, where, "it never stops talking to itself")

    def _office_over(self) -> str | None:
        """The timer that ends the present office, if it has run out."""
        seen = self._seen()
        until = None if seen is None else seen.until
        return None if until not in self._armed or self._runs(until) else until

    def _fire(self, timer: str) -> None:
        del self._armed[timer]
        self.changes += 1
        self._take(TimedOut(timer))

    def _take(
        self, event: Event, letterhead: Letterhead | None = None, source: str | None = None
    ) -> None:
        state = self.state
        if state is None:
            return
        taken = self._port.now_ms()
        turn = self._turns.step(state, event)
        matters = bool(turn.effects) or turn.state != state
        # At every boot a wire tells again what its target may have saved long ago.
        if self.record is not None and (matters or source is None):
            self.record.took(event, turn.state, letterhead, source)
        if matters:
            if self.owner.looks_inside:
                self.owner.turns(state, turn.state)
            self._carry_out(turn, state.stable, taken)

    def _carry_out(self, turn: Turn, saved: Stable | None, taken: float) -> None:
        if turn.state.stable != saved:
            self._save(turn.state.stable)
            for output in self.outputs:
                output.look(turn.state.stable)
        self.state = turn.state
        self.changes += 1
        for effect in turn.effects:
            match effect:
                case Send(to, message):
                    if to == self.me:
                        self._said.append(message)
                    elif not self.owner.looks_inside or self.owner.lets_out(message):
                        self._port.send(self, to, message)
                case SetTimer(timer, after, jitter):
                    later = self._port.jitter(jitter) if jitter else 0.0
                    self._settings += 1
                    self._armed[timer] = PendingTimer(taken + after + later, self._settings)
                case CancelTimer(timer):
                    self._armed.pop(timer, None)

    def _save(self, stable: Stable) -> None:
        record = self.owner.packed(stable)
        if record is not None:
            self._port.keep(self.name, record)
