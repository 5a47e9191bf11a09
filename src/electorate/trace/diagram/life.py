"""The lives of nodes and links: what each node believed and waited for, when it was down or paused;
when which links were cut."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from electorate.core import CancelTimer, Decision, NodeId, SetTimer, Standing, State, Wants
from electorate.trace.diagram.flight import BEFORE
from electorate.trace.happening import Fired, Link, Phased, Placed, Step, Trace, TurnRecord

View = Callable[[State], Standing]


class Ending(StrEnum):
    """How a wait ended."""

    FIRED = "fired"
    CANCELLED = "cancelled"
    RESET = "set again"
    CRASHED = "crashed"  # it went down with its node
    PENDING = "pending"  # the timer was still armed at the end


class Period(NamedTuple):
    """From one step to another."""

    begin: int
    end: int


class Belief(NamedTuple):
    """A time during which a live node had one standing; None if no turn shows it."""

    begin: int
    end: int
    standing: Standing | None
    expires: int | None = None
    """When the timer that ends this office runs out, noticed or not."""


class Wait(NamedTuple):
    """One setting of a timer."""

    timer: str
    begin: int
    end: int
    ending: Ending
    after: int | None = None
    """How long it was set for; None if that was before the record began."""
    latest: int | None = None
    """When it runs out at the latest."""


class Life:
    """One node's part in a run; it may be several lives, with deaths between them."""

    def __init__(self, node: NodeId, end: int) -> None:
        self.node = node
        self.beliefs: list[Belief] = []
        self.waits: list[Wait] = []
        self.downs: list[Period] = []
        self.pauses: list[Period] = []
        self._end = end
        self._belief: Belief | None = Belief(BEFORE, end, None)
        self._armed: dict[str, Wait] = {}
        self._heard_of: set[str] = set()
        self._down: int | None = None
        self._paused: int | None = None

    def begin(self, standing: Standing | None, *, up: bool) -> None:
        """Set the beginning: what the node believed, or that it was down."""
        first = None if standing is None else _drawn(standing)
        self._belief = Belief(BEFORE, self._end, first) if up else None
        self._down = None if up else BEFORE

    def take(self, number: int, step: Step, view: View) -> None:
        """Live through one step at this node."""
        what = step.happening
        match what:
            case Fired(_, timer):
                self._disarm(number, timer, Ending.FIRED)
            case Phased(_, timer, left):
                begin = self._armed[timer].begin if timer in self._armed else BEFORE
                latest = step.at + left
                self._armed[timer] = Wait(timer, begin, self._end, Ending.PENDING, None, latest)
        if what.change.down:
            self._stop(number)
        if what.change.up and self._down is not None:
            self.downs.append(Period(self._down, number))
            self._down = None
        if what.reacts is not None:
            self._resume(number)
            self._paused = None if what.reacts else number
        for turn in step.turns:
            if turn.sent is None:
                self._obey(number, step.at, turn)
                self._believe(number, step.at, view(turn.after))
            else:
                self._stop(number)

    def finish(self) -> None:
        """Close all that is still open."""
        self._close_belief(self._end)
        for timer in list(self._armed):
            self._disarm(self._end, timer, Ending.PENDING)
        self._resume(self._end)
        if self._down is not None:
            self.downs.append(Period(self._down, self._end))
        self.waits.sort(key=lambda wait: (wait.begin, wait.end, wait.timer))

    def _obey(self, number: int, at: int, turn: TurnRecord) -> None:
        for effect in turn.effects:
            match effect:
                case SetTimer(timer, after, jitter):
                    if timer in self._armed:
                        self._disarm(number, timer, Ending.RESET)
                    latest = at + after + jitter
                    wait = Wait(timer, number, self._end, Ending.PENDING, after, latest)
                    self._armed[timer] = wait
                case CancelTimer(timer) if timer in self._armed:
                    self._disarm(number, timer, Ending.CANCELLED)

    def _disarm(self, number: int, timer: str, ending: Ending) -> None:
        # A timer that fires without having been set was set before the record began.
        unknown = None if timer in self._heard_of else Wait(timer, BEFORE, number, ending)
        wait = self._armed.pop(timer, unknown)
        self._heard_of.add(timer)
        # What is set and given up within one turn was never waited for.
        if wait is not None and wait.begin < number:
            self.waits.append(wait._replace(end=number, ending=ending))

    def _believe(self, number: int, at: int, standing: Standing) -> None:
        standing, expires = _drawn(standing), None
        if standing.until is not None:
            armed = self._armed.get(standing.until)
            expires = at if armed is None else armed.latest
        held = self._belief
        is_held = held is not None and (held.expires is None or at < held.expires)
        if held is not None and is_held and held.standing == standing:
            self._belief = held._replace(expires=expires)
            return
        self._close_belief(number)
        self._belief = Belief(number, self._end, standing, expires)

    def _stop(self, number: int) -> None:
        self._close_belief(number)
        for timer in list(self._armed):
            self._disarm(number, timer, Ending.CRASHED)
        self._resume(number)
        self._down = number

    def _close_belief(self, number: int) -> None:
        if self._belief is not None and self._belief.begin < number:
            self.beliefs.append(self._belief._replace(end=number))
        self._belief = None

    def _resume(self, number: int) -> None:
        if self._paused is not None:
            self.pauses.append(Period(self._paused, number))
            self._paused = None


