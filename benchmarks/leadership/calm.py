"""Calm: how often the leader changes though nothing fails, while every core is busy."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import cpu_count
from typing import NamedTuple

from benchmarks.leadership.cluster import cluster
from benchmarks.leadership.contender import Contender
from benchmarks.leadership.fault import begin
from electorate.cli.supervisor import Supervisor

BUSY = "while True: pass"


class Calm(NamedTuple):
    """What happened though nothing did."""

    seconds: float
    busy: int
    """Processes that did nothing but use up a core each."""
    changes: int
    """Terms that began."""


@contextmanager
def busy_cores() -> Iterator[int]:
    """Keep all cores busy with Python."""
    count = cpu_count() or 1
    with Supervisor[int]() as running:
        for number in range(count):
            running.start(number, [sys.executable, "-c", BUSY])
        yield count


def calm(contender: Contender, nodes: int, seconds: float) -> Calm:
    """Let a cluster alone for so long, on a machine that is busy."""
    with cluster(contender, nodes) as running:
        begin(running)
        with busy_cores() as busy:
            running.catch_up()
            before = running.terms
            time.sleep(seconds)
            running.catch_up()
            return Calm(seconds, busy, running.terms - before)
