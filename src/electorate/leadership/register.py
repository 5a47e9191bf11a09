"""The register: who has a vote in all elections of a cluster, and how that is changed.

It is an office of its own. Whoever is asked for a change stands for it, makes one change in a term,
and leaves. Every other office goes by the list that this node's register has saved.
"""

import asyncio
import logging
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any, Protocol

import msgspec

from electorate.core import NodeId, Request
from electorate.errors import MembersUnchanged, Removed
from electorate.leadership.directory import Directory, Place
from electorate.leadership.letter import Edition, Letter
from electorate.leadership.office import Office
from electorate.leadership.term import Tenure
from electorate.pace import Pace
from electorate.protocols.mandate.message import Add, Listed, Remove
from electorate.protocols.mandate.state import Roster

REGISTER = "electorate: members"
RESERVED = "electorate:"
POLL_S = 0.01
FIRST = Roster().version

log = logging.getLogger("electorate")


@contextmanager
def _half_made(told: str) -> Iterator[None]:
    """Say what was changed before something could not be."""
    try:
        yield
    except MembersUnchanged as error:
        raise MembersUnchanged(f"{told}: {error}") from error


class House(Protocol):
    """What is needed of the node."""

    me: NodeId
    pace: Pace
    paused: bool
    alive: frozenset[NodeId]
    listed: Roster | None
    """The list of members, once the register has told it."""
    directory: Directory
    register: "Register"
    offices: dict[str, Office]
    now_ms: Callable[[], float]

    @property
    def is_busy(self) -> bool:
        """Whether there is work that has not ended, or an office that is held."""

    def office(self, name: str) -> Office:
        """The election of that name."""

    def others(self) -> Iterable[NodeId]:
        """Every other node."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""

    def enter_here(self, act: Callable[..., None], *given: Any) -> None:
        """Do it as the node does its own things."""

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again where it did."""

    def reconsider(self, names: Iterable[str]) -> None:
        """Look at these elections anew."""


