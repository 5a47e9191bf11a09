"""One election at one node: the machine of its mandate, and the term that the application holds."""

from typing import Any, Protocol

from electorate.core import Event, NodeId, Stable, Standing, State, Status, Turns, Viewed
from electorate.leadership.seat import Seat, SeatDesk, Seen
from electorate.leadership.term import Term
from electorate.net.instance import Instance
from electorate.protocols.mandate.message import Ended, StepDown


class Desk(SeatDesk, Protocol):
    """What an office needs of its node."""

    names: dict[NodeId, str]

    def turns(self, office: "Office") -> Turns:
        """The machine, by the priorities that are known at the moment."""

    def stands(self, office: "Office", *, is_new: bool) -> None:
        """Tell the others with which priority this node stands now."""


class Office(Seat):
    """An office that a majority grants, so that nobody else is in it."""

    def __init__(self, name: str, desk: Desk) -> None:
        super().__init__(name, desk)
        self._desk = desk
        self._stood = 0
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

    def reconsider(self) -> None:
        """Other nodes are suspect than before, or stand with other priorities."""
        self._instance.rule_by(self._desk.turns(self))
        if self._instance.state is not None:
            self.take(Viewed(self._desk.alive))

    def stand(self) -> None:
        """See whether this node stands now as it did before; who does not, steps down."""
        if self.stands_with != self._stood:
            is_new = not self._stood
            self._stood = self.stands_with
            self._desk.stands(self, is_new=is_new)
            self.reconsider()

    def _finished(self, term: Term) -> None:
        if self.term is term:
            self.term = None
            if self.is_held and self.seen.token == term.token:
                self.ask(StepDown())
                self.ask(Ended())
            self.stand()

    # --- what follows from a turn ---

    def _look(self) -> None:
        """See whether this node has come into office, stays there, or is out of it."""
        standing = self._instance.standing
        self._desk.schedule(self, self._instance.next_deadline_ms)
        seen = Seen() if standing is None else Seen(standing.leader, standing.token)
        if self.term is not None and seen != (self._desk.me, self.term.token):
            self.term.end()
        if standing is not None and seen.leader == self._desk.me:
            self._hold(standing)
        else:
            self._tell(seen)
        self.stand()

    def _hold(self, standing: Standing) -> None:
        """This node is in office: so is the application, for as long as that is certain."""
        assert standing.token is not None
        assert standing.until is not None
        seen = Seen(standing.leader, standing.token)
        deadline_ms = self._instance.deadline_ms(standing.until)
        is_new = seen != self.seen
        self._tell(seen)
        if self.term is None and is_new:
            self._give(self._term(standing.token, deadline_ms))
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

    def _term(self, token: int, deadline_ms: float) -> Term:
        members = tuple(sorted(self._desk.names.values()))
        return Term(self.name, token, self, deadline_ms, self._desk.now_ms, members)

    def booted(self, stable: Stable | None, state: State) -> None:
        """Nobody writes it down."""

    def took(self, event: Event, state: State, letterhead: Any) -> None:
        """Nobody writes it down."""
