"""Arrays that grow, and hash tables of words, for a compiled kernel to read."""

from typing import Any

import numpy as np

from electorate.check.table.kernel import NOTHING, mix


class Growing:
    """An array whose first axis grows by doubling."""

    def __init__(self, shape: tuple[int, ...], kind: Any, fill: int = 0) -> None:
        self.data = np.full((1024, *shape), fill, kind)
        self._fill = fill
        self.size = 0

    def reserve(self, size: int) -> None:
        """Make room for so many entries."""
        if size > self.data.shape[0]:
            room = max(size, 2 * self.data.shape[0])
            grown = np.full((room, *self.data.shape[1:]), self._fill, self.data.dtype)
            grown[: self.data.shape[0]] = self.data
            self.data = grown

    def append(self, value: Any) -> int:
        """Add an entry; its place."""
        self.reserve(self.size + 1)
        self.data[self.size] = value
        self.size += 1
        return self.size - 1


class WordMap:
    """A hash table from words to words, written here and read by the kernel."""

    def __init__(self) -> None:
        self.slots = np.full((1024, 2), NOTHING, np.uint64)
        self.size = 0

    def set(self, key: int, value: int) -> None:
        """Enter a key that is not there yet."""
        if 2 * self.size >= len(self.slots):
            self._grow()
        self.slots[self._slot(key)] = (key, value)
        self.size += 1

    def __contains__(self, key: int) -> bool:
        return bool(self.slots[self._slot(key), 0] == np.uint64(key))

    def _slot(self, key: int) -> int:
        mask = len(self.slots) - 1
        slot = int(mix(np.uint64(key))) & mask
        while self.slots[slot, 0] != NOTHING and self.slots[slot, 0] != np.uint64(key):
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        old = self.slots[self.slots[:, 0] != NOTHING]
        self.slots = np.full((2 * len(self.slots), 2), NOTHING, np.uint64)
        for key, value in old:
            self.slots[self._slot(int(key))] = (key, value)
