"""How a probe is put into a host: as `electorate node`, leadership or transactions put theirs.

The services are the ones that ship, but for the one instance that a probe is in: its owner goes the
ways of an election or a transaction, and leaves out what only their own machines understand.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Machine, Message, NodeId, Stable, Timing, Turns
from electorate.core.codec import Codec
from electorate.leadership.directory import RECORD as DIRECTORY
from electorate.leadership.directory import (
    MemberAddress,
    OlderRecord,
    RecordedMember,
    identity,
    number,
)
from electorate.leadership.election import PREFIX as OFFICE
from electorate.leadership.election import QuorumElection
from electorate.leadership.elections import Elections
from electorate.leadership.engine import host_config
from electorate.leadership.founding import FOUNDING
from electorate.pace import Pace
from electorate.protocols.mandate.founding import FoundingStable
from electorate.protocols.mandate.state import Roster
from electorate.runtime.config import NodeConfig
from electorate.runtime.environment import Address
from electorate.runtime.host import Host, Mail
from electorate.runtime.instance import Instance
from electorate.runtime.node import INSTANCE, ProtocolNode
from electorate.runtime.store import Store
from electorate.trace import Connections, Setting
from electorate.transactions.host import TransactionHost
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import PREFIX as TRANSACTION
from electorate.transactions.letter import LoggedTransaction, Parties, Party, TransactionEnvelope
from tests.conformance.loopback import BEAT_MS, T_MS, TIMEOUT_MS
from tests.conformance.probe import Kept, Probe

PROBE = "probe"
NAMES = "abc"
PACE = Pace(T=T_MS / 1000, P=T_MS / 2000, beat=BEAT_MS / 1000, timeout=TIMEOUT_MS / 1000)

_codec = Codec(Probe)
_steps = msgspec.msgpack.Decoder(TransactionEnvelope)

MakeNode = Callable[..., ProtocolNode]
MakeHost = Callable[..., Host]


class Lodging(msgspec.Struct, tag=True):
    """Where probes live: a folder for each node, and addresses. Processes tell it each other."""

    folder: Path
    addresses: list[Address]
    stores: list[str] = []
    """The identities of their memories, for whom these matter."""
    rules: tuple[str, ...] = ()

    outlives = False
    """Whether the instance goes on where a life of its host ends because the host stood still."""

    @property
    def instance(self) -> str:
        """What the instance is called in its host."""
        raise NotImplementedError

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """By which numbers the probes know each other, in the order of the addresses."""
        return tuple(range(1, len(self.addresses) + 1))

    @property
    def setting(self) -> Setting:
        """The cluster of probes."""
        ids = tuple(sorted(self.ids))
        return Setting(PROBE, ids, self.rules, timing=Timing(T_MS), connections=Connections.DIE)

    @property
    def machine(self) -> Machine[Any]:
        """The probe."""
        return self.setting.machine(Probe, "sound")

    def data(self, node: NodeId) -> Path:
        """Where a node keeps its memory."""
        return self.folder / f"node-{self.ids.index(node) + 1}"

    def record(self, node: NodeId) -> Path:
        """Where a node writes its record."""
        return self.folder / f"node-{self.ids.index(node) + 1}.jsonl"

    def prepare(self) -> None:
        """What has to be there before the first start."""

    def host(self, node: NodeId, make_node: MakeNode, make_host: MakeHost) -> Host:
        """A host with a probe in it, not started yet; make one of these kinds."""
        raise NotImplementedError

    def message(self, body: bytes) -> Message:
        """What is in the bytes that travel."""
        return _codec.message(body)

    def kept(self, record: bytes) -> Kept:
        """What is in the bytes that are kept."""
        return msgspec.msgpack.decode(record, type=Kept)


# --- as `electorate node` does ---


class NodeLodging(Lodging, tag="node"):
    """The one instance of a node."""

    @property
    def instance(self) -> str:
        return INSTANCE

    def host(self, node: NodeId, make_node: MakeNode, make_host: MakeHost) -> Host:
        addresses = dict(zip(self.ids, self.addresses, strict=True))
        record = self.record(node)
        where = (node, self.setting, addresses, self.data(node), record, BEAT_MS, TIMEOUT_MS)
        return make_node(NodeConfig(*where), self.machine, lambda standing: None)


# --- as leadership does ---


class LeadershipLodging(Lodging, tag="leadership"):
    """An election of an application, beside the register of its members.

    The last node has joined: the network knows it by another number than elections do.
    """

    outlives = True

    @property
    def instance(self) -> str:
        return OFFICE + PROBE

    @property
    def places(self) -> list[MemberAddress]:
        """The members, as an application names them."""
        named = zip(NAMES, self.addresses, strict=False)
        return [MemberAddress.of(f"{name}@{host}:{port}") for name, (host, port) in named]

    @property
    def ids(self) -> tuple[NodeId, ...]:
        lines = [place.id for place in self.places]
        if len(lines) == 3 and self.stores:
            lines[2] = number(f"{NAMES[2]} {self.stores[2]}")
        return tuple(lines)

    def prepare(self) -> None:
        self.stores = ["" for _ in self.addresses]
        places = self.places
        folders = [self.folder / f"node-{n}" for n, _ in enumerate(places, start=1)]
        opened = [Store(folder, p.id) for folder, p in zip(folders, places, strict=True)]
        self.stores = [store.identity for store in opened]
        founders = {place.id: place for place in places[:2]}
        known = zip(self.ids, places, self.stores, strict=True)
        roster = tuple(sorted(self.ids))
        directory = OlderRecord(
            identity(founders),
            sorted(founders),
            {node: RecordedMember(str(place), store) for node, place, store in known},
            Roster(old=roster, new=roster),
            {place.id: str(place) for place in places},
        )
        for store in opened:
            founding = FoundingStable(
                tuple(sorted(founders)), roster=Roster((0, 0), roster, roster)
            )
            records = {DIRECTORY: directory, FOUNDING: founding}
            store.save({name: msgspec.msgpack.encode(each) for name, each in records.items()})
            store.close()

    def host(self, node: NodeId, make_node: MakeNode, make_host: MakeHost) -> Host:
        index = self.ids.index(node)
        me, places = self.places[index], {place.id: place for place in self.places}
        founders = {place.id: place for place in self.places[:2]}
        elections = ProbeElections(me, founders, PACE, joins=index == 2)
        elections.setting, elections.probe = self.setting, Turns(self.machine)
        config = host_config(me.id, places, PACE, self.data(node), self.record(node))
        host = make_host(config, [elections], elections)
        elections.call = lambda act, *given: act(*given)
        return host


class ProbeElections(Elections):
    """The elections of a node, one of them a probe's."""

    probe: Turns
    setting: Setting

    def lives(self, alive: frozenset[NodeId]) -> None:
        super().lives(alive)
        self.election(PROBE)

    def election(self, name: str) -> QuorumElection:
        if name == PROBE and name not in self.by_quorum:
            self.by_quorum[name] = ProbeElection(name, self)
        return super().election(name)

    def hosted(self, election: QuorumElection) -> Instance:
        if election.name != PROBE:
            return super().hosted(election)
        return self.host.add(Instance(OFFICE + PROBE, self.probe, self.me, self.host, election))

    def decode(self, kind: str, body: bytes) -> Any:
        try:
            return _codec.message(body)
        except msgspec.DecodeError:
            return super().decode(kind, body)

    def _boot(self, election: QuorumElection) -> None:
        if election.name != PROBE:
            super()._boot(election)
            return
        data = self.host.store.load(OFFICE + election.name)
        election.boot(None if data is None else _codec.stable(data))