class Register:
    """Changes the list of members, one change after the other."""

    def __init__(self, house: House) -> None:
        self._adding: Place | None = None
        """Who is to become a member by this node's doing."""
        self._house = house
        self._turn = asyncio.Lock()

    @property
    def roster(self) -> Roster:
        """The list that this node has saved. A node that has ended keeps what it knew last."""
        office = self._house.offices.get(REGISTER)
        saved = (None if office is None else office.roster) or self._house.listed
        founders = self._house.directory.founders
        return Roster(old=founders, new=founders) if saved is None else saved

    @property
    def _office(self) -> Office:
        return self._house.office(REGISTER)

    async def add(self, place: Place) -> None:
        """Make this node a member; it runs, and was told to join."""
        async with self._turn:
            await self._settle()
            if place.name not in map(self._house.directory.name, self.roster.new):
                async with self._expecting(place) as newcomer:
                    await self._change(
                        Add(newcomer),
                        lambda roster: newcomer in roster.new,
                        partial(self._introduce, newcomer),
                    )

    async def remove(self, node: NodeId) -> None:
        """Go on without a member."""
        async with self._turn:
            await self._settle()
            await self._change(Remove(node), lambda roster: node not in roster.new)

    async def replace(self, node: NodeId, place: Place) -> None:
        """Put a node in the place of a member."""
        name = self._house.directory.name(node)
        await self.add(place)
        with _half_made(f"{place} was added, but {name} could not be removed"):
            await self.remove(node)

    async def renew(self, node: NodeId, place: Place) -> None:
        """The same under one name: it has lost its memory, or has only moved."""
        self._expect_majority(Remove(node))
        async with self._turn:
            await self._settle()
            member = self.find(place.name)
            async with self._expecting(place) as newcomer:
                if newcomer == member:
                    await self._move(newcomer)
                    return
        if member is not None:
            await self.remove(member)
        with _half_made(f"{place.name} was removed, but could not be added again"):
            await self.add(place)

    def find(self, name: str) -> NodeId | None:
        """The member of that name, also one that somebody has begun to add or remove."""
        roster = self.roster
        named = [node for node in roster.everybody if self._house.directory.name(node) == name]
        return max(named, key=lambda node: node in roster.new, default=None)

    def is_undecided(self, name: str) -> bool:
        """Whether somebody has begun to add or remove this node, and it has not come to an end."""
        node = self.find(name)
        return (node in self.roster.old) != (node in self.roster.new)

    def show(self, node: NodeId) -> None:
        """Let another node know the list, if it was ever changed and no change is under way."""
        roster = self.roster
        if roster.version != FIRST and not roster.is_pending:
            self._office.say(node, Listed(roster))

    def settle_soon(self) -> None:
        """Finish what somebody has begun and seems to have left, unless there is a change here."""
        if not self._turn.locked():
            self._settling = asyncio.ensure_future(self._settle_quietly())

    async def _settle_quietly(self) -> None:
        async with self._turn:
            with suppress(MembersUnchanged):
                await self._settle()

    async def _settle(self) -> None:
        """Finish a change that somebody has begun, and could not finish."""
        if self.roster.is_pending:
            await self._change(None, lambda roster: True)

    @asynccontextmanager
    async def _expecting(self, place: Place) -> AsyncIterator[NodeId]:
        """Wait for who answers there, and have to do with it for a while."""
        house, directory = self._house, self._house.directory
        self._adding = place
        house.enter_here(directory.await_newcomer, place)
        deadline_ms = self._deadline_ms()
        try:
            while (newcomer := directory.newcomer(place)) is None:
                if house.now_ms() > deadline_ms:
                    raise MembersUnchanged(self._unanswered(place))
                await asyncio.sleep(POLL_S)
            yield newcomer
        finally:
            self._adding = None
            house.enter_here(directory.await_no_more, place, self.roster)

    def _introduce(self, newcomer: NodeId, token: int) -> None:
        """Tell all who it is, and where: if I fail, others have to be able to reach it."""
        self._house.directory.propose(newcomer, token)
        for node in self._house.others():
            self._house.send(node, self._house.directory.told())

    async def _move(self, node: NodeId) -> None:
        """Let all know where it is now. What the register says last about that counts."""
        term = await self._elected(self._deadline_ms())
        self._house.enter_here(self._introduce, node, term.token)
        term.finish()

    async def _change(
        self,
        request: Request | None,
        is_made: Callable[[Roster], bool],
        prepare: Callable[[int], None] = lambda token: None,
    ) -> None:
        """Hold the register until the change is decided, in one term or another."""
        deadline_ms = self._deadline_ms()
        if isinstance(request, Remove) and not self._office.is_down:
            self._expect_majority(request)  # Without one, nobody would be elected to make it.
        while not self._is_decided(is_made):
            term = await self._elected(deadline_ms)
            try:
                self._expect_own_name(request)
                self._house.enter_here(prepare, term.token)
                while not self._is_over(term) and not self._is_decided(is_made):
                    if self._house.now_ms() > deadline_ms:
                        raise MembersUnchanged(self._unchanged())
                    if request is not None:
                        self._expect_majority(request)
                        self._house.enter_here(self._office.ask, request)
                    await asyncio.sleep(self._house.pace.T_ms / 1000)
            finally:
                self._house.enter_here(self._show_all)
                term.finish()

    def _show_all(self) -> None:
        """Who has only voted does not know yet that enough others have."""
        for node in self._house.others():
            self.show(node)

    async def _elected(self, deadline_ms: float) -> Tenure:
        """The next term of the register at this node."""
        future: Future[Tenure] = Future()
        self._house.enter_here(self._office.wait, future)
        try:
            while not future.done():
                if self._house.now_ms() > deadline_ms:
                    raise MembersUnchanged(self._unchanged())
                await asyncio.sleep(POLL_S)
        except BaseException:
            self._give_up(future)
            raise
        return future.result()

    def _give_up(self, future: "Future[Tenure]") -> None:
        """Nobody wants the register here any more: others must be able to have it."""
        if future.cancel():
            self._house.enter_here(self._office.leave, future)
        else:
            future.add_done_callback(_finish)

    def _is_over(self, term: Tenure) -> bool:
        """Whether nothing more can come of a term: it is lost, or its one change was another."""
        roster = self.roster
        is_used_up = roster.version[0] == term.token and not roster.is_pending
        return term.lost.is_set() or is_used_up

    def _is_decided(self, is_made: Callable[[Roster], bool]) -> bool:
        return is_made(self.roster) and not self.roster.is_pending

    def _expect_own_name(self, request: Request | None) -> None:
        """Another node may have been added meanwhile, under the same name."""
        if isinstance(request, Add):
            called = self._house.directory.name
            name, others = called(request.node), {*self.roster.new} - {request.node}
            if name in map(called, others):
                raise MembersUnchanged(f"another {name} was added just now, by another member")

    def _expect_majority(self, request: Request) -> None:
        """A change whose members could not go on by themselves would stop every election."""
        roster, alive = self.roster, self._house.alive
        new = {*roster.new} - ({request.node} if isinstance(request, Remove) else set())
        new |= {request.node} if isinstance(request, Add) else set()
        if not roster.is_pending and 2 * len(new & alive) <= len(new):
            name = self._house.directory.name
            left, there = (", ".join(sorted(map(name, each))) for each in (new, new & alive))
            raise MembersUnchanged(f"of {left} only {there} can be reached: that is no majority")

    def _deadline_ms(self) -> float:
        pace = self._house.pace
        return self._house.now_ms() + 2 * pace.grace_ms + 6 * pace.granted_ms

    def _unanswered(self, place: Place) -> str:
        if self._house.me not in self.roster.everybody:
            return self._unchanged()
        me = self._house.directory.name(self._house.me)
        started = (
            f"start it with join=True, with {me} in its list, and in its folder or an empty one"
        )
        return f"{place} does not answer: {started}"

    def _unchanged(self) -> str:
        roster, name = self.roster, self._house.directory.name
        members = ", ".join(sorted(map(name, roster.new)))
        if self._house.me not in roster.everybody:
            return f"{name(self._house.me)} is no member itself; the members are {members}"
        adding, alive = self._adding, map(name, self._house.alive)
        if adding is not None and adding.name not in alive and not roster.is_pending:
            told = "does not answer any more: does it run, once, and was it told to join?"
            return f"{adding.name} {told}"
        pending = "a change is not decided yet: " if roster.is_pending else ""
        return f"{pending}too few of {members} answer in time"


