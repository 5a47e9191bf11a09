"""What every interface to a node shares: its elections, and what may be wanted of them."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from electorate.core import NodeId
from electorate.errors import NodeStopped, TransferFailed
from electorate.leadership.candidacy import Safety
from electorate.leadership.directory import Place, named, number, places
from electorate.leadership.office import Seat, Seen
from electorate.leadership.offices import Offices
from electorate.leadership.term import Tenure
from electorate.pace import Pace
from electorate.runtime.config import HostConfig


class Leader(NamedTuple):
    """Who leads an election, as one node knows it."""

    leader: str | None
    """Its name; None while the office is vacant."""
    token: int | None
    """The number of its term."""


class Engine(ABC):
    """A node in operation, wherever it runs."""

    def __init__(
        self, me: str, members: Iterable[str], pace: Pace | None, *, join: bool = False
    ) -> None:
        self.places = places(members if "@" not in me else [me, *members])
        if join and "@" not in me and number(me) not in self.places:
            raise ValueError(f"{me} is to join a cluster: say where it is, as {me}@host:port")
        self.me = named(me, self.places)
        self.pace = pace or Pace()
        founders = {id: place for id, place in self.places.items() if not join or id != self.me.id}
        if not founders:
            raise ValueError(f"{self.me.name} is to join a cluster: name some of its members")
        self.offices = Offices(self.me, founders, self.pace, joins=join)

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
        """Raise what has ended the node, if something has."""

    @abstractmethod
    def do(self, act: Callable[..., None], *given: object) -> None:
        """Have something done as the node does its own things; NodeStopped if it has ended."""

    @abstractmethod
    def office(self, name: str, safety: Safety) -> Seat:
        """The election of that name; ValueError if it is of another kind."""

    @property
    def is_busy(self) -> bool:
        """Whether there is work that has not ended, or an office that is held."""
        return self.offices.is_busy

    def pause(self, paused: bool) -> threading.Event:
        """Stand nowhere, or again where it did; what is returned is set once that is so."""
        heard = threading.Event()

        def change() -> None:
            self.offices.pause(paused)
            self.offices.then(heard.set)

        self.do(change)
        return heard

    def wait(self, office: Seat) -> "Future[Tenure]":
        """A term, once there is one. Whoever cancels that does not stand any more."""
        future: Future[Tenure] = Future()
        self.do(office.wait, future)
        return future

    def give_up(self, office: Seat, future: "Future[Tenure]") -> None:
        """Nobody waits for that term any more; if it has come just now, it is over."""
        if future.cancel():
            with suppress(NodeStopped):
                self.do(office.leave, future)
        elif future.exception() is None:
            future.result().finish()

    def told(self, seen: Seen) -> Leader:
        """The same by name."""
        name = None if seen.leader is None else self.offices.directory.name(seen.leader)
        return Leader(name, seen.token)

    def observe(self, office: Seat, tell: Callable[[Leader], None]) -> Callable[[], None]:
        """Tell who leads, now and whenever that changes; returns how to end that."""

        def told(seen: Seen) -> None:
            tell(self.told(seen))

        def begin() -> None:
            told(office.seen)
            office.watching.append(told)

        def end() -> None:
            if told in office.watching:
                office.watching.remove(told)

        self.do(begin)
        return lambda: self._quietly(end)

    def set_priority(self, office: Seat, priority: int) -> None:
        """Stand with another priority from now on."""

        def change() -> None:
            office.priority = priority
            office.stand()

        self.do(change)

    def expect_heir(self, office: Seat, name: str) -> NodeId:
        """Who is to take over; ValueError or TransferFailed if it cannot."""
        heir = self.expect_member(name)
        if heir not in self.offices.alive:
            raise TransferFailed(f"{name} cannot be reached")
        if not self.offices.stands_with(heir, office.name):
            raise TransferFailed(f"{name} does not stand: it is paused, has priority 0 or no work")
        self.expect_leader(office)
        return heir

    def expect_leader(self, office: Seat) -> Leader:
        """Who leads; TransferFailed if this node has heard of nobody."""
        now = self.told(office.seen)
        if now.leader is None:
            raise TransferFailed(
                f"nobody leads {office.name}, as far as {self.me.name} knows: "
                "there is nothing to hand over"
            )
        return now

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members, as this node knows them."""
        return self.offices.members

    def expect_member(self, name: str) -> NodeId:
        """The number of a member; ValueError if there is none of that name."""
        node = self.offices.register.find(name)
        if node is None or name not in self.members:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.members)}")
        return node

    @abstractmethod
    def submit(self, act: Callable[[], Coroutine[Any, Any, None]]) -> "Future[None]":
        """Have something awaited in the node's loop; NodeStopped if it has ended."""

    def add_member(self, text: str) -> "Future[None]":
        """Make another node a member."""
        place = self._expect_newcomer(text)
        return self.submit(partial(self.offices.register.add, place))

    def remove_member(self, name: str) -> "Future[None]":
        """Go on without a member."""
        node = self._expect_leaver(name)
        return self.submit(partial(self.offices.register.remove, node))

    def replace_member(self, name: str, text: str) -> "Future[None]":
        """Put a node in the place of a member."""
        place = self._expect_newcomer(text, instead_of=name)
        node = self._expect_leaver(name)
        if place.name == name:
            return self.submit(partial(self.offices.register.renew, node, place))
        return self.submit(partial(self.offices.register.replace, node, place))

    def _expect_newcomer(self, text: str, instead_of: str = "") -> Place:
        place = Place.of(text)
        is_member = place.name in self.members and place.name != instead_of
        if is_member and not self.offices.register.is_undecided(place.name):
            raise ValueError(f"{place.name} is a member already")
        if place.name == self.me.name:
            raise ValueError(f"{place.name} cannot add itself: ask a member to do it")
        self.offices.directory.expect_no_clash(place)
        return place

    def _expect_leaver(self, name: str) -> NodeId:
        node = self.offices.register.find(name)
        if node is None or not self.offices.register.is_undecided(name):
            node = self.expect_member(name)
        if node == self.offices.me:
            raise ValueError(f"{name} cannot remove itself: ask another member to do it")
        return node

    @property
    def patience_s(self) -> float:
        """How long a hand-over may take at most."""
        return (self.pace.grace_ms + 3 * self.pace.granted_ms) / 1000

    @property
    def again_s(self) -> float:
        """How soon to ask again for what nobody may have heard."""
        return self.pace.granted_ms / 2000

    @property
    def sure_s(self) -> float:
        """After how long a node that was granted an office here has it, or has given it up."""
        return (3 * self.pace.T_ms + 2 * self.pace.P_ms) / 1000

    def unchanged(self, office: Seat) -> str:
        """What is wrong when nothing has come of a wish."""
        leader, me = self.told(office.seen).leader, self.me.name
        if leader is None:
            known = f"{me} knows of nobody who leads {office.name} after {self.patience_s:.1f} s"
            return f"{known}: either nobody does, or {me} is cut off"
        return (
            f"{leader} leads {office.name} after {self.patience_s:.1f} s: either the work there "
            "has not ended, or the heir was not heard of by a majority"
        )

    def _quietly(self, act: Callable[[], None]) -> None:
        with suppress(NodeStopped):
            self.do(act)


def host_config(
    me: NodeId, places: dict[NodeId, Place], pace: Pace, data: Path, record: Path | None = None
) -> HostConfig:
    """How the host of a node is run that goes at this pace."""
    return HostConfig(
        me,
        {place.id: place.address for place in places.values()},
        data,
        cluster="",  # The directory knows, once it has looked at what was written down.
        record=record,
        beat_ms=pace.beat_ms,
        timeout_ms=pace.timeout_ms,
        # What waits on a connection for longer than a lease is of no use to anybody.
        fresh_ms=pace.lease_ms,
        still_ms=pace.timeout_ms / 2,
        patience_ms=pace.lease_ms,
        late_ms=pace.T_ms + pace.P_ms,
        probe_ms=pace.probe_ms,
        trusts_end=pace.trust_close,
        names={place.id: place.name for place in places.values()},
    )
