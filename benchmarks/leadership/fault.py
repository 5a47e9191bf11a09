"""Trials: something happens to the leader, and the clock runs until another one leads."""

import random
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

from benchmarks.leadership.cluster import Cluster, Said, Silence, cluster, now_ns
from benchmarks.leadership.contender import Contender, Seat
from benchmarks.leadership.island import Islands, islands, unavailable

PATIENCE_S = 150.0
BEFORE_MENDING_S = 0.5
COLD = "cold"


class Trial(NamedTuple):
    """How long it took, or why it came to nothing."""

    ms: float | None
    trouble: str = ""


def impossible(fault: str) -> str | None:
    """Why this fault cannot be made here; None if it can."""
    return unavailable("ip") if fault == "partition" else None


def trials(contender: Contender, fault: str, nodes: int, count: int) -> Iterator[Trial]:
    """So many trials; all of them with one cluster, but for cold starts."""
    if fault == COLD:
        for _ in range(count):
            yield _cold_start(contender, nodes)
        return
    with ExitStack() as stack:
        islanded = stack.enter_context(islands(nodes)) if fault == "partition" else None
        running = stack.enter_context(_cluster(contender, nodes, islanded))
        begin(running)
        for _ in range(count):
            yield _trial(running, fault, islanded)


def _cluster(
    contender: Contender, nodes: int, islanded: Islands | None
) -> AbstractContextManager[Cluster]:
    if islanded is None:
        return cluster(contender, nodes)
    return cluster(contender, nodes, islanded.host, lambda seat: islanded.prefix(seat.number))


def _cold_start(contender: Contender, nodes: int) -> Trial:
    """From when the first process is started, with empty folders."""
    with cluster(contender, nodes) as fresh:
        begun = now_ns()
        for seat in fresh.seats:
            fresh.start(seat)
        try:
            held = fresh.until(lambda said: said.what == "held", PATIENCE_S)
        except Silence as silence:
            return Trial(None, f"no leader: {silence}")
        return Trial((held.at_ns - begun) / 1e6)


def begin(running: Cluster) -> None:
    """Start all nodes, and wait until they are there and one of them leads."""
    for seat in running.seats:
        running.start(seat)
    missing = set(running.seats)
    while missing or running.leader is None:
        missing.discard(running.until(lambda _: True, PATIENCE_S).seat)
    time.sleep(running.contender.rest_s)


def _trial(running: Cluster, fault: str, islanded: Islands | None) -> Trial:
    # Nodes that act in step would otherwise always be struck at the same moment of their step.
    time.sleep(random.uniform(0, 0.5))
    running.catch_up()
    before = running.leader or running.until(lambda said: said.what == "held", PATIENCE_S)
    struck = before.seat
    begun = now_ns()
    _strike(running, fault, struck, islanded)

    def is_heir(said: Said) -> bool:
        return said.what == "held" and said.seat != struck and said.at_ns > begun

    trial = Trial(None, "no successor")
    try:
        heir = running.until(is_heir, PATIENCE_S)
        trial = Trial((heir.at_ns - begun) / 1e6)
        if heir.about <= before.about:
            trial = Trial(None, f"token {heir.about} after token {before.about}")
    except Silence as silence:
        trial = Trial(None, f"no successor: {silence}")
    _mend(running, fault, struck, islanded)
    return trial


def _strike(running: Cluster, fault: str, leader: Seat, islanded: Islands | None) -> None:
    match fault:
        case "kill":
            running.kill(leader)
        case "stop":
            running.signal(leader, signal.SIGSTOP)
        case "partition":
            assert islanded is not None
            islanded.cut(leader.number)
        case "hand-over":
            heir = random.choice([seat for seat in running.seats if seat != leader])
            running.order(leader, f"hand-over {heir.name}")


def _mend(running: Cluster, fault: str, struck: Seat, islanded: Islands | None) -> None:
    """Undo it, and wait until the cluster is whole again."""
    if fault == "hand-over":
        time.sleep(0.3)
        return
    if fault == "kill":
        running.start(struck)
        running.until(lambda said: said.seat == struck and said.what == "ready", PATIENCE_S)
    else:
        time.sleep(BEFORE_MENDING_S)
        if fault == "stop":
            running.signal(struck, signal.SIGCONT)
        elif islanded is not None:
            islanded.heal()
    time.sleep(running.contender.rest_s)
