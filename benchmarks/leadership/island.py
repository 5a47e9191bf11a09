"""One network namespace per node, joined by a bridge; what goes from one to another can be lost."""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "electorate-bench"
NETWORK = "10.213.77"
NOBODY = "02:00:00:00:00:00"
"""The hardware address of no node: what is sent there is lost, without a word to anybody."""


class Islands:
    """The namespaces of one cluster; the bridge lives in one more."""

    def __init__(self, count: int) -> None:
        self._hub = f"{NAME}-{os.getpid()}-hub"
        self._names = [f"{NAME}-{os.getpid()}-{number}" for number in range(count)]
        self._cut: set[tuple[int, int]] = set()

    def host(self, number: int) -> str:
        """The address of a node."""
        return f"{NETWORK}.{number + 1}"

    def prefix(self, number: int) -> list[str]:
        """What to put before a command, so that it runs there; it keeps its process id."""
        return ["ip", "netns", "exec", self._names[number]]

    def cut(self, number: int) -> None:
        """Lose every packet between this node and the others; it can still speak to itself."""
        others = [other for other in range(len(self._names)) if other != number]
        self.lose({(number, other) for other in others} | {(other, number) for other in others})

    def heal(self) -> None:
        """Let every packet pass again."""
        self.lose(())

    def lose(self, ways: Collection[tuple[int, int]]) -> None:
        """Lose what goes from one node to another on these ways; on all others packets pass."""
        wanted = set(ways)
        for number, name in enumerate(self._names):
            changed = {other for one, other in wanted ^ self._cut if one == number}
            lines = [self._neighbour(other, (number, other) in wanted) for other in sorted(changed)]
            if lines:
                run("ip", "-n", name, "-batch", "-", told="\n".join(lines) + "\n")
        self._cut = wanted

    def _neighbour(self, number: int, is_lost: bool) -> str:
        address = NOBODY if is_lost else _hardware(number)
        return f"neigh replace {self.host(number)} lladdr {address} nud permanent dev eth0"

    def make(self) -> None:
        """Make the namespaces and join them."""
        remove_leftovers()
        run("ip", "netns", "add", self._hub)
        _ip(self._hub, "link", "add", "bridge", "type", "bridge")
        _ip(self._hub, "link", "set", "bridge", "up")
        for number, name in enumerate(self._names):
            run("ip", "netns", "add", name)
            port = f"port{number}"
            veth = f"link add eth0 address {_hardware(number)} type veth"
            _ip(name, *f"{veth} peer name {port} netns {self._hub}".split())
            _ip(self._hub, *f"link set {port} master bridge up".split())
            _ip(name, *f"address add {self.host(number)}/24 dev eth0".split())
            _ip(name, "link", "set", "eth0", "up")
            _ip(name, "link", "set", "lo", "up")

    def remove(self) -> None:
        """Remove whatever there is of them."""
        for name in [*self._names, self._hub]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


class LoneIsland:
    """A namespace with nothing but a loopback, whose traffic is that of one cluster alone."""

    def __init__(self) -> None:
        self._name = f"{NAME}-{os.getpid()}-lone"

    def prefix(self) -> list[str]:
        """What to put before a command, so that it runs there."""
        return ["ip", "netns", "exec", self._name]

    def make(self) -> None:
        """Make it."""
        remove_leftovers()
        run("ip", "netns", "add", self._name)
        _ip(self._name, "link", "set", "lo", "up")

    def remove(self) -> None:
        """Remove it."""
        subprocess.run(["ip", "netns", "del", self._name], capture_output=True, check=False)

    def bytes_sent(self) -> int:
        """All that was ever sent here, headers and acknowledgements included."""
        table = run(*self.prefix(), "cat", "/proc/net/dev")
        lo = next(line for line in table.splitlines() if line.strip().startswith("lo:"))
        return int(lo.partition(":")[2].split()[8])


def unavailable(*tools: str) -> str | None:
    """Why there can be no namespaces here; None if there can."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        return f"{' and '.join(missing)} missing: apt-get install iproute2"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    probe = f"{NAME}-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return f"no network namespaces here: {made.stderr.strip()}" if made.returncode else None


@contextmanager
def islands(count: int) -> Iterator[Islands]:
    """Namespaces for so many nodes, removed in the end."""
    made = Islands(count)
    try:
        made.make()
        yield made
    finally:
        made.remove()


@contextmanager
def lone_island() -> Iterator[LoneIsland]:
    """A single namespace, removed in the end."""
    made = LoneIsland()
    try:
        made.make()
        yield made
    finally:
        made.remove()


def remove_leftovers() -> None:
    """Remove what a benchmark that was killed has left behind."""
    for line in run("ip", "netns", "list").splitlines():
        name = line.split()[0] if line.split() else ""
        parts = name.removeprefix(f"{NAME}-").split("-")
        if name.startswith(NAME) and not Path(f"/proc/{parts[0]}").exists():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _ip(namespace: str, *words: str) -> None:
    run("ip", "-n", namespace, *words)


def _hardware(number: int) -> str:
    return f"02:00:00:00:00:{number + 1:02x}"


def run(*words: str, told: str | None = None, may_fail: bool = False) -> str:
    """What this command prints; OSError if it fails and may not."""
    done = subprocess.run(words, input=told, capture_output=True, text=True, check=False)
    if done.returncode and not may_fail:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