def _drawn(standing: Standing) -> Standing:
    """A standing as far as a diagram shows it: not what the application has to do."""
    if isinstance(standing, Decision):
        return replace(standing, wants=Wants.NOTHING, over=standing.has_forgotten)
    return standing


def lives_of(
    trace: Trace, view: View, start: Mapping[NodeId, Standing] | None = None
) -> dict[NodeId, Life]:
    """The life of every node; `start` has the standings of those that no turn shows.

    A node that is not in it was down, unless the record begins by putting it into a state.
    """
    lives = {node: Life(node, len(trace.steps)) for node in sorted(trace.setting.ids)}
    known = dict(start or {})
    told: set[NodeId] = set()
    placed: set[NodeId] = set()
    for step in trace.steps:
        if isinstance(step.happening, Placed) and step.happening.is_up:
            placed.add(step.happening.node)
        node = step.happening.where
        if node is None or node in told:
            continue
        # The state before its first turn is the one that a node began with.
        before = step.turns[0].before if step.turns else None
        if before is not None:
            known.setdefault(node, view(before))
        if step.turns or step.happening.change.down:
            told.add(node)
        if step.happening.change.up:
            lives[node].begin(None, up=False)
            known.pop(node, None)
    for node, life in lives.items():
        if node in known:
            life.begin(known[node], up=True)
        elif start is not None and node not in placed:
            life.begin(None, up=False)
    for number, step in enumerate(trace.steps):
        node = step.happening.where
        if node is not None:
            lives[node].take(number, step, view)
    for life in lives.values():
        life.finish()
    return lives


# --- links, grouped as people speak of them: `{1, 2} | {3}` for a partition ---

LINKS_MAX = 6
"""How many links are named one by one."""


class Severance(NamedTuple):
    """Links to which the same was done at one instant, and that were healed at one instant."""

    period: Period
    done: str
    text: str


def severances_of(trace: Trace) -> list[Severance]:
    """All cuts of a run, and whatever else was done to links, in order."""
    cut: dict[Link, tuple[int, str]] = {}
    found: list[tuple[Period, str, Link]] = []
    for number, step in enumerate(trace.steps):
        what, first = step.happening, _first_of_instant(trace, number)
        done = what.becomes.removeprefix("is ") if what.ways else ""
        cut.update(dict.fromkeys(what.change.cut, (first, done)))
        for way in what.change.healed:
            begin, how = cut.pop(way, (-1, "cut"))
            found.append((Period(begin, first), how, way))
        brief = {*what.ways} - {*what.change.cut} - {*what.change.healed}
        found += [(Period(first, first), done, way) for way in brief]
    end = len(trace.steps)
    found += [(Period(begin, end), done, link) for link, (begin, done) in cut.items()]
    return [
        Severance(period, done, _text({link for *_, link in links}, trace.setting.ids, done))
        for (period, done), links in groupby(sorted(found), key=lambda each: (each[0], each[1]))
    ]


def goes_on(steps: Sequence[Step], number: int) -> bool:
    """Whether a step only goes on with the one before: a partition cuts many links at once."""
    step, before = steps[number], steps[number - 1]
    links = step.happening.ways and before.happening.ways
    return number > 0 and bool(links) and step.at == before.at


def _first_of_instant(trace: Trace, number: int) -> int:
    """The first of the cuts and healings in a row that this one belongs to."""
    while goes_on(trace.steps, number):
        number -= 1
    return number


def _text(links: set[Link], ids: tuple[NodeId, ...], done: str) -> str:
    for side in _sides(links, ids):
        others = [node for node in ids if node not in side]
        across = {(one, other) for one in side for other in others}
        if links == across | {(to, sender) for sender, to in across}:
            return f"{_group(side)} | {_group(others)}" + ("" if done == "cut" else f" {done}")
    both = {tuple(sorted(link)) for link in links if link[::-1] in links}
    texts = [f"{one}↔{other}" for one, other in sorted(both)]
    texts += [f"{a}→{b}" for a, b in sorted(links) if (b, a) not in links]
    more = len(texts) - LINKS_MAX
    return ", ".join(texts[:LINKS_MAX]) + (f" and {more} more" if more > 0 else "") + f" {done}"


def _sides(links: set[Link], ids: tuple[NodeId, ...]) -> list[list[NodeId]]:
    """The group around the first node, if these links are a partition."""
    severed = {to for sender, to in links if sender == ids[0]}
    return [[node for node in ids if node not in severed]] if severed else []


def _group(nodes: list[NodeId]) -> str:
    return "{" + ", ".join(map(str, sorted(nodes))) + "}"
