"""What a node does every second: it says again what may have been lost, and looks after itself."""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from electorate.leadership.members.directory import Directory
from electorate.leadership.members.membership import Membership
from electorate.leadership.seat import Seat
from electorate.pace import Pace
from electorate.runtime.timers import Lateness

REMIND_S = 1.0
BEHIND = (
    "%s is up to %d ms behind with %d elections, for seconds already: it needs fewer of them, "
    "more of the processor, or a slower pace (a larger T and P at all nodes)"
)

log = logging.getLogger("electorate")


class House(Protocol):
    """What is needed of the node."""

    pace: Pace
    directory: Directory
    membership: Membership

    def all(self) -> list[Seat]:
        """Every election."""

    def announce(self) -> None:
        """Say where this node stands."""

    def enter_here(self, act: Callable[..., None]) -> None:
        """Do it as the node does its own things."""


class Reminder:
    """Begins with the first life of a node."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._running: asyncio.Task[None] | None = None

    def begin(self, lateness: Lateness) -> None:
        """From now on."""
        self._lateness = lateness
        self._running = asyncio.ensure_future(self._run())

    def end(self) -> None:
        """No more."""
        if self._running is not None:
            self._running.cancel()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(REMIND_S)
            self._house.enter_here(self._remind)

    def _remind(self) -> None:
        house, seats = self._house, self._house.all()
        house.announce()
        late_ms = self._lateness.look()
        if late_ms is not None:
            log.warning(BEHIND, house.directory.me.name, late_ms, len(seats))
        for seat in seats:
            if seat.term is not None:  # Its work may have no end.
                seat.term.abandon_after(house.pace.grace_ms)
        house.membership.look()
