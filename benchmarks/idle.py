"""What nodes cost that do nothing but lead and follow: `python benchmarks/idle.py`.

Counts, for nodes with no election, with one and with many: the processor time from the start of a
process until every election is led, the processor time and the wake-ups of every second after
that. It uses the public interface alone, so that it can be run on other versions too:
`PYTHONPATH=other/src python benchmarks/idle.py`.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import electorate

READY = "ready"
READY_S = 120.0
REST_S = 2.0


class Used(NamedTuple):
    """What the threads of a process have used so far."""

    cpu_ms: float
    wakeups: int

    @classmethod
    def by(cls, pid: int) -> "Used":
        """Read it from the system."""
        cpu_ns = wakeups = 0
        for task in Path(f"/proc/{pid}/task").iterdir():
            cpu_ns += int((task / "schedstat").read_text().split()[0])
            status = (task / "status").read_text()
            wakeups += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
        return cls(cpu_ns / 1e6, wakeups)


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


# --- one node ---


async def be(me: str, folder: str, elections: int, record: str, members: list[str]) -> None:
    """Be a node that stands in so many elections, until the standard input ends."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    more = {"record": record} if record else {}
    async with electorate.Node(me, members, folder, **more) as node:  # type: ignore[arg-type]
        stood = [node.election(f"job-{number}") for number in range(elections)]
        standing = [asyncio.create_task(stand(each)) for each in stood]
        while not all(each.leader.leader for each in stood):
            await asyncio.sleep(0.02)
        print(READY, flush=True)
        await ended.wait()
        for task in standing:
            task.cancel()


async def stand(election: "electorate.Election") -> None:
    """Lead whenever it comes to that."""
    async for term in election.terms():
        async with term:
            await asyncio.sleep(1e9)


# --- all of them ---


@contextmanager
def nodes_of(
    count: int, elections: int, folder: Path, is_recorded: bool
) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that are ready; none is left in the end."""
    names = [f"n{number}" for number in range(count)]
    members = [f"{n}@127.0.0.1:{p}" for n, p in zip(names, free_ports(count), strict=True)]
    record = str(folder / "record") if is_recorded else ""
    running: list[subprocess.Popen[str]] = []
    watchdog = threading.Timer(READY_S, _kill, [running])
    try:
        for name in names:
            given = [name, str(folder / name), str(elections), record, *members]
            words = [sys.executable, "-P", __file__, "--be", *given]
            running.append(
                subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        watchdog.start()
        for process in running:
            line = _pipe(process.stdout).readline()
            if line.strip() != READY:
                raise SystemExit(f"idle: a node was not ready within {READY_S:g} s")
        watchdog.cancel()
        yield running
    finally:
        watchdog.cancel()
        _kill(running)
        for process in running:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                _pipe(pipe).close()


def _kill(processes: "list[subprocess.Popen[str]]") -> None:
    for process in processes:
        process.kill()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


def measured(nodes: int, elections: int, seconds: float, is_recorded: bool) -> dict[str, float]:
    """What a node costs, on the average."""
    with (
        tempfile.TemporaryDirectory(prefix="electorate-idle-") as folder,
        nodes_of(nodes, elections, Path(folder), is_recorded) as running,
    ):
        led = [Used.by(process.pid) for process in running]
        time.sleep(REST_S)
        begun, before = time.monotonic(), [Used.by(process.pid) for process in running]
        time.sleep(seconds)
        took, after = time.monotonic() - begun, [Used.by(process.pid) for process in running]
    cpu_ms = sum(used.cpu_ms for used in after) - sum(used.cpu_ms for used in before)
    wakeups = sum(used.wakeups for used in after) - sum(used.wakeups for used in before)
    return {
        "elections": elections,
        "cpu_ms_until_led": round(sum(used.cpu_ms for used in led) / nodes, 1),
        "cpu_percent": round(cpu_ms / 10 / took / nodes, 3),
        "wakeups_per_s": round(wakeups / took / nodes, 1),
    }


def main() -> None:
    """Measure, and print."""
    if sys.argv[1:2] == ["--be"]:
        me, folder, elections, record, *members = sys.argv[2:]
        asyncio.run(be(me, folder, int(elections), record, members))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3, help="default 3")
    parser.add_argument("--elections", default="0,1,100", metavar="E,E", help="default 0,1,100")
    parser.add_argument("--seconds", type=float, default=10.0, help="of watching each; default 10")
    parser.add_argument("--record", action="store_true", help="have the nodes record it all")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [
        measured(options.nodes, int(elections), options.seconds, options.record)
        for elections in options.elections.split(",")
    ]
    if options.json:
        print(json.dumps({"nodes": options.nodes, "recorded": options.record, "rows": rows}))
        return
    print(f"per node, {options.nodes} nodes{', recorded' if options.record else ''}:")
    for row in rows:
        print(
            f"{row['elections']:4} elections: {row['cpu_ms_until_led']:.0f} ms of CPU until led, "
            f"then {row['cpu_percent']:.2f} % of a core and {row['wakeups_per_s']:.0f} wake-ups/s"
        )


if __name__ == "__main__":
    main()
