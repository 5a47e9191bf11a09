"""What this node has of any election: a machine that takes its turns, and who wants to know of it.

What is to be done when the machine has taken one, each kind of election says for itself.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from electorate.core import Asked, NodeId, Request, Stable
from electorate.leadership.term import Tenure
from electorate.runtime.instance import Instance, Owner


class Seen(NamedTuple):
    """Who leads, as one node knows it; nobody while the office is vacant."""

    leader: NodeId | None = None
    token: int | None = None


class SeatDesk(Protocol):
    """What every election needs of its node."""

    @property
    def me(self) -> NodeId:
        """This node."""

    @property
    def alive(self) -> frozenset[NodeId]:
        """Who is not suspect."""

    def now_ms(self) -> float:
        """The node's clock."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is kept that was promised before."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""


class Seat(Owner, ABC):
    """Owns the instance of one election, and gives terms to whoever waits for one."""

    _instance: Instance

    def __init__(self, name: str, desk: SeatDesk) -> None:
        self.name = name
        self.priority = 1
        self.paused = False
        self.waiting: deque[Future[Tenure]] = deque()
        self.watching: list[Callable[[Seen], None]] = []
        self.seen = Seen()
        """What anybody may know; this moment may have changed it, but has not been kept yet."""
        self.term: Tenure | None = None
        """The term whose work has not ended, also when it is over itself."""
        self.released = Seen()
        """The last term that was given up by another's own word."""
        self._seen = Seen()
        self._promised: Future[Tenure] | None = None
        """Who is to have the present term once that is kept."""
        self._seat_desk = desk

    @property
    @abstractmethod
    def stands_with(self) -> int:
        """The priority with which this node stands; 0 if it does not."""

    @abstractmethod
    def stand(self) -> None:
        """See whether this node stands now as it did before."""

    @abstractmethod
    def reconsider(self) -> None:
        """Other nodes are suspect than before, or stand with other priorities."""

    @abstractmethod
    def _finished(self, term: Tenure) -> None:
        """The work of a term has ended."""

    @property
    def is_held(self) -> bool:
        """Whether this node is in office."""
        return self.seen.leader == self._seat_desk.me

    @property
    def is_down(self) -> bool:
        """Whether it has not begun yet, or is over."""
        return self._instance.state is None

    @property
    def is_urgent(self) -> bool:
        """Whoever is in office has no time to wait."""
        return self.is_held

    def boot(self, stable: Stable | None) -> None:
        """Begin, with what the last life has promised."""
        self._instance.boot(stable, self._seat_desk.alive)

    def ask(self, request: Request) -> None:
        """The application's word."""
        self._instance.take(Asked(request))

    def halt(self, error: Exception) -> None:
        """The node has ended: there is no office any more."""
        self._instance.halt()
        if self.term is not None:
            self.term.end()
        if self._promised is not None:
            self._promised.set_exception(error)
        while self.waiting:
            future = self.waiting.popleft()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        self._show(Seen())

    # --- what the application wants ---

    def wait(self, future: "Future[Tenure]") -> None:
        """Somebody wants to lead."""
        self.waiting.append(future)
        self.stand()

    def leave(self, future: "Future[Tenure]") -> None:
        """Somebody does not want to lead any more."""
        if future in self.waiting:
            self.waiting.remove(future)
            self.stand()

    def finished(self, term: Tenure) -> None:
        """The work of a term has ended; called in any thread."""
        self._seat_desk.enter(self._finished, term)

    # --- what follows from a turn ---

    def _give(self, term: Tenure) -> None:
        """Give the term to whoever has waited longest."""
        while self.waiting and self.term is None:
            future = self.waiting.popleft()
            if future.set_running_or_notify_cancel():
                self.term, self._promised = term, future
                self._seat_desk.then(self._hand, future, term)

    def _hand(self, future: "Future[Tenure]", term: Tenure) -> None:
        """What the term rests on is kept: no later life of this node uses its token again."""
        self._promised = None
        future.set_result(term)

    def _tell(self, seen: Seen) -> None:
        if seen != self._seen:
            self._seen = seen
            self._seat_desk.then(self._show, seen)

    def _show(self, seen: Seen) -> None:
        if seen != self.seen:
            self.seen = seen
            for tell in list(self.watching):
                tell(seen)
