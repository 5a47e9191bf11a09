"""What the processes wrote down, and what it proves."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

JOB, SPARE, TEAM = "job", "spare", "team"
"""Two elections by quorum, each with a folder for its evidence, and one in groups."""
POINTS = "points.txt"
"""When somebody was in office."""
UNFENCED = "unfenced.txt"
"""What was written to where nobody looks at tokens."""
REFUSED = "refused.txt"
"""What the fence has refused."""
FENCE = "fence.db"
GROUPS = "groups.txt"
"""Who led which group, and when."""
ANSWERS = "answers.txt"
"""What came of the orders that workers were given."""

SHOWN_MAX = 5


class Point(NamedTuple):
    """At this time this process was in office, or wrote."""

    at_ns: int
    token: int
    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} ({self.pid}) with token {self.token}"


class Evidence(NamedTuple):
    """All of it of one election, after a run or in the middle of one."""

    points: Sequence[Point]
    unfenced: Sequence[int]
    """The tokens, in the order in which they were written."""
    refused: Sequence[int]
    taken: Sequence[int]
    """The tokens that the fence took, in that order."""

    @classmethod
    def of(cls, folder: Path) -> "Evidence":
        """Read what is in a folder."""
        unfenced = [point.token for point in read(folder / UNFENCED)]
        refused = [point.token for point in read(folder / REFUSED)]
        return cls(list(read(folder / POINTS)), unfenced, refused, list(_taken(folder / FENCE)))

    @property
    def terms(self) -> int:
        """How many terms have been worked in."""
        return len({point.token for point in self.points})

    @property
    def stale(self) -> int:
        """How many stale writes were taken where nobody looks at tokens."""
        highest = accumulate(self.unfenced, max)
        return sum(token < most for token, most in zip(self.unfenced, highest, strict=True))

    def violations(self) -> list[str]:
        """What must not be; empty if terms exclude each other and the fence holds."""
        return [*self._shared(), *self._overlaps(), *self._leaks()]

    def doubts(self) -> list[str]:
        """Why it proves less than it should, though nothing is wrong."""
        found = []
        if self.terms < 2:
            found.append("nobody ever took over")
        if not self.refused:
            found.append("no stale write was tried, so the fence had nothing to do")
        if not self.stale:
            found.append("no stale write was taken without a fence")
        return found

    def _shared(self) -> Iterator[str]:
        owners: dict[int, Point] = {}
        for point in self.points:
            owner = owners.setdefault(point.token, point)
            if owner.pid != point.pid:
                owners[point.token] = point
                yield f"{owner} and {point} have the same token"

    def _overlaps(self) -> Iterator[str]:
        """Points of different tokens, in the order of time, must be in the order of tokens."""
        for one, other in pairwise(sorted(self.points)):
            same_time = one.at_ns == other.at_ns and one.token != other.token
            if other.token < one.token or same_time:
                later_ms = (other.at_ns - one.at_ns) / 1e6
                yield f"{other} was in office {later_ms:.1f} ms after {one} was"

    def _leaks(self) -> Iterator[str]:
        for one, other in pairwise(self.taken):
            if other < one:
                yield f"the fence took token {other} after {one}"


def read(path: Path) -> Iterator[Point]:
    """The whole lines of a file."""
    lines = path.read_text().splitlines() if path.exists() else []
    for line in lines:
        at, token, name, pid = line.split()
        yield Point(int(at), int(token), name, int(pid))


def _taken(path: Path) -> Iterator[int]:
    if path.exists():
        with closing(sqlite3.connect(path, timeout=30)) as database:
            for (token,) in database.execute("select token from taken order by n"):
                yield token