class ProbeElection(QuorumElection):
    """An election whose machine is a probe: nobody is led, and nobody is told of it."""

    def described(self, machine: Machine[Any]) -> str:
        port: Any = self._port
        text: str = port.setting.text()
        return text

    def before(self) -> None:
        """A probe goes by no list of members."""

    def after(self) -> None:
        """A probe gives no terms."""

    def closed(self, node: NodeId) -> None:
        """A probe has nothing that ends with a connection."""


# --- as transactions do ---


class TransactionLodging(LeadershipLodging, tag="transactions"):
    """A transaction between all nodes, beside elections and the one that names who finds out."""

    @property
    def instance(self) -> str:
        return TRANSACTION + PROBE

    @property
    def parts(self) -> Parties:
        """Who takes part; the last one coordinates."""
        *participants, coordinator = (
            Party(node, store, 0) for node, store in zip(self.ids, self.stores, strict=True)
        )
        return Parties(coordinator, tuple(participants))

    def host(self, node: NodeId, make_node: MakeNode, make_host: MakeHost) -> Host:
        index = self.ids.index(node)
        me, places = self.places[index], {place.id: place for place in self.places}
        founders = {place.id: place for place in self.places[:2]}
        elections = Elections(me, founders, PACE, joins=index == 2)
        elections.call = lambda act, *given: act(*given)
        probed = ProbeTransactions(elections, PACE, self.data(node))
        probed.setting, probed.parts, probed.probe = self.setting, self.parts, Turns(self.machine)
        config = host_config(me.id, places, PACE, self.data(node), self.record(node))
        return make_host(config, [elections, probed], elections)

    def message(self, body: bytes) -> Message:
        return super().message(bytes(_steps.decode(body).body))

    def kept(self, record: bytes) -> Kept:
        return super().kept(msgspec.msgpack.decode(record, type=LoggedTransaction).stable)


