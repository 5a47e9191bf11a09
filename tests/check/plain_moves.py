"""The plain explorer: every move that a place allows, and all places that can be reached."""

from collections.abc import Hashable, Iterator
from itertools import chain, combinations
from typing import NamedTuple

from electorate.check import Detector
from electorate.check.model import BUDGETS
from electorate.claims import Claim, Kind
from electorate.core import Asked, NodeId, Received, Request, TimedOut, Viewed
from electorate.trace import Order, Ties
from tests.check.place import Mail, Node, Opinion, Place
from tests.check.plain import Move, Plain
from tests.check.plain_number import largest, rename

Nodes = tuple[NodeId, ...]


class Reached(NamedTuple):
    """All places, in the order in which they were met, with how far each is and where it leads."""

    places: list[Place]
    depths: list[int]
    edges: list[list[tuple[int, bool]]]
    cut: list[bool]

    @property
    def transitions(self) -> int:
        return sum(map(len, self.edges))


class PlainMoves(Plain):
    """What can happen when."""

    def moves(self, place: Place) -> list[Move]:
        found = [*self.deliveries(place), *self.firings(place), *self.faults(place)]
        found += [*self.opinions(place), *self.requests(place), *self.changes_of_links(place)]
        if self.bounded and not self.blocked(place):
            found.append(("tick", self.ticked(place)))
        return found

    # --- time ---

    def due(self, place: Place) -> list[Mail]:
        """The messages whose bound is used up at a node that could take them."""
        last = self.setting.delay_max
        late = (mail for mail in place.mail if self.prompt and mail.age >= last)
        return [m for m in late if place.nodes[m.to].reacts and self.joined(place, m.sender, m.to)]

    def blocked(self, place: Place) -> bool:
        timers = (
            latest == 0
            for node in place.nodes.values()
            if node.reacts
            for _, latest in node.timers.values()
        )
        corrections = (
            opinion.deadline == 0 and place.nodes[observer].reacts
            for (observer, _), opinion in place.opinions.items()
        )
        debts = (self.debts(node) and node.reacts for node in place.nodes.values())
        return bool(self.due(place)) or any(timers) or any(corrections) or any(debts)

    def ticked(self, place: Place) -> Place:
        after = place.copy()
        if self.prompt:
            after.mail = [*self.aged(place)]
        for node in after.nodes.values():
            node.timers = {t: (max(0, a - 1), max(0, b - 1)) for t, (a, b) in node.timers.items()}
            if node.pulse == "woken":
                node.pulse = "awake"
        for pair, opinion in place.opinions.items():
            if opinion.deadline:
                after.opinions[pair] = opinion._replace(deadline=opinion.deadline - 1)
        return after

    def aged(self, place: Place) -> Iterator[Mail]:
        """The mail one tick later, without what was due where nobody could take it."""
        last = self.setting.delay_max
        for mail in place.mail:
            there = place.nodes[mail.to].state is not None
            if mail.age < last:
                yield mail._replace(age=mail.age + 1)
            elif there and self.joined(place, mail.sender, mail.to):
                yield mail

    # --- events ---

    def ended(self, node: Node) -> str | None:
        """The timer that has ended this node's office without its notice."""
        if not self.bounded or node.state is None:
            return None
        until = self.machine.view(node.state).until
        return until if until is not None and node.timers.get(until, (1, 1))[1] == 0 else None

    def free(self, node: Node) -> bool:
        return node.reacts and self.ended(node) is None

    def heads(self, place: Place) -> Iterator[int]:
        """Where in the mail the messages are that may be next."""
        met: set[Hashable] = set()
        for number, mail in enumerate(place.mail):
            key = mail if self.setting.order is Order.BAG else self.lane(mail)
            old_enough = not self.prompt or mail.age >= self.setting.delay_min
            if key not in met and old_enough:
                yield number
            met.add(key)

    def deliveries(self, place: Place) -> Iterator[Move]:
        for number in self.heads(place):
            sender, to, message, _ = place.mail[number]
            without = place.copy()
            del without.mail[number]
            if self.keeps:
                if self.free(place.nodes[to]):
                    yield from self.take("deliver", place, to, Received(sender, message))
                continue
            if not self.joined(place, sender, to):
                if place.budget["heals"]:
                    yield "cut off", without
                continue
            if place.nodes[to].state is None:
                if place.budget["recoveries"]:
                    yield "nobody there", without
                continue
            if place.budget["losses"]:
                yield "lose", spent(without, "losses")
            if self.free(place.nodes[to]):
                yield from self.take("deliver", without, to, Received(sender, message))
                if place.budget["doubles"]:
                    double = spent(place, "doubles")
                    yield from self.take("double", double, to, Received(sender, message))

    def firings(self, place: Place) -> Iterator[Move]:
        closed = self.setting.ties is Ties.MESSAGES_FIRST
        waits = closed and any(place.nodes[m.to].pulse != "woken" for m in self.due(place))
        for me, node in place.nodes.items():
            for timer, (soonest, _) in node.timers.items():
                ended = self.ended(node)
                if not node.reacts or soonest > 0:
                    continue
                ends = timer == self.machine.view(node.state).until
                allowed = timer == ended if ended else ends or node.pulse == "woken" or not waits
                if allowed:
                    yield from self.take("fire", place, me, TimedOut(timer))

    def opinions(self, place: Place) -> Iterator[Move]:
        if not self.machine.uses_views:
            return
        for me, node in place.nodes.items():
            if not self.free(node):
                continue
            mine = {b: opinion for (a, b), opinion in place.opinions.items() if a == me}
            wrong = [b for b, opinion in mine.items() if opinion.deadline is not None]
            for some in subsets(wrong):
                yield from self.see("view", place, me, some)
            unreliable = self.model.detector is Detector.UNRELIABLE
            if unreliable or place.budget["lies"]:
                for target in self.around(me) - {me, *wrong}:
                    lied = place if unreliable else spent(place, "lies")
                    yield from self.see("lie", lied, me, (target,))

    def see(
        self, kind: str, place: Place, me: NodeId, turned: tuple[NodeId, ...]
    ) -> Iterator[Move]:
        after = place.copy()
        for target in turned:
            trusted, _, restarted = place.opinions[me, target]
            wrong = kind == "lie" or restarted
            late = self.deadline(trusted=not trusted) if wrong else None
            after.opinions[me, target] = Opinion(not trusted, late)
        alive = frozenset(b for (a, b), o in after.opinions.items() if a == me and o.trusted)
        return self.take(kind, after, me, Viewed(alive))

    def debts(self, node: Node) -> tuple[Request, ...]:
        """What the application of a node owes."""
        return () if node.state is None else self.machine.must_ask(self.machine.view(node.state))

    def requests(self, place: Place) -> Iterator[Move]:
        for me, node in place.nodes.items():
            for request in self.debts(node) if self.free(node) else ():
                yield from self.take("answer", place, me, Asked(request))
            standing = self.standing(node)
            if place.budget["asks"] and self.free(node) and standing is not None:
                for request in self.machine.may_ask(standing):
                    yield from self.take("ask", spent(place, "asks"), me, Asked(request))

    def faults(self, place: Place) -> Iterator[Move]:
        for me, node in place.nodes.items():
            after = place.copy()
            if node.state is None:
                if place.budget["recoveries"]:
                    self.rise(after, me)
                    yield from self.take("recover", after, me, None)
                continue
            if place.budget["crashes"] and self.is_mortal(me):
                after.nodes[me].stable = node.state.stable
                self.fall(after, me)
                yield "crash", after
            if node.pulse == "paused":
                after = place.copy()
                after.nodes[me].pulse = "woken" if self.bounded else "awake"
                yield "resume", after
            elif place.budget["pauses"]:
                after = spent(place, "pauses")
                after.nodes[me].pulse = "paused"
                yield "pause", after

    def changes_of_links(self, place: Place) -> Iterator[Move]:
        if place.budget["cuts"]:
            for link in self.links - place.broken:
                yield "cut", self.relinked(place, link, whole=False)
        if place.budget["heals"]:
            for link in place.broken:
                yield "heal", self.relinked(place, link, whole=True)

    # --- the whole search ---

    def reached(self, roots: list[Place], places_max: int) -> Reached | None:
        """All places breadth first, None if there are too many."""
        found = Reached([], [], [], [])
        index: dict[Hashable, int] = {}

        def meet(place: Place, depth: int) -> int:
            number = index.setdefault(self.frozen(place), len(index))
            if number == len(found.places):
                found.places.append(place)
                found.depths.append(depth)
            return number

        for root in roots:
            if self.fits(root) and self.tidy(root):
                meet(root, 0)
        for number, place in enumerate(found.places):
            cuts = self.cuts.total()
            depth = found.depths[number] + 1
            moves = [move for move in self.moves(place) if self.tidy(move[1])]
            for kind, after in moves:
                self.remember(after)
                left = after.budget.items()
                self.spent.update(fault for fault, n in left if n < place.budget[fault])
                self.spent.update(("lies",) if kind == "lie" else ())
            found.edges.append([(meet(after, depth), kind == "tick") for kind, after in moves])
            found.cut.append(self.cuts.total() > cuts)
            if len(found.places) > places_max:
                return None
        return found

    def tidy(self, place: Place) -> bool:
        """Forget what never matters again and rename numbers; False where some are too large."""
        if self.drops:
            self.forget(place)
        if not self.renames:
            return True
        rename(place)
        fits = largest(place, *place.nodes) <= self.model.bounds.counter
        self.cuts["counter"] += not fits
        return fits

    def says_nothing(self, *reached: Reached) -> bool:
        """Whether nobody ever led, or no fault happened of all that might have."""
        views = (self.standings(place) for found in reached for place in found.places)
        led = any(
            view is not None and view.leader == node
            for row in views
            for node, view in zip(self.ids, row, strict=True)
        )
        unreliable = self.model.detector is Detector.UNRELIABLE
        asked = unreliable or any(getattr(self.model.budget, kind) for kind in BUDGETS)
        return not led or (asked and not self.spent)

    def lacking(self, reached: Reached, claim: Claim) -> list[bool]:
        """Of each place, whether the claim is not true of it."""
        folds = [known.fold for known in self.claims if known.fold]

        def holds(place: Place) -> bool:
            remembered = [place.memory[folds.index(claim.fold)]] if claim.fold else []
            return claim.judge(self.row(place), *remembered) is None

        return [not holds(place) for place in reached.places]

    def first_violation(self, reached: Reached, claim: Claim) -> list[int]:
        """How far the nearest violation is, if there is one."""
        if claim.kind is Kind.STEP:
            lengths = self.breaking_moves(reached, claim)
        else:
            pairs = zip(self.lacking(reached, claim), reached.depths, strict=True)
            lengths = (depth for lacks, depth in pairs if lacks)
        return sorted(lengths)[:1]

    def breaking_moves(self, reached: Reached, claim: Claim) -> Iterator[int]:
        """For every move that breaks a claim about two rows, the moves up to and with it."""
        rows = [self.row(place) for place in reached.places]
        for number, edges in enumerate(reached.edges):
            for target, _ in edges:
                if claim.judge(rows[number], rows[target]) is not None:
                    yield reached.depths[number] + 1


def spent(place: Place, kind: str) -> Place:
    after = place.copy()
    after.budget[kind] -= 1
    return after


def subsets(items: list[NodeId]) -> Iterator[Nodes]:
    return chain.from_iterable(combinations(items, n + 1) for n in range(len(items)))
