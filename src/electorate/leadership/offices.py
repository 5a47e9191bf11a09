"""All elections of one node: they share its connections, its detector of failures and its store."""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from electorate.core import Foremost, Members, Message, NodeId, Received, Turns
from electorate.core.codec import Codec
from electorate.leadership.alarms import Alarms
from electorate.leadership.candidacy import Candidacies
from electorate.leadership.groups import Groups
from electorate.leadership.kind import Kinds, Safety
from electorate.leadership.letter import (
    Bundle,
    Letter,
    Order,
    Ranks,
    Said,
    Standing,
    Stranger,
    decoder,
)
from electorate.leadership.office import Office
from electorate.leadership.pace import Pace
from electorate.leadership.seat import Seat
from electorate.net.clock import now_ms
from electorate.net.frame import FRAME_MAX, Hello
from electorate.net.guest import Guest, Host
from electorate.net.store import StoreError
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.message import StepDown, Transfer

OfficeMandate = Mandate.over(Foremost)
PREFIX = "office "
STORES = "stores of the members"
REMIND_S = 1.0
TURNS_MAX = 2_000
MACHINES_MAX = 200
BUNDLE_MAX = FRAME_MAX // 4

log = logging.getLogger("electorate")


class Offices(Guest):
    """The desk of every election of a node."""

    def __init__(self, me: NodeId, names: dict[NodeId, str], pace: Pace) -> None:
        self.kind_of_turns: type[Turns] = Turns
        self.call: Callable[..., None]
        """How to have something done in the node's thread; whoever starts the node sets it."""
        self.me = me
        self.names = names
        self.pace = pace
        self.offices: dict[str, Office] = {}
        self.alive: frozenset[NodeId] = frozenset(names)
        self.wiped = False
        """Whether others do not count on this node: its memory is not the one they know it by."""
        self.paused = False
        self.lived = asyncio.Event()
        self.now_ms: Callable[[], float] = now_ms
        self.chance: Callable[[float, float], float] = random.uniform
        self.groups = Groups(self)
        self._kinds = Kinds()
        self._candidacies = Candidacies(self)
        self._stores: dict[NodeId, str] = {}
        self._strangers: set[NodeId] = set()
        self._outbox: defaultdict[NodeId, list[Said]] = defaultdict(list)
        self._reminding: asyncio.Task[None] | None = None
        self._codec = Codec(self._machine((0,) * len(names)).machine)

    # --- the guest of a node ---

    def begin(self, host: Host) -> None:
        """Know again what was promised, and by which memories the others are known."""
        self.host = host
        self._alarms = Alarms(self.now_ms, host.enter)
        stored = host.store.load(STORES)
        if stored is not None:
            self._stores = msgspec.msgpack.decode(stored, type=dict[NodeId, str])
        for name in host.store.names():
            if name.startswith(PREFIX):
                self.office(name.removeprefix(PREFIX))

    def lives(self, alive: frozenset[NodeId]) -> None:
        """The first life boots all elections; a later one finds them as they were."""
        self.alive = alive
        self._candidacies.announce(ask=True)
        if not self.lived.is_set():
            self.lived.set()
            self._reminding = asyncio.ensure_future(self._remind())
            for office in self.offices.values():
                self._boot(office)
            self.groups.lives()

    def viewed(self, alive: frozenset[NodeId]) -> None:
        """Other nodes are suspect than before."""
        came, self.alive = alive - self.alive, alive
        for office in list(self.offices.values()):
            office.reconsider()
        self.groups.viewed()
        if came:
            self._candidacies.announce()

    def met(self, hello: Hello) -> None:
        """Another node has connected: is it the one that has promised what it has promised?"""
        known = self._stores.get(hello.node)
        if known is None:
            self._stores[hello.node] = hello.store
            self.host.store.save({STORES: msgspec.msgpack.encode(self._stores)})
        elif known == hello.store:
            self._strangers.discard(hello.node)
        elif hello.node not in self._strangers:
            self._strangers.add(hello.node)
            self._candidacies.note(hello.node, {})
            self.groups.viewed()
            name = self.names[hello.node]
            log.error("%s has lost its memory: its votes do not count until it is replaced", name)

    def decode(self, body: bytes) -> tuple[Letter, list[Message]]:
        """A letter, with the messages of machines in it."""
        letter: Letter = decoder.decode(body)
        said = letter.said if isinstance(letter, Bundle) else []
        codecs = self._codec, self.groups.codec
        return letter, [codecs[each.group is not None].message(each.body) for each in said]

    def read(self, hello: Hello, read: tuple[Letter, list[Message]]) -> None:
        """A letter has come."""
        letter, messages = read
        if hello.node in self._strangers:
            self.send(hello.node, Stranger())
            return
        match letter:
            case Bundle(said):
                for each, message in zip(said, messages, strict=True):
                    if each.group is None:
                        self.office(each.office).take(Received(hello.node, message))
                    else:
                        self.groups.read(hello.node, each, message)
            case Ranks(ranks):
                self._kinds.hear(self.names[hello.node], ranks, "group")
                self.groups.hear(hello.node, letter)
            case Standing():
                self._kinds.hear(self.names[hello.node], letter.priorities, "quorum")
                self._candidacies.hear(hello.node, letter)
            case Order(office, token, heir):
                if self.office(office).seen == (self.me, token):
                    self.order(office, heir)
            case Stranger():
                if not self.wiped:
                    log.error("%s does not count on this node any more", self.names[hello.node])
                self.wiped = True

    async def end(self) -> None:
        """Nothing is led here any more."""
        self._alarms.end()
        if self._reminding is not None:
            self._reminding.cancel()
        for office in self.all():
            office.halt(NodeStopped("the node has stopped"))

    # --- all elections ---

    @property
    def strangers(self) -> set[NodeId]:
        """Members that have come back without their memory: nobody listens to them."""
        return self._strangers

    def all(self) -> list[Seat]:
        """Every election, of either kind."""
        return [*self.offices.values(), *self.groups.offices.values()]

    def named(self, name: str, safety: Safety) -> Seat:
        """The election of that name, as the application of this node wants it."""
        self._kinds.name(name, safety)
        return self.office(name) if safety == "quorum" else self.groups.office(name)

    def office(self, name: str) -> Office:
        """The election of that name; every node votes in every election that it hears of."""
        found = self.offices.get(name)
        if found is None:
            found = self.offices[name] = Office(name, self)
            found.paused = self.paused
            if self.lived.is_set():
                self._boot(found)
        return found

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again where it did."""
        self.paused = paused
        for office in self.all():
            office.paused = paused
            office.stand()

    def order(self, name: str, heir: NodeId | None) -> None:
        """Have whoever leads step down, or hand over."""
        office = self.office(name)
        if office.is_held:
            office.ask(StepDown() if heir is None else Transfer(heir))
        elif office.seen.leader is not None and office.seen.token is not None:
            self.send(office.seen.leader, Order(name, office.seen.token, heir))

    def stands_with(self, node: NodeId, name: str) -> int:
        """The priority with which a node stands, as far as it is known here."""
        if node == self.me:
            office = self.offices.get(name)
            return 0 if office is None else office.stands_with
        return self._candidacies.priority(node, name)

    def _boot(self, office: Office) -> None:
        data = self.host.store.load(PREFIX + office.name)
        try:
            stable = None if data is None else self._codec.stable(data)
        except msgspec.DecodeError as error:
            raise StoreError(f"what {office.name} has promised cannot be read: {error}") from None
        office.boot(stable)

    # --- the desk of its offices ---

    def turns(self, office: Office) -> Turns:
        """The machine, by the priorities that are known at the moment."""
        ids, known = sorted(self.names), self._candidacies
        return self._machine(
            tuple(
                known.own(office) if node == self.me else known.priority(node, office.name)
                for node in ids
            )
        )

    def keep(self, office: Office, stable: bytes) -> None:
        """Force it to disk."""
        self.host.store.save({PREFIX + office.name: stable})

    def post(self, office: Office, to: NodeId, message: Message) -> None:
        """Put it to what else is to be said to that node in this moment."""
        self.put(to, Said(office.name, msgspec.Raw(Codec.encode(message))))

    def put(self, to: NodeId, said: Said) -> None:
        """Put it to what else is to be said to that node in this moment."""
        if not self._outbox:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outbox[to].append(said)

    def schedule(self, office: Seat, deadline_ms: float | None) -> None:
        """Wake the office then."""
        self._alarms.set(office, deadline_ms)

    def stands(self, office: Office, *, is_new: bool) -> None:
        """Tell the others with which priority this node stands now; a new candidate hears them."""
        self._candidacies.changed(office, is_new=is_new and self.lived.is_set())

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""
        self.call(self.host.enter, act, *given)

    def enter_here(self, act: Callable[[], None]) -> None:
        """The same in the node's thread."""
        self.host.enter(act)

    def others(self) -> Iterable[NodeId]:
        """Every other node."""
        return (node for node in self.names if node != self.me)

    # --- messages ---

    def _flush(self) -> None:
        outbox, self._outbox = self._outbox, defaultdict(list)
        for to, said in outbox.items():
            for part in _parts(said):
                self.send(to, Bundle(part))

    def send(self, to: NodeId, letter: Letter) -> None:
        self.host.network.send(to, msgspec.msgpack.encode(letter), to_guest=True)

    async def _remind(self) -> None:
        while True:
            await asyncio.sleep(REMIND_S)
            self.host.enter(self._say_again)

    def _say_again(self) -> None:
        """Where this node stands, which may have been lost; and notice work that has no end."""
        self._candidacies.announce()
        self.groups.announce()
        for office in self.all():
            if office.term is not None:
                office.term.abandon_after(self.pace.grace_ms)

    @lru_cache(MACHINES_MAX)  # noqa: B019 - it lives as long as the node
    def _machine(self, priorities: tuple[int, ...]) -> Turns:
        ids = sorted(self.names)
        members = Members.of(ids, "highest", dict(zip(ids, priorities, strict=True)))
        rules = replace(OfficeMandate.form("application"), **self.pace.lengths)
        machine = OfficeMandate(members, self.pace.timing, rules)
        return self.kind_of_turns(machine, TURNS_MAX)


class NodeStopped(Exception):
    """There is no node any more that could do it."""


def _parts(said: list[Said]) -> list[list[Said]]:
    """The same in pieces that fit into one frame each."""
    parts: list[list[Said]] = [[]]
    size = 0
    for each in said:
        length = len(each.office) + len(bytes(each.body)) + 20
        if size + length > BUNDLE_MAX and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append(each)
        size += length
    return parts
