"""The one compiler of moves: what the parts of a row allow, as lists of effects.

An effect says which columns a move sets, which messages it sends, who falls, which link changes,
and what it spends. The reference explorer interprets these lists (check/moves.py); the table engine
writes them down as arrays for its kernel (check/table/tables.py). A list depends on nothing but
the codes that it is asked for with, so it is worked out once. What a protocol does with an event is
asked of check/outcome.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from electorate.check.interned import Channel, Item, Local, LocalCard, Pulse
from electorate.check.model import BUDGETS, Budget
from electorate.check.node_step import Torn
from electorate.check.outcome import Coded, CodedSends
from electorate.check.reduction import Reduction
from electorate.check.space import Mail, StateSpace
from electorate.core import Asked, Event, Received, TimedOut, Viewed

BLOCKS, WAITS, AMPLE = 1, 2, 4
"""Flags of a list: time must wait for it; timers must wait for it; it alone will do."""

ACHIEVED_FACT, TORN_FACT, REACTED_FACT = 1, 2, 4
SPENT_FACTS = {kind: 8 << place for place, kind in enumerate(BUDGETS)}
"""What some move showed to be possible; among it which budgets could be spent."""


REACTIONS = frozenset({"deliver", "double", "fire", "view", "lie", "ask", "answer", "recover"})
"""The moves in which a node takes an event, or boots."""


class Move(NamedTuple):
    """What happens next: its kind, the node or channel column, and what is special about it."""

    kind: str
    where: int = 0
    what: Any = None
    torn: Torn | None = None


TICK = Move("tick")


class MoveEffect(NamedTuple):
    """What a move does to a row that has the codes its list was asked for with."""

    move: Move
    node: int
    """The index of the node that takes it."""
    budget: int
    """What is left of the budget."""
    column: int = -1
    """The column that it changes besides its node's, or -1."""
    code: int = -1
    local: int = -1
    """What becomes of the node, or -1 if it stays as it is or falls."""
    down: int = -1
    """What is left of the node if it falls, or -1."""
    link: int = -1
    """Twice the number of the link that is cut, and one more if it heals; or -1."""
    revives: bool = False
    """Whether its node is down before, and boots."""
    mail: Mail = ()
    facts: int = 0
    cut: str | None = None
    """The bound that cuts the move: it changes nothing."""
    changes: tuple[tuple[int, int], ...] = ()
    """All columns that are set whatever else is in the row, and their codes."""
    is_simple: bool = True
    """Whether that is all, but for the messages."""


TICKS = MoveEffect(TICK, -1, -1, is_simple=False)
"""Time passes: what that does to a row is looked up column by column."""


class Effects(NamedTuple):
    """What some parts of a row allow."""

    flags: int
    effects: tuple[MoveEffect, ...]


class NodeEffects(NamedTuple):
    """What a node allows, by the order in which moves are made."""

    flags: int = 0
    fires: tuple[MoveEffect, ...] = ()
    answers: tuple[MoveEffect, ...] = ()
    asks: tuple[MoveEffect, ...] = ()
    faults: tuple[MoveEffect, ...] = ()


def event_of(move: Move, channel: Sequence[Item] = ()) -> Event | None:
    """The event that a move brings to its node; None for a boot, and for no event at all."""
    match move.kind:
        case "deliver" | "double":
            sender, message, _ = channel[move.what]
            return Received(sender, message)
        case "fire":
            return TimedOut(move.what)
        case "view" | "lie":
            return Viewed(move.what)
        case "ask" | "answer":
            return Asked(move.what)
    return None


def firing(node: LocalCard, *, waits: bool) -> list[str]:
    """The timers of a node that may fire; `waits`: whether timers must wait for messages."""
    if node.expired:
        return [node.expired]
    if waits and not node.woken:
        return [timer for timer in node.ready if timer in node.offices]
    return list(node.ready)


