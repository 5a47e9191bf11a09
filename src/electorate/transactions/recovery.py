"""The one election that names who finds out decisions: for all transactions of a node at once.

It is any protocol of the registry. Every list of members has an election of its own: if the members
change, the instance of the old list ends and one of the new list is hosted. What it says is a hint:
no promise about transactions depends on it, and where it names nobody the strongest live
participant is asked.
"""

import zlib
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from electorate.core import Assumption, Machine, NodeId, Received, Stable, Timing, Turns, Viewed
from electorate.core.codec import Codec
from electorate.protocols.bully import Bully
from electorate.runtime.frame import Hello
from electorate.runtime.host import Host, Mail
from electorate.runtime.instance import Instance, Owner
from electorate.trace import Connections, Setting

RECOVERY = "recovery"
"""How the names of its instances begin, at every node."""
USUAL = "bully"
SOUND = "sound"


class KnownMembers(Protocol):
    """The members, as a node knows them at the moment."""

    @property
    def me(self) -> NodeId:
        """This node."""

    @property
    def alive(self) -> frozenset[NodeId]:
        """The nodes that are not suspect."""

    @property
    def numbers(self) -> dict[str, NodeId]:
        """The number of every member, by its name."""

    def called(self, node: NodeId) -> str:
        """The name of a node."""

    def is_near(self, node: NodeId) -> bool:
        """Whether its address is one that only this machine reaches."""

    def sender(self, hello: Hello) -> NodeId | None:
        """The member that speaks; None if it must not be heard any more."""


class RecoveryEnvelope(msgspec.Struct, frozen=True, array_like=True):
    """A message of the machine, and the members among which it was sent."""

    edition: int
    body: msgspec.Raw


_said = msgspec.msgpack.Decoder(RecoveryEnvelope)


class RecoveryElection(Owner):
    """Hosts the election, and reports when it names another node."""

    looks_inside = True

    def __init__(
        self, protocol: str, timing: Timing, members: KnownMembers, changed: Callable[[], None]
    ) -> None:
        self.leader: NodeId | None = None
        self._kind, self._form = _kind(protocol)
        self._codec = Codec(self._kind)
        self._protocol = protocol
        self._timing = timing
        self._members = members
        self._changed = changed
        self._host: Host | None = None
        self._instance: Instance | None = None
        self._alive: frozenset[NodeId] = frozenset()

    def begin(self, host: Host) -> None:
        """Take part from now on."""
        self._host = host
        self.look()
        self._forget_others()

    def look(self) -> None:
        """Use the present members and suspects."""
        ids = tuple(sorted(self._members.numbers.values()))
        if self._members.me not in ids or len(ids) == 1:
            self.halt()
        elif self._instance is None or self._instance.state is None or self._ids != ids:
            self._boot(ids)
        else:
            self._see(self._instance)

    def met(self, node: NodeId) -> None:
        """A node has connected: a machine that relies on every message starts over."""
        if self._is_running and node in self._ids:
            assert self._instance is not None
            if Assumption.NO_LOSS in self._instance.assumptions:
                self._boot(self._ids)

    def halt(self) -> None:
        """Take no part until `look` is called again."""
        if self._is_running:
            assert self._instance is not None
            self._instance.halt()
            self._name(None)

    def decode(self, body: bytes) -> Any:
        """A message; None if it is from an election with other members or another protocol."""
        said = _said.decode(body)
        if not self._is_running or said.edition != self._edition:
            return None
        return self._codec.message(bytes(said.body))

    def receive(self, mail: Mail) -> None:
        """A message has come."""
        if mail.message is not None and self._is_running and mail.sender in self._ids:
            assert self._instance is not None
            self._instance.take(Received(mail.sender, mail.message), mail.head)

    @property
    def _is_running(self) -> bool:
        return self._instance is not None and self._instance.state is not None

    def _boot(self, ids: tuple[NodeId, ...]) -> None:
        if self._instance is None or self._ids != ids:
            self._instance = self._hosted(ids)
        # It begins as every node does, with all others in view: so a record of it can be played.
        self._alive = frozenset(ids)
        self._instance.boot(self._last_saved(self._instance.name), self._alive)
        self._see(self._instance)

    def _see(self, instance: Instance) -> None:
        """Show the machine which members are suspect, if that has changed."""
        alive = self._members.alive & {*self._ids}
        if self._alive != alive:
            self._alive = alive
            if instance.machine.uses_views:
                instance.take(Viewed(alive))

    def _hosted(self, ids: tuple[NodeId, ...]) -> Instance:
        """The instance of the election among these members; it takes the place of any other."""
        assert self._host is not None
        if self._instance is not None:
            self._host.remove(self._instance)
            self._host.keep(self._instance.name, None)
        self._ids = ids
        self._setting = Setting(
            self._protocol, ids, timing=self._timing, connections=Connections.DIE
        )
        self._edition = zlib.crc32(msgspec.msgpack.encode((self._protocol, ids)))
        turns = Turns(self._setting.machine(self._kind, self._form))
        name = f"{RECOVERY} {self._edition:08x}"
        return self._host.add(Instance(name, turns, self._members.me, self._host, self))

    def _last_saved(self, name: str) -> Stable | None:
        assert self._host is not None
        data = self._host.store.load(name)
        return None if data is None else self._codec.stable(data)

    def _forget_others(self) -> None:
        """Delete what a life among other members has saved."""
        assert self._host is not None
        mine = "" if self._instance is None else self._instance.name
        for name in self._host.store.names():
            if name.partition(" ")[0] == RECOVERY and name != mine:
                self._host.keep(name, None)

    def _name(self, leader: NodeId | None) -> None:
        if leader != self.leader:
            self.leader = leader
            self._changed()

    # --- what its instance asks of it ---

    def after(self) -> None:
        """See whether another node is named."""
        standing = None if self._instance is None else self._instance.standing
        self._name(None if standing is None else standing.leader)

    def wrapped(self, body: bytes) -> bytes:
        """A message goes with the members among which it was sent."""
        return msgspec.msgpack.encode(RecoveryEnvelope(self._edition, msgspec.Raw(body)))

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return self._setting.text()


def expect_election(protocol: str) -> None:
    """ValueError if there is no such election."""
    _kind(protocol)


def _kind(protocol: str) -> tuple[type[Machine[Any]], str]:
    """The machine of that name, and its form; loading all of them takes a while."""
    if protocol == USUAL:
        return Bully, SOUND
    from electorate.protocols.registry import REGISTRY

    if protocol not in REGISTRY:
        raise ValueError(f"no election is called {protocol!r}")
    return REGISTRY[protocol]
