"""One machine at one node: takes events one at a time, to their end, and carries out its orders.

Rules of the driver's contract that live here: what changed in `stable` is durable before the
first effect of the turn; effects go out in order; a timer fires at most once per setting, never
early, never after cancel or re-set; an office that has run out ends before anything else.
"""

from collections import deque
from typing import Any, Protocol

from electorate.core import (
    CancelTimer,
    Event,
    Message,
    NodeId,
    Received,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    TimedOut,
    Turn,
    Turns,
)

SELF_TURNS_MAX = 1000


class Port(Protocol):
    """What an instance needs of the node it lives in."""

    def now_ms(self) -> float:
        """The node's clock."""

    def save(self, stable: Stable) -> None:
        """Make this durable before returning."""

    def send(self, to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""

    def booted(self, stable: Stable | None, state: State) -> None:
        """Write down that a life begins, before its effects."""

    def took(self, event: Event, state: State, letterhead: Any) -> None:
        """Write down an event and where it leads, before its effects."""

    def jitter(self, up_to: int) -> float:
        """A random part of this."""


class Instance:
    """A machine in operation."""

    def __init__(self, turns: Turns, me: NodeId, port: Port) -> None:
        self._turns = turns
        self._port = port
        self.me = me
        self.state: State | None = None
        self._deadlines: dict[str, float] = {}

    def boot(self, stable: Stable | None) -> None:
        """Begin a life with what the last one saved."""
        self.halt()
        taken = self._port.now_ms()
        turn = self._turns.boot(self.me, stable)
        self._port.booted(stable, turn.state)
        self._carry_out(turn, stable, taken)
        self._memory(turn)

    def halt(self) -> None:
        """End this life: state and timers are gone."""
        self._deadlines.clear()
        self.state = None

    def take(self, event: Event, letterhead: Any = None) -> None:
        """Take one event to its end, after an office that has run out by now."""
        self._end_office()
        self._take(event, letterhead)

    def wake(self) -> None:
        """Fire every timer that has run out, the earliest first."""
        self._end_office()
        now = self._port.now_ms()
        for timer, deadline in sorted(self._deadlines.items(), key=lambda item: item[1]):
            if deadline <= now and self._deadlines.get(timer) == deadline:
                self._fire(timer)

    @property
    def next_deadline_ms(self) -> float | None:
        """When `wake` should be called next; None if no timer is armed."""
        return min(self._deadlines.values(), default=None)

    @property
    def standing(self) -> Standing | None:
        """What may be believed of this node right now; None while it is down."""
        if self.state is None:
            return None
        now = self._port.now_ms()
        armed = frozenset(timer for timer, at in self._deadlines.items() if at > now)
        return self._turns.view(self.state).expired(armed)

    def _end_office(self) -> None:
        if self.state is None:
            return
        until = self._turns.view(self.state).until
        if until is not None and self._deadlines.get(until, float("inf")) <= self._port.now_ms():
            self._fire(until)

    def _fire(self, timer: str) -> None:
        del self._deadlines[timer]
        self._take(TimedOut(timer), None)

    def _take(self, event: Event, letterhead: Any) -> None:
        state = self.state
        if state is None:
            return
        taken = self._port.now_ms()
        turn = self._turns.step(state, event)
        self._port.took(event, turn.state, letterhead)
        self._carry_out(turn, state.stable, taken)
        self._memory(turn)

    def _carry_out(self, turn: Turn, saved: Stable | None, taken: float) -> None:
        if turn.state.stable != saved:
            self._port.save(turn.state.stable)
        self.state = turn.state
        for effect in turn.effects:
            match effect:
                case Send(to, message):
                    if to != self.me:
                        self._port.send(to, message)
                case SetTimer(timer, after, jitter):
                    later = self._port.jitter(jitter) if jitter else 0.0
                    self._deadlines[timer] = taken + after + later
                case CancelTimer(timer):
                    self._deadlines.pop(timer, None)

    def _memory(self, turn: Turn) -> None:
        """Handle what the turn said to the node itself."""
        said = deque(e.message for e in turn.effects if isinstance(e, Send) and e.to == self.me)
        for _ in range(SELF_TURNS_MAX):
            if not said or self.state is None:
                return
            message = said.popleft()
            taken, saved = self._port.now_ms(), self.state.stable
            event = Received(self.me, message)
            turn = self._turns.step(self.state, event)
            self._port.took(event, turn.state, None)
            self._carry_out(turn, saved, taken)
            said += (e.message for e in turn.effects if isinstance(e, Send) and e.to == self.me)
        raise RuntimeError(f"node {self.me} never stops talking to itself")
