"""A node in operation, and its elections as an application takes part in them with asyncio."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from electorate.core import NodeId
from electorate.errors import NodeStopped, TransferFailed
from electorate.leadership.directory import MemberAddress, addresses, named, number
from electorate.leadership.election import (
    NAME_MAX,
    ElectionInstance,
    KnownLeader,
    is_speakable,
)
from electorate.leadership.elections import Elections, Safety
from electorate.leadership.founding import expect_founding
from electorate.leadership.register import POLL_S, RESERVED
from electorate.leadership.term import OnMerge, Tenure, Term
from electorate.pace import Pace, in_ms
from electorate.protocols.mandate.founding import Needs
from electorate.protocols.mandate.message import PRIORITY_MAX
from electorate.runtime.config import HostConfig
from electorate.runtime.identity import DEFAULT_CLUSTER

Condition = Callable[["Leader"], bool]
Work = Callable[[Term], Awaitable[object]]


class Leader(NamedTuple):
    """The leader of an election, as one node knows it."""

    leader: str | None
    """Its name; None while the office is vacant."""
    token: int | None
    """The number of its term."""


class NodeEngine(ABC):
    """A node in operation, wherever it runs."""

    def __init__(
        self,
        me: str,
        members: Iterable[str],
        pace: Pace | None,
        *,
        join: bool = False,
        founding: Needs = "all",
    ) -> None:
        expect_founding(founding)
        if not isinstance(me, str):
            raise TypeError(f"a node is a name, or name@host:port, not {me!r}")
        if pace is not None and not isinstance(pace, Pace):
            raise TypeError(f"a pace is an electorate.Pace(...), not {pace!r}")
        self.addresses = addresses(members if "@" not in me else [me, *members])
        if join and "@" not in me and number(me) not in self.addresses:
            raise ValueError(f"{me} is to join a cluster: say where it is, as {me}@host:port")
        self.me = named(me, self.addresses)
        self.pace = pace or Pace()
        founders = {
            id: member for id, member in self.addresses.items() if not join or id != self.me.id
        }
        if not founders:
            raise ValueError(f"{self.me.name} is to join a cluster: name some of its members")
        self.elections = Elections(self.me, founders, self.pace, joins=join, founding=founding)

    @abstractmethod
    async def begin(self) -> None:
        """Start, and wait until the others were reached or proved unreachable."""

    @abstractmethod
    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""

    @property
    @abstractmethod
    def running(self) -> bool:
        """Whether it has begun, and has not ended."""

    @abstractmethod
    def expect_running(self) -> None:
        """Raise the error that has ended the node, if one has."""

    @abstractmethod
    def do(self, act: Callable[..., None], *given: object) -> None:
        """Run this in the node's thread; NodeStopped if it has ended."""

    @abstractmethod
    def election(self, name: str, safety: Safety) -> ElectionInstance:
        """The election of that name; ValueError if it is of another kind."""

    @property
    def is_busy(self) -> bool:
        """Whether there is work that has not ended, or an office that is held."""
        return self.elections.is_busy

    def pause(self, paused: bool) -> threading.Event:
        """Stand nowhere, or again as before; returns an event that is set once that is so."""
        heard = threading.Event()

        def change() -> None:
            self.elections.pause(paused)
            self.elections.then(heard.set)

        self.do(change)
        return heard

    def wait(self, election: ElectionInstance) -> "Future[Tenure]":
        """A term, once there is one. To cancel the future is to stand no more."""
        future: Future[Tenure] = Future()
        self.do(election.wait, future)
        return future

    def give_up(self, election: ElectionInstance, future: "Future[Tenure]") -> None:
        """Stop waiting for that term; if it has come just now, it is over."""
        if future.cancel():
            with suppress(NodeStopped):
                self.do(election.leave, future)
        elif future.exception() is None:
            future.result().finish()

    def told(self, seen: KnownLeader) -> Leader:
        """The same by name; a leader that is not known any more counts as none."""
        directory = self.elections.directory
        if seen.leader is None or seen.leader not in directory.known:
            return Leader(None, None)
        return Leader(directory.name(seen.leader), seen.token)

    def observe(
        self, election: ElectionInstance, tell: Callable[[Leader], None]
    ) -> Callable[[], None]:
        """Tell who leads, now and whenever that changes; returns a function that ends this."""

        def told(seen: KnownLeader) -> None:
            tell(self.told(seen))

        def begin() -> None:
            told(election.seen)
            election.watchers.append(told)

        def end() -> None:
            if told in election.watchers:
                election.watchers.remove(told)

        self.do(begin)
        return lambda: self._quietly(end)

    def set_priority(self, election: ElectionInstance, priority: int) -> None:
        """Stand with another priority from now on."""

        def change() -> None:
            election.priority = priority
            election.stand()

        self.do(change)

    async def expect_heir(self, election: ElectionInstance, name: str) -> NodeId:
        """The node that takes over; ValueError or TransferFailed if it cannot."""
        heir = self.expect_member(name)
        if heir not in self.elections.alive:
            raise TransferFailed(f"{name} cannot be reached")
        if not await self._stands(heir, election.name):
            raise TransferFailed(f"{name} does not stand: it is paused, has priority 0 or no work")
        self.expect_leader(election)
        return heir

    async def _stands(self, node: NodeId, election: str) -> bool:
        """Whether a node stands; it is asked if that is not known here."""
        elections, loop = self.elections, asyncio.get_running_loop()
        deadline = loop.time() + self.answered_s
        if not elections.stands_with(node, election):
            self.do(elections.ask_who_stands, election)
        while not elections.stands_with(node, election) and loop.time() < deadline:
            await asyncio.sleep(POLL_S)
        return bool(elections.stands_with(node, election))

    def expect_leader(self, election: ElectionInstance) -> Leader:
        """The leader; TransferFailed if this node has heard of none."""
        now = self.told(election.seen)
        if now.leader is None:
            raise TransferFailed(
                f"nobody leads {election.name}, as far as {self.me.name} knows: "
                "there is nothing to hand over"
            )
        return now

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, as this node knows them."""
        return self.elections.members

    def expect_member(self, name: str) -> NodeId:
        """The number of a member; ValueError if there is none of that name."""
        node = self.elections.register.find(name)
        if node is None or name not in self.members:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.members)}")
        return node

    @abstractmethod
    def submit(self, act: Callable[[], Coroutine[Any, Any, None]]) -> "Future[None]":
        """Await this in the node's loop; NodeStopped if it has ended."""

    def add_member(self, text: str) -> "Future[None]":
        """Make another node a member."""
        member = self._expect_newcomer(text)
        return self.submit(partial(self.elections.register.add, member))

    def remove_member(self, name: str) -> "Future[None]":
        """Go on without a member."""
        node = self._expect_leaver(name)
        return self.submit(partial(self.elections.register.remove, node))

    def replace_member(self, name: str, text: str) -> "Future[None]":
        """Replace a member by another node."""
        member = self._expect_newcomer(text, instead_of=name)
        node = self._expect_leaver(name)
        if member.name == name:
            return self.submit(partial(self.elections.register.renew, node, member))
        return self.submit(partial(self.elections.register.replace, node, member))

    def _expect_newcomer(self, text: str, instead_of: str = "") -> MemberAddress:
        member = MemberAddress.of(text)
        is_member = member.name in self.members and member.name != instead_of
        if is_member and not self.elections.register.is_undecided(member.name):
            raise ValueError(f"{member.name} is a member already")
        if member.name == self.me.name:
            raise ValueError(f"{member.name} cannot add itself: ask a member to do it")
        self.expect_allowed(member)
        self.elections.directory.expect_no_clash(member)
        return member

    @abstractmethod
    def expect_allowed(self, member: MemberAddress) -> None:
        """ValueError if this node must not have a connection with that address."""

    def _expect_leaver(self, name: str) -> NodeId:
        node = self.elections.register.find(name)
        if node is None or not self.elections.register.is_undecided(name):
            node = self.expect_member(name)
        if node == self.elections.me:
            raise ValueError(f"{name} cannot remove itself: ask another member to do it")
        return node

    @property
    def patience_s(self) -> float:
        """How long a hand-over may take at most."""
        return self.pace.grace + 3 * self.pace.granted

    @property
    def again_s(self) -> float:
        """How soon to ask again for what may have been lost."""
        return self.pace.granted / 2

    @property
    def answered_s(self) -> float:
        """How long a question and its answer take at most."""
        return 2 * (self.pace.T + self.pace.P)

    @property
    def sure_s(self) -> float:
        """After this time a node that was granted an office here has it, or has given it up."""
        return 3 * self.pace.T + 2 * self.pace.P

    def unchanged(self, election: ElectionInstance) -> str:
        """What is wrong if nothing has come of a request."""
        leader, me = self.told(election.seen).leader, self.me.name
        if leader is None:
            known = f"{me} knows of nobody who leads {election.name} after {self.patience_s:.1f} s"
            return f"{known}: either nobody does, or {me} is cut off"
        return (
            f"{leader} leads {election.name} after {self.patience_s:.1f} s: either the work there "
            "has not ended, or the heir was not heard of by a majority"
        )

    def _quietly(self, act: Callable[[], None]) -> None:
        with suppress(NodeStopped):
            self.do(act)


