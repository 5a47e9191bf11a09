"""The states that a search has met: fingerprints by number, parents, and the rows of a level."""

from typing import Any

import numpy as np

from electorate.check.table.expand import rehash, take_in

LOAD_MAX = 0.75
NOTHING = np.empty(0, np.int64)


class Visited:
    """One owner's share of the states. Numbers count in the order of discovery."""

    def __init__(self, width: int, *, numbered: bool) -> None:
        self.size = 0
        self.marks = np.empty(1024, np.uint64)
        self.parents = np.empty(1024, np.int64)
        self.rows = np.empty((1024, width), np.int32)
        """The rows of the states `kept_from` and later."""
        self.kept_from = 0
        self._numbered = numbered
        self._slots = np.zeros(4096, np.uint64)
        self._slot_numbers = np.zeros(4096 if numbered else 0, np.int64)

    @property
    def slots(self) -> np.ndarray[Any, Any]:
        """The table of fingerprints, for the kernel to look into."""
        return self._slots

    @property
    def bytes(self) -> int:
        """What the states take, beyond the rows of the present level."""
        tables = self._slots.nbytes + self._slot_numbers.nbytes
        return tables + self.marks.nbytes + self.parents.nbytes

    def drop_rows_before(self, number: int) -> None:
        """Keep only the rows from this state on."""
        kept = self.rows[number - self.kept_from : self.size - self.kept_from].copy()
        self.rows, self.kept_from = kept, number

    def take_in(
        self,
        rows: np.ndarray[Any, Any],
        marks: np.ndarray[Any, Any],
        sources: np.ndarray[Any, Any],
        places: np.ndarray[Any, Any] = NOTHING,
    ) -> None:
        """Insert candidates; those that are known already are dropped."""
        self._reserve(len(marks))
        self.size = take_in(
            self._slots,
            self._slot_numbers,
            self.marks,
            self.parents,
            self.rows,
            self.size,
            self.kept_from,
            rows,
            marks,
            sources,
            places,
        )

    def _reserve(self, more: int) -> None:
        needed = self.size + more
        if needed > len(self.marks):
            self.marks = _grown(self.marks, needed)
            self.parents = _grown(self.parents, needed)
        if needed - self.kept_from > len(self.rows):
            self.rows = _grown(self.rows, needed - self.kept_from)
        room = len(self._slots)
        while needed > LOAD_MAX * room:
            room *= 2
        if room > len(self._slots):
            slots = np.zeros(room, np.uint64)
            numbers = np.zeros(room if self._numbered else 0, np.int64)
            rehash(self._slots, self._slot_numbers, slots, numbers)
            self._slots, self._slot_numbers = slots, numbers


def _grown(array: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """The array with room for at least `size` entries."""
    grown = np.empty((max(size, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
