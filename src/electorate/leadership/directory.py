"""Who is who: the members as people and the network know them, and admission at this node.

Which node is let in, by which memory a member is known, and which member is reached by a name is
decided in `protocols/mandate/admission.py`. Here addresses are read, and the network is kept
connected to the members that the machine has chosen. The network knows nodes by the numbers of
their names, machines know members by the numbers of their memories.
"""

import hashlib
import hmac
import ipaddress
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import msgspec

from electorate.core import (
    Asked,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Request,
    Span,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.errors import Removed, StoreError
from electorate.pace import Pace, in_ms
from electorate.protocols.mandate.admission import (
    Acquaintance,
    Admission,
    AdmissionStable,
    AdmissionState,
    Await,
    AwaitNoMore,
    Caller,
    Edition,
    Known,
    Met,
    Objection,
    Propose,
    Refused,
    Settle,
    Start,
    digest,
)
from electorate.protocols.mandate.state import Roster
from electorate.runtime.environment import Address
from electorate.runtime.frame import Hello
from electorate.runtime.instance import Instance, Owner, Port
from electorate.runtime.recorder import described
from electorate.runtime.store import Store
from electorate.trace.record import Letterhead

RECORD = "directory"
"""The name under which it is saved, and for which mail about it arrives."""
NEWS_MAX = 1 << 16
"""Bytes that are read of a node that refuses this one: it may be anybody."""
PROOF = hashlib.sha256().digest_size
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,62}")
LOST = (
    "a node that says it is %s does not have its memory, and is not let in: either %s has lost its "
    "data folder and has to be replaced, or another node uses its name"
)
OLDER = (
    "%s comes back with an older copy of its data folder than it was seen with: it may have "
    "forgotten what it has promised, and is not let in; start %s in an empty folder with join=True "
    "and have a member replace it, or stop this one if another process has the newer folder"
)
COPIED = (
    "{} was seen with a newer data folder: this one is a copy that was restored; for this node to "
    "take its place, empty its folder, start it with join=True, and have a member replace {}"
)
UNPROVED = (
    "what answers at the address of %s does not let %s in, and cannot show that it is a member: it "
    "is not believed; if %s was removed while it was away, empty its folder and have it join again"
)
ANOTHER = (
    "{} is known here by another data folder; for this node to take its place, empty its folder, "
    "start it with join=True, and have a member replace {}"
)

log = logging.getLogger("electorate")


class MemberAddress(NamedTuple):
    """A member, `scheduler-1@10.0.0.1:7400`: its name, its number for machines, its address."""

    name: str
    id: NodeId
    address: Address

    @classmethod
    def of(cls, text: str) -> "MemberAddress":
        """Read `name@host:port`."""
        if not isinstance(text, str):
            raise TypeError(f"a member is name@host:port, not {text!r}")
        name, at, where = text.rpartition("@")
        host, colon, port = where.rpartition(":")
        if not (at and colon and host and port.isdecimal() and 1 <= int(port) <= 65535):
            raise ValueError(f"a member is name@host:port, not {text!r}")
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name: use letters, digits, '.', '_' and '-'")
        return cls(name, number(name), (host.strip("[]"), int(port)))

    @property
    def is_near(self) -> bool:
        """Whether only its own machine reaches it there."""
        host, _ = self.address
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def __str__(self) -> str:
        host, port = self.address
        return f"{self.name}@[{host}]:{port}" if ":" in host else f"{self.name}@{host}:{port}"


def number(name: str) -> NodeId:
    """The number of a name: the same at every node, in every cluster."""
    return digest(name)


def named(me: str, found: dict[NodeId, MemberAddress]) -> MemberAddress:
    """This node among the members: by its name, or as it is listed."""
    name = me.rpartition("@")[0] or me
    for member in found.values():
        if member.name == name:
            return member
    if not found:
        raise ValueError("the list of members is empty: name all of them, each as name@host:port")
    told = ", ".join(sorted(member.name for member in found.values()))
    raise ValueError(f"{name!r} is no member; the members are {told}")


def addresses(texts: Iterable[str]) -> dict[NodeId, MemberAddress]:
    """All members by their numbers."""
    found: dict[NodeId, MemberAddress] = {}
    for member in map(MemberAddress.of, texts):
        other = found.setdefault(member.id, member)
        if other.name != member.name:
            raise ValueError(f"{other.name!r} and {member.name!r} clash: rename one of them")
        if other != member:
            raise ValueError(f"{member.name!r} is listed twice, at different addresses")
    where = [member.address for member in found.values()]
    if len(set(where)) < len(where):
        raise ValueError("two members have the same address")
    return found