def expect_name(name: str) -> None:
    """ValueError if this cannot be the name of an election."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"an election has a name, not {name!r}")
    if len(name) > NAME_MAX:
        raise ValueError(f"the name of an election has at most {NAME_MAX} characters: {name[:40]}…")
    if not is_speakable(name):
        raise ValueError(f"the name of an election is one line of text, not {name!r}")


class Election:
    """One election, as one node takes part in it."""

    def __init__(
        self,
        engine: NodeEngine,
        name: str,
        priority: int | None,
        safety: Safety = "quorum",
        on_merge: OnMerge | None = None,
    ) -> None:
        expect_name(name)
        if name.startswith(RESERVED):
            raise ValueError(f"{name} is not yours to lead: choose another name")
        if on_merge is not None and safety != "group":
            raise ValueError('nothing ever merges without safety="group": there is no on_merge')
        if on_merge is not None and not callable(on_merge):
            raise ValueError(f"on_merge is called as on_merge(term, others): not {on_merge!r}")
        self._name = name
        self._safety = safety
        self._engine = engine
        self._election = engine.election(name, safety)
        self._on_merge = on_merge
        if priority is not None:
            self.set_priority(priority)

    @property
    def name(self) -> str:
        """The name of the election."""
        return self._name

    @property
    def safety(self) -> Safety:
        """Whether it is one leader by quorum, or one in each group."""
        return self._safety

    @property
    def node(self) -> str:
        """The node that takes part here."""
        return self._engine.me.name

    @property
    def leader(self) -> Leader:
        """The present leader, as this node knows it."""
        return self._engine.told(self._election.seen)

    def set_priority(self, priority: int) -> None:
        """Stand with another priority from now on; 0 is a witness, which votes and never leads.

        In a group the member with the highest priority leads, and takes over at once.
        """
        is_number = isinstance(priority, int) and not isinstance(priority, bool)
        if not is_number or not 0 <= priority <= PRIORITY_MAX:
            raise ValueError(f"a priority is a number from 0 to {PRIORITY_MAX}, not {priority!r}")
        self._engine.set_priority(self._election, priority)

    def terms(self) -> "Terms":
        """Every term of this node, one after the other; it stands while this is waited for."""
        return Terms(self._engine, self._election, self._on_merge)

    async def run(self, work: Work, stopped: Work | None = None) -> None:
        """Do this work in every term, and `stopped` after each; neither ever overlaps."""
        async for term in self.terms():
            try:
                async with term:
                    await work(term)
            finally:
                if stopped is not None:
                    await stopped(term)

    def observe(self) -> "Observed":
        """The leader, now and whenever it changes."""
        return Observed(self._engine, self._election)

    async def step_down(self) -> None:
        """Have the leader give up its office, once its work has ended; else TransferFailed."""
        self._expect_quorum()
        await self._order(None, self._has_gone())

    async def transfer(self, name: str) -> None:
        """Have the leader hand over to that member; TransferFailed if that does not succeed."""
        self._expect_quorum()
        heir = await self._engine.expect_heir(self._election, name)
        if self.leader.leader != name:
            await self._order(heir, lambda now: now.leader == name)

    async def _order(self, heir: NodeId | None, condition: Condition) -> None:
        """Ask until it has happened: a request may be lost, or come too early for the heir."""
        loop, engine = asyncio.get_running_loop(), self._engine
        deadline = loop.time() + engine.patience_s
        while loop.time() < deadline:
            engine.do(engine.elections.order, self.name, heir)
            with suppress(TimeoutError):
                async with asyncio.timeout(engine.again_s):
                    async for now in self.observe():
                        if condition(now):
                            break
                if heir is not None:
                    await asyncio.sleep(engine.sure_s)
                if condition(self.leader):
                    return
        raise TransferFailed(engine.unchanged(self._election))

    def _expect_quorum(self) -> None:
        """A group does not choose its leader, so nobody can choose another one."""
        if self.safety == "group":
            raise ValueError(
                f"each group of {self.name} is led by its strongest member: "
                "set_priority changes that, or pause"
            )

    def _has_gone(self) -> Condition:
        """Whether the present leader has left office; TransferFailed if there is none."""
        engine, election = self._engine, self._election
        before = engine.expect_leader(election)

        def has_gone(now: Leader) -> bool:
            # Not to hear of it any more proves nothing: it may be this node that is cut off.
            is_sure = now.leader is not None or before.leader == engine.me.name
            return now != before and (is_sure or engine.told(election.released) == before)

        return has_gone


class Terms:
    """The terms of one node: it stands while this is waited for, or works in one."""

    def __init__(
        self, engine: NodeEngine, election: ElectionInstance, on_merge: OnMerge | None = None
    ) -> None:
        self._engine = engine
        self._election = election
        self._on_merge = on_merge
        self._last: Term | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Term:
        while True:
            if self._last is not None:
                self._last.finish()
            tenure = await self._awaited(self._engine.wait(self._election))
            self._last = tenure.term
            if await tenure.reconcile(self._on_merge):
                return tenure.term

    async def _awaited(self, future: "Future[Tenure]") -> Tenure:
        try:
            return await asyncio.wrap_future(future)
        except BaseException:  # It may also be thrown away while it waits.
            self._engine.give_up(self._election, future)
            raise


class Observed:
    """The leader: the present one first; changes that were missed meanwhile are left out."""

    def __init__(self, engine: NodeEngine, election: ElectionInstance) -> None:
        self._engine = engine
        self._election = election

    async def __aiter__(self) -> AsyncIterator[Leader]:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        latest: list[Leader] = []

        def tell(leader: Leader) -> None:
            latest[:] = [leader]
            with suppress(RuntimeError):  # The loop may be closed.
                loop.call_soon_threadsafe(changed.set)

        end = self._engine.observe(self._election, tell)
        shown: Leader | None = None
        try:
            while True:
                await changed.wait()
                changed.clear()
                if latest[0] != shown:
                    shown = latest[0]
                    yield shown
                self._engine.expect_running()
        finally:
            end()


def host_config(
    me: NodeId,
    addresses: dict[NodeId, MemberAddress],
    pace: Pace,
    data: Path,
    record: Path | None = None,
    cluster: str = DEFAULT_CLUSTER,
) -> HostConfig:
    """How to run the host of a node at this pace."""
    return HostConfig(
        me,
        {member.id: member.address for member in addresses.values()},
        data,
        cluster="",  # The directory knows, once it has looked at what was written down.
        record=record,
        beat_ms=in_ms(pace.beat),
        timeout_ms=in_ms(pace.timeout),
        # What waits on a connection for longer than a lease is of no use to anybody.
        fresh_ms=in_ms(pace.lease),
        still_ms=in_ms(pace.timeout) / 2,
        patience_ms=in_ms(pace.lease),
        late_ms=in_ms(pace.T + pace.P),
        probe_ms=in_ms(2 * pace.T),
        trusts_end=pace.trust_close,
        names={member.id: member.name for member in addresses.values()},
        cluster_name=cluster,
    )
