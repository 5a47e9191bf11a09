"""How a node keeps up with who the members are, and with what became of those that were."""

import logging
import zlib
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from electorate.core import NodeId
from electorate.errors import Removed
from electorate.leadership.letter import Letter
from electorate.leadership.members.directory import Directory
from electorate.leadership.members.register import Register
from electorate.leadership.office import Office
from electorate.pace import Pace
from electorate.protocols.mandate.roster import Roster

log = logging.getLogger("electorate")


class House(Protocol):
    """What is needed of the node."""

    me: NodeId
    pace: Pace
    paused: bool
    now_ms: Callable[[], float]
    directory: Directory
    register: Register
    offices: dict[str, Office]

    @property
    def is_busy(self) -> bool:
        """Whether there is work that has not ended, or an office that is held."""

    def others(self) -> Iterable[NodeId]:
        """Every other node."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again where it did."""

    def reconsider(self, names: Iterable[str]) -> None:
        """Look at these elections anew."""


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
        was_over, is_member = self.is_over, house.me in roster.new
        self.is_over = not is_member and (was_over or (self._belongs and was_member))
        self._belongs = self._belongs or (is_member and bool(before.new))
        if self.is_over != was_over:
            told = "no member any more" if self.is_over else "a member again"
            log.warning("%s is %s", house.directory.me.name, told)
            house.pause(house.paused)

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
