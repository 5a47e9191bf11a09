"""The lists of effects (check/compiler.py), written down as arrays for the kernel."""

from typing import Any, NamedTuple

import numpy as np

from electorate.check.compiler import Effects, MoveEffect
from electorate.check.table.array import Growing, WordMap
from electorate.check.table.kernel import (
    BUDGET_BITS,
    BUDGETS_MAX,
    CHANNEL,
    CODE_BITS,
    CODES_MAX,
    EFFECT_WIDTH,
    NODE,
    PLACES_MAX,
    SEVERED,
    VIEW,
    WHERE,
    word,
)
from electorate.check.world import World

CUT_KINDS = ("firings", "counter", "capacity")


class _Before(NamedTuple):
    """What the key of a list says of the columns that its effects change."""

    local: int
    code: int
    budget: int


class Listing:
    """All lists of one world, filled one by one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.lists = WordMap()
        self.effects = Growing((EFFECT_WIDTH,), np.int32)
        self.deltas = Growing((), np.uint64)
        self.sends = Growing((2,), np.int32)
        self._before = _Before(-1, -1, -1)

    @property
    def bytes(self) -> int:
        """What the lists take."""
        growing = (self.effects, self.deltas, self.sends)
        return self.lists.slots.nbytes + sum(each.data.nbytes for each in growing)

    def fill(self, kind: int, key: int) -> None:
        """Work out the list of effects under a key."""
        if key in self.lists:
            return
        where, budget = key >> WHERE & (PLACES_MAX - 1), key & (BUDGETS_MAX - 1)
        first = key >> (CODE_BITS + BUDGET_BITS) & (CODES_MAX - 1)
        second = key >> BUDGET_BITS & (CODES_MAX - 1)
        start = self.effects.size
        self._before, listed = self._listed(kind, where, first, second, budget)
        for effect in listed.effects:
            self._add(effect)
        self.lists.set(key, start << 32 | len(listed.effects) << 8 | listed.flags)

    def _listed(
        self, kind: int, where: int, first: int, second: int, budget: int
    ) -> tuple[_Before, Effects]:
        world, compiler = self.world, self.world.compiler
        if kind == CHANNEL:
            column, to = world.channel_columns[where]
            listed = compiler.channel(column, to, first, second, budget)
            return _Before(second, first, budget), listed
        if kind == SEVERED:
            column, to = world.channel_columns[where]
            return _Before(second, first, budget), compiler.severed(column, to, first, budget)
        if kind == NODE:
            node = compiler.node(where, first, bool(second), budget)
            effects = (*node.fires, *node.answers, *node.asks, *node.faults)
            return _Before(first, -1, budget), Effects(node.flags, effects)
        if kind == VIEW:
            return _Before(first, second, budget), compiler.view(where, first, second, budget)
        return _Before(-1, -1, budget), compiler.links(first << CODE_BITS | second, budget)

    def _add(self, effect: MoveEffect) -> None:
        first = self.sends.size
        for to, _, items in effect.mail:
            self.sends.append((to, items))
        last = self.sends.size
        self.effects.append(
            (
                effect.column,
                effect.code,
                effect.place,
                effect.local,
                first,
                last,
                effect.down,
                effect.budget,
                effect.revives,
                effect.link,
                effect.is_simple,
                effect.facts,
                -1 if effect.cut is None else CUT_KINDS.index(effect.cut),
            )
        )
        delta = self._delta(self.world.width - 1, self._before.budget, effect.budget)
        if effect.local >= 0:
            delta ^= self._delta(effect.place, self._before.local, effect.local)
        if effect.column >= 0:
            delta ^= self._delta(effect.column, self._before.code, effect.code)
        self.deltas.append(delta)

    @staticmethod
    def _delta(column: int, old: int, new: int) -> Any:
        """What a change of one column changes of a fingerprint."""
        return word(column, old) ^ word(column, new)
