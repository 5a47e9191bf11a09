"""Arrays that grow, and hash tables of words, for a compiled kernel to read."""

from typing import Any

import numpy as np

from electorate.check.table.kernel import EMPTY_KEY, UNKNOWN, mix


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
    """A hash table from words to codes, written here and read by the kernel."""

    def __init__(self) -> None:
        self.keys = np.full(1024, EMPTY_KEY, np.uint64)
        self.values = np.full(1024, UNKNOWN, np.int32)
        self.size = 0

    def set(self, key: int, value: int) -> None:
        """Enter a key that is not there yet."""
        if 2 * self.size >= len(self.keys):
            self._grow()
        self._put(np.uint64(key), value)
        self.size += 1

    def __contains__(self, key: int) -> bool:
        return bool(self.keys[self._slot(np.uint64(key))] == np.uint64(key))

    def _slot(self, key: Any) -> int:
        mask = len(self.keys) - 1
        slot = int(mix(key)) & mask
        while self.keys[slot] != EMPTY_KEY and self.keys[slot] != key:
            slot = (slot + 1) & mask
        return slot

    def _put(self, key: Any, value: int) -> None:
        slot = self._slot(key)
        self.keys[slot] = key
        self.values[slot] = value

    def _grow(self) -> None:
        old = [(k, v) for k, v in zip(self.keys, self.values, strict=True) if k != EMPTY_KEY]
        self.keys = np.full(2 * len(self.keys), EMPTY_KEY, np.uint64)
        self.values = np.full(2 * len(self.values), UNKNOWN, np.int32)
        for key, value in old:
            self._put(key, int(value))
