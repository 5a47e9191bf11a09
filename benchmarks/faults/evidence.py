"""What workers and whoever hurts them write down: the names of the files, and how they are read.

This module and `judge` know nothing of electorate. What they read was written by the workers
themselves, by the clock of the machine and not by the one that a worker may have been shown.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Self

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
TRANSFERS = "transfers.txt"
"""What became of every transfer, as the worker that began it was told."""
OPEN = "open.txt"
"""How many transactions are open at a worker."""
ACCOUNT = "account.db"
JOURNAL = "journal.jsonl"
"""What was done to the workers, and when."""


class Point(NamedTuple):
    """At this time this process was in office, or wrote."""

    at_ns: int
    token: int
    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} ({self.pid}) with token {self.token}"


class Taken(NamedTuple):
    """A write that the fence took."""

    token: int
    name: str
    pid: int

    def __str__(self) -> str:
        return f"token {self.token} of {self.name} ({self.pid})"


class Entry(NamedTuple):
    """A line of the journal: what was done, or has become of somebody, at this time."""

    at_ns: int
    what: str
    said: dict[str, Any]

    @property
    def name(self) -> str:
        """Whom it is about."""
        return str(self.said.get("name", ""))


class Note:
    """A file to which all processes append whole lines."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, *words: object) -> None:
        """One line, in one write: lines of different processes never mix."""
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class Evidence(NamedTuple):
    """All of it of one election, after a run or in the middle of one."""

    points: list[Point]
    unfenced: list[int]
    """The tokens, in the order in which they were written."""
    refused: list[Point]
    taken: list[Taken]
    """What the fence took, in that order."""

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read what is in a folder."""
        unfenced = [point.token for point in read(folder / UNFENCED)]
        refused = list(read(folder / REFUSED))
        return cls(sorted(read(folder / POINTS)), unfenced, refused, list(_taken(folder / FENCE)))

    @property
    def tokens(self) -> int:
        """How many terms have been worked in."""
        return len({point.token for point in self.points})

    @property
    def stale(self) -> int:
        """How many stale writes were taken where nobody looks at tokens."""
        highest, found = 0, 0
        for token in self.unfenced:
            found += token < highest
            highest = max(highest, token)
        return found


def elections(folder: Path) -> dict[str, Evidence]:
    """The evidence of every election of a run."""
    found = sorted(path.parent.name for path in folder.glob(f"*/{POINTS}"))
    return {name: Evidence.of(folder / name) for name in found}


def read(path: Path) -> Iterator[Point]:
    """The whole lines of a file."""
    for line in _lines(path):
        at, token, name, pid, *_ = line.split()
        yield Point(int(at), int(token), name, int(pid))


def journal(folder: Path) -> list[Entry]:
    """What was done to the workers, in the order of time."""
    found = [json.loads(line) for line in _lines(folder / JOURNAL)]
    return sorted((Entry(each.pop("at"), each.pop("what"), each) for each in found), key=_time)


def tail(path: Path, length: int = 4_000) -> list[str]:
    """The last whole lines of a file."""
    if not path.exists():
        return []
    with path.open("rb") as file:
        begin = max(0, path.stat().st_size - length)
        file.seek(begin)
        return file.read().decode().splitlines()[1 if begin else 0 :]


def _time(entry: Entry) -> int:
    return entry.at_ns


def _lines(path: Path) -> Iterable[str]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[: text.rfind("\n") + 1].splitlines()


def _taken(path: Path) -> Iterator[Taken]:
    if path.exists():
        with closing(sqlite3.connect(path, timeout=30)) as database:
            for row in database.execute("select token, name, pid from taken order by n"):
                yield Taken(*row)
