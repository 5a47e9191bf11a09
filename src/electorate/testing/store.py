"""What survives a crash, in memory."""

import random
from collections.abc import Mapping


class MemoryStore:
    """Keeps what a node has saved from one life to the next, as a file does."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.wipe()

    def wipe(self) -> None:
        """Be a new disk: nothing is on it, and the others can tell."""
        self.identity = f"{self._chance.getrandbits(128):032x}"
        self.incarnation = 0
        self._records: dict[str, bytes] = {}

    def begin_life(self) -> int:
        """No two lives share a number."""
        self.incarnation += 1
        return self.incarnation

    def load(self, instance: str) -> bytes | None:
        """What was saved last under this name."""
        return self._records.get(instance)

    def save(self, records: Mapping[str, bytes | None]) -> None:
        """Keep these records; None is none any more."""
        for name, record in records.items():
            if record is None:
                self._records.pop(name, None)
            else:
                self._records[name] = record

    def close(self) -> None:
        """There is nothing to let go of."""

    def names(self) -> list[str]:
        """Everything under which something is saved."""
        return list(self._records)
