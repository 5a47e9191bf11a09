"""A swarm: the same scenario under many seeds, on all processors.

What is counted does not depend on who ran which seed when.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import NamedTuple

from electorate.simulate.bench import Bench, Subject
from electorate.simulate.seen import Seen
from electorate.simulate.start import Find

CHUNK = 50
"""Seeds that a worker runs before it reports."""
ALONE_MAX = 200
"""For fewer seeds than this no other process is started: that takes longer than they do."""


class Seeded(NamedTuple):
    """What came of one seed."""

    seed: int
    broken: dict[str, str]
    """Claims that it broke, with what the witness says."""
    deliveries: int
    elected: int | None
    seen: Seen = Seen()


class Swarmed(NamedTuple):
    """What came of all seeds together."""

    seeds: int
    broken: dict[str, int]
    """How many seeds broke each claim."""
    first: dict[str, Seeded]
    """The first seed that broke each claim."""
    deliveries: int
    elected: tuple[int, ...]
    """The times that elections took, shortest first."""
    seen: Seen = Seen()

    def quantile(self, share: float) -> int | None:
        """The time within which this share of the elections was over."""
        if not self.elected:
            return None
        return self.elected[min(len(self.elected) - 1, int(share * len(self.elected)))]


class Interrupted(Exception):
    """The swarm was stopped before its end; what was known by then comes with it."""

    def __init__(self, swarmed: Swarmed) -> None:
        super().__init__("interrupted")
        self.swarmed = swarmed


_bench: Bench | None = None


def _set_up(subject: Subject, find: Find) -> None:
    """A worker prepares; it leaves the interrupt key to its parent."""
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bench = Bench(subject, find)


def _run_chunk(seeds: range) -> list[Seeded]:
    assert _bench is not None
    return list(_run_seeds(_bench, seeds))


def _run_seeds(bench: Bench, seeds: range) -> Iterator[Seeded]:
    for seed in seeds:
        result = bench.run(seed)
        broken = {name: found.witness.text for name, found in result.violations.items()}
        yield Seeded(seed, broken, result.deliveries, result.elected, result.seen)


Progress = Callable[[Sequence[Seeded]], None]


def run_swarm(
    subject: Subject,
    find: Find,
    seeds: range,
    *,
    progress: Progress = lambda done: None,
    workers: int | None = None,
) -> Swarmed:
    """Run all seeds; `progress` hears of each chunk. Raises Interrupted with a partial count."""
    Bench(subject, find)  # What is wrong with the subject is said here, not by a worker.
    done: list[Seeded] = []

    def report(chunk: Sequence[Seeded]) -> None:
        done.extend(chunk)
        progress(chunk)

    workers = workers or os.cpu_count() or 1
    try:
        if workers == 1 or len(seeds) < ALONE_MAX:
            bench = Bench(subject, find)
            for chunk in _chunks(seeds):
                report(list(_run_seeds(bench, chunk)))
        else:
            _run_on_workers(subject, find, seeds, report, workers)
    except KeyboardInterrupt:
        raise Interrupted(_counted(done)) from None
    return _counted(done)


def _chunks(seeds: range) -> Iterator[range]:
    return (seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK))


def _run_on_workers(
    subject: Subject, find: Find, seeds: range, report: Progress, workers: int
) -> None:
    context = get_context("spawn")  # A fork would copy the threads of whoever shows the progress.
    pool = ProcessPoolExecutor(workers, context, _set_up, (subject, find))
    chunks, running = _chunks(seeds), set[Future[list[Seeded]]]()
    try:
        while True:
            while len(running) < 2 * workers and (chunk := next(chunks, None)) is not None:
                running.add(pool.submit(_run_chunk, chunk))
            if not running:
                return
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                report(future.result())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _counted(done: list[Seeded]) -> Swarmed:
    done = sorted(done, key=lambda seeded: seeded.seed)
    first: dict[str, Seeded] = {}
    for seeded in done:
        for claim in seeded.broken:
            first.setdefault(claim, seeded)
    elected = sorted(seeded.elected for seeded in done if seeded.elected is not None)
    return Swarmed(
        len(done),
        dict(sorted(Counter(claim for seeded in done for claim in seeded.broken).items())),
        dict(sorted(first.items())),
        sum(seeded.deliveries for seeded in done),
        tuple(elected),
        Seen.joined(seeded.seen for seeded in done),
    )
