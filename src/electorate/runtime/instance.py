"""One machine at one node: takes events one at a time, to their end, and carries out its orders.

Rules of the driver's contract that live here: what changed in `stable` is durable before the
first effect of the turn; effects go out in order; a timer fires at most once per setting, never
early, never after cancel or re-set; an office that has run out ends before anything else.
"""

from collections import deque
from typing import Any, NamedTuple, Protocol

from electorate.core import (
    CancelTimer,
    Event,
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

TURNS_MAX = 1000


class Port(Protocol):
    """What an instance needs of the node it lives in."""

    def now_ms(self) -> float:
        """The node's clock."""

    def save(self, stable: Stable) -> None:
        """Make this durable before anything that follows leaves the node."""

    def send(self, to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""

    def booted(self, stable: Stable | None, state: State) -> None:
        """Write down that a life begins, before its effects."""

    def took(self, event: Event, state: State, letterhead: Any) -> None:
        """Write down an event and where it leads, before its effects."""

    def jitter(self, up_to: int) -> float:
        """A random part of this."""


class Alarm(NamedTuple):
    """One setting of a timer."""

    deadline_ms: float
    number: int


class Instance:
    """A machine in operation."""

    def __init__(self, turns: Turns, me: NodeId, port: Port) -> None:
        self._turns = turns
        self._port = port
        self.me = me
        self.state: State | None = None
        self.changes = 0
        """Grows with every turn that has changed the state or a timer, or had an effect."""
        self._view: Standing | None = None
        self._view_of: State | None = None
        self._armed: dict[str, Alarm] = {}
        self._settings = 0
        self._said: deque[Message] = deque()

    def boot(self, stable: Stable | None, alive: frozenset[NodeId]) -> None:
        """Begin a life with what the last one saved; a machine that uses views sees `alive`."""
        self.halt()
        taken = self._port.now_ms()
        turn = self._turns.boot(self.me, stable)
        self._port.booted(stable, turn.state)
        self._carry_out(turn, stable, taken)
        if self._turns.machine.uses_views:
            self._take(Viewed(alive), None)
        self._settle()

    def halt(self) -> None:
        """End this life: state, timers and what the node said to itself are gone."""
        self.state = self._view_of = self._view = None
        self._armed.clear()
        self._said.clear()

    def take(self, event: Event, letterhead: Any = None) -> None:
        """Take one event to its end, after an office that has run out by now."""
        self._settle()
        self._take(event, letterhead)
        self._settle()

    def wake(self) -> None:
        """Fire every timer that has run out, the earliest first."""
        now = self._port.now_ms()
        due = sorted((alarm, timer) for timer, alarm in self._armed.items())
        for alarm, timer in due:
            self._settle()
            if alarm.deadline_ms <= now and self._armed.get(timer) == alarm:
                self._fire(timer)
        self._settle()

    @property
    def next_deadline_ms(self) -> float | None:
        """When `wake` should be called next; None if no timer is armed."""
        return min(self._armed.values())[0] if self._armed else None

    def deadline_ms(self, timer: str) -> float:
        """When that timer runs out, which must be armed."""
        return self._armed[timer].deadline_ms

    def rule_by(self, turns: Turns) -> None:
        """Go on under other rules or ranks, with the same state."""
        if turns is not self._turns:
            self._turns, self._view_of = turns, None

    @property
    def standing(self) -> Standing | None:
        """What may be believed of this node right now; None while it is down."""
        seen = self._seen()
        if seen is None or seen.until is None or self._runs(seen.until):
            return seen
        return seen.expired(frozenset())

    def _seen(self) -> Standing | None:
        """What the present state lets be seen, as if no time had passed."""
        if self._view_of is not self.state:
            self._view_of = self.state
            self._view = None if self.state is None else self._turns.view(self.state)
        return self._view

    def _runs(self, timer: str) -> bool:
        alarm = self._armed.get(timer)
        return alarm is not None and alarm[0] > self._port.now_ms()

    def _settle(self) -> None:
        """Before anything else happens: hear oneself out, then end an office that has run out.

        What a node tells itself belongs to the turn that said it, which was taken in time.
        """
        for _ in range(TURNS_MAX):
            if self._said:
                self._take(Received(self.me, self._said.popleft()), None)
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
        self._take(TimedOut(timer), None)

    def _take(self, event: Event, letterhead: Any) -> None:
        state = self.state
        if state is None:
            return
        taken = self._port.now_ms()
        turn = self._turns.step(state, event)
        self._port.took(event, turn.state, letterhead)
        if turn.effects or turn.state != state:
            self._carry_out(turn, state.stable, taken)

    def _carry_out(self, turn: Turn, saved: Stable | None, taken: float) -> None:
        if turn.state.stable != saved:
            self._port.save(turn.state.stable)
        self.state = turn.state
        self.changes += 1
        for effect in turn.effects:
            match effect:
                case Send(to, message):
                    if to == self.me:
                        self._said.append(message)
                    else:
                        self._port.send(to, message)
                case SetTimer(timer, after, jitter):
                    later = self._port.jitter(jitter) if jitter else 0.0
                    self._settings += 1
                    self._armed[timer] = Alarm(taken + after + later, self._settings)
                case CancelTimer(timer):
                    self._armed.pop(timer, None)
