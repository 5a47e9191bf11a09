"""The world as the checker sees it: every move that a row allows, in every order."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from electorate.check.board import Board, Coded
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
from electorate.check.model import Model, Normal
from electorate.check.reduction import Reduction, may_reduce
from electorate.claims import Claim
from electorate.core import Turns
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


class World(Board):
    """All moves of one machine under one model."""

    def __init__(self, turns: Turns, model: Model, claims: Sequence[Claim] = ()) -> None:
        super().__init__(turns, model, claims)
        setting = model.setting
        reduces = model.reduced and may_reduce(self.machine, setting.clock, setting.order, claims)
        reduces = reduces and self.renaming is None
        self.reduction = Reduction(self) if reduces else None
        self.compiler = Compiler(self, self.reduction)
        self._bounded = model.bounded
        self._closed = setting.ties is Ties.MESSAGES_FIRST
        self._lists: dict[tuple[int, int, int, int], Effects] = {}
        """The lists of channels, links and detectors; no two kinds have the same numbers first."""
        self._node_lists: dict[tuple[int, int, bool, int], NodeEffects] = {}
        self._nodes: dict[tuple[Row, Row, int, bool], _Nodes] = {}
        self.normal: Normal | None = None
        """What a search from the normal state began with."""
        self.boot_row: Row | None = None
        """Where runs begin that are told from the first boots, though the setting says normal."""

    def successors(self, row: Row) -> list[Successor]:
        """Every move that is to be explored from this row, with the row it leads to."""
        return [(effect.move, after) for effect, after in self.steps(row)]

    def moves(self, row: Row) -> list[Successor]:
        """Every move that this row allows, with the row it leads to; no number is renamed."""
        return [(effect.move, after) for effect, after in self._carried_out(row, self.effects(row))]

    def steps(self, row: Row) -> list[Step]:
        """Every move that is to be explored, with all that it does."""
        found = self._ample(row) if self.reduction is not None else None
        if found is None:
            found = self._carried_out(row, self.effects(row))
        if self.renaming is None:
            return found
        kept: list[Step] = []
        for effect, after in found:
            renamed = self.renaming.normal(after)
            if self.is_too_far(renamed):
                self.cuts["counter"] += 1
            else:
                kept.append((effect, renamed))
        return kept

    def _ample(self, row: Row) -> list[Step] | None:
        """The one move that will do alone, if there is one."""
        budget = row[-1]
        for column, to in self.channel_columns:
            if row[column] == self.empty:
                continue
            listed = self._channel(column, to, row[column], row[to], budget)
            if listed.flags & AMPLE:
                cuts = self.cuts.copy()
                found = self._carried_out(row, listed.effects)
                if found:
                    return found
                self.cuts = cuts  # All moves are made after all, and this cut is counted then.
        return None

    def effects(self, row: Row) -> list[MoveEffect]:
        """What every move does that this row allows, in the order in which they are made."""
        effects: list[MoveEffect] = []
        budget, flags = row[-1], 0
        empty, has_cuts = self.empty, self.has_cuts
        for column, to in self.channel_columns:
            code = row[column]
            if code == empty:
                continue
            if has_cuts and self.is_severed(row, column):
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
        if has_cuts:
            effects += self._links(self.cut_links(row), budget).effects
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
        watches = row[self.watch_column : self.links_column]
        key = (row[: self.n], watches, row[-1], waits)
        found = self._nodes.get(key)
        if found is None:
            nodes = [self._node(place, row[place], waits, row[-1]) for place in range(self.n)]
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
        for effect in effects:
            if not effect.is_simple:
                after = self.after(row, effect)
                if after is not None:
                    found.append((effect, after))
                continue
            changed = list(row)
            for column, code in effect.changes:
                changed[column] = code
            if not effect.mail or self.post(changed, effect.mail):
                found.append((effect, tuple(changed)))
        if self.recall is not None:
            return [(effect, self.remembered(after)) for effect, after in found]
        return found

    def after(self, row: Row, effect: MoveEffect) -> Row | None:
        """The row after a move; None if a bound cuts it. Claims remember nothing of it yet."""
        if effect.move is TICK:
            return self.ticked(row)
        if effect.cut is not None:
            self.cuts[effect.cut] += 1
            return None
        changed = list(row)
        changed[-1] = effect.budget
        if effect.revives:
            self.revive(changed, effect.place)
        for column, code in effect.changes:
            changed[column] = code
        if not self.post(changed, effect.mail):
            return None
        if effect.down >= 0:
            self.fall(changed, effect.place, effect.down)
        if effect.link >= 0:
            self.relink(changed, effect.link >> 1, heals=bool(effect.link & 1))
        return tuple(changed)

    def node_of(self, move: Move) -> int:
        """The node that takes this move."""
        if move.kind in ("deliver", "double", "lose"):
            return dict(self.channel_columns)[move.where]
        if move.kind in ("cut", "heal"):
            return self.links[move.where][0]
        return move.where

    def coded_of(self, row: Row, move: Move) -> Coded | None:
        """What the move's event does to its node; None if it brings no event."""
        if move.kind not in REACTIONS:
            return None
        is_mail = move.kind in ("deliver", "double")
        channel = self.channels.cards[row[move.where]].value if is_mail else ()
        place = self.node_of(move)
        return self.coded(row[place], place, event_of(move, channel))


def _joined(lists: Iterable[Iterable[Iterable[MoveEffect]]]) -> tuple[MoveEffect, ...]:
    return tuple(effect for each in lists for effects in each for effect in effects)


def resumptions(world: World, row: Row) -> list[tuple[Row, Move]]:
    """The moves that resume whoever is paused, as the stable phase does at its beginning."""
    nodes = (world.locals.cards[code].value for code in row[: world.n])
    paused = (place for place, node in enumerate(nodes) if node.pulse is Pulse.PAUSED)
    return [(row, Move("resume", place)) for place in paused]
