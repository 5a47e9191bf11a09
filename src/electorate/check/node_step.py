"""What an event does to one node, worked out once for each (node, event) and then looked up.

An outcome lists the messages per receiver, and every way in which the node can crash in the
middle of it: on each channel independently a prefix of the turn's messages has left.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from electorate.check.interned import Armed, Local
from electorate.check.model import Model
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
    TimedOut,
    Turn,
    Turns,
)

SELF_TURNS_MAX = 1000

Sends = dict[NodeId, tuple[Message, ...]]


class Torn(NamedTuple):
    """A crash in the middle of a turn."""

    local: Local
    sends: Sends
    sent: tuple[tuple[NodeId, int], ...]
    turn: int
    """Which of the turns it hit: those before it are whole."""
    partial: bool
    """Whether some messages of the turn left and others did not."""


class Outcome(NamedTuple):
    """What an event does: the node afterwards, the messages, and the crashes on the way."""

    local: Local
    sends: Sends
    torn: tuple[Torn, ...]
    turns: tuple[Turn, ...]


class NodeSteps:
    """Takes turns on behalf of the checker."""

    def __init__(self, turns: Turns, model: Model) -> None:
        self._turns = turns
        self._model = model
        self._periodic = {timer.name for timer in turns.machine.timers if timer.periodic}

    def boot(self, me: NodeId, stable: Stable | None) -> Outcome:
        """A node's first turns in a life; its detector begins by trusting all neighbours."""
        life = self._turns.life(me, stable, self._model.setting.neighbours(me))
        return self._outcome(me, Local(life[0].state, None), life)

    def step(self, local: Local, event: Event) -> Outcome:
        """What `event` does to a live node."""
        state = local.state
        assert state is not None
        if isinstance(event, TimedOut):
            armed = tuple(armed for armed in local.timers if armed.timer != event.timer)
            fired = event.timer in self._periodic and not self._model.bounded
            local = local._replace(timers=armed, firings=local.firings + fired)
        first = self._turns.step(state, event)
        return self._outcome(state.me, local, [first])

    def _outcome(self, me: NodeId, local: Local, turns: list[Turn]) -> Outcome:
        turns = self._with_memory(me, turns)
        sends: Sends = {}
        torn: list[Torn] = []
        for place, turn in enumerate(turns):
            last = place == len(turns) - 1
            torn += self._tears(me, sends, turn, place, last)
            _append(sends, _sends_of(turn, me))
            local = self._carried_out(local, turn)
        return Outcome(local, sends, tuple(torn), tuple(turns))

    def _with_memory(self, me: NodeId, turns: list[Turn]) -> list[Turn]:
        """Add the turns that messages to oneself lead to, each after the turn that sent it."""
        turns = list(turns)
        memory = [m for turn in turns for to, m in _addressed(turn) if to == me]
        while memory:
            if len(turns) > SELF_TURNS_MAX:
                where = f"node {me}, {SELF_TURNS_MAX} messages to itself in a row"
                raise ProtocolError(self._turns.machine, where, "never stops talking to itself")
            turn = self._turns.step(turns[-1].state, Received(me, memory.pop(0)))
            turns.append(turn)
            memory += [m for to, m in _addressed(turn) if to == me]
        return turns

    def _carried_out(self, local: Local, turn: Turn) -> Local:
        timers = {armed.timer: armed for armed in local.timers}
        for effect in turn.effects:
            match effect:
                case SetTimer(timer, after, jitter) if self._model.bounded:
                    timers[timer] = Armed(timer, *self._model.setting.lasts(after, jitter))
                case SetTimer(timer):
                    timers[timer] = Armed(timer, 0, 0)
                case CancelTimer(timer):
                    timers.pop(timer, None)
        ordered = tuple(timers[name] for name in sorted(timers))
        return local._replace(state=turn.state, timers=ordered)

    def _tears(
        self, me: NodeId, before: Sends, turn: Turn, place: int, last: bool
    ) -> Iterator[Torn]:
        """Every crash in the middle of this turn that is not the same as one beside it."""
        if not (self._model.budget.crashes and self._model.may_crash(me)):
            return
        wanted = _sends_of(turn, me)
        down = Local.down(turn.state, self._model.setting.storage)
        receivers = sorted(wanted)
        whole = tuple(len(wanted[to]) for to in receivers)
        none = tuple(0 for _ in receivers)
        if self._model.atomic_turns:
            choices = [] if last else [whole]
        elif self._model.atomic_sends:
            choices = [none] if last or none == whole else [none, whole]
        else:
            choices = list(product(*(range(len(wanted[to]) + 1) for to in receivers)))
        for counts in choices:
            if last and counts == whole:
                continue  # The turn went well and a crash came after it: a move of its own.
            sends = dict(before)
            kept = zip(receivers, counts, strict=True)
            _append(sends, {to: wanted[to][:count] for to, count in kept if count})
            partial = 0 < sum(counts) < sum(whole)
            sent = tuple(zip(receivers, counts, strict=True))
            yield Torn(down, sends, sent, place, partial)


def _addressed(turn: Turn) -> Iterator[tuple[NodeId, Message]]:
    for effect in turn.effects:
        if isinstance(effect, Send):
            yield effect.to, effect.message


def _sends_of(turn: Turn, me: NodeId) -> Sends:
    sends: Sends = {}
    for to, message in _addressed(turn):
        if to != me:
            sends[to] = (*sends.get(to, ()), message)
    return sends


def _append(sends: Sends, more: Sends) -> None:
    for to, messages in more.items():
        sends[to] = sends.get(to, ()) + messages
