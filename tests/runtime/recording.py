"""Something to write down: the turns of one machine, without a host."""

from pathlib import Path

from electorate.core import Event, NodeId, Turns, Viewed
from electorate.protocols.registry import REGISTRY
from electorate.runtime.recorder import Recorder
from electorate.trace import Setting
from electorate.trace.merge import Occurrence, rerun
from electorate.trace.record import RecordFile

CLUSTER = "cluster bully 1 2 3 T=10"
ALL = frozenset({1, 2, 3})


def turns_of(cluster: str) -> Turns:
    setting = Setting.parse(cluster)
    return Turns(setting.machine(*REGISTRY[setting.protocol]))


def read(path: Path) -> list[Occurrence]:
    """Everything in the series of one instance, re-run; an error if it leads to other states."""
    return rerun(RecordFile(path).lines(), turns_of)


class RecordingNode:
    """A node that is shown others come and go, and writes that down."""

    def __init__(self, path: Path, *sizes: int, node: NodeId = 1) -> None:
        self.path = path
        self.node = node
        self.now = 1000.0
        self.recorder = Recorder(path, self._clock, *sizes)
        self.turns = turns_of(CLUSTER)
        self.instance = self.recorder.instance("election", dict)
        self.events = 0

    def _clock(self) -> float:
        self.now += 0.25
        return self.now

    def begin(self, life: int = 1) -> "RecordingNode":
        """A life of the host and of the instance begins."""
        names = {1: "one", 2: "two", 3: "three"}
        self.recorder.begin(self.node, life, names[self.node], names, "the cluster")
        turn = self.turns.boot(self.node, None)
        self.instance.ruled(self.turns.machine, CLUSTER)
        self.instance.booted(None, turn.state)
        self.state = turn.state
        self.take(Viewed(ALL))
        return self

    def take(self, event: Event) -> None:
        """Take an event, and write it down."""
        self.state = self.turns.step(self.state, event).state
        self.instance.took(event, self.state)
        self.events += 1

    def live(self, events: int) -> "RecordingNode":
        """Take so many events, each in a wake-up of its own."""
        for number in range(events):
            others = sorted(ALL - {self.node})
            self.take(Viewed(ALL - {others[number % 2]}))
            self.recorder.flush()
        return self
