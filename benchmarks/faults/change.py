"""Members that come and go while everything else happens."""

import time
from collections.abc import Iterator, Sequence
from itertools import count, cycle
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.faults.evidence import ANSWERS
from benchmarks.faults.plan import Change
from electorate.cli.supervisor import Child

if TYPE_CHECKING:
    from benchmarks.faults.fleet import Fleet

CHANGE_S = 60.0
"""A change of members has to be made within this time, whatever else happens meanwhile."""
ANSWER_S = 20.0
"""A worker that has not answered by then was cut off: another one is asked."""
AGAIN_S = 0.3
LEAVING_S = 10.0
"""A member that was removed has to end within this time."""


class ChangeNotMade(Exception):
    """Nobody could make a change of members in time."""


class Asked(NamedTuple):
    """A change of the members that is under way."""

    change: Change
    name: str
    words: str
    """What a member is told."""
    since: float


class Order(NamedTuple):
    """What a member was told last, of which nothing has come yet."""

    number: int
    since: float
    process: Child


def says_gone(answer: str, name: str, members: Sequence[str]) -> bool:
    """Whether an answer says that one of these members was removed.

    A member that was cut off says it, too, of a node of which it has not heard yet: by an older
    list.
    """
    said, _, listed = answer.partition(f"{name!r} is no member; the members are ")
    return said != answer and {*listed.split(", ")} == {*members} - {name}


class MemberChanges:
    """One change after the other, each asked of one member after the other until it is made."""

    def __init__(self, fleet: "Fleet") -> None:
        self.order: Iterator[Change] = cycle(("remove", "add", "replace"))
        self.took_s: list[float] = []
        """How long each change took."""
        self._fleet = fleet
        self._numbers = count()
        self._asked: Asked | None = None
        self._told: Order | None = None
        self._leaving: dict[str, float] = {}
        """Members that were removed, and until when they have to end."""

    def concerned(self) -> set[str]:
        """Whom the change that is under way is about."""
        return {self._asked.name} if self._asked is not None else set()

    def begin(self, change: Change, name: str) -> None:
        """Begin a change; `name` is who leaves, or is replaced."""
        fleet, now = self._fleet, time.monotonic()
        before = list(fleet.members)
        if change == "remove":
            self._asked = Asked("remove", name, f"remove {name}", now)
            fleet.tell("members", lists=[before, [each for each in before if each != name]])
        elif change == "add":
            name = fleet.next_name()
            fleet.settle_down(name)
            fleet.joined.add(name)
            fleet.start(name)
            self._asked = Asked("add", name, f"add {fleet.place(name)}", now)
            fleet.tell("members", lists=[before, [*before, name]])
        else:
            fleet.kill(name)
            fleet.wipe(name)
            fleet.joined.add(name)
            fleet.start(name)
            self._asked = Asked("replace", name, f"replace {name} {fleet.place(name)}", now)
            fleet.tell("members", lists=[before, [each for each in before if each != name]])

    def see_to(self) -> None:
        """Ask a member for the change, and another one if that fails or does not answer."""
        if self._asked is None:
            return
        fleet, now = self._fleet, time.monotonic()
        if now - self._asked.since > CHANGE_S:
            raise ChangeNotMade(f"nobody could {self._asked.words} within {CHANGE_S:.0f} s")
        if self._told is None:
            well = [name for name in fleet.well() if name != self._asked.name]
            if well:
                number = next(self._numbers)
                process = fleet.processes[well[number % len(well)]]
                self._told = Order(number, now, process)
                process.order(f"{number} {self._asked.words}")
        else:
            number, since, process = self._told
            answer, name = self._answer(number), self._asked.name
            is_gone = says_gone(answer, name, fleet.members)
            if is_gone and self._asked.change == "replace":
                # Whoever was asked before has removed it, and could not add the new one.
                self._asked = self._asked._replace(words=f"add {fleet.place(name)}")
                self._told = None
            elif answer == "done" or is_gone or f"{name} is a member already" in answer:
                self._end()
            elif not process.is_running or now - since > (AGAIN_S if answer else ANSWER_S):
                self._told = None

    def _end(self) -> None:
        assert self._asked is not None
        fleet = self._fleet
        self.took_s.append(time.monotonic() - self._asked.since)
        change, name = self._asked.change, self._asked.name
        self._asked = self._told = None
        if change == "remove":
            fleet.members.remove(name)
            self._leaving[name] = time.monotonic() + LEAVING_S
        elif change == "add":
            fleet.members.append(name)
        fleet.tell("members", lists=[fleet.members])

    def await_none(self) -> None:
        """Wait until no change is under way, and whoever was removed has gone."""
        while self._asked is not None or self._leaving:
            self._fleet.pass_time(0.05)

    def _answer(self, number: int) -> str:
        """What came of an order; empty if nothing is known yet."""
        path = self._fleet.folder / ANSWERS
        lines = path.read_text().splitlines() if path.exists() else []
        found = [line.split(maxsplit=1)[1] for line in lines if line.split()[0] == str(number)]
        return found[-1] if found else ""

    def explains(self, name: str, process: Child) -> bool:
        """Whether a process that has ended, or not, did so because of a change."""
        if name in self._leaving:
            self._look_for_end(name, process)
            return True
        # It has heard of its removal before whoever was asked for it has said so.
        is_leaving = self._asked is not None and self._asked[:2] == ("remove", name)
        return is_leaving and process.code == 0

    def _look_for_end(self, name: str, process: Child) -> None:
        """See whether a node that was removed has ended, as it should."""
        is_late = time.monotonic() > self._leaving[name]
        if process.is_running and not is_late:
            return
        fleet = self._fleet
        if process.code != 0:
            how = "has not ended" if process.is_running else "has ended otherwise"
            fleet.complain(f"{name} ({process.pid}) was removed and {how}: {name}.log")
        fleet.tell("down", name=name)
        fleet.leave(name)
        del self._leaving[name]
