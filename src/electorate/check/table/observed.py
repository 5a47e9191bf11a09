"""The observations that were judged: of many rows, those that show a new one are found fast."""

from typing import Any

import numpy as np

from electorate.check.table.kernel import Layout, compiled, inlined, observation, word
from electorate.check.table.visited import rehash, slot_of

Array = np.ndarray[Any, Any]


@inlined
def observation_of(layout: Layout, sights: Any, rows: Any, at: Any) -> Any:
    """One word for all that claims go by."""
    total = observation(layout, sights, rows, at)
    if layout.memory >= 0:
        total ^= word(layout.memory, rows[at, layout.memory])
    return total


@compiled
def find_new(
    layout: Layout, sights: Any, rows: Any, first: Any, slots: Any, room: Any, found: Any
) -> Any:
    """Enter new observations; how many rows were looked at, and how many of them were entered."""
    count = 0
    for place in range(first, rows.shape[0]):
        if count == room:
            return place, count
        key = observation_of(layout, sights, rows, place)
        slot = slot_of(slots, 0, key)
        if slots[0, slot] == np.uint64(0):
            slots[0, slot] = key
            found[count] = place
            count += 1
    return rows.shape[0], count


@compiled
def observation_at(layout: Layout, sights: Any, rows: Any, at: Any) -> Any:
    """One word for all that claims go by in one row."""
    return observation_of(layout, sights, rows, at)


@compiled
def find_slot(slots: Any, key: Any) -> Any:
    """Where an observation stands."""
    return slot_of(slots, 0, key)


@compiled
def values_of(layout: Layout, sights: Any, rows: Any, slots: Any, values: Any, out: Any) -> None:
    """The value of each row's observation."""
    for place in range(rows.shape[0]):
        out[place] = values[slot_of(slots, 0, observation_of(layout, sights, rows, place))]


class JudgedObservations:
    """A set of observations, each with a value."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._slots = np.zeros((1, 4096), np.uint64)
        self._values = np.zeros(4096, np.int32)
        self._size = 0

    def new_among(self, rows: Array, sights: Array) -> list[int]:
        """The places of rows that show an observation which was not in the set; now it is."""
        places: list[int] = []
        first = 0
        while first < len(rows):
            room = self._slots.shape[1] // 2 - self._size
            if room < 1024:
                grown = np.zeros((1, 2 * self._slots.shape[1]), np.uint64)
                values = np.zeros(grown.shape[1], np.int32)
                rehash(self._slots, self._values, grown, values, 0)
                self._slots, self._values = grown, values
                continue
            found = np.empty(room, np.int64)
            first, count = find_new(self._layout, sights, rows, first, self._slots, room, found)
            places += map(int, found[:count])
            self._size += count
        return places

    def set(self, rows: Array, place: int, sights: Array, value: int) -> None:
        """Give the observation of a row, which is in the set, a value."""
        key = int(observation_at(self._layout, sights, rows, place))
        self._values[int(find_slot(self._slots, np.uint64(key)))] = value

    def values(self, rows: Array, sights: Array) -> Array:
        """The value of each row's observation."""
        out = np.empty(len(rows), np.int32)
        values_of(self._layout, sights, rows, self._slots, self._values, out)
        return out
