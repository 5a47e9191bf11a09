"""A swarm: the same scenario under many seeds, on all processors.

The counts do not depend on which worker ran which seed when.
"""

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import NamedTuple

from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.seen import Seen
from electorate.simulate.start import Find

CHUNK = 50
"""Seeds that a worker runs before it reports."""
ALONE_MAX = 200
"""For fewer seeds than this no other process is started: that would take longer than the runs."""


class Seeded(NamedTuple):
    """The result of one seed."""

    seed: int
    broken: dict[str, str]
    """The claims that it broke, with the witnesses' words."""
    deliveries: int
    elected: int | None
    seen: Seen = Seen()


class Swarmed(NamedTuple):
    """The results of all seeds together."""

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
    """The swarms were stopped before their end; the counts so far come with it."""

    def __init__(self, swarms: Sequence[Swarmed], why: str = "interrupted") -> None:
        super().__init__(why)
        self.swarms = swarms

    @property
    def swarmed(self) -> Swarmed:
        """The counts so far of the first swarm, where there is only one."""
        return self.swarms[0]


class Experiments:
    """Experiments that are set up when they are first needed."""

    def __init__(self, subjects: Sequence[Subject], find: Find) -> None:
        self._subjects = subjects
        self._find = find
        self._made: dict[int, Experiment] = {}

    def run(self, task: "Task") -> list[Seeded]:
        """The results of some seeds of one subject."""
        which, seeds = task
        if which not in self._made:
            self._made[which] = Experiment(self._subjects[which], self._find)
        return list(_run_seeds(self._made[which], seeds))


Task = tuple[int, range]
"""Some seeds of a subject."""
_experiments: Experiments | None = None
_given_up = threading.Event()
"""Set in a worker whose results nobody waits for."""
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _set_up(subjects: Sequence[Subject], find: Find, lifeline: Connection) -> None:
    """Prepare a worker; it leaves Ctrl-C to its parent."""
    global _experiments
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
    threading.Thread(target=_hold_on, args=(lifeline,), daemon=True).start()
    _experiments = Experiments(subjects, find)


def _hold_on(lifeline: Connection) -> None:
    """Give up once the parent lets go of the other end, and end if the parent has, however."""
    with suppress(EOFError, OSError):
        lifeline.recv()
    _given_up.set()
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _run_task(task: Task) -> tuple[int, list[Seeded]]:
    assert _experiments is not None
    return task[0], _experiments.run(task)


def _run_seeds(experiment: Experiment, seeds: range) -> Iterator[Seeded]:
    for seed in seeds:
        if _given_up.is_set():
            return
        result = experiment.run(seed)
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
    """Run all seeds; `progress` is told of each chunk. Interrupted has the counts so far."""
    return run_swarms([subject], find, seeds, progress=progress, workers=workers)[0]


def run_swarms(
    subjects: Sequence[Subject],
    find: Find,
    seeds: range,
    *,
    progress: Progress = lambda done: None,
    workers: int | None = None,
) -> list[Swarmed]:
    """The same for several subjects, which share the processors and advance evenly."""
    for subject in subjects:
        Experiment(subject, find)  # What is wrong with the subject is said here, not by a worker.
    done: list[list[Seeded]] = [[] for _ in subjects]

    def report(which: int, chunk: Sequence[Seeded]) -> None:
        done[which].extend(chunk)
        progress(chunk)

    workers = workers or os.cpu_count() or 1
    tasks = ((which, chunk) for chunk in _chunks(seeds) for which in range(len(subjects)))
    try:
        if workers == 1 or len(seeds) * len(subjects) < ALONE_MAX:
            experiments = Experiments(subjects, find)
            for task in tasks:
                report(task[0], experiments.run(task))
        else:
            _run_on_workers(tasks, (subjects, find), report, workers)
    except KeyboardInterrupt:
        raise Interrupted([_counted(each) for each in done]) from None
    except BrokenProcessPool:
        counts = [_counted(each) for each in done]
        raise Interrupted(counts, "a worker was killed, or had no memory left") from None
    return [_counted(each) for each in done]


def _chunks(seeds: range) -> Iterator[range]:
    return (seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK))


def _run_on_workers(
    tasks: Iterator[Task],
    given: tuple[Sequence[Subject], Find],
    report: Callable[[int, Sequence[Seeded]], None],
    workers: int,
) -> None:
    context = get_context("spawn")  # A fork would copy the threads that show the progress.
    lifeline, ours = context.Pipe(duplex=False)
    with lifeline, ours:
        pool = ProcessPoolExecutor(workers, context, _set_up, (*given, lifeline))
        running = set[Future[tuple[int, list[Seeded]]]]()
        try:
            while True:
                while len(running) < 2 * workers and (task := next(tasks, None)) is not None:
                    with _unborn_workers_hear_no_signals():
                        running.add(pool.submit(_run_task, task))
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    report(*future.result())
        finally:
            ours.close()
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _unborn_workers_hear_no_signals() -> Iterator[None]:
    """A worker begins with the signals blocked that are blocked here: Ctrl-C goes to all of us."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
