"""The semantics once more, as plainly as possible: worlds are copied whole and nothing is coded.

It shares no code with the checker but its model, so that both must be wrong alike to agree. Here
is what happens to one node; plain_moves.py has what can happen when.
"""

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence
from decimal import Decimal
from itertools import combinations, product
from math import inf
from typing import Any

from electorate.check import Detector, Model
from electorate.check.model import BUDGETS
from electorate.claims import Claim, Row, Sight
from electorate.core import (
    CancelTimer,
    Effect,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    SetTimer,
    Stable,
    Standing,
    State,
    TimedOut,
    Viewed,
    text_of,
)
from electorate.trace import Clock, Connections, Order, Storage
from tests.check.place import Link, Mail, Node, Opinion, Place, Sends, Turns, sends
from tests.check.plain_number import largest

Move = tuple[str, Place]


class EndlessTalk(Exception):
    """A node never stops talking to itself."""


class TooMuchAtOnce(Exception):
    """A turn sends more to one node than a channel that blocks ever has room for."""


class Plain:
    """Every move of one machine under one model, from the first boots."""

    def __init__(
        self,
        machine: Machine[Any],
        model: Model,
        claims: Sequence[Claim] = (),
        *,
        drops: bool = True,
        renames: bool = False,
    ) -> None:
        self.machine, self.model, self.setting = machine, model, model.setting
        self.ids = machine.members.ids
        self.claims = claims
        self.bounded = self.setting.clock is not Clock.UNBOUNDED
        """Whether timers keep their bounds."""
        self.prompt = self.setting.clock is Clock.BOUNDED
        """Whether messages do."""
        self.dies = self.setting.connections is Connections.DIE
        self.keeps = self.setting.order is Order.SET
        self.links = {frozenset(pair) for pair in combinations(self.ids, 2)}
        if self.setting.graph is not None:
            self.links &= {frozenset(pair) for pair in self.setting.graph}
        self.cuts: Counter[str] = Counter()
        self.spent: set[str] = set()
        """The kinds of faults that happened."""
        self.forgets_mail = drops and not any(Sight.MESSAGES in c.sights for c in claims)
        self.drops = drops
        """Whether what can never matter again is forgotten: it should make no difference."""
        self.renames = renames
        """Whether numbers are renamed in every place, or else the search is cut at the counter."""

    # --- links ---

    def around(self, me: NodeId) -> set[NodeId]:
        """A node and all that it is ever linked to."""
        return {me}.union(*(link for link in self.links if me in link))

    def joined(self, place: Place, one: NodeId, other: NodeId) -> bool:
        """Whether two nodes are linked now."""
        return frozenset((one, other)) in self.links - place.broken

    def relinked(self, place: Place, link: Link, *, whole: bool) -> Place:
        """The place after a link was cut or has become whole again."""
        after = place.copy()
        after.budget["heals" if whole else "cuts"] -= 1
        after.broken ^= {link}
        if self.dies and not whole:
            after.mail = [mail for mail in place.mail if {mail.sender, mail.to} != link]
        one, other = link
        if place.nodes[one].state is not None and place.nodes[other].state is not None:
            self.learn(after, one, other, there=whole)
            self.learn(after, other, one, there=whole)
        return after

    # --- turns ---

    def life(self, me: NodeId, stable: Stable | None) -> Turns:
        state, effects = self.machine.boot(me, stable)
        turns: Turns = [(state, effects)]
        if self.machine.uses_views:
            turns.append(self.machine.step(state, Viewed(frozenset(self.around(me)))))
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
        if not self.renames and largest(whole, me) > self.model.bounds.counter:
            self.cuts["counter"] += 1
            return
        if self.post(whole, me, [send for _, effects in turns for send in sends(effects)]):
            yield kind, whole
        if place.budget["crashes"] and self.is_mortal(me):
            yield from self.tears(kind, place, me, turns)

    def carry_out(self, node: Node, state: State, effects: list[Effect]) -> None:
        node.state = state
        for effect in effects:
            if isinstance(effect, SetTimer):
                node.timers[effect.timer] = self.span(effect.after, effect.jitter)
            elif isinstance(effect, CancelTimer):
                node.timers.pop(effect.timer, None)

    def span(self, after: int, jitter: int) -> tuple[int, int]:
        """The fewest and the most ticks that a timer may take by a clock that is slow or fast."""
        if not self.bounded:
            return 0, 0
        off = Decimal(str(self.setting.drift))
        ticks = range(2 * (after + jitter) + 1)
        fewest = min(n for n in ticks if n >= after * (1 - off))
        return fewest, max(n for n in ticks if n <= (after + jitter) * (1 + off))

    def is_mortal(self, me: NodeId) -> bool:
        return self.model.mortal is None or me in self.model.mortal

    def tears(self, kind: str, place: Place, me: NodeId, turns: Turns) -> Iterator[Move]:
        gone: Sends = []
        for number, (state, effects) in enumerate(turns):
            out = [send for send in sends(effects) if send[0] != me]
            last = number == len(turns) - 1
            for kept in [out] if self.model.atomic_turns else self.prefixes(out):
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
        if self.model.atomic_sends:
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
        busy = {self.lane(mail) for mail in place.mail}
        for to, message in out:
            mail = Mail(me, to, message)
            gone = self.dies and place.nodes[to].state is None
            known = self.keeps and mail in place.mail
            gone |= self.forgets_mail and self.is_lost(place, to)
            if self.joined(place, me, to) and not gone and not known:
                place.mail.append(mail)
        fits = self.fits(place)
        if not self.model.bounds.blocks:
            self.cuts["capacity"] += not fits
        elif any(
            load > self.model.bounds.capacity and lane not in busy
            for lane, load in self.loads(place).items()
        ):
            raise TooMuchAtOnce
        return fits

    def fits(self, place: Place) -> bool:
        return (
            self.keeps or max(self.loads(place).values(), default=0) <= self.model.bounds.capacity
        )

    def loads(self, place: Place) -> Counter[Hashable]:
        """How many messages wait in each queue."""
        return Counter(self.lane(mail) for mail in place.mail)

    def is_lost(self, place: Place, me: NodeId) -> bool:
        """Whether a node is down for good."""
        return place.nodes[me].state is None and not place.budget["recoveries"]

    def forget(self, place: Place) -> None:
        """Let go of mail that nobody will ever get, and of notes that nobody will ever read."""
        wanted = {sight for claim in self.claims for sight in claim.sights}
        for me, node in place.nodes.items():
            if self.is_lost(place, me) and Sight.STABLES not in wanted:
                node.stable = None
        if Sight.MESSAGES in wanted:
            return
        place.mail = [
            mail
            for mail in place.mail
            if not self.is_lost(place, mail.to)
            and (place.budget["heals"] or self.joined(place, mail.sender, mail.to))
        ]

    def lane(self, mail: Mail) -> Hashable:
        """The queue that a message waits in; what is kept for ever waits in none."""
        if self.keeps:
            return mail
        return mail.to if self.setting.order is Order.GLOBAL else (mail.sender, mail.to)

    # --- lives ---

    def fall(self, place: Place, me: NodeId) -> None:
        place.budget["crashes"] -= 1
        lost = self.setting.storage is Storage.LOST
        place.nodes[me] = Node(stable=None if lost else place.nodes[me].stable)
        self.everybody_learns(place, me, there=False)
        if self.dies:
            place.mail = [mail for mail in place.mail if mail.to != me]

    def rise(self, place: Place, me: NodeId) -> None:
        place.budget["recoveries"] -= 1
        if self.dies:
            place.mail = [mail for mail in place.mail if mail.sender != me]
        self.everybody_learns(place, me, there=True)
        for other in self.ids:
            if other != me:
                there = place.nodes[other].state is not None and self.joined(place, me, other)
                place.opinions[me, other] = self.first_opinion(me, other, there=there)

    def first_opinion(self, me: NodeId, other: NodeId, *, there: bool) -> Opinion:
        """What a detector that has just started holds of another node."""
        if other not in self.around(me):
            return Opinion(trusted=False)
        wrong = self.machine.uses_views and not there
        return Opinion(deadline=self.deadline(trusted=True) if wrong else None)

    def deadline(self, *, trusted: bool) -> float:
        """When a detector that has just come to be wrong is right again at the latest."""
        overlooks = trusted and self.model.detector is Detector.INCOMPLETE
        return inf if overlooks else self.model.detection_ticks

    def everybody_learns(self, place: Place, target: NodeId, *, there: bool) -> None:
        """All that are linked to a node get to know that it is there now, or is not."""
        for other in self.ids:
            if place.nodes[other].state is not None and self.joined(place, other, target):
                self.learn(place, other, target, there=there)

    def learn(self, place: Place, me: NodeId, target: NodeId, *, there: bool) -> None:
        trusted, deadline, _ = place.opinions[me, target]
        if not self.machine.uses_views:
            return
        if trusted != there:
            late = self.deadline(trusted=trusted) if deadline is None else deadline
            place.opinions[me, target] = Opinion(trusted, late)
        elif there and deadline is not None and self.model.notices_restarts:
            place.opinions[me, target] = Opinion(trusted, deadline, restarted=True)
        else:
            place.opinions[me, target] = Opinion(trusted)

    def start(self) -> Place:
        budget = {name: getattr(self.model.budget, name) for name in BUDGETS}
        every = product(self.ids, repeat=2)
        opinions = {(a, b): self.first_opinion(a, b, there=True) for a, b in every}
        place = Place({i: Node() for i in self.ids}, [], opinions, budget)
        lives = {me: self.life(me, None) for me in self.ids}
        for me, turns in lives.items():
            for state, effects in turns:
                self.carry_out(place.nodes[me], state, effects)
        for me, turns in lives.items():
            self.post(place, me, [send for _, effects in turns for send in sends(effects)])
        place.memory = tuple(claim.fold.first for claim in self.claims if claim.fold)
        self.remember(place)
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

    def row(self, place: Place) -> Row:
        """What claims see; of what they must ask for, what any of them asks for."""
        wanted = {sight for claim in self.claims for sight in claim.sights}
        nodes = place.nodes.values()
        stables = tuple(node.stable if node.state is None else node.state.stable for node in nodes)
        timers = tuple(frozenset(node.timers) for node in nodes)
        pairs = combinations(sorted(self.ids), 2)
        return Row(
            self.machine.members,
            self.standings(place),
            frozenset(pair for pair in pairs if not self.joined(place, *pair)),
            stables if Sight.STABLES in wanted else (),
            timers if Sight.TIMERS in wanted else (),
            tuple(node.state for node in nodes) if Sight.STATES in wanted else (),
            self.on_the_way(place) if Sight.MESSAGES in wanted else (),
            tuple(self.task(node) for node in nodes) if Sight.TASKS in wanted else (),
        )

    def task(self, node: Node) -> Hashable:
        return None if node.state is None else self.machine.task(node.state)

    def on_the_way(self, place: Place) -> tuple[tuple[NodeId, NodeId, Message], ...]:
        """All messages by receiver and sender: in the order of sending, if channels keep that."""
        sent = [(m.sender, m.to, m.message) for m in place.mail]
        if self.setting.order in (Order.BAG, Order.SET):
            sent.sort(key=lambda each: text_of(each[2]))
        return tuple(
            each for to in self.ids for me in self.ids for each in sent if each[:2] == (me, to)
        )

    def remember(self, place: Place) -> None:
        """Let the claims take in what they see of this place."""
        row, folds = self.row(place), [claim.fold for claim in self.claims if claim.fold]
        pairs = zip(folds, place.memory, strict=True)
        place.memory = tuple(fold.then(memory, row) for fold, memory in pairs)

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
        links, budget = frozenset(place.broken), tuple(place.budget.values())
        parts = (nodes, frozenset(lanes.items()), frozenset(seen.items()), links)
        return *parts, place.memory, budget
