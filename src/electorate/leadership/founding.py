"""The founding of the cluster at this node: it happens once, and nobody leads before.

Whose word is needed, and what follows from it, is decided in `protocols/mandate/founding.py`. Here
it is said in the log while founders are missing.
"""

import logging
from collections.abc import Callable
from typing import Protocol, get_args

import msgspec

from electorate.core import (
    Asked,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Span,
    Stable,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.leadership.directory import Directory
from electorate.pace import Pace, in_ms
from electorate.protocols.mandate.founding import (
    Begin,
    Founding,
    FoundingStable,
    FoundingState,
    Needs,
)
from electorate.protocols.mandate.state import Roster
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance, Owner
from electorate.runtime.recorder import described
from electorate.runtime.store import Store
from electorate.trace.record import Letterhead

FOUNDING = "founding"
"""The name under which it is saved, and for which mail about it arrives."""
WAITS_S = 2.0
"""How long founders may be missing before it is said in the log."""
WAITING = (
    "%s waits for %s to say that the cluster is founded with %s: nobody leads before; if one of "
    "them cannot come, start all others with founding='majority'"
)
DIFFERS = (
    "%s was started to found a cluster with %s, and %s with %s: nobody leads until all of them are "
    "started with the same list and the same founding=..."
)
RISK = (
    "%s founds its cluster with founding='majority': if members were started with different lists, "
    "two of them could lead, each by its own list; and nothing tells this cluster from another one "
    "with the same names"
)

log = logging.getLogger("electorate")


class FoundingPort(Protocol):
    """What the founding needs of its node."""

    me: NodeId
    pace: Pace
    host: Host
    alive: frozenset[NodeId]
    directory: Directory
    now_ms: Callable[[], float]

    def turns(self, machine: Machine[FoundingState]) -> Turns:
        """How turns of this machine are taken here."""

    def founded(self) -> None:
        """The cluster is founded, as far as this node has to do with that."""


def founding_machine(pace: Pace) -> Founding:
    """The machine of founding at this pace, for any members."""
    remind = Span(ticks=4 * in_ms(pace.T + pace.P))
    rules = msgspec.structs.replace(Founding.form("application"), remind=remind)
    return Founding(Members.open(), pace.timing, rules)


def expect_founding(needs: str) -> None:
    """ValueError if this is no way to found a cluster."""
    if needs not in get_args(Needs):
        raise ValueError(f'founding is "all" or "majority", not {needs!r}')


class ClusterFounding(Owner):
    """Gives this node's word, and waits for that of the others."""

    instance: Instance

    def __init__(self, port: FoundingPort, needs: Needs) -> None:
        self._port = port
        self._needs: Needs = needs
        self.machine = founding_machine(port.pace)
        self.codec = Codec(self.machine)
        self._said: set[str] = set()
        self._begun_ms = 0.0
        self._listed: tuple[NodeId, ...] = ()

    def begin(self, host: Host) -> None:
        """The host is there; the instance boots later."""
        turns = self._port.turns(self.machine)
        self.instance = host.add(Instance(FOUNDING, turns, self._port.me, host, self))
        directory = self._port.directory
        self._kept = self._saved(host.store) if directory.is_founder else None
        self._listed = directory.listed_founders
        self._expect_same_list()

    def boot(self) -> None:
        """Begin with what the last life saved; a founder gives its word."""
        port = self._port
        self._begun_ms = port.now_ms()
        self.instance.boot(self._kept, port.alive)
        if port.directory.is_founder and not self.stable.is_founded:
            if self._needs == "majority" and len(self._listed) > 1:
                log.warning(RISK, port.directory.me.name)
            memory = port.host.store.identity
            self.instance.take(Asked(Begin(self._listed, memory, self._needs)))

    def _saved(self, store: Store) -> FoundingStable | None:
        data, directory = store.load(FOUNDING), self._port.directory
        if data is None:
            if not directory.state.stable.settled:
                return None
            # An older version has begun this cluster; its nodes have voted.
            founders = directory.founders
            return FoundingStable(founders, roster=Roster(old=founders, new=founders))
        try:
            stable: FoundingStable = self.codec.stable(data)  # type: ignore[assignment]
        except msgspec.DecodeError as error:
            raise StoreError(f"how the cluster was founded cannot be read: {error}") from None
        return stable

    def _expect_same_list(self) -> None:
        """StoreError if this node has given its word for another list."""
        kept, directory = self._kept, self._port.directory
        if kept is None or kept.is_founded:
            return
        if kept.founders not in ((), self._listed):
            raise StoreError(
                f"{directory.me.name} has given its word to found a cluster with other members "
                "than those it is started with now: start it with the list that it was started "
                "with first, or in an empty folder"
            )

    @property
    def stable(self) -> FoundingStable:
        """What this node has saved of it."""
        state = self.instance.state
        if isinstance(state, FoundingState):
            return state.stable
        return self._kept or FoundingStable()

    # --- its instance ---

    def described(self, machine: Machine[FoundingState]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "founding", "application")

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come."""
        self.instance.take(Received(sender, message), head)

    def see(self, alive: frozenset[NodeId]) -> None:
        """The members that were reached have changed to these."""
        if not self.stable.is_founded and self.instance.state is not None:
            self.instance.take(Viewed(alive))

    def packed(self, stable: Stable) -> bytes:
        """What to save of it."""
        return Codec.encode(stable)

    def after(self) -> None:
        """See whether it is founded."""
        if self.stable.is_founded:
            self._port.founded()

    # --- what is said of it ---

    def say(self) -> None:
        """Say in the log who is missing, or has another list."""
        state, port = self.instance.state, self._port
        if not isinstance(state, FoundingState):
            return
        name, me = port.directory.called_member, port.directory.me.name
        listed = ", ".join(sorted(map(name, state.stable.founders)))
        for node, founders in state.differing:
            others = ", ".join(sorted(map(name, founders)))
            self._say_once(DIFFERS, me, listed, name(node), others)
        if state.missing and port.now_ms() - self._begun_ms > in_ms(WAITS_S):
            missing = ", ".join(sorted(map(name, state.missing)))
            self._say_once(WAITING, me, missing, listed)

    def _say_once(self, text: str, *given: str) -> None:
        said = text % given
        if said not in self._said and len(self._said) < 100:
            self._said.add(said)
            log.warning("%s", said)

    @property
    def missing(self) -> str:
        """The names of the founders for whose word this node waits."""
        state = self.instance.state
        missing = state.missing if isinstance(state, FoundingState) else ()
        return ", ".join(sorted(map(self._port.directory.called_member, missing)))
