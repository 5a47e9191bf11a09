"""What nodes cost that do nothing but have a leader: processor, memory, network."""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.leadership.cluster import Cluster, Said, Silence, cluster
from benchmarks.leadership.contender import Contender, Seat
from benchmarks.leadership.island import LoneIsland, lone_island, unavailable

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
BEGIN_S = 90.0
REPORTS = 5
REPORT_S = 20.0


class Cost(NamedTuple):
    """Per node, on the average; None is what could not be measured."""

    nodes: int
    elections: int
    led_after_s: float
    """From when the first process was started until everything was led."""
    seconds: float
    """For how long it was watched then."""
    cpu_percent: float
    """Of one core."""
    busiest_cpu_percent: float
    """Of the node that uses most."""
    resident_mb: float
    sent_bytes_per_s: float | None
    """Headers and acknowledgements included."""
    changes: int
    """Terms that began meanwhile."""
    trouble: str = ""
    """What was not as it should be."""


def cost(contender: Contender, nodes: int, elections: int, seconds: float) -> Cost:
    """Start so many nodes, and watch them for so long."""
    with ExitStack() as stack:
        island = None
        if unavailable("ip") is None:
            island = stack.enter_context(lone_island())
        prefix = [] if island is None else island.prefix()
        running = stack.enter_context(cluster(contender, nodes, prefix=lambda _: prefix))
        began = time.monotonic()
        trouble = _settle(running, elections)
        led_after_s = time.monotonic() - began
        time.sleep(2 * contender.rest_s)
        found = _watch(running, island, seconds)
        if not trouble:
            trouble = disagreement(running, elections)
        return Cost(nodes, elections, led_after_s, *found, trouble)


def _settle(running: Cluster, elections: int) -> str:
    """Start everybody, and wait until everything is led; what is missing if that does not come."""
    for seat in running.seats:
        running.start(seat)
    missing = set(running.seats)
    deadline = time.monotonic() + BEGIN_S
    try:
        while missing or running.terms < elections:
            said = running.until(lambda _: True, deadline - time.monotonic())
            missing.discard(said.seat)
    except Silence:
        led = f"{running.terms} terms of {elections} elections"
        return f"after {BEGIN_S:g} s {len(missing)} nodes were not ready, and there were {led}"
    return ""


def _watch(
    running: Cluster, island: LoneIsland | None, seconds: float
) -> tuple[float, float, float, float, float | None, int]:
    running.catch_up()
    terms = running.terms
    began, sent = time.monotonic(), island.bytes_sent() if island else 0
    before = [_cpu_s(running, seat) for seat in running.seats]
    time.sleep(seconds)
    after = [_cpu_s(running, seat) for seat in running.seats]
    took = time.monotonic() - began
    used = [100 * (late - early) / took for early, late in zip(before, after, strict=True)]
    rate = (island.bytes_sent() - sent) / took / len(used) if island else None
    resident = sum(_resident(running, seat) for seat in running.seats) / len(used) / 1e6
    running.catch_up()
    return took, sum(used) / len(used), max(used), resident, rate, running.terms - terms


def disagreement(running: Cluster, elections: int) -> str:
    """Whether any election is not led by exactly one node, or not all know by whom."""
    found = ""
    for _ in range(REPORTS):
        try:
            found = _judge(_reports(running), elections)
        except Silence as silence:
            return f"no report: {silence}"
        if not found:
            break
        time.sleep(0.5)
    return found


def _reports(running: Cluster) -> list[Said]:
    """What all nodes say, at one moment as far as that can be had."""
    for seat in running.seats:
        running.order(seat, "report")
    return [running.until(lambda said: said.what == "report", REPORT_S) for _ in running.seats]


def _judge(reports: list[Said], elections: int) -> str:
    holders: dict[str, list[Any]] = {}
    for report in reports:
        for name, token in report.about["held"].items():
            holders.setdefault(name, []).append([report.seat.name, token])
    if any(len(each) > 1 for each in holders.values()):
        return f"{sum(len(each) > 1 for each in holders.values())} elections with two leaders"
    if len(holders) < elections:
        return f"{elections - len(holders)} of {elections} elections without a leader"
    seen = [each for report in reports for each in report.about["seen"].items()]
    wrong = sum([leader] != holders[name] for name, leader in seen)
    return f"{wrong} of {len(seen)} times a node takes another for the leader" if wrong else ""


def _cpu_s(running: Cluster, seat: Seat) -> float:
    def used(pid: int) -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    return sum(map(used, running.processes(seat))) / TICKS_PER_S


def _resident(running: Cluster, seat: Seat) -> int:
    def pages(pid: int) -> int:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])

    return sum(map(pages, running.processes(seat))) * PAGE
