"""A run in plain sentences: what happens, what a node then believes, what it says to whom.

Messages, requests, timers and fields keep the names that the protocol gives them, as in scripts.
What a node keeps to itself is told where nothing else shows what came of a step: the fields that
changed, and a timer that it cancelled before it would have run out. A timer that it set is told if
that very setting runs out later in the run.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from electorate.core import (
    CancelTimer,
    Message,
    NodeId,
    Request,
    Send,
    SetTimer,
    text_of,
)
from electorate.trace.belief import change_of, first_belief
from electorate.trace.diagram.life import Ending, View, lives_of
from electorate.trace.setting import Clock, Start
from electorate.trace.step import (
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Healed,
    Lost,
    Paused,
    Phased,
    Placed,
    Pressed,
    Recovered,
    Resumed,
    Saw,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)
from electorate.trace.text import changes_of
from electorate.trace.word import listed, named, nodes_text


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

    `view` and `uses_views` are the machine's. No sentence goes across a step in `apart`.
    `down` are the nodes that are not up at first, where the setting does not say it.
    """
    narrator = _Narrator(trace, view, uses_views)
    if down is not None:
        narrator.down = set(down)
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
            text = "1 tick passes." if ticks == 1 else f"{ticks} ticks pass."
        else:
            ticks = 0
            text = narrator.sentence(number, step)
        told.append(Sentence(first, number + 1, text))
    return told


class _Narrator:
    """Tells the steps of one run in their order, and keeps in mind who is down and cut off."""

    def __init__(self, trace: Trace, view: View, uses_views: bool) -> None:
        self._setting = trace.setting
        self._view = view
        self._uses_views = uses_views
        self.down = set(trace.setting.ids) if trace.setting.start is Start.DOWN else set()
        self._cut: set[tuple[NodeId, NodeId]] = set()
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
        """What to say of this step, which is any but a tick."""
        subject, opening = self._opening(step.happening)
        self._follow(step)
        first, *rest = self._clauses(number, step, opening)
        if not rest and _changes_nothing(step):
            return f"{subject} {first}, which changes nothing."
        if rest and isinstance(step.happening, Fired):
            return f"{subject} {first}: it {listed(rest)}."
        return f"{subject} {listed([first, *rest])}."

    def _opening(self, happening: Happening) -> tuple[str, str]:
        """Who or what the sentence is about, and the first that is said of it."""
        match happening:
            case Delivered(sender, to, message, place):
                older = f" ahead of {_messages(place)}" if place else ""
                return f"Node {to}", f"hears {said(message)} from node {sender}{older}"
            case Doubled(sender, to, message, place):
                older = f" ahead of {_messages(place)}" if place else ""
                copy = "(a copy is still on its way)"
                return f"Node {to}", f"hears {said(message)} from node {sender}{older} {copy}"
            case Lost(sender, _, message):
                return f"{said(message)} from node {sender}", self._loss(happening)
            case Fired(node, timer):
                return f"Node {node}'s timer {timer}", "runs out"
            case Saw(node):
                return f"Node {node}", self._opinion(happening)
            case Pressed(node, request):
                return f"Node {node}", f"is asked for {said(request)}"
            case Crashed(node):
                return f"Node {node}", "crashes"
            case Recovered(node, first):
                return f"Node {node}", "starts" if first else "recovers"
            case Paused(node):
                return f"Node {node}", "is paused"
            case Resumed(node):
                return f"Node {node}", "is resumed"
            case Cut(sender, to, both):
                return _link(sender, to, both), "is cut"
            case Healed(sender, to, both):
                return _link(sender, to, both), "is healed"
            case Phased(node, timer, left):
                text = self._setting.timing.text(left)
                return f"Node {node}'s timer {timer}", f"has {text} left at the start"
            case Placed(node, json, is_up, sent=sent):
                how = "is up, in the state" if is_up else "is down, and has saved"
                mail = "".join(f" and has sent {text} to node {to}" for to, _, text in sent)
                return f"At the start node {node}", f"{how} {json}{mail}"
            case other:
                raise TypeError(f"no sentence for {other!r}")

    def _loss(self, lost: Lost) -> str:
        to, why = lost.to, "" if lost.why == "lost" else f": {lost.why}"
        if (lost.sender, to) in self._cut or lost.why.endswith("is cut"):
            why = ": that link is cut"
        elif to in self.down:
            why = f": node {to} is down"
        return f"to node {to} is lost{why}"

    def _opinion(self, saw: Saw) -> str:
        suspected, trusted = sorted(saw.before - saw.alive), sorted(saw.alive - saw.before)
        there = {node for node in (*suspected, *trusted) if self._is_there(node, saw.node)}
        opinions = [
            ("suspects {}", [node for node in suspected if node not in there]),
            ("wrongly suspects {}", [node for node in suspected if node in there]),
            ("trusts {} again", [node for node in trusted if node in there]),
            ("wrongly trusts {} again", [node for node in trusted if node not in there]),
        ]
        said = [text.format(nodes_text(who)) for text, who in opinions if who]
        return listed(said) if said else f"still sees {nodes_text(sorted(saw.alive))}"

    def _is_there(self, node: NodeId, watcher: NodeId) -> bool:
        cut = {(node, watcher), (watcher, node)} & self._cut
        return node not in self.down and not cut and self._setting.linked(node, watcher)

    def _follow(self, step: Step) -> None:
        match step.happening:
            case Crashed(node):
                self.down.add(node)
            case Recovered(node):
                self.down.discard(node)
            case Placed(node, _, is_up):
                (self.down.discard if is_up else self.down.add)(node)
            case Cut() as happening:
                self._cut.update(happening.ways)
            case Healed() as happening:
                self._cut.difference_update(happening.ways)
        self.down |= {turn.node for turn in step.turns if turn.sent is not None}

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
        asker = happening.sender if isinstance(happening, Delivered | Doubled) else None
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
        """The settings of this step that run out later, in the order in which they do."""
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


