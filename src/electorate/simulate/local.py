"""Local states and what comes of each event in them, every pair worked out once.

A run meets the same few hundred pairs again and again. `Turns` works each out and verifies it; here
the results are linked to each other, so that a turn of a known pair is one look-up, and neither
states nor standings are ever hashed. (Timers are plain texts here: the hash of an enum's member is
a call.)
"""

from collections.abc import Hashable
from typing import Any

import msgspec

from electorate.core import (
    Asked,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    Request,
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

OUTCOMES_MAX = 1_000_000
"""A table that has grown this large is emptied: it saves time, nothing depends on it."""


class LocalState(msgspec.Struct, eq=False):
    """A state of some node, what it shows, and what came of events in it."""

    state: State
    standing: Standing
    code: int
    """A number for the standing, above zero."""
    outcomes: dict[Hashable, "EventOutcome"]
    owes: tuple[Request, ...] = ()
    """What the application owes: it asks for one of these."""
    offices: tuple[str, ...] = ()
    """The timers that end offices of this node."""


class EventOutcome(msgspec.Struct, eq=False):
    """What comes of one event in one state, its effects sorted by what a driver does with them."""

    turn: Turn
    local: LocalState
    sends: tuple[tuple[NodeId, Message], ...]
    memories: tuple[Message, ...]
    """The messages that the node sends to itself."""
    timers: tuple[tuple[str, int | None, int], ...]
    """Timer, after, jitter; an `after` of None cancels."""
    matters: bool
    """Whether anything changes, or there is any effect."""


class LocalStates:
    """All local states of one machine that have been met so far."""

    def __init__(self, machine: Machine[Any], turns: Turns | None = None) -> None:
        self.turns = turns or Turns(machine)
        self._locals: dict[State, LocalState] = {}
        self._lives: dict[
            tuple[NodeId, Stable | None, frozenset[NodeId]], tuple[EventOutcome, ...]
        ] = {}
        self._codes: dict[Standing | None, int] = {None: 0}
        self._known = 0

    def life(
        self, me: NodeId, stable: Stable | None, alive: frozenset[NodeId]
    ) -> tuple[EventOutcome, ...]:
        """What a node does first: it boots, and its detector trusts these nodes."""
        key = (me, stable, alive)
        known = self._lives.get(key)
        if known is None:
            turns = self.turns.life(me, stable, alive)
            known = self._lives[key] = tuple(self._outcome(None, turn) for turn in turns)
        return known

    def received(self, local: LocalState, sender: NodeId, message: Message) -> EventOutcome:
        """What comes of a message."""
        known = local.outcomes.get((sender, message))
        return known or self._work_out(local, (sender, message), Received(sender, message))

    def timed_out(self, local: LocalState, timer: str) -> EventOutcome:
        """What comes of a timer."""
        return local.outcomes.get(timer) or self._work_out(local, timer, TimedOut(timer))

    def viewed(self, local: LocalState, alive: frozenset[NodeId]) -> EventOutcome:
        """What comes of the failure detector's word."""
        return local.outcomes.get(alive) or self._work_out(local, alive, Viewed(alive))

    def asked(self, local: LocalState, request: Request) -> EventOutcome:
        """What comes of the application's word."""
        return local.outcomes.get(request) or self._work_out(local, request, Asked(request))

    def code(self, standing: Standing | None) -> int:
        """A number for a standing, the same for equal ones; zero if there is none."""
        return self._codes.setdefault(standing, len(self._codes))

    def _work_out(self, local: LocalState, key: Hashable, event: Event) -> EventOutcome:
        outcome = self._outcome(local, self.turns.step(local.state, event))
        self._known += 1
        if self._known > OUTCOMES_MAX:
            self._locals.clear()
            self._lives.clear()
            self._known = 0
        local.outcomes[key] = outcome
        return outcome

    def _outcome(self, before: LocalState | None, turn: Turn) -> EventOutcome:
        sends: list[tuple[NodeId, Message]] = []
        memories: list[Message] = []
        timers: list[tuple[str, int | None, int]] = []
        for effect in turn.effects:
            if isinstance(effect, Send):
                if effect.to == turn.state.me:
                    memories.append(effect.message)
                else:
                    sends.append((effect.to, effect.message))
            elif isinstance(effect, SetTimer):
                timers.append((str(effect.timer), effect.after, effect.jitter))
            else:
                timers.append((str(effect.timer), None, 0))
        local = self.local(turn.state)
        matters = local is not before or bool(turn.effects)
        return EventOutcome(turn, local, tuple(sends), tuple(memories), tuple(timers), matters)

    def local(self, state: State) -> LocalState:
        """The local state of a node in this state."""
        known = self._locals.get(state)
        if known is None:
            standing = self.turns.view(state)
            owes = self.turns.must_ask(standing)
            offices = self.turns.offices(state)
            known = LocalState(state, standing, self.code(standing), {}, owes, offices)
            self._locals[state] = known
        return known
