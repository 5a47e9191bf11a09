"""The world as the checker sees it: every move that a row allows, in every order."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from electorate.check.board import Board, Coded
from electorate.check.column import Row
from electorate.check.model import Budget, Model, Normal
from electorate.check.part import Local, LocalCard, Pulse
from electorate.check.reduction import Reduction, may_reduce
from electorate.check.turning import Torn
from electorate.claims import Claim
from electorate.core import Asked, Event, Received, TimedOut, Turns, Viewed
from electorate.trace import Ties


class Move(NamedTuple):
    """What happens next: its kind, the node or channel column, and what is special about it."""

    kind: str
    where: int = 0
    what: Any = None
    torn: Torn | None = None


TICK = Move("tick")
Successor = tuple[Move, Row]
Change = tuple[Row, int, int | None]
"""A row, and the column that an event changes besides its node's, with the new code."""


class World(Board):
    """All moves of one machine under one model."""

    def __init__(self, turns: Turns, model: Model, claims: Sequence[Claim] = ()) -> None:
        super().__init__(turns, model, claims)
        setting = model.setting
        reduces = model.reduced and may_reduce(self.machine, setting.clock, setting.order, claims)
        reduces = reduces and self.renaming is None
        self.reduction = Reduction(self) if reduces else None
        self.normal: Normal | None = None
        """What a search from the normal state began with."""
        self.boot_row: Row | None = None
        """Where runs begin that are told from the first boots, though the setting says normal."""

    def successors(self, row: Row) -> list[Successor]:
        """Every move that is to be explored from this row, with the row it leads to."""
        found = self._reduced(row)
        if self.renaming is None:
            return found
        kept: list[Successor] = []
        for move, after in found:
            renamed = self.renaming.normal(after)
            if self.is_too_far(renamed):
                self.cuts["counter"] += 1
            else:
                kept.append((move, renamed))
        return kept

    def _reduced(self, row: Row) -> list[Successor]:
        """All moves, or one that will do alone; numbers are not renamed yet."""
        if self.reduction is not None:
            alone = self._ample(self.reduction, row)
            if alone is not None:
                return [alone]
        return self.moves(row)

    def _ample(self, reduction: Reduction, row: Row) -> Successor | None:
        """The one move that will do, if there is one."""
        budget = self.budgets.cards[row[-1]]
        for column, to in self.channel_columns:
            if row[column] == self.empty:
                continue
            if reduction.is_ample(column, row[column], row[to], budget):
                channel, cuts = self.channels.cards[row[column]], self.cuts.copy()
                place = channel.deliverable[0]
                rest, item = self.channels.code(channel.without(place)), channel.value[place]
                event, found = Received(item.sender, item.message), list[Successor]()
                self._take(Move("deliver", column, place), event, to, (row, column, rest), found)
                if found:
                    return found[0]
                self.cuts = cuts  # All moves are made after all, and this cut is counted then.
        return None

    def moves(self, row: Row) -> list[Successor]:
        """Every move that this row allows, with the row it leads to."""
        nodes = [self.locals.cards[code] for code in row[: self.n]]
        budget = self.budgets.cards[row[-1]]
        moves: list[Successor] = []
        blocked, waiting = self._deliveries(row, nodes, budget, moves)
        blocked |= self._timers(row, nodes, budget, waiting, moves)
        self._answers(row, nodes, moves)
        if self.machine.uses_views:
            blocked |= self._opinions(row, nodes, budget, moves)
        if self.model.bounded and not blocked:
            moves.append((TICK, self.ticked(row)))
        if budget.asks:
            self._requests(row, nodes, budget, moves)
        self._faults(row, nodes, budget, moves)
        if self.model.has_cuts:
            self._links(row, budget, moves)
        if self.recall is not None:
            return [(move, self.remembered(after)) for move, after in moves]
        return moves

    def _deliveries(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> tuple[bool, bool]:
        """Hand over messages. Says whether one is due, and whether timers must wait for it."""
        blocked = waiting = False
        for column, to in self.channel_columns:
            if row[column] == self.empty:
                continue
            channel = self.channels.cards[row[column]]
            node = nodes[to]
            if self.is_severed(row, column):
                self._lose_severed(row, column, moves)
                continue
            if node.awake and channel.due:
                blocked = True
                waiting |= not node.woken
            for place in channel.deliverable:
                value = channel.value
                rest = self.channels.code(channel.without(place))
                if channel.lasting:
                    pass  # What is never handed over might as well be lost.
                elif node.up and budget.losses:
                    lost = self.with_columns(row, (column, rest), (-1, self.spent(row, "losses")))
                    moves.append((Move("lose", column, place), lost))
                elif not node.up and budget.recoveries:
                    # It arrives where nobody is. Without a next life that makes no difference.
                    lost = self.with_columns(row, (column, rest))
                    moves.append((Move("lose", column, place), lost))
                if not node.awake or node.expired:
                    continue
                event = Received(value[place].sender, value[place].message)
                self._take(Move("deliver", column, place), event, to, (row, column, rest), moves)
                if budget.doubles and not channel.lasting:
                    spent = self.with_columns(row, (-1, self.spent(row, "doubles")))
                    self._take(Move("double", column, place), event, to, (spent, 0, None), moves)
        return blocked, waiting

    def _lose_severed(self, row: Row, column: int, moves: list[Successor]) -> None:
        """What is on its way over a link that is cut may be gone before the link heals."""
        channel = self.channels.cards[row[column]]
        if self.budgets.cards[row[-1]].heals:
            for place in channel.deliverable:
                rest = self.channels.code(channel.without(place))
                moves.append((Move("lose", column, place), self.with_columns(row, (column, rest))))

    def _timers(
        self,
        row: Row,
        nodes: list[LocalCard],
        budget: Budget,
        waiting: bool,
        moves: list[Successor],
    ) -> bool:
        """Fire timers. Says whether one is due."""
        blocked = False
        closed = self.model.setting.ties is Ties.MESSAGES_FIRST
        for place, node in enumerate(nodes):
            if not node.awake:
                continue
            blocked |= node.due
            for timer in node.ready:
                if node.expired:
                    if timer != node.expired:
                        continue
                elif waiting and closed and not node.woken and timer not in node.offices:
                    continue
                event = TimedOut(timer)
                self._take(Move("fire", place, timer), event, place, (row, 0, None), moves)
        return blocked

    def _opinions(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> bool:
        """Let detectors correct themselves, or lie. Says whether a correction is due."""
        blocked = False
        for place, node in enumerate(nodes):
            if not node.awake or node.expired:
                continue
            column = self.watch_column + place
            watch = row[column]
            blocked |= self.watching.pool.cards[watch].overdue
            for code in self.watching.corrections(watch):
                self._see("view", place, (row, column, code), moves)
            if budget.lies:
                spent = self.with_columns(row, (-1, self.spent(row, "lies")))
                for code in self.watching.lies(watch, place):
                    self._see("lie", place, (spent, column, code), moves)
        return blocked

    def _see(
        self, kind: str, place: int, change: tuple[Row, int, int], moves: list[Successor]
    ) -> None:
        alive = self.watching.pool.cards[change[2]].alive
        self._take(Move(kind, place, alive), Viewed(alive), place, change, moves)

    def _answers(self, row: Row, nodes: list[LocalCard], moves: list[Successor]) -> None:
        """Let applications do what they owe; that costs nothing, but time waits for it."""
        for place, node in enumerate(nodes):
            if node.awake and not node.expired:
                for request in node.owes:
                    move = Move("answer", place, request)
                    self._take(move, Asked(request), place, (row, 0, None), moves)

    def _requests(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> None:
        spent = self.with_columns(row, (-1, self.spent(row, "asks")))
        for place, node in enumerate(nodes):
            if node.awake and not node.expired:
                for request in self.offers(node):
                    event = Asked(request)
                    self._take(Move("ask", place, request), event, place, (spent, 0, None), moves)

    def _faults(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> None:
        """Crash, recover, pause and resume nodes."""
        for place, node in enumerate(nodes):
            if not node.up:
                if budget.recoveries:
                    change = (self.revived(row, place), 0, None)
                    self._take(Move("recover", place), None, place, change, moves)
                continue
            if budget.crashes and self.model.may_crash(self.ids[place]):
                state = node.value.state
                assert state is not None
                down = self.locals.code(Local.down(state, self.model.setting.storage))
                moves.append((Move("crash", place), self.fallen(row, place, down)))
            if node.value.pulse is Pulse.PAUSED:
                resumed = self.with_columns(row, (place, self.resumed(node.value)))
                moves.append((Move("resume", place), resumed))
            elif budget.pauses:
                paused = self.locals.code(node.value._replace(pulse=Pulse.PAUSED))
                spent = (-1, self.spent(row, "pauses"))
                moves.append((Move("pause", place), self.with_columns(row, (place, paused), spent)))

    def _links(self, row: Row, budget: Budget, moves: list[Successor]) -> None:
        """Cut and heal links."""
        cut = self.cut_links(row)
        for number in range(len(self.links)):
            if cut >> number & 1:
                if budget.heals:
                    moves.append((Move("heal", number), self.relinked(row, number, "heals")))
            elif budget.cuts:
                moves.append((Move("cut", number), self.relinked(row, number, "cuts")))

    def _take(
        self,
        move: Move,
        event: Event | None,
        place: int,
        change: Change,
        moves: list[Successor],
    ) -> None:
        """Let a node take an event, wholly or torn by a crash; `change` is what else it changes."""
        row, column, code = change
        base = row if code is None else self.with_columns(row, (column, code))
        coded = self.coded(row[place], place, event)
        if coded.cut is not None:
            self.cuts[coded.cut] += 1
            return
        whole = self.sent(self.with_columns(base, (place, coded.local)), place, coded.sends)
        if whole is not None:
            moves.append((move, whole))
        if self.budgets.cards[row[-1]].crashes:
            for torn, down, sends in coded.torn:
                partly = self.sent(base, place, sends)
                if partly is not None:
                    moves.append((move._replace(torn=torn), self.fallen(partly, place, down)))

    def node_of(self, move: Move) -> int:
        """The node that takes this move."""
        if move.kind in ("deliver", "double", "lose"):
            return dict(self.channel_columns)[move.where]
        if move.kind in ("cut", "heal"):
            return self.links[move.where][0]
        return move.where

    def coded_of(self, row: Row, move: Move) -> Coded | None:
        """What the move's event does to its node; None if it brings no event."""
        event: Event | None = None
        match move.kind:
            case "deliver" | "double":
                sender, message, _ = self.channels.cards[row[move.where]].value[move.what]
                event = Received(sender, message)
            case "fire":
                event = TimedOut(move.what)
            case "view" | "lie":
                event = Viewed(move.what)
            case "ask" | "answer":
                event = Asked(move.what)
            case "recover":
                pass
            case _:
                return None
        place = self.node_of(move)
        return self.coded(row[place], place, event)


def resumptions(world: World, row: Row) -> list[tuple[Row, Move]]:
    """The moves that resume whoever is paused, as the stable phase does at its beginning."""
    nodes = (world.locals.cards[code].value for code in row[: world.n])
    paused = (place for place, node in enumerate(nodes) if node.pulse is Pulse.PAUSED)
    return [(row, Move("resume", place)) for place in paused]
