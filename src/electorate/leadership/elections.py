"""All elections of one node: they share its connections, its detector of failures and its store."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Literal, get_args

import msgspec
from msgspec.structs import replace

from electorate.core import Machine, NodeId, Stable, Turns
from electorate.errors import NodeStopped, StoreError
from electorate.leadership.answers import SLOW, AnswerTimes
from electorate.leadership.directory import RECORD as DIRECTORY
from electorate.leadership.directory import Directory, MemberAddress
from electorate.leadership.election import (
    NAME_MAX,
    PREFIX,
    ElectionInstance,
    Machines,
    QuorumElection,
    is_speakable,
)
from electorate.leadership.founding import FOUNDING, ClusterFounding
from electorate.leadership.groups import Groups
from electorate.leadership.register import BEFORE, MEMBERS, Register
from electorate.pace import Pace, in_ms
from electorate.protocols.leadership import TO_ELECTIONS, TO_REGISTER
from electorate.protocols.mandate.admission import TO_ADMISSION, TO_DIRECTORY, AdmissionState
from electorate.protocols.mandate.founding import Needs
from electorate.protocols.mandate.message import Decree, Listed, Order
from electorate.protocols.mandate.state import MandateStable, Promise
from electorate.runtime.frame import Hello
from electorate.runtime.host import Admission, Host, Mail, Service
from electorate.runtime.instance import Instance
from electorate.runtime.timers import ChunkedWork

Safety = Literal["quorum", "group"]
"""One leader, granted by a majority; or one leader in each group of nodes that reach each other."""

WORDS: dict[Safety, str] = {"quorum": "by quorum", "group": "in groups"}
OFFICE, GROUP = "office", "group"
"""The kinds of elections that mail is for."""
PACE = "pace"
"""The name under which an older version saved how long promises bind."""
REMIND_S = 1.0
ELECTIONS_MAX = 100_000
FULL = "%s takes part in %d elections: in no more that others name"
BEHIND = (
    "%s is up to %d ms behind with %d elections, for seconds already: it needs fewer of them, "
    "more of the processor, or a slower pace (a larger T and P at all nodes)"
)

log = logging.getLogger("electorate")


class Kinds:
    """The kind of each election that the application of this node has named."""

    def __init__(self) -> None:
        self.in_groups: set[str] = set()
        """Those in groups; every letter about one by quorum asks for this."""
        self._named: dict[str, Safety] = {}
        self._odd: set[tuple[str, str]] = set()

    def name(self, election: str, safety: Safety) -> None:
        """The application names an election; ValueError if it is of another kind already."""
        if safety not in get_args(Safety):
            raise ValueError(f'safety is "quorum" or "group", not {safety!r}')
        known = self._named.setdefault(election, safety)
        if known != safety:
            raise ValueError(
                f"{election} was named with safety={known!r} at this node, not {safety!r}"
            )
        if safety == "group":
            self.in_groups.add(election)

    def fits(self, election: str, safety: Safety) -> bool:
        """Whether an election may be of that kind, as far as this node knows."""
        return self._named.get(election, safety) == safety

    def say_odd(self, node: str, election: str, safety: Safety) -> None:
        """Another node has an election of a kind that does not fit: log it once."""
        if (node, election) not in self._odd:
            self._odd.add((node, election))
            log.error(
                "%s elects %s %s, and this node %s: neither takes part in the other's election",
                *(node, election, WORDS[safety], WORDS[self._named[election]]),
            )


class Elections(Service, Admission):
    """All elections of a node, as a service of its host."""

    kinds = (OFFICE, GROUP, MEMBERS, DIRECTORY, FOUNDING)
    host: Host
    now_ms: Callable[[], float]
    """The clock of its host."""

    def __init__(
        self,
        me: MemberAddress,
        founders: dict[NodeId, MemberAddress],
        pace: Pace,
        *,
        joins: bool = False,
        founding: Needs = "all",
    ) -> None:
        self.call: Callable[..., None]
        """Runs something in the node's thread; set by the code that starts the node."""
        self.refusing: Callable[[str, Hello], None] = lambda name, hello: None
        """Called with the name of a node that is refused."""
        self.me = me.id
        self.pace = pace
        self.directory = Directory(me, founders, pace, joins=joins)
        self.directory.changed = self._directory_changed
        self.member_at, self.routes = self.directory.member_at, self.directory.routes
        self.founding = ClusterFounding(self, founding)
        self.register = Register(self)
        self.by_quorum: dict[str, QuorumElection] = {}
        self.alive: frozenset[NodeId] = frozenset()
        """The members that are not suspect."""
        self.paused = False
        self.lived = asyncio.Event()
        self._has_founded = asyncio.Event()
        self.groups = Groups(self)
        self.machines = Machines(pace)
        self._answer_times = AnswerTimes(me.name, pace, self.called)
        self._kinds = Kinds()
        self._has_said_full = False
        self._candidates: dict[QuorumElection, None] = {}
        """Elections in which this node is about to stand."""
        self._reminding: asyncio.Task[None] | None = None
        self._reached: frozenset[NodeId] = frozenset()
        """The addresses at which a member is reached."""

    # --- a service of its host ---

    def begin(self, host: Host) -> None:
        """Read what was promised, and by which memories the others are known."""
        self.host, self.now_ms = host, host.now_ms
        self._booting = ChunkedWork(host.enter, self.election)
        self._standing = ChunkedWork[ElectionInstance](
            host.enter, lambda election: election.stand()
        )
        self._reconsidering = ChunkedWork(host.enter, self._reconsider)
        self._candidacies = ChunkedWork[QuorumElection](
            host.enter, lambda election: election.ask_to_stand()
        )
        self.directory.begin(host, self.turns(self.directory.machine))
        self.me = self.directory.number
        self.alive = frozenset({self.me})
        stored = host.store.load(PACE)
        self._granted_before_ms = 0 if stored is None else msgspec.msgpack.decode(stored, type=int)
        self.founding.begin(host)
        self.register.begin(host)
        host.wiring.join(TO_ADMISSION, self.founding.instance, self.directory.instance)
        host.wiring.join(TO_REGISTER, self.founding.instance, self.register.instance)
        host.wiring.join(TO_DIRECTORY, self.register.instance, self.directory.instance)
        for name in host.store.names():
            if name.startswith(PREFIX) and name != BEFORE:
                self.election(name.removeprefix(PREFIX))

    def lives(self, alive: frozenset[NodeId]) -> None:
        """The first life boots all elections; a later one finds them as they were."""
        self._reached = alive
        self.alive = self._members_reached()
        if self.lived.is_set():
            self._see()
        else:
            self._begin_life()
        self._show_alive()

    def _begin_life(self) -> None:
        if not self.lived.is_set():
            self.lived.set()
            self._reminding = asyncio.ensure_future(self._remind_every_second())
            self.founding.boot()
            self.register.boot()
            self._booting.over(self.by_quorum)
            self.directory.instance.hear()
            self.groups.lives()

    def viewed(self, alive: frozenset[NodeId]) -> None:
        """The set of suspects changed."""
        self._reached = alive
        self._look_around()

    def _look_around(self) -> None:
        """See which members are reached: some may have been replaced."""
        before, self.alive = self.alive, self._members_reached()
        if self.alive != before:
            self._see()
            if self.lived.is_set():
                self._show_alive()

    def _show_alive(self) -> None:
        self.directory.see(self.alive)
        self.founding.see(self.alive)

    def _see(self) -> None:
        """Show all elections which nodes are alive."""
        self.register.reconsider()
        self.reconsider(self.by_quorum)
        self.groups.viewed()

    def _members_reached(self) -> frozenset[NodeId]:
        members = map(self.directory.member_at.get, self._reached)
        return frozenset(node for node in members if node is not None)

    def _directory_changed(self, before: AdmissionState, now: AdmissionState) -> None:
        """The members have changed, or the nodes that this one knows and lets in."""
        if now.enrolled.new != before.enrolled.new and before.enrolled.new:
            names = ", ".join(sorted(map(self.directory.name, now.enrolled.new)))
            log.info("the members are now %s", names)
            self.reconsider(list(self.by_quorum))
        if now.over != before.over:
            told = "no member any more" if now.over else "a member again"
            log.warning("%s is %s", self.directory.me.name, told)
            self.pause(self.paused)
        if now.speakers != before.speakers:
            self._look_around()

    def founded(self) -> None:
        """The cluster is founded, as far as this node has to do with that."""
        self._has_founded.set()

    async def begun(self) -> None:
        """Wait until the others were reached or proved unreachable, and the cluster is founded.

        While a founder is missing nobody waits for that here: it may take for ever.
        """
        await self.lived.wait()
        waits_s = 4 * (self.pace.T + self.pace.P)
        if self.directory.is_unfounded and len(self.alive) == len(self.directory.founders):
            with suppress(TimeoutError):
                async with asyncio.timeout(waits_s):
                    await self._has_founded.wait()

    def is_ours(self, hello: Hello) -> bool:
        """Whether another node is of the same cluster, as far as it says."""
        return self.directory.is_ours(hello)

    def objection(self, hello: Hello) -> str:
        """Why another node is refused; empty if it is let in."""
        why = self.directory.objection(hello)
        if why:
            self.refusing(self.directory.called(hello.node), hello)
        return why

    def news(self, hello: Hello) -> bytes:
        """The members by now, for a node that no longer knows them."""
        return self.directory.news(hello)

    def refused(self, node: NodeId, news: bytes) -> None:
        """What answers at an address refused us and said why: something may have been missed."""
        self.directory.refused(node, news)

    def met(self, hello: Hello) -> None:
        """Another node has connected, with the memory that made its promises."""
        self.directory.recognise(hello)
        self._look_around()

    def closed(self, node: NodeId) -> None:
        """A process has ended, and its terms with it."""
        member = self.directory.member_at.get(node)
        if member is not None:
            self.register.closed(member)
            for election in list(self.by_quorum.values()):
                election.closed(member)

    def clock_was_set(self) -> None:
        """This machine may have stood still: doubt what is held until a majority confirms it."""
        for election in list(self.by_quorum.values()):
            election.doubt()

    @property
    def is_at_rest(self) -> bool:
        """Whether no work goes on."""
        return not self.is_busy

    @property
    def own(self) -> NodeId:  # type: ignore[override]
        """As which member this node is known."""
        return self.me

    def decode(self, kind: str, body: bytes) -> Any:
        """A message of a machine."""
        if kind == OFFICE:
            return self.machines.codec.message(body)
        if kind == MEMBERS:
            return self.register.codec.message(body)
        if kind == DIRECTORY:
            return self.directory.codec.message(body)
        if kind == FOUNDING:
            return self.founding.codec.message(body)
        return self.groups.decode(body)

    def receive(self, kind: str, mail: Mail) -> None:
        """A message has come."""
        if kind == GROUP:
            if not self._kinds.fits(mail.name, "group"):
                self._kinds.say_odd(self.directory.name(mail.sender), mail.name, "group")
            self.groups.receive(mail)
        elif kind == FOUNDING:
            self.founding.hear(mail.sender, mail.message, mail.head)
        elif kind == DIRECTORY:
            self.directory.hear(mail.sender, mail.message, mail.head)
            if self.directory.differs(mail.message):
                self.register.show(mail.sender)
        elif self._is_presumptuous(kind, mail):
            return
        elif kind == MEMBERS:
            self.register.hear(mail.sender, mail.message, mail.head)
        elif mail.name in self.by_quorum or self._may_begin(mail.name):
            if mail.name in self._kinds.in_groups:
                self._kinds.say_odd(self.directory.name(mail.sender), mail.name, "quorum")
            self.election(mail.name).hear(mail.sender, mail.message, mail.head)

    def _may_begin(self, name: str) -> bool:
        """Whether another node may have this one take part in an election, which is kept."""
        if not (0 < len(name) <= NAME_MAX and is_speakable(name)):
            return False
        is_room = len(self.by_quorum) < ELECTIONS_MAX
        if not is_room and not self._has_said_full:
            self._has_said_full = True
            log.error(FULL, self.directory.me.name, ELECTIONS_MAX)
        return is_room

    def _is_presumptuous(self, kind: str, mail: Mail) -> bool:
        """Whether it is about members, and from a node that is only about to become one."""
        said = mail.message.message if kind == MEMBERS else mail.message
        if not isinstance(said, Listed | Decree):
            return False
        is_newcomer = self.directory.is_newcomer(mail.sender)
        return is_newcomer and mail.sender not in self.register.roster.everybody

    async def end(self) -> None:
        """Nothing is led here any more."""
        if self._reminding is not None:
            self._reminding.cancel()
        for election in self.all():
            election.halt(NodeStopped("the node has stopped"))

    # --- all elections ---

    def all(self) -> list[ElectionInstance]:
        """Every election, of either kind."""
        return [*self.by_quorum.values(), *self.groups.elections.values()]

    def named(self, name: str, safety: Safety) -> ElectionInstance:
        """The election of that name, as the application of this node wants it."""
        self._kinds.name(name, safety)
        return self.election(name) if safety == "quorum" else self.groups.election(name)

    def election(self, name: str) -> QuorumElection:
        """The election of that name; every node votes in every election that it hears of."""
        found = self.by_quorum.get(name)
        if found is None:
            found = self.by_quorum[name] = QuorumElection(name, self)
            found.paused = self.is_paused(found)
        if found.is_down and self.lived.is_set():
            self._boot(found)
        return found

    def reconsider(self, names: Iterable[str]) -> None:
        """The set of suspects changed, or the members."""
        self._reconsidering.over(names)

    def _reconsider(self, name: str) -> None:
        self.election(name).reconsider()

    @property
    def is_busy(self) -> bool:
        """Whether there is work that has not ended, or an office that is held."""
        elections = self.all()
        return self.register.is_held or any(
            election.term is not None or election.is_held for election in elections
        )

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again as before."""
        self.paused = paused
        for election in self.all():
            election.paused = self.is_paused(election)
        self._standing.over(self.all())

    def is_paused(self, election: ElectionInstance) -> bool:
        """A paused node stands nowhere, but may still be asked to change the members."""
        return self.directory.is_over or self.paused

    def order(self, name: str, heir: NodeId | None) -> None:
        """Have the node that leads, if there is one, step down or hand over."""
        election = self.election(name)
        if election.seen.leader is not None:
            election.ask(Order(heir))

    def stands_with(self, node: NodeId, name: str) -> int:
        """The priority with which a node stands, as far as it is known here."""
        election = self.by_quorum.get(name)
        return 0 if election is None else election.priority_of(node)

    def ask_who_stands(self, name: str) -> None:
        """Ask the others with which priority they stand there."""
        self.election(name).ask_to_stand()

    def _boot(self, election: QuorumElection) -> None:
        data = self.host.store.load(PREFIX + election.name)
        try:
            saved: Any = None if data is None else self.machines.codec.stable(data)
        except msgspec.DecodeError as error:
            raise StoreError(f"what {election.name} has promised cannot be read: {error}") from None
        if saved is None:
            election.boot(MandateStable(Promise(), Stable(), self.register.roster))
        else:
            election.boot(self.binding(saved))

    def binding(self, stable: MandateStable[Stable]) -> MandateStable[Stable]:
        """What was promised, and for how long: an older version saved that once for all."""
        return replace(stable, granted=stable.granted or self._granted_before_ms)

    # --- what its elections need ---

    def turns(self, machine: Machine[Any]) -> Turns:
        """How turns of this machine are taken here."""
        return self.machines.turns(machine)

    def hosted(self, election: QuorumElection) -> Instance:
        """The instance of this election; it will be told who the members are."""
        turns = self.machines.of_elections
        instance = self.host.add(
            Instance(PREFIX + election.name, turns, self.me, self.host, election)
        )
        self.host.wiring.join(TO_ELECTIONS, self.register.instance, instance)
        return instance

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(self.numbers)

    @property
    def numbers(self) -> dict[str, NodeId]:
        """The number of every member, by its name."""
        listed = self.register.roster.new or self.directory.founders
        found = {self.directory.name(node): node for node in listed}
        return dict(sorted(found.items()))

    def called(self, node: NodeId) -> str:
        """The name of a node."""
        return self.directory.name(node)

    def is_near(self, node: NodeId) -> bool:
        """Whether its address is one that only this machine reaches."""
        known = self.directory.known.get(node)
        return known is not None and MemberAddress.of(known.place).is_near

    def sender(self, hello: Hello) -> NodeId | None:
        """The member that speaks; None if another one has just taken its place."""
        node: NodeId = hello.member
        return node if self.directory.member_at.get(hello.node) == node else None

    def stand_soon(self, election: QuorumElection) -> None:
        """Stand in this election, together with all others that begin now.

        Their messages share one letter, and so do all later ones, for as long as they are led from
        here: their timers run together.
        """
        if not self._candidates:
            asyncio.get_running_loop().call_soon(self.host.enter, self._stand_together)
        self._candidates[election] = None

    def _stand_together(self) -> None:
        candidates, self._candidates = self._candidates, {}
        self._candidacies.over(candidates)

    def keeps(self, election: ElectionInstance) -> None:
        """Something that others rely on is about to be saved."""
        self.directory.settle()

    def kept_members(self) -> None:
        """The list is about to be saved as it is now."""
        self.directory.settle()

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is saved that was promised before."""
        self.host.then(effect, *given)

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's thread, from any other."""
        self.call(self.host.enter, act, *given)

    def enter_here(self, act: Callable[..., None], *given: Any) -> None:
        """The same in the node's thread."""
        self.host.enter(act, *given)

    def others(self) -> Iterable[NodeId]:
        """Every other node."""
        return (node for node in self.directory.ids if node != self.me)

    # --- what is done beside everything else ---

    async def _remind_every_second(self) -> None:
        while True:
            await asyncio.sleep(REMIND_S)
            self.host.enter(self._remind)

    def _remind(self) -> None:
        """Say again what may have been lost, and see whether this node keeps up."""
        elections, late_ms = self.all(), self.host.lateness.look()
        if late_ms is not None:
            log.warning(BEHIND, self.directory.me.name, late_ms, len(elections))
        self._look_at_answers()
        for election in elections:
            if election.term is not None:  # Its work may have no end.
                election.term.abandon_after(in_ms(self.pace.grace))
        self.founding.say()
        if not self.is_busy:
            self.directory.expect_member()

    def _look_at_answers(self) -> None:
        took_ms = {
            member: ms
            for node, ms in self.host.network.round_trips().items()
            if (member := self.directory.member_at.get(node)) is not None
        }
        told = self._answer_times.look(took_ms, self.register.roster.new, self.me)
        if told is not None:
            log.warning(SLOW, *told)
