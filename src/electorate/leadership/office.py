"""One election at one node: the machine of its mandate, and the term that the application holds."""

from typing import Any, Protocol

from electorate.core import (
    Asked,
    Machine,
    Message,
    NodeId,
    Received,
    Stable,
    Standing,
    Status,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.leadership.seat import Seat, SeatDesk, Seen
from electorate.leadership.term import Tenure
from electorate.protocols.mandate.message import Adopt, Ended, Release, StepDown
from electorate.protocols.mandate.roster import Roster
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead

PREFIX = "office "


class Desk(SeatDesk, Protocol):
    """What an office needs of its node."""

    host: Host

    def keeps(self, office: "Office") -> None:
        """Something is about to be kept that others rely on."""

    @property
    def members(self) -> tuple[str, ...]:
        """What the members are called."""

    def form(self, office: "Office") -> str:
        """The form of its mandate."""

    def turns(self, office: "Office") -> Turns:
        """The machine, by the priorities that are known at the moment."""

    def list_for(self, office: "Office") -> Roster | None:
        """The members to go by; None if it is this office that makes the list."""

    def stands(self, office: "Office", *, is_new: bool) -> None:
        """Tell the others with which priority this node stands now."""


class Office(Seat):
    """An office that a majority grants, so that nobody else is in it."""

    def __init__(self, name: str, desk: Desk) -> None:
        super().__init__(name, desk)
        self._desk = desk
        self._stood = 0
        self._list: Roster | None = None
        self._instance = desk.host.add(
            Instance(PREFIX + name, desk.turns(self), desk.me, desk.host, self)
        )

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
    def roster(self) -> Roster | None:
        """The members, as they are saved here; None before it has booted."""
        state: Any = self._instance.state
        return None if state is None else state.stable.roster

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come."""
        if isinstance(message, Release):
            self.released = Seen(sender, message.epoch)
        self._instance.take(Received(sender, message), head)

    def say(self, to: NodeId, message: Message) -> None:
        """Say something that is none of the machine's."""
        self._desk.host.say(self._instance, to, message)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        form = self._desk.form(self)
        return described(machine, f"mandate-over-foremost/{form}", form)

    def packed(self, stable: Stable) -> bytes:
        """What is to be kept of it."""
        self._desk.keeps(self)
        return Codec.encode(stable)

    def closed(self, node: NodeId) -> None:
        """The process of a node has ended: that is its own last word on the term it had."""
        state: Any = self._instance.state
        if state is not None and state.bound == node:
            self.released = Seen(node, state.stable.promise.epoch)
            self._instance.take(Received(node, Release(state.stable.promise.epoch)))

    def before(self) -> None:
        """Before anything else: nothing may be done any more under a list that was replaced."""
        told = self._desk.list_for(self)
        if told is not None and told is not self._list and self._instance.state is not None:
            self._list = told
            if self.term is not None:
                self.term.members = self._desk.members
            self._instance.take(Asked(Adopt(told)))

    def reconsider(self) -> None:
        """Other nodes are suspect than before, or stand with other priorities."""
        self._instance.rule_by(self._desk.turns(self))
        if self._instance.state is not None:
            self._instance.take(Viewed(self._desk.alive))

    def stand(self) -> None:
        """See whether this node stands now as it did before; who does not, steps down."""
        if self.stands_with != self._stood:
            is_new = not self._stood
            self._stood = self.stands_with
            self._desk.stands(self, is_new=is_new)
            self.reconsider()
            self._instance.look()

    def _finished(self, term: Tenure) -> None:
        if self.term is term:
            self.term = None
            if self._seen == (self._desk.me, term.token):
                self.ask(StepDown())
                self.ask(Ended())
            self.stand()

    # --- what follows from a turn ---

    def after(self) -> None:
        """See whether this node has come into office, stays there, or is out of it."""
        standing = self._instance.standing
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
        if self.term is None and is_new and self.stands_with:
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

    def _term(self, token: int, deadline_ms: float) -> Tenure:
        desk = self._desk
        return Tenure(self.name, token, self, deadline_ms, desk.now_ms, desk.members)
