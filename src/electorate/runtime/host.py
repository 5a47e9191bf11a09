"""A host: any number of machine instances on one network, one store and one clock.

It is the only place that knows that one event is taken at a time; that all turns of one wake-up
share one sync before anything leaves; when timers run out, who seems alive, when this process
stood still, and when a life begins and ends. What is hosted are services: the one protocol of
`electorate node`, the elections of an application, its transactions.
"""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from electorate.core import Assumption, Message, NodeId, Stable, Viewed
from electorate.core.codec import Codec
from electorate.errors import StoreError
from electorate.runtime.config import HostConfig
from electorate.runtime.environment import Environment
from electorate.runtime.frame import FRAME_MAX, BadFrame, Hello, Letter, Said
from electorate.runtime.instance import Instance
from electorate.runtime.network import Network
from electorate.runtime.recorder import Recorder
from electorate.runtime.store import Store
from electorate.runtime.tcp import real
from electorate.runtime.timers import INPUT_ROUNDS, Lateness, TimerQueue
from electorate.runtime.wiring import Wiring
from electorate.trace.record import Letterhead

LETTER_MAX = FRAME_MAX // 4
"""Bytes of one letter, about."""
SAID_MAX = 100
"""Messages in one letter: a node that reads it is busy for some milliseconds."""
EARLY_MAX = 10_000
"""Messages that wait for a life to begin."""
SET_MS, SLEW = 50.0, 0.1
"""A wall clock that gains more, and more than this share of the time, was set and not slewed."""

Effect = Callable[..., object]

log = logging.getLogger("electorate.runtime")


class Keeper(Protocol):
    """What a host needs of its store."""

    def save(self, records: Mapping[str, bytes | None]) -> None:
        """Save these records durably, all together, before returning; None deletes one."""


class GroupCommit:
    """What a host does in one wake-up: first all is saved, with one sync, then it has effects.

    Nothing leaves the host in between: no letter, no term, no news. If the store fails or the host
    crashes before the sync, it has said and given nothing: to the others it has taken none of these
    turns.
    """

    def __init__(self, store: Keeper, send: Callable[[NodeId, list[Said]], None]) -> None:
        self.write_down: Callable[[], None] | None = None
        """Writes the record before anything comes of a turn; None if nothing is recorded."""
        self.count = 0
        """How many wake-ups there have been."""
        self._store = store
        self._send = send
        self._is_open = False
        self._forget()

    def run(self, act: Callable[..., object], *given: Any) -> None:
        """Do this, and all that follows from it, as part of one wake-up."""
        if self._is_open:
            act(*given)
            return
        self._is_open = True
        self.count += 1
        try:
            act(*given)
        except BaseException:
            self._forget()
            raise
        finally:
            self._is_open = False
        self._carry_out()

    def keep(self, name: str, record: bytes | None) -> None:
        """Save this, or delete it, before anything else comes of this wake-up."""
        self._expect_open()
        self._records[name] = record

    def say(self, to: NodeId, said: Said) -> None:
        """Queue a message for this node."""
        self._expect_open()
        if to in self._said:
            self._said[to].append(said)
        else:
            self._said[to] = [said]

    def once_kept(self, effect: Effect, *given: Any) -> None:
        """Do this when everything has been saved, before anything is said."""
        self._expect_open()
        self._kept.append((effect, given))

    def once_said(self, to: NodeId | None, effect: Effect, *given: Any) -> None:
        """Do this when what there is to say to that node has been said."""
        self._expect_open()
        self._told.append((to, effect, given))

    def then(self, effect: Effect, *given: Any) -> None:
        """Do this when everything has been saved and said."""
        self._expect_open()
        self._effects.append((effect, given))

    def _carry_out(self) -> None:
        records, kept, said = self._records, self._kept, self._said
        told, effects = self._told, self._effects
        self._forget()
        if self.write_down is not None and (records or said or kept or told or effects):
            self.write_down()
        if records:
            self._store.save(records)
        for effect, given in kept:
            effect(*given)
        for to, all_said in said.items():
            self._send(to, all_said)
            for hearer, effect, given in told:
                if hearer == to:
                    effect(*given)
        for effect, given in effects:
            effect(*given)

    def _forget(self) -> None:
        self._records: dict[str, bytes | None] = {}
        self._kept: list[tuple[Effect, tuple[Any, ...]]] = []
        self._said: dict[NodeId, list[Said]] = {}
        self._told: list[tuple[NodeId | None, Effect, tuple[Any, ...]]] = []
        self._effects: list[tuple[Effect, tuple[Any, ...]]] = []

    def _expect_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("a turn was taken while the host did nothing: nobody keeps it")


