"""The one election that names who finds out decisions: for all transactions of a node at once.

It is any protocol of the registry, hosted with the members that there are now, and anew whenever
these change, as after a crash and a recovery. What it says is a hint: no promise about transactions
depends on it, and where it names nobody the strongest live participant is asked.
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
"""The name of its instance, at every node."""
USUAL = "bully"
SOUND = "sound"


class Members(Protocol):
    """Who the members are, as a node knows them at the moment."""

    @property
    def me(self) -> NodeId:
        """This node."""

    @property
    def alive(self) -> frozenset[NodeId]:
        """Who is not suspect."""

    @property
    def numbers(self) -> dict[str, NodeId]:
        """The number of every member, by its name."""

    def called(self, node: NodeId) -> str:
        """What people call a node."""

    def sender(self, hello: Hello) -> NodeId | None:
        """The member that speaks; None if it is not to be heard any more."""


class Said(msgspec.Struct, frozen=True, array_like=True):
    """A message of the machine, and among whom it was sent."""

    edition: int
    body: msgspec.Raw


class Saved(msgspec.Struct, frozen=True, array_like=True):
    """What the machine has saved, and among whom."""

    edition: int
    stable: bytes


_said = msgspec.msgpack.Decoder(Said)
_saved = msgspec.msgpack.Decoder(Saved)


class RecoveryElection(Owner):
    """Hosts the election, and tells when another node is named."""

    looks_inside = True

    def __init__(
        self, protocol: str, timing: Timing, members: Members, changed: Callable[[], None]
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

    def look(self) -> None:
        """Go by the members and suspects of now."""
        ids = tuple(sorted(self._members.numbers.values()))
        if self._members.me not in ids or len(ids) == 1:
            self.halt()
        elif self._instance is None or self._instance.state is None or self._ids != ids:
            self._boot(ids)
        elif self._alive != self._seen():
            self._alive = self._seen()
            if self._instance.machine.uses_views:
                self._instance.take(Viewed(self._alive))

    def met(self, node: NodeId) -> None:
        """A node has connected: who relies on every message starts over, for some may be lost."""
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
        """A message; None if it comes from an election among others, or by another protocol."""
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

    def _seen(self) -> frozenset[NodeId]:
        return self._members.alive & {*self._ids}

    def _boot(self, ids: tuple[NodeId, ...]) -> None:
        assert self._host is not None
        self._ids = ids
        self._setting = Setting(
            self._protocol, ids, timing=self._timing, connections=Connections.DIE
        )
        self._edition = zlib.crc32(msgspec.msgpack.encode((self._protocol, ids)))
        turns = Turns(self._setting.machine(self._kind, self._form))
        if self._instance is None:
            me = self._members.me
            self._instance = self._host.add(Instance(RECOVERY, turns, me, self._host, self))
        else:
            self._instance.halt()
            self._instance.rule_by(turns)
        self._alive = self._seen()
        self._instance.boot(self._last_saved(), self._alive)

    def _last_saved(self) -> Stable | None:
        """What the last life saved; what it saved among other members is of no use any more."""
        assert self._host is not None
        data = self._host.store.load(RECOVERY)
        saved = None if data is None else _saved.decode(data)
        if saved is None or saved.edition != self._edition:
            return None
        return self._codec.stable(saved.stable)

    def _name(self, leader: NodeId | None) -> None:
        if leader != self.leader:
            self.leader = leader
            self._changed()

    # --- what its instance asks of it ---

    def after(self) -> None:
        """See whether another node is named."""
        standing = None if self._instance is None else self._instance.standing
        self._name(None if standing is None else standing.leader)

    def packed(self, stable: Stable) -> bytes:
        """What is to be kept of it."""
        return msgspec.msgpack.encode(Saved(self._edition, Codec.encode(stable)))

    def wrapped(self, body: bytes) -> bytes:
        """A message goes with the members among whom it was sent."""
        return msgspec.msgpack.encode(Said(self._edition, msgspec.Raw(body)))

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
