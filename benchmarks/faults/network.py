"""The namespaces of nodes, and the relay between them that whoever hurts the nodes commands."""

import json
import os
import queue
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.engine import ROOT
from benchmarks.faults.relay import DEVICE, Shape
from benchmarks.leadership.island import NAME, remove_leftovers, run, unavailable
from electorate.cli.supervisor import Supervisor

NETWORK = "10.213.78"
ANSWER_S = 10.0

Way = tuple[int, int]


def why_no_network() -> str | None:
    """Why no network can be made here; None if one can."""
    if not Path("/dev/net/tun").exists():
        return "no /dev/net/tun: modprobe tun"
    return unavailable("ip")


class RelayedNetwork:
    """So many namespaces, each with an address, and one relay between all of them."""

    def __init__(self, size: int, seed: int = 0) -> None:
        self.size = size
        self._seed = seed
        self._hosts = [f"{NETWORK}.{number + 1}" for number in range(size)]
        self._processes = Supervisor[str]()
        self._said: queue.Queue[str] = queue.Queue()
        self._orders = count(1)

    @property
    def pid(self) -> int:
        """The process of the relay."""
        return self._processes["relay"].pid

    def host(self, number: int) -> str:
        """The address of a node."""
        return self._hosts[number]

    def prefix(self, number: int) -> list[str]:
        """What to put before a command, so that it runs there; it keeps its process id."""
        return ["ip", "netns", "exec", self._namespace(number)]

    def become(self, lost: Collection[Way], shaped: Mapping[Way, Shape]) -> None:
        """Lose what goes these ways, and shape what goes those; returns once that is so."""
        number = next(self._orders)
        shapes = [[*way, shape._asdict()] for way, shape in shaped.items()]
        told = {"order": number, "lost": [list(way) for way in lost], "shaped": shapes}
        self._processes["relay"].order(json.dumps(told))
        self._await(str(number))

    def make(self, twin: int | None = None) -> None:
        """Make it. With `twin` the last namespace has the address of that one, too."""
        if twin is not None:
            self._hosts[-1] = self._hosts[twin]
        remove_leftovers()
        for number, host in enumerate(self._hosts):
            name = self._namespace(number)
            run("ip", "netns", "add", name)
            lines = (
                f"tuntap add dev {DEVICE} mode tun",
                f"address add {host}/24 dev {DEVICE}",
                f"link set {DEVICE} up",
                "link set lo up",
            )
            for line in lines:
                run("ip", "-n", name, *line.split())
        pairs = [f"{self._namespace(at)}={host}" for at, host in enumerate(self._hosts)]
        words = [sys.executable, "-m", "benchmarks.faults.relay", *pairs]
        paths = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        env = {**os.environ, "PYTHONPATH": paths, "FAULTS_SEED": str(self._seed)}
        self._processes.start("relay", words, hear=self._said.put, cwd=ROOT, env=env)
        self._await("ready")

    def remove(self) -> None:
        """Remove whatever there is of it."""
        self._processes.stop()
        for number in range(self.size):
            run("ip", "netns", "del", self._namespace(number), may_fail=True)

    def _namespace(self, number: int) -> str:
        return f"{NAME}-{os.getpid()}-relayed-{number}"

    def _await(self, word: str) -> None:
        while True:
            try:
                if self._said.get(timeout=ANSWER_S) == word:
                    return
            except queue.Empty:
                raise OSError(f"the relay has not said {word!r} for {ANSWER_S:.0f} s") from None


@contextmanager
def relayed(size: int, seed: int = 0, twin: int | None = None) -> Iterator[RelayedNetwork]:
    """A network for so many nodes, removed in the end."""
    made = RelayedNetwork(size, seed)
    try:
        made.make(twin)
        yield made
    finally:
        made.remove()