class RecordedMember(msgspec.Struct, frozen=True, array_like=True):
    """A member in what older versions have kept."""

    place: str
    store: str = ""
    since: int = 0


class OlderRecord(msgspec.Struct, frozen=True):
    """What older versions have kept on disk."""

    cluster: str
    founders: list[NodeId]
    known: dict[NodeId, RecordedMember]
    roll: Roster
    listed: dict[NodeId, str]
    former: dict[NodeId, str] = msgspec.field(default_factory=dict)

    @property
    def stable(self) -> AdmissionStable:
        """The same in today's form."""
        return AdmissionStable(
            self.cluster,
            tuple(self.founders),
            tuple(
                (j, Acquaintance(each.place, each.store, each.since))
                for j, each in sorted(self.known.items())
            ),
            self.roll,
            tuple(sorted(self.former.items())),
            tuple(sorted((MemberAddress.of(text).name, text) for text in self.listed.values())),
            settled=bool(self.cluster),
        )


class Net(Protocol):
    """What the directory needs of the network."""

    introduction: Callable[[NodeId], tuple[NodeId, NodeId]]
    """The member that this node is, and the one for which it takes the node at an address."""
    process: str
    """What this process says in every handshake, and no other ever."""

    def join(self, cluster: str) -> None:
        """Belong to this cluster from now on, on new connections."""

    def rename(self, cluster: str) -> None:
        """Say on new connections that this is the cluster; those that there are stay."""

    def meet(self, node: NodeId, address: Address, name: str) -> None:
        """Connect to this node too, and let it in; also if its address has changed."""

    def part(self, node: NodeId) -> None:
        """Have nothing to do with this node any more."""

    def answers(self, node: NodeId, member: NodeId) -> bool:
        """Whether it is this member that is at that node's address."""


class DirectoryHost(Port, Protocol):
    """What the directory needs of the host."""

    store: Store
    network: Any

    def add(self, instance: Instance) -> Instance:
        """Host this instance."""


def identity(founders: dict[NodeId, MemberAddress]) -> str:
    """What nodes that were started together have in common."""
    names = sorted(member.name for member in founders.values())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def proof(memory: str, process: str, told: bytes) -> bytes:
    """What only a node with this memory can add to what it tells that process.

    The others know it too, and so does whoever can read what they say on the network.
    """
    return hmac.digest(memory.encode(), b"refused " + process.encode() + b" " + told, "sha256")


def admission_machine(pace: Pace) -> Admission:
    """The machine of admission at this pace, for any members."""
    rules: Any = Admission.form("application")
    patience = Span(ticks=in_ms(pace.grace) + in_ms(pace.granted))
    return Admission(Members.open(), pace.timing, msgspec.structs.replace(rules, patience=patience))


