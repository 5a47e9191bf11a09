"""What a record costs: `python -m benchmarks.recording`.

A cluster that records runs in processes of its own. In every other slice of time the recorder of
the process that is measured is taken away: two clusters that do the same differ by how their timers
happen to fall together, far more than by what a record costs. Of elections the CPU time of the node
that leads them all is measured, in calm; of transactions that of a process with all three nodes,
per transaction.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from typing import Any, NamedTuple

from benchmarks.engine import ROOT
from electorate import Aborted, Node
from electorate.cli.supervisor import Supervisor, free_ports
from electorate.runtime.host import Host
from electorate.transactions.resource import Answer, LogMark

EXAMPLES = """examples:
  python -m benchmarks.recording                                1, 10 and 100 elections
  python -m benchmarks.recording --elections 100 --slices 20
  python -m benchmarks.recording --json"""

SLICES, SLICE_S, TRANSACTIONS = 60, 1.0, 50
END_S = 10.0
Work = Callable[[int], Awaitable[None]]


class Row(NamedTuple):
    """What a record cost."""

    what: str
    off: float
    """Milliseconds of CPU without it: per second of calm, or per transaction; the median."""
    on: float
    ratio: float
    """Of both: the median over pairs of slices that follow each other."""
    least: float
    most: float
    """The quartiles of that ratio."""
    noise: float
    """How far two slices without it differ from each other: the same quartiles, of those."""
    bytes: float
    """Written per second or transaction, by all nodes."""


# --- in the process that is measured ---


async def lead(told: dict[str, Any]) -> None:
    """Run the node of a cluster that leads all elections, or the other two."""
    places: list[str] = told["places"]
    async with AsyncExitStack() as stack:
        nodes = []
        for place in told["mine"]:
            others = [each for each in places if each != place]
            folder = Path(told["folder"]) / place.partition("@")[0]
            node = Node(place, others, folder, record=told["record"])
            nodes.append(await stack.enter_async_context(node))
        for name in (f"election {n}" for n in range(told["elections"] if told["leads"] else 0)):
            task = asyncio.ensure_future(_serve(nodes[0], name))
            stack.callback(task.cancel)
            while nodes[0].election(name).leader.leader is None:
                await asyncio.sleep(0.01)
        await _obey(nodes, None)


async def _serve(node: Node, name: str) -> None:
    async for term in node.election(name).terms():
        async with term:
            await asyncio.sleep(3600)


async def transact(told: dict[str, Any]) -> None:
    """Run all nodes of a cluster, and a client of one of them."""
    async with AsyncExitStack() as stack:
        nodes = []
        for name in (place.partition("@")[0] for place in told["places"]):
            database = None if name == "a" else Nothing()
            folder = Path(told["folder"]) / name
            node = Node(name, told["places"], folder, database=database, record=told["record"])
            nodes.append(await stack.enter_async_context(node))

        async def work(count: int) -> None:
            done = 0
            while done < count:
                try:
                    async with nodes[0].transaction() as tx:
                        await asyncio.gather(*(tx.on(name).execute("work") for name in "bc"))
                    done += 1
                except Aborted:
                    await asyncio.sleep(0.05)

        await work(20)
        await _obey(nodes, work)


class Nothing:
    """A resource without a database: what is measured is what we do ourselves."""

    isolation = "none"

    def execute(self, tx: str, statement: Any, values: Sequence[Any]) -> Answer:
        return Answer()

    def prepare(self, tx: str) -> None:
        pass

    commit = abort = forget = prepare

    def open(self) -> None:
        pass

    def known(self) -> frozenset[str]:
        return frozenset()

    prepared = known

    def cancel(self, tx: str) -> None:
        pass

    def missing(self, tx: str) -> list[str]:
        return []

    def belongs(self, mark: LogMark) -> None:
        pass

    def close(self) -> None:
        pass


async def _obey(nodes: list[Node], work: Work | None) -> None:
    """Pass a slice with or without recorders whenever that is asked for; say the CPU time of it."""
    switches = [Switch(node._engine.elections.host) for node in nodes]
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while order := (await loop.run_in_executor(None, sys.stdin.readline)).split():
        recorded, amount = order[0] == "on", float(order[1])
        for node, switch in zip(nodes, switches, strict=True):
            node._engine.do(switch.turn, recorded)
        began = time.process_time()
        await (asyncio.sleep(amount) if work is None else work(int(amount)))
        print(time.process_time() - began, flush=True)


class Switch:
    """Takes the recorder of a host away, and gives it back. What is missed then is a gap."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._recorder = host.recorder
        self._records = {each: each.record for each in host.instances.values()}

    def turn(self, recorded: bool) -> None:
        """From now on it records, or does not."""
        host, recorder = self._host, self._recorder
        host.recorder = recorder if recorded else None
        host.commit.write_down = recorder.flush if recorded and recorder is not None else None
        for instance, record in self._records.items():
            instance.record = record if recorded else None


