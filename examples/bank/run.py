"""A day at the bank: clients withdraw, processes die, and at the end the books are right."""

import random
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from electorate.cli.error import UsageError
from examples.bank.audit import Books, audit
from examples.bank.crew import Crew, Stuck
from examples.bank.doom import points, step_of
from examples.bank.place import ACCOUNTS, ATM, Kind, Spec
from examples.bank.server import Server

DEATH_S = 30.0
"""How long a process has to come to the point where it is to die."""
IDLE_S = 60.0
"""Some withdrawal must come to its end within this time."""
FILES_MIN = 64
"""So many files and connections a process of the bank may need to have open."""
TIMES = 3
"""It dies when it comes there for the first to the so many-eth time."""
SERVER = "server"


class Plan(msgspec.Struct, frozen=True):
    """What a day at the bank is like."""

    kind: Kind = "sqlite"
    commits: int = 50
    kills: int = 10
    clients: int = 6
    customers: int = 5
    seed: int = 1


class Day(msgspec.Struct, frozen=True):
    """How it went."""

    plan: Plan
    books: Books
    counts: dict[str, int]
    kills: dict[str, int]
    """How often each process died where."""
    steps: dict[int, int]
    """How often somebody died at each numbered step."""
    missed: list[str]
    """Points that a process did not come to in time."""
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether no money was lost or made, and nothing is left over."""
        return not self.books.flaws


def run(plan: Plan, folder: Path, say: Callable[[str], None] = lambda text: None) -> Day:
    """Run it, in real processes."""
    began = time.monotonic()
    expect_files()
    with ExitStack() as stack:
        server = stack.enter_context(Server(*ACCOUNTS)) if plan.kind == "postgres" else None
        spec = _spec(plan, server)
        spec.write(folder)
        spec.set_up(folder)
        crew = Crew(folder, [*ACCOUNTS, ATM])
        with crew:
            kills, missed = _kill(plan, crew, server, say)
            _await_commits(plan, crew, say)
            crew.finish()
        books = audit(spec, folder, crew.reads)
    steps: Counter[int] = Counter()
    for (name, what), count in kills.items():
        if name != SERVER:
            steps[step_of(what)] += count
    told = {f"{name} {what}": count for (name, what), count in sorted(kills.items())}
    seconds = time.monotonic() - began
    return Day(plan, books, dict(crew.counts), told, dict(sorted(steps.items())), missed, seconds)


def expect_files() -> None:
    """UsageError if so few files may be open that its processes could not reach each other."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= allowed < FILES_MIN:
        told = f"a process may have {allowed} files open, and the bank needs {FILES_MIN}"
        raise UsageError(f"{told}: raise the limit (ulimit -n {FILES_MIN})")


def _spec(plan: Plan, server: Server | None) -> Spec:
    names = (*ACCOUNTS, ATM)
    members = dict(zip(names, free_addresses(len(names)), strict=True))
    conninfo = {} if server is None else {name: server.conninfo(name) for name in ACCOUNTS}
    return Spec(plan.kind, members, plan.customers, plan.clients, plan.seed, conninfo)


def _kill(
    plan: Plan, crew: Crew, server: Server | None, say: Callable[[str], None]
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Kill somebody at every point in turn; each next one while the last is still coming back."""
    chance = random.Random(plan.seed)
    places = [*points(), *([(SERVER, "killed")] if server is not None else [])]
    kills: Counter[tuple[str, str]] = Counter()
    missed: list[str] = []
    while kills.total() < plan.kills and len(missed) < plan.kills:
        chance.shuffle(places)
        for name, what in places[: plan.kills - kills.total()]:
            if server is not None and name == SERVER:
                server.kill()
                server.start()
            else:
                crew.doom(name, what, chance.randint(1, TIMES))
                if not crew.await_death(name, DEATH_S):
                    missed.append(f"{name} {what}")
                    continue
                crew.bury(name)
                crew.start(name)
            kills[name, what] += 1
            say(f"{kills.total()} killed: {name} at {what!r}")
    return kills, missed


def _await_commits(plan: Plan, crew: Crew, say: Callable[[str], None]) -> None:
    before = -1
    last, until = -1, 0.0
    while crew.counts["committed"] < plan.commits:
        crew.listen()
        crew.notice_ends()
        if last != (last := crew.counts["committed"]):
            until = time.monotonic() + IDLE_S
        if time.monotonic() > until:
            why = crew.why or "no reason was told"
            raise Stuck(f"no withdrawal came to its end within {IDLE_S:g} s: {why}")
        if crew.counts["committed"] // 100 != before:
            before = crew.counts["committed"] // 100
            say(f"{crew.counts['committed']} committed")
        time.sleep(0.02)


def free_addresses(count: int) -> list[str]:
    """Addresses on loopback, below the ports that systems hand out to whoever connects."""
    host, found = _own_host(), list[str]()
    with ExitStack() as held:
        for port in random.sample(range(20_000, 32_000), 200):
            probe = held.enter_context(socket.socket())
            try:
                probe.bind((host, port))
            except OSError:
                continue
            found.append(f"{host}:{port}")
            if len(found) == count:
                return found
    raise OSError("no free ports on loopback")


def _own_host() -> str:
    """Of the many hosts that loopback has on Linux one for this bank alone; elsewhere the only one.

    What is free now may be taken by another bank before the processes of this one are there.
    """
    host = ".".join(["127", *(str(random.randint(1, 254)) for _ in range(3))])
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return "127.0.0.1"
    return host
