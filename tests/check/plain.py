"""The semantics once more, as plainly as possible: worlds are copied whole and nothing is coded.

It shares no code with the checker but its model, so that both must be wrong alike to agree. Here
is what happens to one node; plain_moves.py has what can happen when.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from itertools import product
from typing import Any

from electorate.check import Model
from electorate.check.model import BUDGETS
from electorate.core import (
    CancelTimer,
    Effect,
    Event,
    Machine,
    NodeId,
    Received,
    SetTimer,
    Stable,
    Standing,
    State,
    TimedOut,
    Viewed,
)
from electorate.trace import Connections, Order
from tests.check.place import Mail, Node, Opinion, Place, Sends, Turns, sends

Move = tuple[str, Place]


class EndlessTalk(Exception):
    """A node never stops talking to itself."""


class Plain:
    """Every move of one machine under one model, from the first boots."""

    def __init__(self, machine: Machine[Any], model: Model) -> None:
        self.machine, self.model, self.setting = machine, model, model.setting
        self.ids = machine.members.ids
        self.bounded = model.bounded
        self.dies = self.setting.connections is Connections.DIE
        self.cuts: Counter[str] = Counter()

    # --- turns ---

    def life(self, me: NodeId, stable: Stable | None) -> Turns:
        state, effects = self.machine.boot(me, stable)
        turns: Turns = [(state, effects)]
        if self.machine.uses_views:
            turns.append(self.machine.step(state, Viewed(frozenset(self.ids))))
        return self.with_memory(me, turns)

    def with_memory(self, me: NodeId, turns: Turns) -> Turns:
        memory = deque(m for _, effects in turns for to, m in sends(effects) if to == me)
        while memory:
            if len(turns) > 1000:
                raise EndlessTalk
            state, effects = self.machine.step(turns[-1][0], Received(me, memory.popleft()))
            turns.append((state, effects))
            memory.extend(m for to, m in sends(effects) if to == me)
        return turns

    def take(self, kind: str, place: Place, me: NodeId, event: Event | None) -> Iterator[Move]:
        """All that one event can lead to; `place` is as it is once the event has been taken."""
        node = place.nodes[me]
        if event is None:
            turns = self.life(me, node.stable)
        else:
            assert node.state is not None
            turns = self.with_memory(me, [self.machine.step(node.state, event)])
        whole, firings = place.copy(), node.firings
        if isinstance(event, TimedOut):
            del whole.nodes[me].timers[event.timer]
            periodic = {t.name for t in self.machine.timers if t.periodic}
            firings += not self.bounded and event.timer in periodic
        if firings > self.model.bounds.firings:
            self.cuts["firings"] += 1
            return
        whole.nodes[me].firings = firings
        for state, effects in turns:
            self.carry_out(whole.nodes[me], state, effects)
        whole.nodes[me].stable = None
        if self.post(whole, me, [send for _, effects in turns for send in sends(effects)]):
            yield kind, whole
        if place.budget["crashes"]:
            yield from self.tears(kind, place, me, turns)

    def carry_out(self, node: Node, state: State, effects: list[Effect]) -> None:
        node.state = state
        for effect in effects:
            if isinstance(effect, SetTimer):
                span = (effect.after, effect.after + effect.jitter) if self.bounded else (0, 0)
                node.timers[effect.timer] = span
            elif isinstance(effect, CancelTimer):
                node.timers.pop(effect.timer, None)

    def tears(self, kind: str, place: Place, me: NodeId, turns: Turns) -> Iterator[Move]:
        gone: Sends = []
        for number, (state, effects) in enumerate(turns):
            out = [send for send in sends(effects) if send[0] != me]
            last = number == len(turns) - 1
            for kept in self.prefixes(out):
                if last and len(kept) == len(out):
                    continue
                torn = place.copy()
                torn.nodes[me].stable = state.stable
                if self.post(torn, me, gone + kept):
                    self.fall(torn, me)
                    yield f"{kind} torn", torn
            gone += out

    def prefixes(self, out: Sends) -> list[Sends]:
        """What may have left: of the messages to each node the first few."""
        if self.model.atomic_turns:
            return [[], out] if out else [[]]
        many = Counter(to for to, _ in out)
        found = []
        for counts in product(*(range(n + 1) for n in many.values())):
            room = dict(zip(many, counts, strict=True))
            kept = []
            for to, message in out:
                if room[to]:
                    room[to] -= 1
                    kept.append((to, message))
            found.append(kept)
        return found

    def post(self, place: Place, me: NodeId, out: Sends) -> bool:
        for to, message in out:
            if to != me and not (self.dies and place.nodes[to].state is None):
                place.mail.append(Mail(me, to, message))
        self.cuts["capacity"] += not self.fits(place)
        return self.fits(place)

    def fits(self, place: Place) -> bool:
        loads = Counter(self.lane(mail) for mail in place.mail)
        return all(load <= self.model.bounds.capacity for load in loads.values())

    def lane(self, mail: Mail) -> Hashable:
        """The queue that a message waits in."""
        return mail.to if self.setting.order is Order.GLOBAL else (mail.sender, mail.to)

    # --- lives ---

    def fall(self, place: Place, me: NodeId) -> None:
        place.budget["crashes"] -= 1
        place.nodes[me] = Node(stable=place.nodes[me].stable)
        self.facts_changed(place, me, up=False)
        if self.dies:
            place.mail = [mail for mail in place.mail if mail.to != me]

    def rise(self, place: Place, me: NodeId) -> None:
        place.budget["recoveries"] -= 1
        if self.dies:
            place.mail = [mail for mail in place.mail if mail.sender != me]
        self.facts_changed(place, me, up=True)
        for other in self.ids:
            down = other != me and place.nodes[other].state is None and self.machine.uses_views
            place.opinions[me, other] = Opinion(
                deadline=self.model.detection_ticks if down else None
            )

    def facts_changed(self, place: Place, target: NodeId, *, up: bool) -> None:
        for other in self.ids:
            trusted, deadline, _ = place.opinions[other, target]
            if other == target or place.nodes[other].state is None or not self.machine.uses_views:
                continue
            if trusted != up:
                late = self.model.detection_ticks if deadline is None else deadline
                place.opinions[other, target] = Opinion(trusted, late)
            elif up and deadline is not None and self.model.notices_restarts:
                place.opinions[other, target] = Opinion(trusted, deadline, restarted=True)
            else:
                place.opinions[other, target] = Opinion(trusted)

    def start(self) -> Place:
        budget = {name: getattr(self.model.budget, name) for name in BUDGETS}
        opinions = {(a, b): Opinion() for a in self.ids for b in self.ids}
        place = Place({i: Node() for i in self.ids}, [], opinions, budget)
        lives = {me: self.life(me, None) for me in self.ids}
        for me, turns in lives.items():
            for state, effects in turns:
                self.carry_out(place.nodes[me], state, effects)
        for me, turns in lives.items():
            self.post(place, me, [send for _, effects in turns for send in sends(effects)])
        return place

    def calmed(self, place: Place) -> Place:
        """The place once nothing fails any more."""
        calm = place.copy()
        calm.budget = dict.fromkeys(BUDGETS, 0)
        for node in calm.nodes.values():
            if node.pulse == "paused":
                node.pulse = "woken" if self.bounded else "awake"
        return calm

    # --- what can be seen ---

    def standing(self, node: Node) -> Standing | None:
        if node.state is None:
            return None
        running = (t for t, (_, late) in node.timers.items() if late > 0 or not self.bounded)
        return self.machine.view(node.state).expired(frozenset(running))

    def standings(self, place: Place) -> tuple[Standing | None, ...]:
        return tuple(self.standing(node) for node in place.nodes.values())

    def frozen(self, place: Place) -> Hashable:
        """Everything by which two places differ."""
        lanes: dict[Hashable, tuple[Mail, ...]] = {}
        for mail in place.mail:
            lanes[self.lane(mail)] = (*lanes.get(self.lane(mail), ()), mail)
        seen = {
            pair: opinion
            for pair, opinion in place.opinions.items()
            if self.machine.uses_views and place.nodes[pair[0]].state is not None
        }
        nodes = tuple(
            (n.state, n.stable, frozenset(n.timers.items()), n.pulse, n.firings)
            for n in place.nodes.values()
        )
        budget = tuple(place.budget.values())
        return nodes, frozenset(lanes.items()), frozenset(seen.items()), budget