# --- in the one that measures ---


class Sliced:
    """A process of a cluster that passes slices."""

    def __init__(self, told: dict[str, Any], running: Supervisor[int], number: int) -> None:
        words = [sys.executable, "-m", "benchmarks.recording", "--child", json.dumps(told)]
        self._log = Path(told["folder"]) / f"{number}.log"
        self._said: SimpleQueue[str] = SimpleQueue()
        hear, ended = self._said.put, lambda code: self._said.put(f"ended with {code}")
        self._process = running.start(
            number, words, log=self._log, hear=hear, ended=ended, cwd=ROOT
        )

    def ready(self) -> None:
        """Wait until it is at work."""
        if (said := self._said.get()) != "ready":
            raise RuntimeError(f"a node did not come up: {said}: {self._log.read_text()[-2000:]}")

    def spent(self, recorded: bool, amount: float) -> float:
        """The CPU time of a slice."""
        self._process.order(f"{'on' if recorded else 'off'} {amount}")
        return float(self._said.get())


def measure(what: str, elections: int, slices: int, amount: float) -> Row:
    """One cluster, for so many slices: seconds of calm, or with no elections transactions."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-")))
        places = [f"{n}@127.0.0.1:{port}" for n, port in zip("abc", free_ports(3), strict=True)]
        record = folder / "record"
        told: dict[str, Any] = {"places": places, "folder": str(folder), "record": str(record)}
        told |= {"elections": elections}
        running = stack.enter_context(Supervisor[int](END_S))
        others = []
        if elections:
            others.append(Sliced({**told, "mine": places[1:], "leads": False}, running, 1))
            told |= {"mine": places[:1], "leads": True}
        measured = Sliced(told, running, 0)
        for each in (*others, measured):
            each.ready()
        size = sum(file.stat().st_size for file in record.glob("*.jsonl"))
        # Off, on, on, off: what changes slowly meets both alike.
        spent = [measured.spent(number % 4 in (1, 2), amount) for number in range(slices // 4 * 4)]
        size = sum(file.stat().st_size for file in record.glob("*.jsonl")) - size
    off = [each for number, each in enumerate(spent) if number % 4 in (0, 3)]
    on = [each for number, each in enumerate(spent) if number % 4 in (1, 2)]
    least, ratio, most = _quartiles([one / two for one, two in zip(on, off, strict=True)])
    low, _, high = _quartiles([one / two for one, two in zip(off[1:], off, strict=False)])
    each_ms = 1000 / amount
    per = size / (len(spent) * amount)
    return Row(
        what,
        each_ms * median(off),
        each_ms * median(on),
        ratio,
        least,
        most,
        (high - low) / 2,
        per,
    )


def _quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    return ordered[quarter], median(ordered), ordered[-1 - quarter]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recording",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--elections", default="1,10,100", metavar="N,N", help="1,10,100")
    parser.add_argument("--slices", type=int, default=SLICES, help=f"default {SLICES}")
    parser.add_argument("--seconds", type=float, default=SLICE_S, help=f"per slice; {SLICE_S}")
    parser.add_argument("--transactions", type=int, default=TRANSACTIONS, help="per slice; 0: none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        told = json.loads(options.child)
        asyncio.run(lead(told) if told["elections"] else transact(told))
        return 0
    counts = [int(count) for count in options.elections.split(",") if count]
    runs = [(f"{n} election{'s'[: n > 1]}", n, options.seconds, "s") for n in counts if n]
    if options.transactions:
        runs.append(("transactions", 0, float(options.transactions), "tx"))
    found = []
    for what, elections, amount, unit in runs:
        row = measure(what, elections, options.slices, amount)
        found.append(row._asdict())
        if not options.json:
            print(_told(row, unit), flush=True)
    if options.json:
        print(json.dumps(found))
    return 0


def _told(row: Row, unit: str) -> str:
    return (
        f"{row.what:14} {row.off:7.3f} -> {row.on:7.3f} ms CPU/{unit}: x {row.ratio:.3f} "
        f"(quartiles {row.least:.3f} to {row.most:.3f}, noise {row.noise:.3f})   "
        f"{row.bytes:,.0f} bytes/{unit}"
    )


if __name__ == "__main__":
    sys.exit(main())
