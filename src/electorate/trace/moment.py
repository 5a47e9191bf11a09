"""The state of all nodes at one moment of a recorded run, as a script that begins there.

The instances of a node may be taken together if they are the parts of an ensemble. States are what
the re-run gives, so nothing of them is rounded. A timer runs from the turn that set it, and a
message is on its way from the turn that sent it until the record shows that it was taken. Of a
message that nobody took the record cannot say when it was lost: it counts as on its way for as long
as a message may take, T+P.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import reduce
from math import ceil, floor
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.core import (
    CancelTimer,
    Ensemble,
    Machine,
    Message,
    NodeId,
    Request,
    Rules,
    SetTimer,
    Span,
    Stable,
    State,
    Viewed,
)
from electorate.core.ensemble import sweep_of
from electorate.trace.happening import (
    Fired,
    Heard,
    Lost,
    Placed,
    Requested,
    Saw,
    Step,
    Trace,
    TurnRecord,
)
from electorate.trace.setting import Setting
from electorate.trace.text import json_word


class MessageInFlight(NamedTuple):
    """A message on its way, and when it was sent."""

    sender: NodeId
    to: NodeId
    message: Message
    at: float


class Moment:
    """A recorded run up to one moment, in milliseconds since its beginning."""

    def __init__(
        self, trace: Trace, until: float, first_views: Mapping[int, frozenset[NodeId]]
    ) -> None:
        """`first_views`: by step, what a node saw right after it had booted."""
        self._setting = trace.setting
        self.until = until
        self.up: dict[NodeId, State] = {}
        self.saved: dict[NodeId, str] = {}
        """What the nodes that are down have saved, as JSON."""
        self.asked: defaultdict[NodeId, dict[type[Request], Request]] = defaultdict(dict)
        """The last request of each kind to each node in its present life."""
        self._timers: defaultdict[NodeId, dict[str, tuple[float, float]]] = defaultdict(dict)
        self._views: dict[NodeId, frozenset[NodeId]] = {}
        self._waiting: defaultdict[tuple[NodeId, NodeId], list[MessageInFlight]] = defaultdict(list)
        self._untaken: defaultdict[tuple[NodeId, NodeId], list[MessageInFlight]] = defaultdict(list)
        """Messages that nobody took; what was sent before one that was taken can come no more."""
        self.heard_of: set[NodeId] = set()
        """All nodes that some node had seen, or had sent something to."""
        for number, step in enumerate(trace.steps):
            if step.at > until:
                break
            self._take(step)
            if number in first_views:
                self._see(_node_of(step), first_views[number])

    @property
    def mail(self) -> list[MessageInFlight]:
        """What is on its way."""
        recent = self.until - self._setting.delay_max
        untaken = [each for kept in self._untaken.values() for each in kept if each.at >= recent]
        waiting = [each for kept in self._waiting.values() for each in kept]
        return sorted([*waiting, *untaken], key=lambda letter: letter.at)

    def _take(self, step: Step) -> None:
        what = step.happening
        for node in what.change.up:
            self._views[node] = frozenset(self._setting.ids)
            self.asked[node].clear()
        for node in set(what.change.down) & self.up.keys():
            self._stop(node, self.up[node].stable)
        for way in what.loses(self._setting):
            self._waiting[way].clear()
        match what:
            case Requested(node, request):
                self.asked[node][type(request)] = request
            case Fired(node, timer):
                self._timers[node].pop(timer, None)
            case Saw(node, alive):
                self._see(node, alive)
            case Heard(sender, to, _, place):
                taken = self._waiting[sender, to].pop(place)
                later = [each for each in self._untaken[sender, to] if each.at > taken.at]
                self._untaken[sender, to] = later
            case Lost(sender, to, _, _, place):
                lost = self._waiting[sender, to].pop(place)
                self._untaken[sender, to].append(lost)
            case Placed(node, _, True, alive):
                self._see(node, alive)
            case Placed(node, json):
                self.saved[node] = json
        for turn in step.turns:
            self._carry_out(step.at, turn)

    def _see(self, node: NodeId, alive: frozenset[NodeId]) -> None:
        self._views[node] = alive
        self.heard_of |= alive

    def _carry_out(self, at: float, turn: TurnRecord) -> None:
        node = turn.node
        self.up[node] = turn.after
        self.saved.pop(node, None)
        for effect in turn.effects:
            match effect:
                case SetTimer(timer, after, jitter):
                    soonest, latest = self._setting.lasts(after, jitter)
                    self._timers[node][str(timer)] = (at + soonest, at + latest)
                case CancelTimer(timer):
                    self._timers[node].pop(str(timer), None)
        for send, left in turn.mail():
            self.heard_of.add(send.to)
            if left:
                letter = MessageInFlight(node, send.to, send.message, at)
                self._waiting[node, send.to].append(letter)
        if turn.sent is not None:
            self._stop(node, turn.after.stable)

    def begin(self, node: NodeId, machine: Machine[Any], alike: "Moment") -> None:
        """Have a node boot for the first time; it sees what another of its instances sees."""
        alive = alike._views.get(node, frozenset({node}))
        state, effects = machine.boot(node, None)
        if machine.uses_views:
            state, more = machine.step(state, Viewed(alive))
            effects = [*effects, *more]
        self._views[node] = alive
        self._carry_out(self.until, TurnRecord(node, None, state, tuple(effects)))

    def _stop(self, node: NodeId, saved: Stable) -> None:
        del self.up[node]
        self.saved[node] = json_word(saved)
        self._timers[node].clear()

    def placements(self, unit: float, members: Collection[NodeId]) -> tuple[Placed, ...]:
        """The moment as commands that place these nodes; a tick is so many milliseconds.

        What remains of a timer is rounded to both sides, the age of a message down: what can happen
        by the record can happen by the commands.
        """
        until = self.until
        sent: defaultdict[NodeId, list[tuple[NodeId, int, str]]] = defaultdict(list)
        for letter in self.mail:
            if letter.to not in members:
                continue
            age = min(floor((until - letter.at) / unit), ceil(self._setting.delay_max / unit))
            sent[letter.sender].append((letter.to, age, json_word(letter.message)))
        placed = []
        for node in sorted(members):
            mail = tuple(sent[node])
            if node not in self.up:
                placed.append(Placed(node, self.saved.get(node, "null"), False, sent=mail))
                continue
            timers = tuple(
                (timer, floor(max(0, a - until) / unit), ceil(max(0, b - until) / unit))
                for timer, (a, b) in sorted(self._timers[node].items())
            )
            state = json_word(self.up[node])
            alive = self._views[node].intersection(members)
            placed.append(Placed(node, state, True, alive, timers, mail))
        return tuple(placed)


def joined(ensemble: Ensemble, setting: Setting, moments: Mapping[str, Moment]) -> Moment:
    """The moments of several instances as one of the ensemble whose parts they are.

    A part that a node had not run yet begins at that moment.
    """
    until = next(iter(moments.values())).until
    found = Moment(Trace(setting, ()), until, {})
    for node in setting.ids:
        up = [moment for moment in moments.values() if node in moment.up]
        if up:
            for name, moment in moments.items():
                if node not in moment.up:
                    moment.begin(node, ensemble.lifts[name].inner, up[0])
            _join_up(found, ensemble, moments, node)
        elif any(node in moment.saved for moment in moments.values()):
            kept = {
                name: moment.saved.get(node) or json_word(_first(ensemble, name, node))
                for name, moment in moments.items()
            }
            fields = ",".join(f'"{name}":{json}' for name, json in kept.items())
            found.saved[node] = f"{{{fields}}}"
    for name, moment in moments.items():
        wrap = ensemble.lifts[name].messages[0]
        for mine, theirs in ((found._waiting, moment._waiting), (found._untaken, moment._untaken)):
            for way, letters in theirs.items():
                mine[way] += [each._replace(message=wrap(each.message)) for each in letters]
    return found


def _first(ensemble: Ensemble, name: str, node: NodeId) -> Stable:
    """What a part has saved once it has booted for the first time."""
    state, _ = ensemble.lifts[name].inner.boot(node, None)
    kept: Stable = state.stable
    return kept


def _join_up(
    found: Moment, ensemble: Ensemble, moments: Mapping[str, Moment], node: NodeId
) -> None:
    """A node whose instances are all up, with what wires have for them and was not told yet."""
    states: dict[str, State] = {name: moment.up[node] for name, moment in moments.items()}
    due = set()
    for k, wire in enumerate(ensemble.wires):
        output = wire.reader(ensemble.lifts[wire.source].inner)(states[wire.source].stable)
        if moments[wire.target].asked[node].get(wire.request) != wire.request(output):
            due.add(k)
            sweep = ensemble.rules.sweep.of(ensemble.timing)
            found._timers[node][sweep_of(wire.target)] = (found.until, found.until + sweep)
    found.up[node] = ensemble.joined(node, states, frozenset(due))
    found._views[node] = moments[ensemble.focus]._views[node]
    for name, moment in moments.items():
        for timer, when in moment._timers[node].items():
            found._timers[node][f"{name}.{timer}"] = when


def _node_of(step: Step) -> NodeId:
    return step.turns[0].node


def in_ticks(setting: Setting, T: int, P: int | None, rules: Rules) -> Setting:
    """The setting with T as so many ticks, and all lengths in its rules in proportion.

    A length below one tick stays as it is: it says that something comes right before or after
    something else.
    """
    unit = setting.timing.T / T

    def scaled(rule: str) -> str:
        name = rule.partition("=")[0]
        length = reduce(getattr, name.split("."), rules)
        if not isinstance(length, Span) or abs(length.ticks) < unit:
            return rule
        return f"{name}={replace(length, ticks=round(length.ticks / unit))}"

    P = ceil(setting.timing.P / unit) if P is None else P
    texts = tuple(map(scaled, setting.rules))
    return replace(setting, timing=replace(setting.timing, T=T, P=P), rules=texts)
