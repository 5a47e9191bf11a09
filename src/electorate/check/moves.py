"""Every move that a row allows, in every order: the lists of check/compiler.py, interpreted."""

from collections.abc import Iterable
from typing import NamedTuple

from electorate.check.column import Row
from electorate.check.compiler import (
    AMPLE,
    BLOCKS,
    REACTIONS,
    TICK,
    TICKS,
    WAITS,
    Compiler,
    Effects,
    Move,
    MoveEffect,
    NodeEffects,
    event_of,
)
from electorate.check.interned import Pulse
from electorate.check.outcome import Coded
from electorate.check.reduction import Reduction, may_reduce
from electorate.check.space import StateSpace
from electorate.trace import Ties

Successor = tuple[Move, Row]
Step = tuple[MoveEffect, Row]
"""A move with all that it does, and the row it leads to."""


class _Nodes(NamedTuple):
    """What all nodes and their failure detectors allow."""

    flags: int
    before: tuple[MoveEffect, ...]
    """The moves that come before that time passes."""
    after: tuple[MoveEffect, ...]


class Moves:
    """All moves of one machine under one model."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        model, setting = space.model, space.model.setting
        may = may_reduce(space.machine, setting.clock, setting.order, space.claims)
        reduces = model.reduced and may and space.renaming is None
        self.reduction = Reduction(space) if reduces else None
        self.compiler = Compiler(space, self.reduction)
        self._columns = space.columns
        self._empty = space.empty
        self._bounded = model.bounded
        self._closed = setting.ties is Ties.MESSAGES_FIRST
        self._lists: dict[tuple[int, int, int, int], Effects] = {}
        """The lists of channels, links and detectors; no two kinds have the same numbers first."""
        self._node_lists: dict[tuple[int, int, bool, int], NodeEffects] = {}
        self._nodes: dict[tuple[Row, Row, int, bool], _Nodes] = {}

    def successors(self, row: Row) -> list[Successor]:
        """Every move that is to be explored from this row, with the row it leads to."""
        return [(effect.move, after) for effect, after in self.steps(row)]

    def unrenamed(self, row: Row) -> list[Successor]:
        """Every move that this row allows, with the row it leads to; no number is renamed."""
        return [(effect.move, after) for effect, after in self._carried_out(row, self.effects(row))]

    def steps(self, row: Row) -> list[Step]:
        """Every move that is to be explored, with all that it does."""
        found = self._ample(row) if self.reduction is not None else None
        if found is None:
            found = self._carried_out(row, self.effects(row))
        space = self.space
        if space.renaming is None:
            return found
        kept: list[Step] = []
        for effect, after in found:
            renamed = space.renaming.normal(after)
            if space.is_too_far(renamed):
                space.cuts["counter"] += 1
            else:
                kept.append((effect, renamed))
        return kept

    def _ample(self, row: Row) -> list[Step] | None:
        """The one move that will do alone, if there is one."""
        space, budget = self.space, row[-1]
        for column, to in self._columns.channels:
            if row[column] == self._empty:
                continue
            listed = self._channel(column, to, row[column], row[to], budget)
            if listed.flags & AMPLE:
                cuts = space.cuts.copy()
                found = self._carried_out(row, listed.effects)
                if found:
                    return found
                space.cuts = cuts  # All moves are made after all, and this cut is counted then.
        return None

    def effects(self, row: Row) -> list[MoveEffect]:
        """What every move does that this row allows, in the order in which they are made."""
        effects: list[MoveEffect] = []
        budget, flags = row[-1], 0
        columns, empty = self._columns, self._empty
        for column, to in columns.channels:
            code = row[column]
            if code == empty:
                continue
            if columns.has_cuts and columns.is_severed(row, column):
                listed = self._severed(column, to, code, budget)
            else:
                listed = self._channel(column, to, code, row[to], budget)
            flags |= listed.flags
            effects += listed.effects
        waits = bool(flags & WAITS) and self._closed
        nodes = self._of_nodes(row, waits)
        effects += nodes.before
        if self._bounded and not (flags | nodes.flags) & BLOCKS:
            effects.append(TICKS)
        effects += nodes.after
        if columns.has_cuts:
            effects += self._links(columns.cut_links(row), budget).effects
        return effects

    def _channel(self, column: int, to: int, code: int, local: int, budget: int) -> Effects:
        key = (column, code, local, budget)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = self.compiler.channel(column, to, code, local, budget)
        return found

    def _severed(self, column: int, to: int, code: int, budget: int) -> Effects:
        key = (column, code, -1, budget)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = self.compiler.severed(column, to, code, budget)
        return found

    def _links(self, cut: int, budget: int) -> Effects:
        key = (-1, cut, -1, budget)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = self.compiler.links(cut, budget)
        return found

    def _of_nodes(self, row: Row, waits: bool) -> _Nodes:
        n, columns = self.space.n, self._columns
        watches = row[columns.watch_column : columns.links_column]
        key = (row[:n], watches, row[-1], waits)
        found = self._nodes.get(key)
        if found is None:
            nodes = [self._node(place, row[place], waits, row[-1]) for place in range(n)]
            views = [self._view(p, row[p], watch, row[-1]) for p, watch in enumerate(watches)]
            flags = 0
            for node in nodes:
                flags |= node.flags
            for view in views:
                flags |= view.flags
            before = (
                [n.fires for n in nodes],
                [n.answers for n in nodes],
                [v.effects for v in views],
            )
            after = ([n.asks for n in nodes], [n.faults for n in nodes])
            found = _Nodes(flags, _joined(before), _joined(after))
            self._nodes[key] = found
        return found

    def _node(self, place: int, local: int, waits: bool, budget: int) -> NodeEffects:
        key = (place, local, waits, budget)
        found = self._node_lists.get(key)
        if found is None:
            found = self._node_lists[key] = self.compiler.node(place, local, waits, budget)
        return found

    def _view(self, place: int, local: int, watch: int, budget: int) -> Effects:
        key = (-2 - place, local, watch, budget)
        found = self._lists.get(key)
        if found is None:
            found = self._lists[key] = self.compiler.view(place, local, watch, budget)
        return found

    def _carried_out(self, row: Row, effects: Iterable[MoveEffect]) -> list[Step]:
        """What effects make of a row; those that a bound cuts are counted and left out."""
        found: list[Step] = []
        space = self.space
        for effect in effects:
            if not effect.is_simple:
                after = self.after(row, effect)
                if after is not None:
                    found.append((effect, after))
                continue
            changed = list(row)
            for column, code in effect.changes:
                changed[column] = code
            if not effect.mail or space.post(changed, effect.mail):
                found.append((effect, tuple(changed)))
        if space.recall is not None:
            return [(effect, space.remembered(after)) for effect, after in found]
        return found

    def after(self, row: Row, effect: MoveEffect) -> Row | None:
        """The row after a move; None if a bound cuts it. Claims remember nothing of it yet."""
        space = self.space
        if effect.move is TICK:
            return space.ticked(row)
        if effect.cut is not None:
            space.cuts[effect.cut] += 1
            return None
        changed = list(row)
        changed[-1] = effect.budget
        if effect.revives:
            space.revive(changed, effect.node)
        for column, code in effect.changes:
            changed[column] = code
        if not space.post(changed, effect.mail):
            return None
        if effect.down >= 0:
            space.fall(changed, effect.node, effect.down)
        if effect.link >= 0:
            space.relink(changed, effect.link >> 1, heals=bool(effect.link & 1))
        return tuple(changed)

    def node_of(self, move: Move) -> int:
        """The node that takes this move."""
        if move.kind in ("deliver", "double", "lose"):
            return dict(self._columns.channels)[move.where]
        if move.kind in ("cut", "heal"):
            return self._columns.links[move.where][0]
        return move.where

    def coded_of(self, row: Row, move: Move) -> Coded | None:
        """What the move's event does to its node; None if it brings no event."""
        if move.kind not in REACTIONS:
            return None
        is_mail = move.kind in ("deliver", "double")
        channel = self.space.channels.cards[row[move.where]].value if is_mail else ()
        place = self.node_of(move)
        return self.space.outcomes.coded(row[place], place, event_of(move, channel))


def _joined(lists: Iterable[Iterable[Iterable[MoveEffect]]]) -> tuple[MoveEffect, ...]:
    return tuple(effect for each in lists for effects in each for effect in effects)


def resumptions(space: StateSpace, row: Row) -> list[tuple[Row, Move]]:
    """The moves that resume whoever is paused, as the stable phase does at its beginning."""
    nodes = (space.locals.cards[code].value for code in row[: space.n])
    paused = (place for place, node in enumerate(nodes) if node.pulse is Pulse.PAUSED)
    return [(row, Move("resume", place)) for place in paused]
