"""The one compiler of moves: what the parts of a row allow, as lists of effects.

An effect says which columns a move sets, which messages it sends, who falls, which link changes,
and what it spends. The reference explorer interprets these lists (check/world.py); the table engine
writes them down as arrays for its kernel (check/table/listing.py). A list depends on nothing but
the codes that it is asked for with, so it is worked out once. What a protocol does with an event is
asked of the board.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from electorate.check.board import Board, Coded, Mail
from electorate.check.model import BUDGETS, Budget
from electorate.check.part import Channel, Item, Local, LocalCard, Pulse
from electorate.check.reduction import Reduction
from electorate.check.turning import Torn
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


class Effect(NamedTuple):
    """What a move does to a row that has the codes its list was asked for with."""

    move: Move
    place: int
    """The node that takes it."""
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


TICKS = Effect(TICK, -1, -1, is_simple=False)
"""Time passes: what that does to a row is looked up column by column."""


class Effects(NamedTuple):
    """What some parts of a row allow."""

    flags: int
    effects: tuple[Effect, ...]


class NodeEffects(NamedTuple):
    """What a node allows, by the order in which moves are made."""

    flags: int = 0
    fires: tuple[Effect, ...] = ()
    answers: tuple[Effect, ...] = ()
    asks: tuple[Effect, ...] = ()
    faults: tuple[Effect, ...] = ()


class _Cause(NamedTuple):
    """What is known of a move before its node has taken the event."""

    move: Move
    place: int
    local: int
    budget: int
    spends: str | None = None
    column: int = -1
    code: int = -1


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


class Compiler:
    """Says what the parts of a row allow."""

    def __init__(self, board: Board, reduction: Reduction | None) -> None:
        self._board = board
        self._reduction = reduction

    def channel(self, column: int, to: int, code: int, local: int, budget: int) -> Effects:
        """Messages are handed over, lost, and handed over twice."""
        board = self._board
        card, node = board.channels.cards[code], board.locals.cards[local]
        left = board.budgets.cards[budget]
        effects: list[Effect] = []
        flags = 0
        if node.awake and card.due:
            flags = BLOCKS if node.woken else BLOCKS | WAITS
        for place in card.deliverable:
            rest = board.channels.code(card.without(place))
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
            deliver, double = Move("deliver", column, place), Move("double", column, place)
            taken = _Cause(deliver, to, local, budget, None, column, rest)
            effects += self._taken(taken, card.value)
            if left.doubles and not card.lasting:
                effects += self._taken(_Cause(double, to, local, budget, "doubles"), card.value)
        if self._reduction is not None and self._reduction.is_ample(column, code, local, left):
            flags |= AMPLE
        return Effects(flags, tuple(effects))

    def severed(self, column: int, to: int, code: int, budget: int) -> Effects:
        """What is on its way over a link that is cut may be gone before the link heals."""
        board = self._board
        if not board.budgets.cards[budget].heals:
            return Effects(0, ())
        card = board.channels.cards[code]
        rests = [(place, board.channels.code(card.without(place))) for place in card.deliverable]
        return Effects(
            0,
            tuple(
                self._effect(Move("lose", column, place), to, budget, column=column, code=rest)
                for place, rest in rests
            ),
        )

    def links(self, cut: int, budget: int) -> Effects:
        """Links are cut, and heal."""
        left = self._board.budgets.cards[budget]
        effects = []
        for number in range(len(self._board.links)):
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
        board = self._board
        node, left = board.locals.cards[local], board.budgets.cards[budget]
        if not node.up:
            if not left.recoveries:
                return NodeEffects()
            recover = _Cause(Move("recover", place), place, local, budget, "recoveries")
            return NodeEffects(faults=tuple(self._taken(recover)))
        faults = self._faults(place, node, left, budget)
        if not node.awake:
            return NodeEffects(faults=faults)
        fires: list[Effect] = []
        for timer in node.ready:
            if node.expired:
                if timer != node.expired:
                    continue
            elif waits and not node.woken and timer not in node.offices:
                continue
            fire = _Cause(Move("fire", place, timer), place, local, budget)
            fires += self._taken(fire)
        answers: list[Effect] = []
        for request in () if node.expired else node.owes:
            answer = _Cause(Move("answer", place, request), place, local, budget)
            answers += self._taken(answer)
        asks: list[Effect] = []
        for request in board.offers(node) if left.asks and not node.expired else ():
            ask = _Cause(Move("ask", place, request), place, local, budget, "asks")
            asks += self._taken(ask)
        flags = BLOCKS if node.due else 0
        return NodeEffects(flags, tuple(fires), tuple(answers), tuple(asks), faults)

    def _faults(self, place: int, node: LocalCard, left: Budget, budget: int) -> tuple[Effect, ...]:
        board, value = self._board, node.value
        effects = []
        if left.crashes and board.model.may_crash(board.ids[place]):
            assert value.state is not None
            down = board.locals.code(Local.down(value.state, board.model.setting.storage))
            effects.append(self._effect(Move("crash", place), place, budget, "crashes", down=down))
        if value.pulse is Pulse.PAUSED:
            resumed = board.resumed(value)
            effects.append(self._effect(Move("resume", place), place, budget, local=resumed))
        elif left.pauses:
            paused = board.locals.code(value._replace(pulse=Pulse.PAUSED))
            pause = Move("pause", place)
            effects.append(self._effect(pause, place, budget, "pauses", local=paused))
        return tuple(effects)

    def view(self, place: int, local: int, watch: int, budget: int) -> Effects:
        """A node's failure detector corrects itself, or lies."""
        board, pool = self._board, self._board.watching.pool
        node, left = board.locals.cards[local], board.budgets.cards[budget]
        if not node.awake or node.expired:
            return Effects(0, ())
        column = board.watch_column + place
        opinions: list[tuple[str, str | None, int]] = [
            ("view", None, code) for code in board.watching.corrections(watch)
        ]
        if left.lies:
            opinions += [("lie", "lies", code) for code in board.watching.lies(watch, place)]
        effects: list[Effect] = []
        for kind, spends, code in opinions:
            alive = pool.cards[code].alive
            cause = _Cause(Move(kind, place, alive), place, local, budget, spends, column, code)
            effects += self._taken(cause)
        return Effects(BLOCKS if pool.cards[watch].overdue else 0, tuple(effects))

    def _taken(self, cause: _Cause, channel: Channel = ()) -> list[Effect]:
        """The effects of an event, or a boot: whole, and torn by a crash in every way."""
        board = self._board
        move, place, local, budget, spends, column, code = cause
        shows = REACTED_FACT
        if spends is not None:
            budget = self._spent(budget, spends)
            shows |= SPENT_FACTS[spends]
        event = event_of(move, channel)
        coded: Coded = board.coded(local, place, event)
        if coded.cut is not None:
            return [Effect(move, place, budget, cut=coded.cut, is_simple=False)]
        before, after = board.locals.cards[local], board.locals.cards[coded.local]
        achieves = after.achieves and not before.achieves
        given: dict[str, Any] = {"column": column, "code": code, "revives": event is None}
        facts = shows | (ACHIEVED_FACT if achieves else 0)
        effects = [
            self._effect(
                move, place, budget, local=coded.local, sends=coded.sends, facts=facts, **given
            )
        ]
        if board.budgets.cards[budget].crashes:
            for torn, down, sends in coded.torn:
                hit = move._replace(torn=torn)
                facts = shows | (TORN_FACT if torn.partial else 0)
                given |= {"sends": sends, "facts": facts}
                effects.append(self._effect(hit, place, budget, "crashes", down=down, **given))
        return effects

    def _effect(
        self,
        move: Move,
        place: int,
        budget: int,
        spends: str | None = None,
        *,
        column: int = -1,
        code: int = -1,
        local: int = -1,
        down: int = -1,
        link: int = -1,
        revives: bool = False,
        sends: tuple[tuple[int, int], ...] = (),
        facts: int = 0,
    ) -> Effect:
        board = self._board
        changes: tuple[tuple[int, int], ...] = ()
        if spends is not None:
            budget = self._spent(budget, spends)
            facts |= SPENT_FACTS[spends]
        changes += ((board.width - 1, budget),)
        if column >= 0:
            changes += ((column, code),)
        if local >= 0:
            changes += ((place, local),)
        is_simple = down < 0 and link < 0 and not revives
        return Effect(
            move,
            place,
            budget,
            column,
            code,
            local,
            down,
            link,
            revives,
            board.mail_of(place, sends),
            facts,
            None,
            changes,
            is_simple,
        )

    def _spent(self, budget: int, kind: str) -> int:
        after = self._board.budgets.cards[budget].spent(kind)
        assert after is not None
        return self._board.budgets.code(after)
