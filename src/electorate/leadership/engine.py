"""What every interface to a node shares: its elections, and what may be wanted of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple

from electorate.core import NodeId
from electorate.leadership.kind import Safety
from electorate.leadership.offices import NodeStopped, Offices
from electorate.leadership.pace import Pace
from electorate.leadership.place import named, places
from electorate.leadership.seat import Seat, Seen
from electorate.leadership.term import Term


class Leader(NamedTuple):
    """Who leads an election, as one node knows it."""

    leader: str | None
    """Its name; None while the office is vacant."""
    token: int | None
    """The number of its term."""


class Engine(ABC):
    """A node in operation, wherever it runs."""

    def __init__(self, me: str, members: Iterable[str], pace: Pace | None) -> None:
        self.places = places(members if "@" not in me else [me, *members])
        self.me = named(me, self.places)
        self.pace = pace or Pace()
        self.names = {place.id: place.name for place in self.places.values()}
        self.ids = {place.name: place.id for place in self.places.values()}
        self.offices = Offices(self.me.id, self.names, self.pace)

    @abstractmethod
    async def begin(self) -> None:
        """Start, and wait until the others were reached or proved unreachable."""

    @abstractmethod
    async def end(self) -> None:
        """Stand nowhere any more, give work the time to end, and stop."""

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
        return any(each.term is not None or each.is_held for each in self.offices.all())

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again where it did."""
        self.do(self.offices.pause, paused)

    def wait(self, office: Seat) -> "Future[Term]":
        """A term, once there is one. Whoever cancels that does not stand any more."""
        future: Future[Term] = Future()
        self.do(office.wait, future)
        return future

    def give_up(self, office: Seat, future: "Future[Term]") -> None:
        """Nobody waits for that term any more; if it has come just now, it is over."""
        if future.cancel():
            with suppress(NodeStopped):
                self.do(office.leave, future)
        elif future.exception() is None:
            future.result().finish()

    def told(self, seen: Seen) -> Leader:
        """The same by name."""
        name = None if seen.leader is None else self.names[seen.leader]
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
        if name not in self.ids:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.ids)}")
        heir = self.ids[name]
        if heir not in self.offices.alive:
            raise TransferFailed(f"{name} cannot be reached")
        if not self.offices.stands_with(heir, office.name):
            raise TransferFailed(f"{name} does not stand: it is paused, has priority 0 or no work")
        if office.seen.leader is None:
            raise TransferFailed(f"nobody leads {office.name}: there is nothing to hand over")
        return heir

    @property
    def patience_s(self) -> float:
        """How long a hand-over may take at most."""
        return (self.pace.grace_ms + 3 * self.pace.granted_ms) / 1000

    @property
    def again_s(self) -> float:
        """How soon to ask again for what nobody may have heard."""
        return self.pace.granted_ms / 2000

    def unchanged(self, office: Seat) -> str:
        """What is wrong when nothing has come of a wish."""
        leader = self.told(office.seen).leader or "nobody"
        return f"{leader} leads {office.name} after {self.patience_s:.1f} s"

    def _quietly(self, act: Callable[[], None]) -> None:
        with suppress(NodeStopped):
            self.do(act)


class TransferFailed(Exception):
    """The office was not handed over, and this is why."""