class ProbeTransactions(TransactionHost):
    """The transactions of a node, one of them a probe's."""

    parts: Parties
    probe: Turns
    setting: Setting

    def lives(self, alive: frozenset[NodeId]) -> None:
        self._wake()
        super().lives(alive)
        if PROBE not in self.instances:
            self._go_on(PROBE, LoggedTransaction(self.parts, b"", 0.0))

    def _go_on(self, tx: str, record: LoggedTransaction) -> None:
        if tx == PROBE:
            instance = self.instances[tx] = ProbeTransaction(
                self, tx, record.parts, self.probe, self.members.me
            )
            instance.boot(record, _codec.stable(record.stable) if record.stable else None)
        else:
            super()._go_on(tx, record)

    def receive(self, kind: str, mail: Mail) -> None:
        # What comes before the probe is there would open a real transaction of that name.
        if mail.name != PROBE or PROBE in self.instances:
            super().receive(kind, mail)

    def reopen(self) -> None:
        """Forget the transaction, and go on with it from the log."""
        self.instances.pop(PROBE).close()
        data = self.host.store.load(TRANSACTION + PROBE)
        nothing = LoggedTransaction(self.parts, b"", 0.0)
        record = nothing if data is None else msgspec.msgpack.decode(data, type=LoggedTransaction)
        self._go_on(PROBE, record)

    def decode(self, kind: str, body: bytes) -> Any:
        try:
            step = _steps.decode(body)
            return step.parts, _codec.message(bytes(step.body))
        except msgspec.DecodeError:
            return super().decode(kind, body)


class ProbeTransaction(TransactionInstance):
    """A transaction whose machine is a probe: there is nothing to decide, and nothing to do."""

    def boot(self, record: LoggedTransaction | None, stable: Stable | None) -> None:
        # Transactions show their machines no views. A probe needs one, to be told from others.
        self._instance.boot(stable, frozenset(self.parts.ids))

    def described(self, machine: Machine[Any]) -> str:
        port: Any = self._port
        text: str = port.setting.text()
        return text

    def packed(self, stable: Any) -> bytes | None:
        return msgspec.msgpack.encode(
            LoggedTransaction(self.parts, Codec.encode(stable), self.began)
        )

    def name(self, leader: NodeId | None) -> None:
        """A probe has nobody who finds out for it."""

    def remind(self) -> None:
        """A probe waits for no answer."""

    def after(self) -> None:
        """A probe wants nothing of a resource."""


LODGINGS: dict[str, type[Lodging]] = {
    "network": NodeLodging,
    "leadership": LeadershipLodging,
    "transactions": TransactionLodging,
}
AnyLodging = NodeLodging | LeadershipLodging | TransactionLodging
