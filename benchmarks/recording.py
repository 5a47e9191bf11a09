"""What a record costs: `python -m benchmarks.recording`.

Clusters that record and clusters that do not run side by side, in processes of their own, and are
measured over the same slices of time: what else the machine does meets both alike. Of elections
the CPU time of the node that leads them all is measured, in calm; of transactions that of a process
with all three nodes, per transaction, in turns. `--source DIR` adds a cluster that runs another
version of electorate, such as one that knew no records.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.path import free_ports

EXAMPLES = """examples:
  python -m benchmarks.recording                                1, 10 and 100 elections
  python -m benchmarks.recording --elections 100 --slices 20
  python -m benchmarks.recording --source ../before/src         beside a version before records
  python -m benchmarks.recording --json"""

SLICES, SLICE_S, TRANSACTIONS = 40, 1.0, 50
READY_S = 60.0
OFF, ON, OTHER = "off", "on", "other version"


class Row(NamedTuple):
    """What one variant cost, beside the one that records nothing."""

    what: str
    variant: str
    cpu: float
    """Milliseconds of CPU: per second of calm, or per transaction."""
    ratio: float
    """To `off` in the same slices; the median."""
    least: float
    most: float
    """The quartiles of that ratio."""
    quiet: float
    """The ratio of the quietest slices: what else runs on the machine only ever adds."""
    bytes: float
    """Written to the record per second or transaction, by all nodes."""


# --- in the processes that are measured ---


async def lead(told: dict[str, Any]) -> None:
    """Run the node of one cluster that leads all elections, or the other two."""
    import electorate

    places: list[str] = told["places"]
    given = {"record": told["record"]} if told["record"] else {}
    async with AsyncExitStack() as stack:
        for place in told["mine"]:
            others = [each for each in places if each != place]
            data = Path(told["folder"]) / place.partition("@")[0]
            node = electorate.Node(place, others, data, **given)
            await stack.enter_async_context(node)
            if told["leads"]:
                names = [f"election {n}" for n in range(told["elections"])]
                tasks = [asyncio.ensure_future(_serve(node, name)) for name in names]
                for task in tasks:
                    stack.callback(task.cancel)
                while not all(node.election(name).leader.leader for name in names):
                    await asyncio.sleep(0.05)
        await _obey()


async def _serve(node: Any, name: str) -> None:
    async for term in node.election(name).terms():
        async with term:
            await asyncio.sleep(3600)


async def _obey(work: Any = None) -> None:
    """Say the CPU time whenever that is asked for, after so much work."""
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while order := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        began = time.process_time()
        if work is not None:
            await work(int(order))
        print(time.process_time() - (began if work is not None else 0.0), flush=True)


class Nothing:
    """A resource without a database: what is measured is what we do ourselves."""

    isolation = "none"

    def execute(self, tx: str, statement: Any, values: Sequence[Any]) -> Any:
        from electorate.transactions.resource import Answer

        return Answer()

    def prepare(self, tx: str) -> None:
        pass

    commit = abort = forget = prepare

    def open(self) -> None:
        pass

    def known(self) -> frozenset[str]:
        return frozenset()

    def close(self) -> None:
        pass


async def transact(told: dict[str, Any]) -> None:
    """Run all nodes of one cluster, and a client of one of them."""
    from electorate import Aborted, Node

    given = {"record": told["record"]} if told["record"] else {}
    async with AsyncExitStack() as stack:
        nodes = {}
        for name in (place.partition("@")[0] for place in told["places"]):
            database = None if name == "a" else Nothing()
            folder = Path(told["folder"]) / name
            node = Node(name, told["places"], folder, database=database, **given)
            nodes[name] = await stack.enter_async_context(node)

        async def work(count: int) -> None:
            done = 0
            while done < count:
                try:
                    async with nodes["a"].transaction() as tx:
                        await asyncio.gather(*(tx.on(name).execute("work") for name in "bc"))
                    done += 1
                except Aborted:
                    await asyncio.sleep(0.05)

        await work(20)
        await _obey(work)


# --- in the one that measures ---


class Child:
    """A process that is measured."""

    def __init__(self, told: dict[str, Any], source: Path | None, stack: ExitStack) -> None:
        root = Path(__file__).resolve().parents[1]
        path = [str(source)] if source else []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*path, str(root)])}
        words = [sys.executable, "-m", "benchmarks.recording", "--child", json.dumps(told)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(words, text=True, env=environment, **pipes)
        stack.callback(self._end)

    def _end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ready(self) -> None:
        """Wait until it is at work."""
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != "ready":
            raise RuntimeError("a node did not come up")

    def ask(self, order: int = 1) -> float:
        """What it says when it is asked."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


