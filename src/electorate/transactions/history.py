"""Whether what committed transactions have seen of each other could have come of one at a time.

Each write names whose version it replaced, and each read whose version it saw; so what must have
come before what is known exactly. It is serializable if nothing had to come before itself: A.
Adya, "Weak Consistency: A Generalized Theory and Optimistic Implementations for Distributed
Transactions", 1999, section 3.2, with one version after the other of each row.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

FIRST = ""
"""The writer of all that was there before the first transaction."""


class DatabaseRow(NamedTuple):
    """A row of a database."""

    database: str
    key: object

    def __str__(self) -> str:
        return f"{self.database} {self.key}"


class Read(NamedTuple):
    """A transaction saw a row as this writer had left it."""

    tx: str
    row: DatabaseRow
    writer: str


class Write(NamedTuple):
    """A transaction wrote a row that it had found as this writer had left it."""

    tx: str
    row: DatabaseRow
    replaced: str


class History:
    """What committed transactions have read and written; each row at most once by each."""

    def __init__(self, reads: Iterable[Read], writes: Iterable[Write]) -> None:
        self.reads = tuple(reads)
        self.writes = tuple(writes)
        self._reasons: dict[tuple[str, str], str] = {}

    def flaws(self) -> list[str]:
        """Why it is not serializable, in sentences; nothing if it is."""
        return self._of_nobody() or self._lost_updates() or self._circle()

    def _of_nobody(self) -> list[str]:
        """Versions that no transaction has committed."""
        known = {(write.tx, write.row) for write in self.writes}
        seen = [(read.tx, read.row, read.writer) for read in self.reads]
        seen += [(write.tx, write.row, write.replaced) for write in self.writes]
        return [
            f"{tx} saw {row} as {writer} left it, which never committed"
            for tx, row, writer in seen
            if writer != FIRST and (writer, row) not in known
        ]

    def _lost_updates(self) -> list[str]:
        counts = Counter((write.row, write.replaced) for write in self.writes)
        return [
            f"{count} transactions replaced the same version of {row}, that of {writer or 'nobody'}"
            for (row, writer), count in counts.items()
            if count > 1
        ]

    def _circle(self) -> list[str]:
        before: dict[str, set[str]] = defaultdict(set)
        heirs = {(write.row, write.replaced): write.tx for write in self.writes}
        for write in self.writes:
            self._note(before, write.replaced, write.tx, f"{write.tx} replaced its {write.row}")
        for read in self.reads:
            self._note(before, read.writer, read.tx, f"{read.tx} read its {read.row}")
            heir = heirs.get((read.row, read.writer))
            if heir is not None:
                why = f"it read {read.row} as it was before {heir} wrote it"
                self._note(before, read.tx, heir, why)
        try:
            tuple(TopologicalSorter(before).static_order())
        except CycleError as error:
            circle: list[str] = error.args[1]
            return [
                f"{one} comes before {two}: {self._reasons[one, two]}"
                for one, two in pairwise(circle)
            ]
        return []

    def _note(self, before: dict[str, set[str]], one: str, two: str, why: str) -> None:
        if one not in (FIRST, two):
            before[two].add(one)
            self._reasons.setdefault((one, two), why)