class Mail(NamedTuple):
    """A message that has arrived, and its sender."""

    hello: Hello
    sender: NodeId
    """The node that wrote it, as instances know it."""
    name: str
    """The receiver, among those of its kind."""
    message: Any
    head: Letterhead


class Service:
    """What a host runs; called in the host's loop only. It overrides what it has a use for."""

    kinds: tuple[str, ...] = ()
    """The kinds of instances and other receivers for which it takes mail."""

    def begin(self, host: "Host") -> None:
        """The host is about to listen."""

    def lives(self, alive: frozenset[NodeId]) -> None:
        """A life of the host begins: the others were reached, as far as they can be."""

    def viewed(self, alive: frozenset[NodeId]) -> None:
        """The set of suspects changed."""

    def met(self, hello: Hello) -> None:
        """Another node was let in."""

    def closed(self, node: NodeId) -> None:
        """The connection of a node ended, and its process is believed to have ended it."""

    def clock_was_set(self) -> None:
        """The wall clock was set forward: this machine may have stood still, clocks and all."""

    def halted(self) -> None:
        """The life of the host is over; another will begin, unless the host ends."""

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing goes on here that others rely on."""
        return True

    def decode(self, kind: str, body: bytes) -> Any:
        """The message in these bytes; any error if it cannot be read."""
        raise BadFrame(f"nobody takes mail for {kind}")

    def receive(self, kind: str, mail: Mail) -> None:
        """A message has come for one of these kinds."""

    async def end(self) -> None:
        """The host has ended: nothing is sent or saved any more."""


class Admission:
    """Decides who may speak to a host, and as which member. This one lets in all that it knows."""

    own: NodeId | None = None
    """The number by which instances know this node; None if that is its id."""
    routes: dict[NodeId, NodeId] | None = None
    """The node of the network for each member; None if instances know nodes by the same numbers."""
    member_at: dict[NodeId, NodeId] | None = None
    """The other way round: the member that is connected there."""

    def is_ours(self, hello: Hello) -> bool:
        """Whether another node is of the same cluster, as far as it says."""
        return True

    def objection(self, hello: Hello) -> str:
        """Why another node is refused; empty if it is let in."""
        return ""

    def news(self, hello: Hello) -> bytes:
        """What a node that was refused may want to know."""
        return b""

    def refused(self, node: NodeId, news: bytes) -> None:
        """What answers at the address of a node refused us and said why. It may be anybody."""


class Host:
    """Runs its services on the network until it is stopped. Before it begins, it opens nothing."""

    store: Store
    """What it has saved; None before it has begun."""

    def __init__(
        self,
        config: HostConfig,
        services: Iterable[Service],
        admission: Admission | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.config = config
        self.me = config.me
        self.counters: Counter[str] = Counter()
        self.services = tuple(services)
        self.admission = admission or Admission()
        self.environment = environment or real()
        self.now_ms = self.environment.now_ms
        """The clock of this host."""
        self.network = Network(config, self.environment, self)
        self.recorder: Recorder | None = None
        """Writes down what all instances go through, if the host records."""
        self.instances: dict[str, Instance] = {}
        self.lateness = Lateness(config.late_ms)
        self.error: Exception | None = None
        """What has ended it, if it was not told to stop."""
        self.was_told_to_stop = False
        """Whether it was told to end."""
        self.on_wake_up: Callable[[], None] | None = None
        """Called after every wake-up, when everything has been saved, said and done."""
        self.commit = GroupCommit(self, self._post)
        self.timers = TimerQueue(self.now_ms, self.enter, config.patience_ms, self.lateness)
        self.wiring = Wiring(self.enter)
        self._chance = self.environment.chance("timers")
        self._kinds = {kind: service for service in self.services for kind in service.kinds}
        self._bound: dict[str, Codec] = {}
        """Instances that begin and end with the lives of this host, and how to read what they
        saved."""
        self._needs_all = False
        """Whether one of them starts over if one of its messages is lost."""
        self._sent: Counter[tuple[str, NodeId]] = Counter()
        self._encoded: tuple[Message | None, msgspec.Raw] = (None, msgspec.Raw())
        self._early: list[tuple[float, Service, str, Mail]] = []
        """Mail for the life that is about to begin."""
        self._seen = self.network.everybody
        self._awake_at = 0.0
        self._clocks = math.inf, math.inf
        """Both clocks when they were last looked at, that of this host and the wall clock."""
        self._is_alive = self._has_lived = self._is_ending = False
        self._opened: list[Callable[[], None]] = []
        """Closes what was opened."""
        self._begun: list[Service] = []

    # --- instances and what they need: the port of `Instance` ---

    def jitter(self, up_to: int) -> float:
        """A random number up to this."""
        return self._chance.uniform(0, up_to)

    def add(self, instance: Instance) -> Instance:
        """Host this instance; the caller boots it."""
        self.instances[instance.name] = instance
        if self.recorder is not None:
            instance.record = self.recorder.instance(
                instance.name, partial(self._sent_by, instance.name)
            )
        return instance

    def _sent_by(self, name: str) -> dict[NodeId, int]:
        """How many messages an instance has sent to each node in this life."""
        return {to: sent for (sender, to), sent in self._sent.items() if sender == name}

    def bind(self, instance: Instance) -> Instance:
        """Host this instance, and boot it at the beginning of every life."""
        self._bound[instance.name] = Codec(instance.machine)
        self._needs_all |= Assumption.NO_LOSS in instance.assumptions
        return self.add(instance)

    def remove(self, instance: Instance) -> None:
        """Stop hosting this instance; what it has saved stays."""
        failed = self._is_ending and not self.was_told_to_stop
        if instance.record is not None and not failed:
            instance.record.ended(over=not self._is_ending)
        instance.halt()
        self.wiring.part(instance)
        self.instances.pop(instance.name, None)

    def keep(self, name: str, record: bytes | None) -> None:
        """Save this before anything comes of this wake-up."""
        self.commit.keep(name, record)

    def save(self, records: Mapping[str, bytes | None]) -> None:
        """Make what was saved in one wake-up durable, before returning."""
        self.store.save(records)

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is saved that was promised before."""
        self.commit.then(effect, *given)

    def send(self, instance: Instance, to: NodeId, message: Message) -> None:
        """Send a machine's message once what it rests on is durable; it may be lost."""
        encoded, body = self._encoded
        # Most is said to everybody, and need not be put into bytes for each.
        if message is not encoded:
            body = msgspec.Raw(Codec.encode(message))
            self._encoded = message, body
        channel = instance.name, to
        self._sent[channel] += 1
        line = self._route(to)
        if line is None:
            return
        if instance.owner.looks_inside:
            instance.owner.sends(to, message)
            body = msgspec.Raw(instance.owner.wrapped(bytes(body)))
        self.commit.say(line, Said(instance.name, self._sent[channel], body))

    def tell(self, kind: str, to: NodeId, body: bytes) -> None:
        """Send a message that is not a machine's to the service of that kind at another node."""
        line = self._route(to)
        if line is not None:
            self.commit.say(line, Said(kind, 0, msgspec.Raw(body)))

    def once_said(self, to: NodeId, effect: Callable[..., object], *given: Any) -> None:
        """Do this when what there is to say to that node has been said."""
        self.commit.once_said(self._route(to), effect, *given)

    def _route(self, to: NodeId) -> NodeId | None:
        """Where the network has that node; None if another one has its name by now."""
        routes = self.admission.routes
        return to if routes is None else routes.get(to)

    def schedule(self, instance: Instance) -> None:
        """Wake the instance when it is due, which is earlier than it was queued for."""
        self.timers.put(instance)

    def _post(self, to: NodeId, said: list[Said]) -> None:
        for letter in (said,) if len(said) == 1 else letters(said):
            counted = sum(each.to in self._bound for each in letter) if self._bound else 0
            self.network.send(to, letter, counted)

    # --- its life ---

    def begin(self) -> None:
        """Open what is saved here and have the services begin; `run` does it unless it is done."""
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self._life_due = asyncio.Event()
        self._life_due.set()
        self._awake_at = self.now_ms()
        self.network.trust()
        self.store = self.environment.open_store(self.config.data, self.me)
        self._opened.append(self.store.close)
        self.network.saves = lambda: self.store.saves
        if self.config.record is not None:
            self.recorder = Recorder(self.config.record, self.environment.now_ms)
            self._opened.append(self.recorder.close)
            self.commit.write_down = self.recorder.flush
        for service in self.services:
            self._begun.append(service)
            self.commit.run(service.begin, self)

    async def run(
        self, stopping: asyncio.Event, on_begun: Callable[[], None] = lambda: None
    ) -> None:
        """Listen, connect, boot, and go on until told to stop; errors that matter end it."""
        tasks: list[asyncio.Future[Any]] = []
        try:
            if not self._opened:
                self.begin()
            on_begun()
            tasks.append(self._failed)
            await self._listen()
            runs = [stopping.wait(), self._beat(), self._live(), self.network.run()]
            tasks += map(asyncio.ensure_future, runs)
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if all(service.is_at_rest for service in self.services):
                self.network.say_goodbye()
            # From here on nothing is taken any more: the record says that this life is over.
            self.was_told_to_stop = True
        except Exception as error:
            self.error = error
            raise
        finally:
            self._is_ending = True
            self._failed.cancel()  # From here on nothing enters: what comes now comes too late.
            await self.network.listener.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for service in self._begun:
                await service.end()
            self.close()

    async def _listen(self) -> None:
        """Let the others connect, if this node has an address."""
        if self.me in self.config.addresses:
            await self.network.listener.start(self.config.addresses[self.me])
        else:
            log.warning(
                "node %s has no address: it can speak to others, and nobody can answer it",
                self.config.called(self.me),
            )

    def close(self) -> None:
        """Close everything that was opened."""
        self.timers.end()
        if self.recorder is not None and self.was_told_to_stop:
            for instance in self.instances.values():
                if instance.record is not None:
                    instance.record.ended(over=False)
        for close in reversed(self._opened):
            close()
        self._opened.clear()
        self._halt()

    async def _live(self) -> None:
        """Begin a life whenever one is due, once the other nodes are within reach."""
        while True:
            await self._life_due.wait()
            self._life_due.clear()
            self.network.introduce(self.store.identity, self.store.begin_life())
            if self._has_lived:
                self._sent.clear()
            self._has_lived = True
            self._write_down_life()
            first = self.store.incarnation == 1
            await self.network.await_links(self.config.first_wait_ms if first else 0)
            self.enter(self._begin_life)

    def _write_down_life(self) -> None:
        if self.recorder is not None:
            names = {node: self.config.called(node) for node in self.network.everybody}
            own = self.admission.own or self.me
            life, cluster = self.store.incarnation, self.network.cluster
            self.recorder.begin(own, life, self.config.called(self.me), names, cluster)
            self.recorder.flush()  # A life of which there is no line is taken for a gap.

    def _begin_life(self) -> None:
        """Boot what lives with this host, with what its last life saved."""
        if self._life_due.is_set():
            return  # A pause has just broken the links again.
        self.network.trust()
        self._seen = self.network.everybody
        self._is_alive = True
        for name, codec in self._bound.items():
            self.instances[name].boot(self._saved(name, codec), self._seen)
        early, self._early = self._early, []
        for at, service, kind, mail in early:
            if self.now_ms() - at < self.config.fresh_ms:
                self.counters["in"] += 1
                service.receive(kind, mail)
        for service in self.services:
            service.lives(self._seen)

    def _saved(self, name: str, codec: Codec) -> Stable | None:
        """What the last life saved; None on the very first start."""
        data = self.store.load(name)
        try:
            return None if data is None else codec.stable(data)
        except Exception as error:
            raise StoreError(f"what was saved is not of this protocol: {error}") from None

    def _end_life(self, why: str) -> None:
        """Start over, as after a crash: what this node believes may be out of date."""
        self.counters[f"lives ended: {why}"] += 1
        self._early.clear()
        self._halt()
        self.network.listener.reset()
        self._life_due.set()

    def _halt(self) -> None:
        self._is_alive = False
        for name in self._bound:
            self.instances[name].halt()
        for service in self.services:
            service.halted()

    async def _beat(self) -> None:
        beat_ms = self.config.beat_ms
        rest_ms = min(beat_ms, self.config.still_ms / 4)  # A pause must stand out from our rest.
        beat_at = 0.0
        while True:
            self.enter(self._notice_setting)  # A pause is noticed at once.
            if self.now_ms() >= beat_at:
                self.network.beat()
                if self.recorder is not None:
                    self.recorder.flush()  # What nobody has seen is not to wait for too long.
                beat_at = self.now_ms() + beat_ms - rest_ms / 2
            # A busy node has not read yet what shows that others live.
            self._settle_input(self._look_around)
            await asyncio.sleep(rest_ms / 1000)

    def _look_around(self) -> None:
        """See which nodes are alive."""
        alive = self.network.alive()
        if alive == self._seen or not self._is_alive:
            return
        self._seen = alive
        for name in self._bound:
            if self.instances[name].machine.uses_views:
                self.instances[name].take(Viewed(alive))
        for service in self.services:
            service.viewed(alive)

    # --- the one way in ---

    def enter(self, act: Callable[..., object], *given: Any) -> None:
        """Do this in a wake-up of its own; an exception ends the host."""
        if self._failed.done():
            return
        try:
            self._notice_pause()
            self.commit.run(act, *given)
        except Exception as error:
            # A store that fails or a machine that breaks its contract: stop, do not guess.
            if not self._failed.done():
                self.error = error
                self._failed.set_exception(error)
        if self.on_wake_up is not None:
            self.on_wake_up()

    def _notice_pause(self) -> None:
        """See whether this process stood still for so long that others may suspect it."""
        now = self.now_ms()
        gap, self._awake_at = now - self._awake_at, now
        if gap < self.config.still_ms:
            return
        self.counters["pauses noticed"] += 1
        log.warning("node %s stood still for %d ms", self.config.called(self.me), gap)
        self.network.reset()  # What waits on the connections is out of date.
        if not self._is_alive:
            self._life_due.set()
        elif gap >= self.config.timeout_ms:
            self.commit.run(self._end_life, "stood still")

    def _notice_setting(self) -> None:
        """See whether the wall clock was set, as it is where a machine has been paused as a whole.

        Then neither clock shows how long that was, until something sets the wall clock right.
        """
        (now, wall), (then, before) = (self.now_ms(), self.environment.wall_ms()), self._clocks
        self._clocks = now, wall
        gained_ms, passed_ms = (wall - before) - (now - then), now - then
        if gained_ms > max(SET_MS, SLEW * passed_ms):
            self.counters["wall clock set"] += 1
            name = self.config.called(self.me)
            log.warning("node %s: the wall clock was set forward by %d ms", name, gained_ms)
            for service in self.services:
                service.clock_was_set()

    def _settle_input(self, act: Callable[[], None], rounds: int = INPUT_ROUNDS) -> None:
        """Read the messages that have arrived before suspecting anybody."""
        if rounds:
            self._loop.call_soon(self._settle_input, act, rounds - 1)
        else:
            self.enter(act)

    # --- the reader of its network ---

    def is_ours(self, hello: Hello) -> bool:
        """Whether another node is of the same cluster, as far as it says."""
        return self.admission.is_ours(hello)

    def objection(self, hello: Hello) -> str:
        """Why another node is refused; empty if it is let in."""
        return self.admission.objection(hello)

    def news(self, hello: Hello) -> bytes:
        """What a node that was refused may want to know."""
        return self.admission.news(hello)

    def refused(self, node: NodeId, news: bytes) -> None:
        """What answers at the address of a node refused us and said why."""
        if news:
            self.enter(self.admission.refused, node, news)

    def met(self, hello: Hello) -> None:
        """Another node has connected."""
        self.enter(self._recognise, hello)

    def saved(self, hello: Hello, saves: int) -> None:
        """A node shows how often it has saved anything."""
        self.store.note(hello.node, hello.store, saves)

    def _recognise(self, hello: Hello) -> None:
        self.store.note(hello.node, hello.store, hello.saves)
        odd = self.store.meet(hello.node, hello.store, hello.incarnation)
        if odd is not None:
            self.counters[f"came back with {odd}"] += 1
            log.warning("node %s came back with %s", self.config.called(hello.node), odd)
        for service in self.services:
            service.met(hello)

    def seen(self) -> None:
        """A node that was suspect shows that it is alive."""
        self.enter(self._look_around)

    def closed(self, node: NodeId) -> None:
        """The connection of a node came to its end, as when a process has died."""
        for service in self.services:
            self.enter(service.closed, node)

    def missed(self, node: NodeId, count: int) -> None:
        """Messages of that node will never come: a machine that relies on them starts over."""
        if self._needs_all and self._is_alive:
            me = self.config.called(self.me)
            log.info("node %s missed %d messages of node %s", me, count, node)
            self.enter(self._end_life, "letters missed")

    def read(self, hello: Hello, letter: Letter) -> None:
        """A letter has come; BadFrame if it cannot be read."""
        try:
            read = [(said, self._decoded(said)) for said in letter.said]
        except Exception:
            raise BadFrame("unreadable message") from None
        self.enter(self._receive, hello, read)

    def _decoded(self, said: Said) -> Any:
        kind = said.to.partition(" ")[0]
        return self._kinds[kind].decode(kind, said.body)

    def _receive(self, hello: Hello, read: list[tuple[Said, Any]]) -> None:
        self.timers.read_ms = self._awake_at
        if not self.network.listener.hears(hello.node):
            return  # A pause that was noticed just now has broken the connection that this came on.
        sender, member_at = hello.node, self.admission.member_at
        if member_at is not None:
            sender = hello.member
            if member_at.get(hello.node) != sender:
                return  # Another one has been put in its place just now.
        for said, message in read:
            kind, _, name = said.to.partition(" ")
            mail = Mail(hello, sender, name, message, Letterhead(hello.incarnation, said.number))
            if not self._is_alive and said.to in self._bound:
                # This node can be reached already, and is about to boot: that is the first news.
                if len(self._early) < EARLY_MAX:
                    self._early.append((self.now_ms(), self._kinds[kind], kind, mail))
                continue
            self.counters["in"] += 1
            self._kinds[kind].receive(kind, mail)

    def tally(self) -> Counter[str]:
        """All counters."""
        links = (link.counters for link in self.network.links.values())
        total: Counter[str] = Counter()
        for part in (self.counters, self.network.counters, self.network.listener.counters, *links):
            total.update(dict(part))  # A copy: the host goes on counting in its own thread.
        return total


def letters(said: list[Said]) -> list[list[Said]]:
    """The counters, in pieces that fit into one frame each."""
    parts: list[list[Said]] = [[]]
    size = 0
    for each in said:
        length = len(each.to) + len(bytes(each.body)) + 20
        if parts[-1] and (size + length > LETTER_MAX or len(parts[-1]) >= SAID_MAX):
            parts.append([])
            size = 0
        parts[-1].append(each)
        size += length
    return parts