class Directory(Owner):
    """Every member that this node knows, itself included."""

    instance: Instance

    def __init__(
        self,
        me: MemberAddress,
        founders: dict[NodeId, MemberAddress],
        pace: Pace,
        *,
        joins: bool = False,
    ) -> None:
        self.me = me
        self.number = me.id
        """The number by which elections know this node, once it has begun."""
        self.machine = admission_machine(pace)
        self.codec = Codec(self.machine)
        self.member_at: dict[NodeId, NodeId] = {}
        """The member that is reached at each node's address."""
        self.routes: dict[NodeId, NodeId] = {}
        """The other way round: every letter needs it."""
        self.changed: Callable[[AdmissionState, AdmissionState], None] = lambda before, now: None
        """Called when something has changed."""
        self._agreed = pace.agreed
        listed = {member.name: str(member) for member in founders.values()}
        self._start = Start(
            str(me),
            "",
            tuple(sorted(listed.items())),
            tuple(sorted(founders)),
            identity(founders),
            joins,
        )
        state, _ = self.machine.boot(me.id, None)
        self.state, _ = self.machine.step(state, Asked(self._start))
        """What is known; a node that has ended keeps what it knew last."""
        self._connected = {member.id: (member.address, member.id) for member in founders.values()}
        self._set_member_at()
        self._met: NodeId | None = None
        """The address at which a node has just connected."""
        self._doubted: set[NodeId] = set()
        """Members whose memory was not shown by a node of their name: each is logged once."""
        self._odd: set[NodeId] = set()
        """Addresses from which another pace was named."""
        self._unproved: set[NodeId] = set()
        """Addresses at which this node was refused by one that has proved nothing."""
        self._memory = ""
        self._store: Store
        self._has_begun = False
        self._net: Net

    def begin(self, host: DirectoryHost, turns: Turns) -> None:
        """Go by what was saved; how the node was started counts only the first time."""
        self._net = host.network
        self._store = host.store
        kept, self._memory = self._saved(host.store), host.store.identity
        founders = kept.founders if kept is not None and kept.settled else self._start.founders
        if self.me.id not in founders:
            self.number = self.machine.number(self.me.name, host.store.identity)
        self._net.introduction = self.introduction
        self.instance = host.add(Instance(RECORD, turns, self.number, host, self))
        self.instance.boot(kept, frozenset({self.number}))
        self._ask(msgspec.structs.replace(self._start, store=host.store.identity))
        self._has_begun = True
        self.state = self.instance.state  # type: ignore[assignment]
        self._arrange()
        self._net.join(self._spoken)

    def _saved(self, store: Store) -> AdmissionStable | None:
        data = store.load(RECORD)
        if data is None:
            return None
        try:
            stable: Any = self.codec.stable(data)
        except msgspec.DecodeError:
            try:
                stable = msgspec.msgpack.decode(data, type=OlderRecord).stable
            except (msgspec.DecodeError, ValueError) as error:
                raise StoreError(f"what is known of the members cannot be read: {error}") from None
        if self.me.id in stable.founders and not _has_part(store):
            # An older version took a cluster for founded at once. Nobody has relied on it.
            stable = msgspec.structs.replace(stable, settled=False)
        return stable  # type: ignore[no-any-return]

    # --- its instance ---

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "admission/application", "application")

    def after(self) -> None:
        """Keep the network connected to the members that are reached, and tell what has changed."""
        before, now = self.state, self.instance.state
        if not (self._has_begun and isinstance(now, AdmissionState)):
            return
        self.state = now
        if (now.speakers, now.places) != (before.speakers, before.places):
            self._arrange()
        if now.stable.cluster != before.stable.cluster:
            if now.stable.cluster.startswith(f"{before.stable.cluster}."):
                self._net.rename(self._spoken)
                self._part_from_impostors(before, now)
            else:
                self._net.join(self._spoken)
        self.changed(before, now)

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come; one with addresses that nobody can read is dropped."""
        if not isinstance(message, Known) or _is_readable(message):
            self.instance.take(Received(sender, message), head)

    def differs(self, message: Message) -> bool:
        """Whether a node says that it has another list of members."""
        edition = self.machine.edition(self.state)
        return isinstance(message, Edition) and message.edition != edition

    def see(self, alive: frozenset[NodeId]) -> None:
        """The members that were reached have changed to these."""
        self.instance.take(Viewed(alive))

    def _ask(self, request: Request) -> None:
        self.instance.take(Asked(request))

    # --- who there is ---

    @property
    def known(self) -> Mapping[NodeId, Acquaintance]:
        """Every member, by its number."""
        return self.state.known

    @property
    def founders(self) -> tuple[NodeId, ...]:
        """The first members of the cluster."""
        return self.state.stable.founders

    @property
    def listed_founders(self) -> tuple[NodeId, ...]:
        """Those with which this node was started."""
        return self._start.founders

    @property
    def is_founder(self) -> bool:
        """Whether this node is among those that found, or have founded, the cluster."""
        return self.number in self.founders and not self._start.joins

    @property
    def is_unfounded(self) -> bool:
        """Whether this node has yet to found a cluster with others."""
        return self.number in self.founders and not self.state.stable.settled

    @property
    def ids(self) -> tuple[NodeId, ...]:
        """Every member, in order."""
        return tuple(node for node, _ in self.state.stable.known)

    def name(self, node: NodeId) -> str:
        """The name of a member."""
        known = self.state.known.get(node)
        return str(node) if known is None else known.name

    def called_member(self, node: NodeId) -> str:
        """The name of a founder, also of one that was listed elsewhere."""
        return self.name(node) if node in self.known else self.called(node)

    def called(self, line: NodeId) -> str:
        """The name of the node at an address."""
        names = [known.name for known in self.known.values()]
        names += [name for name, _ in self.state.awaited]
        return next((name for name in names if number(name) == line), str(line))

    def introduction(self, line: NodeId) -> tuple[NodeId, NodeId]:
        """The member that this node is, and the one for which it takes the other; 0 if unknown."""
        return self.machine.introduction(self.state, self.called(line))

    def is_newcomer(self, node: NodeId) -> bool:
        """Whether a node has answered at a newcomer's address."""
        return node in dict(self.state.newcomers).values()

    @property
    def is_over(self) -> bool:
        """Whether the others go on without this node."""
        return self.state.over

    def expect_member(self) -> None:
        """Raise Removed if the others go on without this node."""
        if self.is_over:
            raise Removed(f"{self.me.name} is no member any more")

    # --- who comes and goes ---

    def expect_no_clash(self, member: MemberAddress) -> None:
        """ValueError if a newcomer would be taken for another member."""
        for known in self.known.values():
            other = MemberAddress.of(known.place)
            if other.id == member.id and other.name != member.name:
                raise ValueError(f"{other.name!r} and {member.name!r} clash: rename one of them")
            if other.id != member.id and other.address == member.address:
                raise ValueError(f"{other} has that address already")

    def await_newcomer(self, member: MemberAddress) -> None:
        """Get to know a node that is to become a member, or has a new address."""
        self._ask(Await(str(member)))

    def await_no_more(self, member: MemberAddress) -> None:
        """It has become a member, or not: stop waiting for it."""
        self._ask(AwaitNoMore(str(member)))

    def newcomer(self, member: MemberAddress) -> NodeId | None:
        """The node that has answered there, if one has."""
        return dict(self.state.newcomers).get(member.name)

    def propose(self, node: NodeId, token: int) -> None:
        """Tell the others who and where it is, before they are asked to vote on it."""
        self._ask(Propose(node, token))

    def settle(self) -> None:
        """Something that others rely on is about to be saved: from now on this is its cluster."""
        if self.state.stable.cluster and not self.state.stable.settled:
            self._ask(Settle())

    def news(self, hello: Hello) -> bytes:
        """What a node that was refused may want to know, and a proof that a member says so.

        Of a founder of this name that was replaced all members know the memory: that proves it to
        a node that was away since.
        """
        told = msgspec.msgpack.encode(self.machine.told(self.state).without_memories())
        former = dict(self.state.stable.former).get(self.me.id, self._memory)
        proofs = (proof(memory, hello.process, told) for memory in (self._memory, former))
        return b"".join(proofs) + told

    def refused(self, line: NodeId, news: bytes) -> None:
        """What answers at an address refused us and said why. Only a member is believed."""
        proved, told = news[: 2 * PROOF], news[2 * PROOF :]
        if len(news) > NEWS_MAX:
            return
        by = self._who_proves(line, proved, told)
        if by is None:
            self._say_unproved(line)
            return
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            known = msgspec.msgpack.decode(told, type=Known)
            if _is_readable(known):
                self._ask(Refused(known.without_memories(), by))

    def _who_proves(self, line: NodeId, proved: bytes, told: bytes) -> str | None:
        """The memory of the member that has said this; None if it is of none that is known here.

        It may be the one that was there before, for a node that was away while it was replaced.
        """
        memories = (each.store for each in self.known.values() if number(each.name) == line)
        for memory in filter(None, memories):
            expected = proof(memory, self._net.process, told)
            for found in (proved[:PROOF], proved[PROOF:]):
                if hmac.compare_digest(expected, found):
                    return memory
        return None

    def _say_unproved(self, line: NodeId) -> None:
        if line not in self._unproved:
            self._unproved.add(line)
            log.warning(UNPROVED, self.called(line), self.me.name, self.me.name)

    # --- who is let in ---

    def is_ours(self, hello: Hello) -> bool:
        """Whether another node may be of the same cluster, as far as it says."""
        cluster, _, agreed = hello.cluster.partition("/")
        is_ours = self.machine.is_ours(self.state, cluster, tied=self._is_tied)
        if is_ours and agreed != self._agreed and hello.node in self._connected:
            self._say_odd_pace(hello, agreed)
        return is_ours and agreed == self._agreed

    def _say_odd_pace(self, hello: Hello, agreed: str) -> None:
        if hello.node not in self._odd:
            self._odd.add(hello.node)
            name, me = self.called(hello.node), self.me.name
            log.error("%s runs with %s, but %s with %s", name, quoted(agreed), me, self._agreed)

    @property
    def _is_tied(self) -> bool:
        """Whether a member of what this node takes for its cluster answers at its address."""
        return any(self._net.answers(line, node) for line, node in self.member_at.items())

    def objection(self, hello: Hello) -> str:
        """Why another node is refused; empty if it is let in."""
        name = self.called(hello.node)
        match self.machine.objection(self.state, self._caller(hello)):
            case Objection.FOREIGN:
                return f"{name} is of another cluster"
            case Objection.MISTAKEN:
                return f"{name} takes {self.me.name} for one with another data folder"
            case Objection.CLASH:
                return f"{self.name(hello.member)} and {name} clash: rename one of them"
            case Objection.ANOTHER:
                return ANOTHER.format(name, name)
            case Objection.OLDER:
                if hello.member not in self._doubted:
                    self._doubted.add(hello.member)
                    log.error(OLDER, name, name)
                return COPIED.format(name, name)
            case Objection.LOST:
                if hello.member not in self._doubted:
                    self._doubted.add(hello.member)
                    log.error(LOST, name, name)
                return ANOTHER.format(name, name)
        return ""

    def recognise(self, hello: Hello) -> None:
        """A node was let in: if this one is to join, that is its cluster."""
        self._met = hello.node
        self._ask(Met(msgspec.structs.replace(self._caller(hello), is_found=True)))
        self._met = None

    def _caller(self, hello: Hello) -> Caller:
        return Caller(
            hello.cluster.partition("/")[0],
            self.called(hello.node),
            hello.member,
            hello.store,
            hello.meant,
            is_found=self._net.answers(hello.node, hello.member),
            is_older=self._is_older(hello),
            is_tied=self._is_tied,
        )

    def _is_older(self, hello: Hello) -> bool:
        """Whether a node has saved less than when this one saw it last."""
        seen = hello.node, hello.store, hello.incarnation, hello.saves
        return self.instance.state is not None and self._store.is_older(*seen)

    # --- the network ---

    @property
    def _spoken(self) -> str:
        """What nodes must have in common to talk to each other; empty while it is not known."""
        cluster = self.state.stable.cluster
        return f"{cluster}/{self._agreed}" if cluster else ""

    def _arrange(self) -> None:
        """Connect to the member at each address, and to newcomers; disconnect from all others."""
        self._set_member_at()
        expected = {
            number(name): MemberAddress.of(text) for name, text in self.state.places.items()
        }
        for line in self._connected.keys() - expected.keys():
            del self._connected[line]
            self._net.part(line)
        for line in expected.keys() - {self.me.id}:
            self._connect(line, expected[line])

    def _set_member_at(self) -> None:
        member_at = {number(name): node for name, node in self.state.speakers}
        # The host holds on to both of them.
        for held, new in (
            (self.member_at, member_at),
            (self.routes, {node: line for line, node in member_at.items()}),
        ):
            held.clear()
            held.update(new)

    def _part_from_impostors(self, before: AdmissionState, now: AdmissionState) -> None:
        """Before the cluster was founded anybody was taken for a founder: connect to those anew."""
        for node, known in now.stable.known:
            met = before.memory(node)
            line = self.routes.get(node)
            if line is not None and met and met != known.store and node != self.number:
                place = MemberAddress.of(known.place)
                self._net.meet(line, place.address, place.name)

    def _connect(self, line: NodeId, member: MemberAddress) -> None:
        """Connect anew if it is another member: the old one must not be taken for it."""
        end = member.address, self.member_at.get(line, 0)
        if self._connected.get(line) != end:
            self._connected[line] = end
            if line != self._met:
                self._net.meet(line, member.address, member.name)


def _has_part(store: Store) -> bool:
    """Whether this node has voted, or knows that its cluster was founded."""
    return any(name not in (RECORD, "pace") for name in store.names())


def quoted(text: str) -> str:
    """What another node says, fit for a log."""
    return "".join(each if each.isprintable() else "?" for each in text[:200])


def _is_readable(told: Known) -> bool:
    """Whether every address in a message can be read."""
    try:
        for _, known in told.nodes:
            MemberAddress.of(known.place)
    except ValueError:
        return False
    return True