class Variant(NamedTuple):
    """A cluster of which one process is measured."""

    name: str
    child: Child
    record: Path | None

    def recorded(self) -> int:
        """Bytes in the records of all its nodes."""
        files = [] if self.record is None else self.record.glob("*.jsonl")
        return sum(file.stat().st_size for file in files)


@contextmanager
def variants(mode: str, elections: int, source: Path | None) -> Iterator[list[Variant]]:
    """The clusters, all at work."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-")))
        found = []
        for name in (OFF, ON, *((OTHER,) if source else ())):
            places = [f"{n}@127.0.0.1:{port}" for n, port in zip("abc", free_ports(3), strict=True)]
            record = folder / name / "record" if name == ON else None
            told = {
                "mode": mode,
                "places": places,
                "folder": str(folder / name),
                "record": str(record) if record else None,
                "elections": elections,
            }
            path = source if name == OTHER else None
            if mode == "lead":
                others = Child({**told, "mine": places[1:], "leads": False}, path, stack)
                child = Child({**told, "mine": places[:1], "leads": True}, path, stack)
                others.ready()
            else:
                child = Child(told, path, stack)
            child.ready()
            found.append(Variant(name, child, record))
        yield found


def measure(what: str, every: Sequence[Variant], slices: int, work: int | float) -> list[Row]:
    """So many slices: of so many seconds of calm, or of so many transactions in turn."""
    is_calm = isinstance(work, float)
    spent: dict[str, list[float]] = {each.name: [] for each in every}
    before = {each.name: each.child.ask() if is_calm else 0.0 for each in every}
    sizes = {each.name: each.recorded() for each in every}
    for number in range(slices):
        if is_calm:
            time.sleep(work)
        # Whoever comes first in one turn comes last in the next.
        for each in every if number % 2 else reversed(every):
            if is_calm:
                now = each.child.ask()
                spent[each.name].append(now - before[each.name])
                before[each.name] = now
            else:
                spent[each.name].append(each.child.ask(int(work)))
    grown = {each.name: each.recorded() - sizes[each.name] for each in every}
    return [_row(what, each, spent, grown[each.name] / slices / work, work) for each in every]


def _row(
    what: str, variant: Variant, spent: dict[str, list[float]], size: float, work: float
) -> Row:
    pairs = zip(spent[variant.name], spent[OFF], strict=True)
    ratios = sorted(one / two for one, two in pairs)
    quarter = len(ratios) // 4
    least, most = ratios[quarter], ratios[-1 - quarter]
    cpu = 1000 * median(spent[variant.name]) / work
    quiet = _quiet(spent[variant.name]) / _quiet(spent[OFF])
    return Row(what, variant.name, cpu, median(ratios), least, most, quiet, size)


def _quiet(spent: Sequence[float]) -> float:
    """The mean of the quietest fifth."""
    count = max(1, len(spent) // 5)
    return sum(sorted(spent)[:count]) / count


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
    parser.add_argument("--source", type=Path, metavar="DIR", help="the src of another version")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        told = json.loads(options.child)
        asyncio.run(lead(told) if told["mode"] == "lead" else transact(told))
        return 0
    found: list[Row] = []
    for count in filter(None, map(int, options.elections.split(","))):
        with variants("lead", count, options.source) as every:
            what = f"{count} election{'' if count == 1 else 's'}"
            found += _told(options, measure(what, every, options.slices, options.seconds))
    if options.transactions:
        with variants("transact", 0, options.source) as every:
            rows = measure("transactions", every, options.slices, options.transactions)
            found += _told(options, rows)
    if options.json:
        print(json.dumps([row._asdict() for row in found]))
    return 0


def _told(options: argparse.Namespace, rows: Iterable[Row]) -> list[Row]:
    rows = list(rows)
    for row in rows if not options.json else ():
        unit = "tx" if row.what == "transactions" else "s"
        told = f"{row.what:14} {row.variant:14} {row.cpu:8.3f} ms CPU/{unit}"
        if row.variant != OFF:
            told += f"   {row.ratio:.3f} of off (quartiles {row.least:.3f} to {row.most:.3f}), "
            told += f"{row.quiet:.3f} in quiet slices"
        print(told + (f"   {row.bytes:,.0f} bytes/{unit}" if row.bytes else ""), flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