def _link(one: NodeId, other: NodeId, both: bool) -> str:
    if both:
        return f"The link between {nodes_text((one, other))}"
    return f"The link from node {one} to node {other}"


def _sends(turn: TurnRecord) -> list[tuple[str, list[NodeId]]]:
    """The messages in the order of sending, each with all who get it in a row."""
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
    """How far a turn got in whose middle the node crashed."""
    left = dict(turn.sent or ())
    done: dict[str, list[NodeId]] = {}
    missed: dict[str, list[NodeId]] = {}
    for effect in turn.effects:
        if isinstance(effect, Send) and effect.to != turn.node:
            reached = left.get(effect.to, 0) > 0
            left[effect.to] = left.get(effect.to, 0) - 1
            (done if reached else missed).setdefault(said(effect.message), []).append(effect.to)
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
    """The fields that changed, but for the one that holds what was just said to be seen."""
    notes = [
        f"{name}: {text_of(new)}"
        for name, _, new in changes_of(turn)
        if not (isinstance(happening, Saw) and new == happening.alive)
    ]
    return f" (now {', '.join(notes)})" if notes else ""


def _suspect(happening: Happening | None) -> NodeId | None:
    """The one node that is suspected, if the sentence has just named it."""
    if isinstance(happening, Saw):
        changed = happening.before ^ happening.alive
        if len(changed) == 1:
            return next(iter(changed))
    return None


def _changes_nothing(step: Step) -> bool:
    whole = all(turn.before == turn.after and not turn.effects for turn in step.turns)
    return bool(step.turns) and whole and not isinstance(step.happening, Saw)


def said(value: Message | Request) -> str:
    """What is said or asked; of a machine inside another with that one's name before it."""
    inside = getattr(value, "message", None) or getattr(value, "request", None)
    if isinstance(inside, Message | Request):
        return f"{type(value).__name__.rpartition('.')[0]}.{said(inside)}"
    return text_of(value)


def _messages(count: int) -> str:
    return "an older message" if count == 1 else f"{count} older messages"
