"""One election at one node: the machine of its mandate, and the term that the application holds."""

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from electorate.core import (
    Asked,
    Event,
    Message,
    NodeId,
    Request,
    Stable,
    Standing,
    State,
    Status,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.leadership.term import Term
from electorate.net.instance import Instance
from electorate.protocols.mandate.message import Adopt, Ended, StepDown
from electorate.protocols.mandate.roster import Roster

log = logging.getLogger("electorate")


class Seen(NamedTuple):
    """Who leads, as one node knows it; nobody while the office is vacant."""

    leader: NodeId | None = None
    token: int | None = None


class Desk(Protocol):
    """What an office needs of its node."""

    me: NodeId
    alive: frozenset[NodeId]

    def now_ms(self) -> float:
        """The node's clock."""

    def chance(self, low: float, high: float) -> float:
        """Any number between these."""

    def turns(self, office: "Office") -> Turns:
        """The machine, by the priorities that are known at the moment."""

    def list_for(self, office: "Office") -> Roster | None:
        """The members to go by; None if it is this office that makes the list."""

    def keep(self, office: "Office", stable: bytes) -> None:
        """Have it on disk before anything comes of this moment."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once all is kept that was promised before."""

    def post(self, office: "Office", to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""

    def schedule(self, office: "Office", deadline_ms: float | None) -> None:
        """Wake the office then."""

    def stands(self, office: "Office", *, is_new: bool) -> None:
        """Tell the others with which priority this node stands now."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Have something done in the node's thread, from any other."""


class Office:
    """Takes the turns of the machine, and gives its terms to whoever waits for one."""

    def __init__(self, name: str, desk: Desk) -> None:
        self.name = name
        self.priority = 1
        self.paused = False
        self.waiting: deque[Future[Term]] = deque()
        self.watching: list[Callable[[Seen], None]] = []
        self.seen = Seen()
        """What anybody may know; this moment may have changed it, but has not been kept yet."""
        self.term: Term | None = None
        """The term whose work has not ended, also when it is over itself."""
        self._seen = Seen()
        self._promised: Future[Term] | None = None
        """Who is to have the present term once that is kept."""
        self._desk = desk
        self._stood = 0
        self._list: Roster | None = None
        self._instance = Instance(desk.turns(self), desk.me, self)

    @property
    def stands_with(self) -> int:
        """The priority with which this node stands; 0 if it only votes.

        Who has nobody to do the work does not stand, and neither does one that is still busy with
        the work of a term that is over.
        """
        has_hands = bool(self.waiting) or self.term is not None
        is_late = self.term is not None and self.term.lost.is_set()
        return 0 if self.paused or is_late or not has_hands else self.priority

    @property
    def is_held(self) -> bool:
        """Whether this node is in office."""
        return self.seen.leader == self._desk.me

    @property
    def is_down(self) -> bool:
        """Whether it has not begun yet, or is over."""
        return self._instance.state is None

    @property
    def roster(self) -> Roster | None:
        """The members, as they are saved here; None before it has booted."""
        state: Any = self._instance.state
        return None if state is None else state.stable.roster

    def boot(self, stable: Stable | None) -> None:
        """Begin, with what the last life has promised."""
        self._instance.boot(stable, self._desk.alive)
        self._look()

    def take(self, event: Event) -> None:
        """Take one event to its end."""
        self._go_by_list()
        changes = self._instance.changes
        self._instance.take(event)
        # Many answers change nothing: a majority has answered before.
        if self._instance.changes != changes:
            self._look()

    def ask(self, request: Request) -> None:
        """The application's word."""
        self.take(Asked(request))

    def wake(self) -> None:
        """A timer has run out."""
        self._go_by_list()
        self._instance.wake()
        self._look()

    def _go_by_list(self) -> None:
        """Before anything else: nothing may be done any more under a list that was replaced."""
        told = self._desk.list_for(self)
        if told is not None and told is not self._list and self._instance.state is not None:
            self._list = told
            self._instance.take(Asked(Adopt(told)))
            self._look()

    def reconsider(self) -> None:
        """Other nodes are suspect than before, or stand with other priorities."""
        self._instance.rule_by(self._desk.turns(self))
        if self._instance.state is not None:
            self.take(Viewed(self._desk.alive))

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

    def wait(self, future: "Future[Term]") -> None:
        """Somebody wants to lead."""
        self.waiting.append(future)
        self.stand()

    def leave(self, future: "Future[Term]") -> None:
        """Somebody does not want to lead any more."""
        if future in self.waiting:
            self.waiting.remove(future)
            self.stand()

    def stand(self) -> None:
        """See whether this node stands now as it did before; who does not, steps down."""
        if self.stands_with != self._stood:
            is_new = not self._stood
            self._stood = self.stands_with
            self._desk.stands(self, is_new=is_new)
            self.reconsider()

    def finished(self, term: Term) -> None:
        """The work of a term has ended; called in any thread."""
        self._desk.enter(self._finished, term)

    def _finished(self, term: Term) -> None:
        if self.term is term:
            self.term = None
            if self._seen == (self._desk.me, term.token):
                self.ask(StepDown())
                self.ask(Ended())
            self.stand()

    # --- what follows from a turn ---

    def _look(self) -> None:
        """See whether this node has come into office, stays there, or is out of it."""
        standing = self._instance.standing
        self._desk.schedule(self, self._instance.next_deadline_ms)
        seen = self._seen
        if standing is None or (standing.leader, standing.token) != seen:
            seen = Seen() if standing is None else Seen(standing.leader, standing.token)
        if self.term is not None and seen != (self._desk.me, self.term.token):
            self.term.end()
        if standing is not None and seen.leader == self._desk.me:
            self._hold(standing, seen)
        else:
            self._tell(seen)
        self.stand()

    def _hold(self, standing: Standing, seen: Seen) -> None:
        """This node is in office: so is the application, for as long as that is certain."""
        assert standing.token is not None
        assert standing.until is not None
        deadline_ms = self._instance.deadline_ms(standing.until)
        is_new = seen != self._seen
        self._tell(seen)
        if self.term is None and is_new:
            self._give(Term(self.name, standing.token, self, deadline_ms, self._desk.now_ms))
        if self.term is not None and self.term.token == standing.token:
            self.term.last(deadline_ms)
            if standing.status is not Status.NORMAL:
                self.term.ask_to_end()
            elif not self.stands_with:
                self.ask(StepDown())
        elif standing.status is Status.NORMAL:
            # There is nobody to do the work, or it is still busy with that of an earlier term.
            self.ask(StepDown())
            self.ask(Ended())

    def _give(self, term: Term) -> None:
        """Give the term to whoever has waited longest."""
        while self.waiting and self.term is None:
            future = self.waiting.popleft()
            if future.set_running_or_notify_cancel():
                self.term, self._promised = term, future
                self._desk.then(self._hand, future, term)

    def _hand(self, future: "Future[Term]", term: Term) -> None:
        """What the term rests on is kept: no later life of this node uses its token again."""
        self._promised = None
        future.set_result(term)

    def _tell(self, seen: Seen) -> None:
        if seen != self._seen:
            self._seen = seen
            self._desk.then(self._show, seen)

    def _show(self, seen: Seen) -> None:
        if seen != self.seen:
            self.seen = seen
            for tell in list(self.watching):
                tell(seen)

    # --- the port of its machine ---

    def now_ms(self) -> float:
        """The node's clock."""
        return self._desk.now_ms()

    def save(self, stable: Stable) -> None:
        """Make this durable before anything comes of this moment."""
        self._desk.keep(self, Codec.encode(stable))

    def send(self, to: NodeId, message: Message) -> None:
        """Bring a message on its way, or drop it."""
        self._desk.post(self, to, message)

    def booted(self, stable: Stable | None, state: State) -> None:
        """Nobody writes it down."""

    def took(self, event: Event, state: State, letterhead: Any) -> None:
        """Nobody writes it down."""

    def jitter(self, up_to: int) -> float:
        """A random part of this."""
        return self._desk.chance(0, up_to)
