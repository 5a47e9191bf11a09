"""Small machines that show one thing each, and how to set up a cluster of them."""

from typing import Any

from msgspec.structs import replace

from electorate.core import (
    Asked,
    CancelTimer,
    Event,
    Machine,
    Message,
    NodeId,
    Received,
    Request,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    Viewed,
)
from electorate.simulate import Simulation, started
from electorate.trace import Setting


class Note(Message):
    """Here is a number."""

    number: int


class Shout(Request):
    """Say so many numbers to everybody."""

    count: int = 2


class Hold(Request):
    """Take the office for a while."""


class Mutter(Request):
    """Count down from here, by talking to yourself."""

    start: int = 3


class Wait(Request):
    """Set the long timer, or cancel it if it is set."""


class NoteStable(Stable):
    """How many numbers were ever said."""

    said: int = 0


class ProbeState(State):
    """What a probe has heard."""

    stable: NoteStable
    heard: tuple[tuple[NodeId, int], ...] = ()
    holds: bool = False
    waiting: bool = False
    alive: frozenset[NodeId] = frozenset()


class Probe(Machine[ProbeState]):
    """Does what it is asked to, notes what it hears."""

    state_type = ProbeState
    stable_type = NoteStable
    messages = (Note,)
    requests = (Shout, Hold, Mutter, Wait)
    timers = (Timer("lease"), Timer("long"), Timer("loose"))
    uses_views = True

    def boot(self, me: NodeId, stable: Any) -> Result[ProbeState]:
        return ProbeState(me, stable or NoteStable()), []

    def step(self, s: ProbeState, event: Event) -> Result[ProbeState]:
        match event:
            case Received(j, Note(number)) if j == s.me:
                heard = replace(s, heard=(*s.heard, (j, number)))
                return heard, [Send(s.me, Note(number - 1))] if number else []
            case Received(j, Note(number)):
                return replace(s, heard=(*s.heard, (j, number))), []
            case Asked(Shout(count)):
                said = replace(s.stable, said=s.stable.said + count)
                others = self.members.others(s.me)
                notes = [Send(j, Note(k)) for k in range(count) for j in others]
                return replace(s, stable=said), [*notes, Send(s.me, Note(0))]
            case Asked(Hold()):
                lease = SetTimer("lease", 2 * self.timing.T)
                return replace(s, holds=True), [lease]
            case Asked(Mutter(start)):
                return s, [Send(s.me, Note(start))]
            case Asked(Wait()) if s.waiting:
                return replace(s, waiting=False), [CancelTimer("long")]
            case Asked(Wait()):
                span = 3 * self.timing.T
                timers = [SetTimer("long", span), SetTimer("loose", span, self.timing.T)]
                return replace(s, waiting=True), [*timers]
            case TimedOut("lease"):
                return replace(s, holds=False), []
            case Viewed(alive):
                return replace(s, alive=alive), []
        return s, []

    def view(self, s: ProbeState) -> Standing:
        if s.holds:
            return Standing(Status.NORMAL, s.me, until="lease")
        return Standing(Status.ELECTION)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Shout(), Hold(), Mutter(), Wait())


class EndlessState(State):
    """Nothing to remember."""


class Endless(Machine[EndlessState]):
    """Never stops answering itself."""

    state_type = EndlessState
    messages = (Note,)
    requests = (Mutter,)

    def boot(self, me: NodeId, stable: Any) -> Result[EndlessState]:
        return EndlessState(me, Stable()), []

    def step(self, s: EndlessState, event: Event) -> Result[EndlessState]:
        return s, [Send(s.me, Note(0))]

    def view(self, s: EndlessState) -> Standing:
        return Standing(Status.ELECTION)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Mutter(),)


class BeatState(State):
    """Who was heard last."""

    leader: NodeId


class Beat(Machine[BeatState]):
    """The strongest node sends a sign of life for ever; the others follow it, or do they?"""

    state_type = BeatState
    messages = (Note,)
    timers = (Timer("beat", periodic=True),)
    promises = ("A2",)
    follows = True

    def boot(self, me: NodeId, stable: Any) -> Result[BeatState]:
        return BeatState(me, Stable(), me), [SetTimer("beat", 3 * self.timing.T)]

    def step(self, s: BeatState, event: Event) -> Result[BeatState]:
        match event:
            case TimedOut("beat"):
                weaker = self.members.weaker_than(s.me)
                again = SetTimer("beat", 3 * self.timing.T)
                return s, [again, *(Send(j, Note(1)) for j in weaker)]
            case Received(j, _) if self.follows and self.members.is_stronger(j, s.leader):
                return replace(s, leader=j), []
        return s, []

    def view(self, s: BeatState) -> Standing:
        return Standing(Status.NORMAL, s.leader)


class Deaf(Beat):
    """Never follows anybody."""

    follows = False


MACHINES: dict[str, type[Machine[Any]]] = {
    "probe": Probe,
    "endless": Endless,
    "beat": Beat,
    "deaf": Deaf,
}


def find(name: str) -> tuple[type[Machine[Any]], str]:
    """The machine of that name."""
    return MACHINES[name], "sound"


def probes(line: str = "cluster probe 1 2 3 T=2") -> Simulation:
    """A cluster of small machines."""
    setting = Setting.parse(line)
    return started(setting, setting.machine(*find(setting.protocol)))[0]


def heard(cluster: Simulation, node: NodeId) -> list[tuple[NodeId, int]]:
    """What a probe has heard, in order."""
    local = cluster.nodes[node].local
    assert local is not None
    assert isinstance(local.state, ProbeState)
    return list(local.state.heard)