def _finish(future: "Future[Tenure]") -> None:
    if future.exception() is None:
        future.result().finish()


class Membership:
    """Tells others what they have missed, and notices what has changed for this node."""

    def __init__(self, house: House) -> None:
        self.is_over = False
        """Whether the others go on without this node."""
        self._house = house
        self._belongs = not house.directory.joins
        """Whether it has been a member in this life: who is to join may know of earlier ones."""
        self._enrolled = Roster()
        self._pending: tuple[int, int] = (0, 0)
        self._pending_since_ms = 0.0
        """When this node learnt of the change that is under way."""
        self._leaving: dict[tuple[NodeId, int], float] = {}
        """Who is no member, as it was proposed last, and since when that is known here."""

    @property
    def edition(self) -> int:
        """What the list of members reads as here: the list, and by which memory each is known."""
        roster = self._house.register.roster
        members = [(node, *self._house.directory.memory(node)) for node in roster.new]
        return zlib.crc32(msgspec.msgpack.encode((roster, members)))

    def tell(self) -> None:
        """Let all others compare their list of members with this node's."""
        edition = Edition(self.edition)
        for node in self._house.others():
            self._house.send(node, edition)

    def compare(self, node: NodeId, edition: int) -> None:
        """Show another node the list of members if it has another one: news may have been lost."""
        if edition == self.edition:
            self._belongs = self._belongs or self._house.me in self._house.register.roster.new
        else:
            self._house.send(node, self._house.directory.told())
            self._house.register.show(node)

    def enrol(self) -> None:
        """See whether the members are others than before."""
        house, roster = self._house, self._house.register.roster
        was_member = house.me in {*roster.new, *self._enrolled.new}
        house.directory.go_by(roster)
        roll = house.directory.roll
        if roll.is_newer(roster) and not roll.is_pending and house.me not in roll.new:
            roster = roll  # It was decided while this node was away, so it is let in nowhere.
        if roster.is_pending or roster.new == self._enrolled.new:
            return
        before, self._enrolled = self._enrolled, roster
        if before.new:
            names = ", ".join(sorted(map(house.directory.name, roster.new)))
            log.info("the members are now %s", names)
            house.reconsider(list(house.offices))
        is_member = house.me in roster.new
        self._set_over(not is_member and (self.is_over or (self._belongs and was_member)))
        self._belongs = self._belongs or (is_member and bool(before.new))

    def turned_away(self, roll: Roster) -> None:
        """Another node has not let in this one. If both know that it was removed, that is why.

        It has learnt of it in an earlier life, and was not told to join again.
        """
        own, me = self._house.register.roster, self._house.me
        is_listed = me in {*own.everybody, *roll.everybody}
        if self._belongs and not is_listed and not own.is_newer(roll):
            self._set_over(True)

    def _set_over(self, is_over: bool) -> None:
        was_over, self.is_over = self.is_over, is_over
        if is_over != was_over:
            told = "no member any more" if is_over else "a member again"
            log.warning("%s is %s", self._house.directory.me.name, told)
            self._house.pause(self._house.paused)

    def expect_member(self) -> None:
        """Removed if the others go on without this node."""
        if self.is_over:
            raise Removed(f"{self._house.directory.me.name} is no member any more")

    def look(self) -> None:
        """Part with those that have left; Removed if this node has, and its work has ended."""
        if not self._house.is_busy:
            self.expect_member()
        if self._house.me in self._house.register.roster.everybody:
            self._part_with_leavers()
            self._take_care_of_changes()

    def _take_care_of_changes(self) -> None:
        """See to it that a change is decided whose maker is gone: it costs elections a majority."""
        house, roster = self._house, self._house.register.roster
        if not roster.is_pending or roster.version != self._pending:
            self._pending, self._pending_since_ms = roster.version, house.now_ms()
        # Perhaps nobody else knows of it; but if many do, they need not all begin at once.
        turn_ms = (1 + roster.everybody.index(house.me)) * house.pace.grace_ms / 2
        if roster.is_pending and house.now_ms() - self._pending_since_ms > turn_ms:
            house.register.settle_soon()

    def _part_with_leavers(self) -> None:
        """Who is no member any more may still want to say that its work has ended."""
        house, directory, now = self._house, self._house.directory, self._house.now_ms()
        staying = {*house.register.roster.everybody, *directory.lines.newcomers.values()}
        leaving = [(node, directory.memory(node)[1]) for node in {*house.others()} - staying]
        self._leaving = {each: self._leaving.get(each, now) for each in leaving}
        patience_ms = house.pace.grace_ms + house.pace.granted_ms
        gone = {each for each, since in self._leaving.items() if now - since > patience_ms}
        if gone:
            directory.forget({node for node, _ in gone})
            self._leaving = {each: self._leaving[each] for each in leaving if each not in gone}