class Compiler:
    """Says what the parts of a row allow."""

    def __init__(self, space: StateSpace, reduction: Reduction | None) -> None:
        self._space = space
        self._reduction = reduction

    def channel(self, column: int, to: int, code: int, local: int, budget: int) -> Effects:
        """Messages are handed over, lost, and handed over twice."""
        space = self._space
        card, node = space.channels.cards[code], space.locals.cards[local]
        left = space.budgets.cards[budget]
        effects: list[MoveEffect] = []
        flags = 0
        if node.awake and card.due:
            flags = BLOCKS if node.woken else BLOCKS | WAITS
        for place in card.deliverable:
            rest = space.channels.code(card.without(place))
            lose = Move("lose", column, place)
            if card.lasting:
                pass  # What is never handed over might as well be lost.
            elif node.up and left.losses:
                effects.append(self._effect(lose, to, budget, "losses", column=column, code=rest))
            elif not node.up and left.recoveries:
                # It arrives where nobody is. Without a next life that makes no difference.
                effects.append(self._effect(lose, to, budget, column=column, code=rest))
            if not node.awake or node.expired:
                continue
            effects += self.handed_over(column, to, code, local, budget, place)
            if left.doubles and not card.lasting:
                double = Move("double", column, place)
                effects += self.taken(double, to, local, budget, "doubles", channel=card.value)
        if self._reduction is not None and self._reduction.is_ample(column, code, local, left):
            flags |= AMPLE
        return Effects(flags, tuple(effects))

    def severed(self, column: int, to: int, code: int, budget: int) -> Effects:
        """What is on its way over a link that is cut may be gone before the link heals."""
        space = self._space
        if not space.budgets.cards[budget].heals:
            return Effects(0, ())
        card = space.channels.cards[code]
        rests = [(place, space.channels.code(card.without(place))) for place in card.deliverable]
        return Effects(
            0,
            tuple(
                self._effect(Move("lose", column, place), to, budget, column=column, code=rest)
                for place, rest in rests
            ),
        )

    def links(self, cut: int, budget: int) -> Effects:
        """Links are cut, and heal."""
        left = self._space.budgets.cards[budget]
        effects = []
        for number in range(len(self._space.columns.links)):
            heals = cut >> number & 1
            kind, spends = ("heal", "heals") if heals else ("cut", "cuts")
            if getattr(left, spends):
                link = 2 * number + heals
                effects.append(self._effect(Move(kind, number), 0, budget, spends, link=link))
        return Effects(0, tuple(effects))

    def node(self, place: int, local: int, waits: bool, budget: int) -> NodeEffects:
        """A node's timers fire, its application asks, it crashes, pauses and comes back.

        `waits`: whether timers must wait for messages.
        """
        space = self._space
        node, left = space.locals.cards[local], space.budgets.cards[budget]
        if not node.up:
            if not left.recoveries:
                return NodeEffects()
            recovers = self.taken(Move("recover", place), place, local, budget, "recoveries")
            return NodeEffects(faults=tuple(recovers))
        faults = self._faults(place, node, left, budget)
        if not node.awake:
            return NodeEffects(faults=faults)
        fires: list[MoveEffect] = []
        for timer in firing(node, waits=waits):
            fires += self.taken(Move("fire", place, timer), place, local, budget)
        answers: list[MoveEffect] = []
        for request in () if node.expired else node.owes:
            answers += self.taken(Move("answer", place, request), place, local, budget)
        asks: list[MoveEffect] = []
        for request in space.outcomes.offers(node) if left.asks and not node.expired else ():
            asks += self.taken(Move("ask", place, request), place, local, budget, "asks")
        flags = BLOCKS if node.due else 0
        return NodeEffects(flags, tuple(fires), tuple(answers), tuple(asks), faults)

    def _faults(
        self, place: int, node: LocalCard, left: Budget, budget: int
    ) -> tuple[MoveEffect, ...]:
        space, value = self._space, node.value
        effects = []
        if left.crashes and space.model.may_crash(space.ids[place]):
            assert value.state is not None
            down = space.locals.code(Local.down(value.state, space.model.setting.storage))
            effects.append(self._effect(Move("crash", place), place, budget, "crashes", down=down))
        if value.pulse is Pulse.PAUSED:
            resumed = space.resumed(value)
            effects.append(self._effect(Move("resume", place), place, budget, local=resumed))
        elif left.pauses:
            paused = space.locals.code(value._replace(pulse=Pulse.PAUSED))
            pause = Move("pause", place)
            effects.append(self._effect(pause, place, budget, "pauses", local=paused))
        return tuple(effects)

    def view(self, place: int, local: int, watch: int, budget: int) -> Effects:
        """A node's failure detector corrects itself, or lies."""
        space, pool = self._space, self._space.detectors.pool
        node, left = space.locals.cards[local], space.budgets.cards[budget]
        if not node.awake or node.expired:
            return Effects(0, ())
        column = space.columns.watch_column + place
        effects: list[MoveEffect] = []
        for code in space.detectors.corrections(watch):
            move = Move("view", place, pool.cards[code].alive)
            effects += self.taken(move, place, local, budget, column=column, code=code)
        for code in space.detectors.lies(watch, place) if left.lies else ():
            move = Move("lie", place, pool.cards[code].alive)
            effects += self.taken(move, place, local, budget, "lies", column=column, code=code)
        return Effects(BLOCKS if pool.cards[watch].overdue else 0, tuple(effects))

    def handed_over(
        self, column: int, to: int, code: int, local: int, budget: int, place: int
    ) -> list[MoveEffect]:
        """The message at a place of a channel is taken by a node that is awake."""
        card = self._space.channels.cards[code]
        rest = self._space.channels.code(card.without(place))
        deliver = Move("deliver", column, place)
        changes: dict[str, Any] = {"column": column, "code": rest, "channel": card.value}
        return self.taken(deliver, to, local, budget, **changes)

    def taken(
        self,
        move: Move,
        place: int,
        local: int,
        budget: int,
        *spends: str,
        column: int = -1,
        code: int = -1,
        channel: Channel = (),
    ) -> list[MoveEffect]:
        """The effects of an event, or a boot: whole, and torn by a crash in every way."""
        space = self._space
        event = event_of(move, channel)
        coded: Coded = space.outcomes.coded(local, place, event)
        if coded.cut is not None:
            return [MoveEffect(move, place, budget, cut=coded.cut, is_simple=False)]
        before, after = space.locals.cards[local], space.locals.cards[coded.local]
        achieves = after.achieves and not before.achieves
        given: dict[str, Any] = {"column": column, "code": code, "revives": event is None}
        given |= {"sends": coded.sends, "facts": REACTED_FACT | achieves * ACHIEVED_FACT}
        effects = [self._effect(move, place, budget, *spends, local=coded.local, **given)]
        if space.budgets.cards[budget].crashes:
            for torn, down, sends in coded.torn:
                hit = move._replace(torn=torn)
                given |= {"sends": sends, "facts": REACTED_FACT | torn.partial * TORN_FACT}
                spent = (*spends, "crashes")
                effects.append(self._effect(hit, place, budget, *spent, down=down, **given))
        return effects

    def _effect(
        self,
        move: Move,
        place: int,
        budget: int,
        *spends: str,
        column: int = -1,
        code: int = -1,
        local: int = -1,
        down: int = -1,
        link: int = -1,
        revives: bool = False,
        sends: CodedSends = (),
        facts: int = 0,
    ) -> MoveEffect:
        space = self._space
        changes: tuple[tuple[int, int], ...] = ()
        left = budget
        for kind in spends:
            left = self._spent(left, kind)
            facts |= SPENT_FACTS[kind]
        if left != budget:
            changes += ((space.columns.width - 1, left),)
        if column >= 0:
            changes += ((column, code),)
        if local >= 0:
            changes += ((place, local),)
        is_simple = down < 0 and link < 0 and not revives
        return MoveEffect(
            move,
            place,
            left,
            column,
            code,
            local,
            down,
            link,
            revives,
            space.mail_of(place, sends),
            facts,
            None,
            changes,
            is_simple,
        )

    def _spent(self, budget: int, kind: str) -> int:
        after = self._space.budgets.cards[budget].spent(kind)
        assert after is not None
        return self._space.budgets.code(after)
