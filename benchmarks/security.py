"""What proof and encryption cost: `python -m benchmarks.security`.

Five nodes on this machine lead and follow, and do nothing else; plain, with a secret and with
certificates take turns, so that whatever else the machine does hurts all three alike. Counted are
the processor time of all five while nothing happens, and how long after kill -9 of the leader
another one leads.
"""

import argparse
import asyncio
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import electorate
from benchmarks.idle import Used, free_ports
from electorate.runtime.certificate import Validity, issue, make_ca
from electorate.runtime.credentials import new_secret
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole, Identity
from electorate.runtime.private import write_private_file

KINDS = ("plain", "secret", "tls")
NAMES = ("a", "b", "c", "d", "e")
READY_S = 60.0
REST_S = 2.0


class Turn(NamedTuple):
    """What one kind has cost in one turn."""

    kind: str
    cpu_ms: float
    """Of all nodes together, in the seconds of the turn."""
    wakeups: int
    failover_ms: list[float]


# --- one node ---


async def be(kind: str, folder: Path, me: str, members: list[str]) -> None:
    """Be a node until the standard input ends, and say when it leads, by the clock of all."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    given: dict[str, Any] = {}
    if kind == "secret":
        given["secret"] = folder / "secret"
    elif kind == "tls":
        files = folder / "ca.pem", folder / f"{me}.pem", folder / f"{me}.key"
        given["tls"] = electorate.Tls(*files)
    async with electorate.Node(me, members, folder / me, **given) as node:
        standing = asyncio.create_task(stand(node.election("job")))
        await ended.wait()
        standing.cancel()


async def stand(election: electorate.Election) -> None:
    """Lead whenever it comes to that."""
    async for term in election.terms():
        print(f"leads {time.monotonic()}", flush=True)
        async with term:
            await asyncio.sleep(1e9)


# --- all of them ---


def prepare(kind: str, folder: Path) -> None:
    """Write the secret, or a CA and its certificates."""
    if kind == "secret":
        write_private_file(folder / "secret", new_secret().encode())
    elif kind == "tls":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        validity = Validity.of_days(90)
        ca = make_ca(DEFAULT_CLUSTER, Ed25519PrivateKey.generate(), validity)
        write_private_file(folder / "ca.pem", ca.certificate_pem)
        for name in NAMES:
            own = issue(ca, Identity(DEFAULT_CLUSTER, CertificateRole.MEMBER, name), validity)
            write_private_file(folder / f"{name}.pem", own.certificate_pem)
            write_private_file(folder / f"{name}.key", own.key_pem())


class Fleet:
    """Five processes."""

    def __init__(self, kind: str, folder: Path) -> None:
        prepare(kind, folder)
        self._kind = kind
        self._folder = folder
        ports = free_ports(len(NAMES))
        self._members = [f"{n}@127.0.0.1:{p}" for n, p in zip(NAMES, ports, strict=True)]
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self._led: list[tuple[float, str]] = []
        self._leads = threading.Condition()

    def start(self, name: str) -> None:
        """Start a node, and listen to it."""
        given = [self._kind, str(self._folder), name, *self._members]
        words = [sys.executable, "-m", "benchmarks.security", "--be", *given]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.processes[name] = process
        threading.Thread(target=self._listen, args=(name, process), daemon=True).start()

    def _listen(self, name: str, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self._leads:
                self._led.append((float(line.split()[1]), name))
                self._leads.notify_all()

    def leader(self, after: float) -> tuple[float, str]:
        """Who leads first after this moment, and when."""
        deadline = time.monotonic() + READY_S
        with self._leads:
            while not (found := [each for each in self._led if each[0] > after]):
                if not self._leads.wait(deadline - time.monotonic()):
                    raise SystemExit(f"security: nobody led within {READY_S:g} s")
        return min(found)

    def used(self) -> Used:
        """What all of them have used so far."""
        each = [Used.by(process.pid) for process in self.processes.values()]
        return Used(sum(used.cpu_ms for used in each), sum(used.wakeups for used in each))

    def end(self) -> None:
        """End all of them."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


@contextmanager
def fleet_of(kind: str) -> Iterator[Fleet]:
    """Five nodes that run, and are ended in the end."""
    with tempfile.TemporaryDirectory(prefix="electorate-security-") as folder:
        fleet = Fleet(kind, Path(folder))
        try:
            for name in NAMES:
                fleet.start(name)
            yield fleet
        finally:
            fleet.end()


def take_turn(kind: str, seconds: float, kills: int) -> Turn:
    """Rest for so long, then kill the leader so many times."""
    with fleet_of(kind) as fleet:
        at, name = fleet.leader(0.0)
        time.sleep(REST_S)
        before = fleet.used()
        time.sleep(seconds)
        after = fleet.used()
        took: list[float] = []
        for _ in range(kills):
            killed_at = time.monotonic()
            fleet.processes[name].send_signal(signal.SIGKILL)
            fleet.processes[name].wait()
            at, successor = fleet.leader(killed_at)
            took.append(1000 * (at - killed_at))
            fleet.start(name)
            time.sleep(REST_S)
            name = successor
    return Turn(kind, after.cpu_ms - before.cpu_ms, after.wakeups - before.wakeups, took)


def summary(turns: list[Turn], seconds: float) -> list[dict[str, Any]]:
    """One row for each kind, compared with plain."""
    rows = []
    plain = statistics.mean(turn.cpu_ms for turn in turns if turn.kind == KINDS[0])
    for kind in KINDS:
        own = [turn for turn in turns if turn.kind == kind]
        cpu_ms = statistics.mean(turn.cpu_ms for turn in own)
        failovers = sorted(each for turn in own for each in turn.failover_ms)
        rows.append(
            {
                "kind": kind,
                "turns": len(own),
                "cpu_ms_per_s": round(cpu_ms / seconds, 2),
                "more_percent": round(100 * (cpu_ms / plain - 1), 1),
                "spread_percent": round(
                    100 * statistics.pstdev(turn.cpu_ms for turn in own) / cpu_ms, 1
                ),
                "wakeups_per_s": round(statistics.mean(t.wakeups for t in own) / seconds, 1),
                "kills": len(failovers),
                "failover_ms": round(statistics.median(failovers)) if failovers else None,
                "failover_max_ms": round(failovers[-1]) if failovers else None,
            }
        )
    return rows


def main() -> None:
    """Measure, and print."""
    if sys.argv[1:2] == ["--be"]:
        kind, folder, me, *members = sys.argv[2:]
        asyncio.run(be(kind, Path(folder), me, members))
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=5, help="of each kind; default 5")
    parser.add_argument("--seconds", type=float, default=40.0, help="of each turn; default 40")
    parser.add_argument("--kills", type=int, default=5, help="in each turn; default 5")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    turns: list[Turn] = []
    for number in range(options.turns):
        # None of them always comes first, or after the same one.
        order = KINDS if number % 2 == 0 else tuple(reversed(KINDS))
        for kind in order:
            turns.append(take_turn(kind, options.seconds, options.kills))
            print(f"turn {number + 1}: {turns[-1]}", file=sys.stderr, flush=True)
    rows = summary(turns, options.seconds)
    if options.json:
        print(json.dumps({"seconds": options.seconds, "rows": rows}))
        return
    for row in rows:
        print(
            f"{row['kind']:7} {row['cpu_ms_per_s']:7.2f} ms of CPU a second, all five nodes "
            f"({row['more_percent']:+.1f} %, spread {row['spread_percent']} %); failover "
            f"{row['failover_ms']} ms, at most {row['failover_max_ms']} ms of {row['kills']}"
        )


if __name__ == "__main__":
    main()
