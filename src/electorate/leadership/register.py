"""The register at one node: the instance of the members' machine, and the changes asked for here.

Members are decided on in `protocols/mandate/membership.py`. Here a change is asked for and waited
for, and before it is proposed all nodes are told who the newcomer is, and where.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from electorate.core import (
    Asked,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Request,
    Span,
    Stable,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.errors import MembersUnchanged, StoreError
from electorate.leadership.directory import Directory, MemberAddress
from electorate.pace import Pace, in_ms
from electorate.protocols.leadership import Register as RegisterMachine
from electorate.protocols.mandate.membership import Change, Hold, Settle, Show, Withdraw
from electorate.protocols.mandate.message import Release
from electorate.protocols.mandate.state import MandateStable, Phase, Promise, Roster
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance, Owner
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead

MEMBERS = "members"
"""The name under which the list is saved, and for which mail about it arrives."""
BEFORE = "office electorate: members"
"""The name under which it was saved when the register was one of the elections."""
RESERVED = "electorate:"
POLL_S = 0.01
FIRST = Roster().version
TURNS_MAX = 2_000

log = logging.getLogger("electorate")


@contextmanager
def _half_made(told: str) -> Iterator[None]:
    """Have the error say what was changed before the rest failed."""
    try:
        yield
    except MembersUnchanged as error:
        raise MembersUnchanged(f"{told}: {error}") from error


class RegisterPort(Protocol):
    """What the register needs of its node."""

    me: NodeId
    pace: Pace
    host: Host
    alive: frozenset[NodeId]
    directory: Directory
    now_ms: Callable[[], float]

    def enter_here(self, act: Callable[..., None], *given: Any) -> None:
        """Run this as the node does its own things."""

    def turns(self, machine: Machine[Any]) -> Turns:
        """How turns of this machine are taken here."""

    def binding(self, stable: MandateStable[Stable]) -> MandateStable[Stable]:
        """What was promised, and for how long: an older version saved that once for all."""

    def kept_members(self) -> None:
        """The list is about to be saved as it is now."""


def register_machine(pace: Pace) -> Machine[Any]:
    """The machine of the register at this pace, for any members."""
    sound: Any = RegisterMachine.form("sound")
    inner = replace(sound.inner, **pace.lengths)
    rules = replace(sound, inner=inner, care=Span(ticks=in_ms(pace.grace) // 2))
    return RegisterMachine(Members.open("highest"), pace.timing, rules)


class Register(Owner):
    """Has the list of members changed, one change after the other."""

    instance: Instance

    def __init__(self, port: RegisterPort) -> None:
        self._machine = register_machine(port.pace)
        self.codec = Codec(self._machine)
        self._adding: MemberAddress | None = None
        """The node that this one is adding."""
        self._introducing: NodeId | None = None
        """The newcomer to introduce to all as soon as this node holds the register."""
        self._introduced: tuple[NodeId, int] | None = None
        """The node that was introduced last, and in which term."""
        self._port = port
        self._turn = asyncio.Lock()
        self._last: Roster | None = None

    # --- its instance ---

    def begin(self, host: Host) -> None:
        """The host is there; the instance boots later."""
        turns = self._port.turns(self._machine)
        self.instance = host.add(Instance(MEMBERS, turns, self._port.me, host, self))

    def boot(self) -> None:
        """Begin with what the last life saved."""
        self.instance.boot(self._saved(), self._port.alive)

    def _saved(self) -> Stable:
        store, kept = self._port.host.store, self._machine.stable_type
        try:
            data = store.load(MEMBERS)
            if data is not None:
                return self.codec.stable(data)
            data = store.load(BEFORE)
            if data is not None:
                inner = msgspec.msgpack.decode(data, type=MandateStable[Stable])
                return kept(inner=self._port.binding(inner))
        except msgspec.DecodeError as error:
            raise StoreError(f"the list of members cannot be read: {error}") from None
        return kept(inner=MandateStable(Promise(), Stable(), self.roster))

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "membership")

    def packed(self, stable: Stable) -> bytes:
        """What to save of it."""
        self._port.kept_members()
        return Codec.encode(stable)

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come."""
        self.instance.take(Received(sender, message), head)

    def reconsider(self) -> None:
        """The set of suspects changed."""
        if not self.is_down:
            self.instance.take(Viewed(self._port.alive))

    def closed(self, node: NodeId) -> None:
        """The process of a node has ended: with that it has given up its term."""
        state: Any = self.instance.state
        if state is not None and state.inner.bound == node:
            release = Release(state.stable.inner.promise.epoch)
            wrapped: Any = self._machine.messages[0]
            self.instance.take(Received(node, wrapped(release)))

    def after(self) -> None:
        """As soon as this node holds the register, tell all who the newcomer is, and where."""
        state: Any = self.instance.state
        if state is None:
            return
        self._last = state.stable.inner.roster
        if self._introducing is not None and state.inner.phase is Phase.HOLDING:
            introduced = self._introducing, state.stable.inner.promise.epoch
            if introduced != self._introduced:
                self._introduced = introduced
                self._introduce(*introduced)

    @property
    def is_down(self) -> bool:
        """Whether it has not begun yet, or is over."""
        return self.instance.state is None

    @property
    def is_held(self) -> bool:
        """Whether this node holds the register."""
        state: Any = self.instance.state
        return state is not None and state.inner.office is not None

    @property
    def is_urgent(self) -> bool:
        """A node that holds the register has no time to wait."""
        return self.is_held

    @property
    def roster(self) -> Roster:
        """The list that this node has saved. A node that has ended keeps what it knew last."""
        directory = self._port.directory
        founders = () if directory.is_unfounded else directory.founders
        return self._last or Roster(old=founders, new=founders)

    # --- what it is asked for ---

    async def add(self, member: MemberAddress) -> None:
        """Make this node a member; it is running, and was told to join."""
        async with self._turn:
            await self._settle()
            if member.name not in map(self._port.directory.name, self.roster.new):
                async with self._expecting(member) as newcomer:
                    await self._change(Change(newcomer, True))

    async def remove(self, node: NodeId) -> None:
        """Go on without a member."""
        async with self._turn:
            await self._settle()
            await self._change(Change(node, False))

    async def replace(self, node: NodeId, member: MemberAddress) -> None:
        """Replace a member by another node."""
        name = self._port.directory.name(node)
        await self.add(member)
        with _half_made(f"{member} was added, but {name} could not be removed"):
            await self.remove(node)

    async def renew(self, node: NodeId, member: MemberAddress) -> None:
        """Replace a member by one of the same name: it has lost its memory, or only moved."""
        self._expect_majority(Change(node, False))
        async with self._turn:
            await self._settle()
            found = self.find(member.name)
            async with self._expecting(member) as newcomer:
                if newcomer == found:
                    await self._move(newcomer)
                    return
        if found is not None:
            await self.remove(found)
        with _half_made(f"{member.name} was removed, but could not be added again"):
            await self.add(member)

    def find(self, name: str) -> NodeId | None:
        """The member of that name, also one that is being added or removed."""
        roster, directory = self.roster, self._port.directory
        members = roster.everybody or directory.founders
        named = [node for node in members if directory.name(node) == name]
        return max(named, key=lambda node: node in roster.new, default=None)

    def is_undecided(self, name: str) -> bool:
        """Whether a change that adds or removes this node has begun and not ended."""
        node = self.find(name)
        return (node in self.roster.old) != (node in self.roster.new)

    def show(self, node: NodeId) -> None:
        """Send another node the list."""
        self._ask(Show(node))

    def _ask(self, request: Request) -> None:
        self.instance.take(Asked(request))

    async def _settle(self) -> None:
        """Have a change decided that another node has begun and could not finish."""
        await self._until(Settle(), lambda: not self.roster.is_pending)

    @asynccontextmanager
    async def _expecting(self, member: MemberAddress) -> AsyncIterator[NodeId]:
        """Wait for the node that answers there, and stay connected to it for a while."""
        port, directory = self._port, self._port.directory
        self._adding = member
        port.enter_here(directory.await_newcomer, member)
        deadline_ms = self._deadline_ms()
        try:
            while (newcomer := directory.newcomer(member)) is None:
                if port.now_ms() > deadline_ms:
                    raise MembersUnchanged(self._unanswered(member))
                await asyncio.sleep(POLL_S)
            yield newcomer
        finally:
            self._adding = None
            port.enter_here(directory.await_no_more, member)

    def _introduce(self, newcomer: NodeId, token: int) -> None:
        """Tell all who and where it is: if I fail, the others must be able to reach it."""
        self._port.directory.propose(newcomer, token)

    async def _move(self, node: NodeId) -> None:
        """Tell all where it is now. What the register says last about that counts."""
        before, self._introducing = self._introduced, node
        try:
            await self._until(Hold(), lambda: self._introduced != before)
        finally:
            self._introducing = None

    async def _change(self, change: Change) -> None:
        """Ask for a change until it is decided, in one term or another."""
        node, belongs = change.node, change.belongs
        if not belongs and not self.is_down:
            self._expect_majority(change)  # Without one, nobody would be elected to make it.
        if belongs:
            self._introducing = node
        try:
            await self._until(change, lambda: self._is_decided(change), self._expect_possible)
        finally:
            self._introducing = None

    async def _until(
        self,
        request: Request,
        is_made: Callable[[], bool],
        expect_possible: Callable[[Request], None] = lambda request: None,
    ) -> None:
        """Ask for it, and go on once it has happened."""
        deadline_ms = self._deadline_ms()
        is_asked = False
        try:
            while not is_made():
                if self._port.now_ms() > deadline_ms:
                    raise MembersUnchanged(self._unchanged())
                if not (is_asked or self.is_down):
                    is_asked = True
                    self._port.enter_here(self._ask, request)
                expect_possible(request)
                await asyncio.sleep(self._port.pace.T)
        finally:
            # Nobody wants it here any more: others must be able to have the register.
            if is_asked:
                self._port.enter_here(self._ask, Withdraw())

    def _is_decided(self, change: Change) -> bool:
        roster = self.roster
        return not roster.is_pending and (change.node in roster.new) is change.belongs

    def _expect_possible(self, request: Request) -> None:
        """While this node holds the register, a change that makes no sense is given up."""
        if self.is_held and isinstance(request, Change):
            self._expect_own_name(request)
            self._expect_majority(request)

    def _expect_own_name(self, change: Change) -> None:
        """Another node may have been added meanwhile, under the same name."""
        if change.belongs:
            called = self._port.directory.name
            name, others = called(change.node), {*self.roster.new} - {change.node}
            if name in map(called, others):
                raise MembersUnchanged(f"another {name} was added just now, by another member")

    def _expect_majority(self, change: Change) -> None:
        """A change that would leave no majority in reach is not made: say so at once."""
        roster, alive = self.roster, self._port.alive
        if self._port.directory.is_unfounded:
            raise MembersUnchanged(self._unchanged())
        new = {*roster.new} - {change.node} | ({change.node} if change.belongs else set())
        if not roster.is_pending and 2 * len(new & alive) <= len(new):
            name = self._port.directory.name
            left, there = (", ".join(sorted(map(name, each))) for each in (new, new & alive))
            raise MembersUnchanged(f"of {left} only {there} can be reached: that is no majority")

    def _deadline_ms(self) -> float:
        pace = self._port.pace
        return self._port.now_ms() + in_ms(2 * pace.grace + 6 * pace.granted)

    def _unanswered(self, member: MemberAddress) -> str:
        if self._port.me not in self.roster.everybody:
            return self._unchanged()
        me = self._port.directory.name(self._port.me)
        started = (
            f"start it with join=True, with {me} in its list, and in its folder or an empty one"
        )
        return f"{member} does not answer: {started}"

    def _unchanged(self) -> str:
        roster, name = self.roster, self._port.directory.name
        if self._port.directory.is_unfounded:
            return "the cluster is not founded yet: not all of its first members have been there"
        members = ", ".join(sorted(map(name, roster.new)))
        if self._port.me not in roster.everybody:
            return f"{name(self._port.me)} is no member itself; the members are {members}"
        adding, alive = self._adding, map(name, self._port.alive)
        if adding is not None and adding.name not in alive and not roster.is_pending:
            told = "does not answer any more: does it run, once, and was it told to join?"
            return f"{adding.name} {told}"
        pending = "a change is not decided yet: " if roster.is_pending else ""
        return f"{pending}too few of {members} answer in time"
