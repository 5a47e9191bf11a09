"""The other systems: a node is an application, and beside it a server if there are servers."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from benchmarks.leadership.contender import Contender, Seat, application

JARS = [Path("/usr/share/java") / name for name in ("zookeeper.jar", "slf4j-nop.jar")]
JAVA = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


@dataclass(frozen=True)
class Etcd(Contender):
    """Etcd's own election service; who leads holds a lease."""

    ttl_s: int
    heartbeat_ms: int = 100
    election_ms: int = 1000

    system = "etcd"

    @property
    def title(self) -> str:
        """With the lease, and the pace of the servers."""
        pace = "" if self.heartbeat_ms == 100 else f", heartbeat {self.heartbeat_ms} ms"
        return f"etcd, lease {self.ttl_s} s{pace}"

    def missing(self) -> str | None:
        """It has to be installed."""
        return None if shutil.which("etcd") else "etcd: apt-get install etcd-server"

    def version(self) -> str:
        """As it calls itself."""
        told = subprocess.run(["etcd", "--version"], capture_output=True, text=True, check=True)
        return f"etcd {told.stdout.split()[2]}"

    def commands(self, seat: Seat, seats: list[Seat]) -> list[list[str]]:
        """A server, and an application that speaks to it."""
        members = (f"{each.name}=http://{each.host}:{each.ports[0]}" for each in seats)
        inside, outside = (f"http://{seat.host}:{port}" for port in seat.ports[:2])
        options = {
            "name": seat.name,
            "data-dir": str(seat.folder / "etcd"),
            "listen-peer-urls": inside,
            "initial-advertise-peer-urls": inside,
            "listen-client-urls": outside,
            "advertise-client-urls": outside,
            "initial-cluster": ",".join(members),
            "heartbeat-interval": str(self.heartbeat_ms),
            "election-timeout": str(self.election_ms),
            "logger": "zap",
            "log-level": "fatal",
        }
        server = ["etcd", *(f"--{option}={value}" for option, value in options.items())]
        return [server, application("etcd", seat.name, outside, str(self.ttl_s))]


@dataclass(frozen=True)
class ZooKeeper(Contender):
    """The election recipe of kazoo; who leads holds a session."""

    session_s: float
    tick_ms: int = 2000

    system = "zookeeper"

    @property
    def title(self) -> str:
        """With the session, and the pace of the servers."""
        return f"ZooKeeper with kazoo, session {self.session_s:g} s, tick {self.tick_ms} ms"

    def missing(self) -> str | None:
        """Two things have to be installed."""
        if not (all(jar.exists() for jar in JARS) and shutil.which("java")):
            return "ZooKeeper: apt-get install zookeeper"
        return None if find_spec("kazoo") else "ZooKeeper: pip install kazoo"

    def version(self) -> str:
        """Of the servers and of the clients."""
        numbers = (
            re.fullmatch(r"zookeeper-([\d.]+)\.jar", jar.name) for jar in JARS[0].parent.iterdir()
        )
        number = next((found[1] for found in numbers if found), "of unknown version")
        return f"ZooKeeper {number} with kazoo {version('kazoo')}"

    def commands(self, seat: Seat, seats: list[Seat]) -> list[list[str]]:
        """A server with its files, and an application that speaks to it."""
        seat.folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"tickTime={self.tick_ms}",
            f"initLimit={20_000 // self.tick_ms}",
            "syncLimit=5",
            f"dataDir={seat.folder}",
            f"clientPort={seat.ports[2]}",
            f"clientPortAddress={seat.host}",
            "admin.enableServer=false",
        ]
        for each in seats:
            first, second, _ = each.ports
            lines.append(f"server.{each.number + 1}={each.host}:{first}:{second}")
        (seat.folder / "zoo.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (seat.folder / "myid").write_text(f"{seat.number + 1}\n", encoding="utf-8")
        path = ":".join(map(str, JARS))
        server = [*JAVA, "-cp", path, ZOOKEEPER_MAIN, str(seat.folder / "zoo.cfg")]
        where = f"{seat.host}:{seat.ports[2]}"
        return [server, application("zookeeper", seat.name, where, str(self.session_s))]


@dataclass(frozen=True)
class PySyncObj(Contender):
    """Raft in the application's own process; who leads is the leader of the group, by no lease."""

    shortest_s: float = 0.4
    longest_s: float = 1.4
    period_s: float = 0.1

    system = "pysyncobj"
    faults = ("kill", "stop", "partition", "cold")

    @property
    def title(self) -> str:
        """With the range of its timeouts."""
        return f"PySyncObj, timeout {self.shortest_s:g} to {self.longest_s:g} s"

    def missing(self) -> str | None:
        """It has to be installed."""
        return None if find_spec("pysyncobj") else "PySyncObj: pip install pysyncobj"

    def version(self) -> str:
        """Of the package."""
        return f"PySyncObj {version('pysyncobj')}"

    def commands(self, seat: Seat, seats: list[Seat]) -> list[list[str]]:
        """One process."""
        others = [f"{each.host}:{each.ports[0]}" for each in seats if each != seat]
        timings = map(str, (self.shortest_s, self.longest_s, self.period_s))
        me = f"{seat.host}:{seat.ports[0]}"
        return [application("pysyncobj", *timings, me, *others)]


RIVALS = (
    Etcd(2),
    Etcd(1, 10, 100),
    ZooKeeper(10.0),
    ZooKeeper(0.5, 100),
    PySyncObj(),
    PySyncObj(0.1, 0.3, 0.025),
)
"""Each at its defaults, and as quick as it can sensibly be made; not etcd's default lease, 60 s."""
