"""A run in plain sentences: what happens, what a node then believes, what it says to whom.

Messages, requests, timers and fields have the names that the protocol gives them, as in scripts.
What a node keeps to itself is told if nothing else shows what came of a step: the fields that
changed, and a timer that it cancelled before it would have run out. A timer that it set is told if
that very setting runs out later in the run.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from electorate.core import CancelTimer, Message, NodeId, Send, SetTimer, text_of
from electorate.trace.belief import change_of, first_belief
from electorate.trace.diagram.life import Ending, View, lives_of
from electorate.trace.happening import (
    Fired,
    Happening,
    Heard,
    Presence,
    Recovered,
    Saw,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)
from electorate.trace.setting import Clock
from electorate.trace.text import changes_of
from electorate.trace.word import listed, named, nodes_text, said


class Sentence(NamedTuple):
    """What is said of the steps from number `first` up to but not including `end`."""

    first: int
    end: int
    text: str


def sentences_of(
    trace: Trace,
    view: View,
    *,
    uses_views: bool = False,
    apart: Collection[int] = (),
    down: Collection[NodeId] | None = None,
) -> list[Sentence]:
    """The run, a sentence for each step; ticks in a row make one sentence.

    `view` and `uses_views` are the machine's. No sentence goes across a step in `apart`. `down` are
    the nodes that are not up at first, if the setting does not say it.
    """
    narrator = _Narrator(trace, view, uses_views)
    if down is not None:
        narrator.there.down = set(down)
    told: list[Sentence] = []
    ticks = 0
    for number, step in enumerate(trace.steps):
        first = number
        if isinstance(step.happening, Ticked):
            if ticks and number not in apart:
                first = told.pop().first
            else:
                ticks = 0
            ticks += step.happening.by
            text = f"{' '.join(Ticked(ticks).told(narrator.there))}."
        else:
            ticks = 0
            text = narrator.sentence(number, step)
        told.append(Sentence(first, number + 1, text))
    return told


class _Narrator:
    """Tells the steps of one run in their order, and remembers which nodes are down and cut off."""

    def __init__(self, trace: Trace, view: View, uses_views: bool) -> None:
        self._setting = trace.setting
        self._view = view
        self._uses_views = uses_views
        self.there = Presence(trace.setting)
        waits = [(n, w) for n, life in lives_of(trace, view).items() for w in life.waits]
        self._fires = {(n, w.begin, w.timer) for n, w in waits if w.ending is Ending.FIRED}
        """The settings that run out: at which node, in which step, of which timer."""
        end = trace.steps[-1].at if trace.steps and self._has_clocks else 0
        self._averted = {
            (n, w.end, w.timer)
            for n, w in waits
            if w.ending is Ending.CANCELLED and w.latest is not None and w.latest <= end
        }
        """The cancellations without which the timer would have run out."""

    @property
    def _has_clocks(self) -> bool:
        return self._setting.clock is not Clock.UNBOUNDED

    def sentence(self, number: int, step: Step) -> str:
        """What to say of this step, which is no tick."""
        subject, opening = step.happening.told(self.there)
        self.there.follow(step.happening, step.torn)
        first, *rest = self._clauses(number, step, opening)
        if not rest and _changes_nothing(step):
            return f"{subject} {first}, which changes nothing."
        if rest and isinstance(step.happening, Fired):
            return f"{subject} {first}: it {listed(rest)}."
        return f"{subject} {listed([first, *rest])}."

    # --- what comes of it ---

    def _clauses(self, number: int, step: Step, opening: str) -> list[str]:
        """The opening, and what the node does about it, turn by turn."""
        clauses = [opening]
        own: list[Message] = []
        views_first = self._uses_views and isinstance(step.happening, Recovered)
        for place, turn in enumerate(step.turns):
            # The first view after a boot is no news: it shows everybody.
            if own and place > views_first:
                clauses.append(f"hears its own {said(own.pop(0))}")
            if turn.sent is not None:
                return [*clauses, _torn(turn)]
            seen = list(self._turn(turn, step.happening if place == 0 else None))
            if not seen and turn.before is not None and not (views_first and place == 1):
                clauses[-1] += _notes(turn, step.happening)
                clauses += self._cancelled(number, turn)
            clauses += seen
            own += (e.message for e in turn.effects if isinstance(e, Send) and e.to == turn.node)
        return [*clauses, *self._set(number, step.turns)]

    def _turn(self, turn: TurnRecord, happening: Happening | None) -> Iterator[str]:
        """What others can see of a turn."""
        asker = happening.sender if isinstance(happening, Heard) else None
        after = self._view(turn.after)
        sends = _sends(turn)
        answers = [message for message, to in sends if to == [asker]]
        if answers:
            yield f"answers {listed(answers)}"
        if turn.before is None:
            yield first_belief(turn.node, after)
        else:
            suspect = _suspect(happening)
            yield from change_of(turn.node, self._view(turn.before), after, suspect)
        rest = [f"{message} to {_receivers(to, turn)}" for message, to in sends if to != [asker]]
        if rest:
            yield f"sends {listed(rest)}"

    def _cancelled(self, number: int, turn: TurnRecord) -> Iterator[str]:
        timers = [
            effect.timer
            for effect in turn.effects
            if isinstance(effect, CancelTimer)
            and (turn.node, number, effect.timer) in self._averted
            and not any(isinstance(e, SetTimer) and e.timer == effect.timer for e in turn.effects)
        ]
        if timers:
            yield f"cancels its {named('timer', timers)}"

    def _set(self, number: int, turns: Iterable[TurnRecord]) -> Iterator[str]:
        """The settings of this step that run out later, in that order."""
        last = {
            effect.timer: effect
            for turn in turns
            for effect in turn.effects
            if isinstance(effect, SetTimer) and (turn.node, number, effect.timer) in self._fires
        }
        if last:
            in_order = sorted(last.values(), key=lambda effect: effect.after)
            texts = (effect.timer + self._length(effect) for effect in in_order)
            yield f"sets its {named('timer', texts)}"

    def _length(self, effect: SetTimer) -> str:
        if not self._has_clocks:
            return ""  # It may run out at any time.
        timing = self._setting.timing
        extra = f" or up to {timing.text(effect.jitter)} more" if effect.jitter else ""
        return f" to {timing.text(effect.after)}{extra}"


def _sends(turn: TurnRecord) -> list[tuple[str, list[NodeId]]]:
    """The messages in the order of sending, each with all that receive it in a row."""
    found: list[tuple[str, list[NodeId]]] = []
    for effect in turn.effects:
        if isinstance(effect, Send):
            text = said(effect.message)
            if found and found[-1][0] == text:
                found[-1][1].append(effect.to)
            else:
                found.append((text, [effect.to]))
    return found


def _receivers(to: list[NodeId], turn: TurnRecord) -> str:
    others = [node for node in to if node != turn.node]
    return listed(
        [*([nodes_text(others)] if others else []), *(["itself"] if turn.node in to else [])]
    )


def _torn(turn: TurnRecord) -> str:
    """How far a turn got before the node crashed in it."""
    done: dict[str, list[NodeId]] = {}
    missed: dict[str, list[NodeId]] = {}
    for send, left in turn.mail():
        (done if left else missed).setdefault(said(send.message), []).append(send.to)
    saved = turn.before is not None and turn.before.stable != turn.after.stable
    after = ["saving what it must not forget"] if saved else []
    if done:
        after.append(
            "sending " + listed(f"{text} to {nodes_text(to)}" for text, to in done.items())
        )
    parts = [f"after {listed(after)}"] if after else []
    if missed:
        known = next(iter(done)) if len(done) == 1 else None
        texts = ("it" if text == known else text for text in missed)
        unsent = zip(texts, map(nodes_text, missed.values()), strict=True)
        parts.append("before sending " + listed(f"{text} to {to}" for text, to in unsent))
    return f"crashes {', '.join(parts) or 'in the middle of this'}"


def _notes(turn: TurnRecord, happening: Happening) -> str:
    """The fields that changed, except the one that shows what was just said."""
    notes = [
        f"{name}: {text_of(new)}"
        for name, _, new in changes_of(turn)
        if not (isinstance(happening, Saw) and new == happening.alive)
    ]
    return f" (now {', '.join(notes)})" if notes else ""


def _suspect(happening: Happening | None) -> NodeId | None:
    """The one suspected node, if the sentence has just named it."""
    changed = happening.notices if happening is not None else frozenset()
    return next(iter(changed)) if len(changed) == 1 else None


def _changes_nothing(step: Step) -> bool:
    whole = all(turn.before == turn.after and not turn.effects for turn in step.turns)
    return bool(step.turns) and whole and not isinstance(step.happening, Saw)
