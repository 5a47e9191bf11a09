"""What Node and Election are, with asyncio and without: the parts in which nobody waits."""

from collections.abc import Callable

from electorate.core import NodeId
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Engine, Leader
from electorate.leadership.group.term import OnMerge
from electorate.leadership.register import RESERVED

Condition = Callable[[Leader], bool]


class ElectionHandle:
    """One election, as one node takes part in it."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        priority: int | None,
        safety: Safety = "quorum",
        on_merge: OnMerge | None = None,
    ) -> None:
        if name.startswith(RESERVED):
            raise ValueError(f"{name} is not yours to lead: choose another name")
        if on_merge is not None and safety != "group":
            raise ValueError('nothing ever merges without safety="group": there is no on_merge')
        if on_merge is not None and not callable(on_merge):
            raise ValueError(f"on_merge is called as on_merge(term, others): not {on_merge!r}")
        self.name = name
        self.safety = safety
        self._engine = engine
        self._office = engine.office(name, safety)
        self._on_merge = on_merge
        if priority is not None:
            self.set_priority(priority)

    @property
    def leader(self) -> Leader:
        """Who leads at the moment, as this node knows it."""
        return self._engine.told(self._office.seen)

    def set_priority(self, priority: int) -> None:
        """Stand with another priority from now on; 0 is a witness, which votes and never leads.

        In a group the highest priority leads: who has it takes over at once.
        """
        if not isinstance(priority, int) or not 0 <= priority < 1 << 31:
            raise ValueError(f"a priority is a number from 0 up, not {priority!r}")
        self._engine.set_priority(self._office, priority)

    def _expect_quorum(self) -> None:
        """A group does not choose its leader, so nobody can choose another."""
        if self.safety == "group":
            raise ValueError(
                f"each group of {self.name} is led by its strongest member: "
                "set_priority changes that, or pause"
            )

    def _has_gone(self) -> Condition:
        """Whether the present leader is in office no longer; TransferFailed if there is none."""
        engine, office = self._engine, self._office
        before = engine.expect_leader(office)

        def has_gone(now: Leader) -> bool:
            # Not to hear of it any more proves nothing: it may be this node that is cut off.
            is_sure = now.leader is not None or before.leader == engine.me.name
            return now != before and (is_sure or engine.told(office.released) == before)

        return has_gone

    def _ask(self, heir: NodeId | None) -> None:
        """Have whoever leads step down, or hand over; nobody may hear it."""
        self._engine.do(self._engine.offices.order, self.name, heir)


class NodeHandle:
    """One member of a cluster."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name = engine.me.name

    @property
    def members(self) -> tuple[str, ...]:
        """The names of all members."""
        return self._engine.members

    def _paused(self) -> Callable[[], bool]:
        """Have it stand nowhere; whether nothing is led here any more, or it stands again."""
        engine = self._engine
        heard = engine.pause(True)

        def is_idle() -> bool:
            engine.expect_running()
            if not heard.is_set():
                return False  # It may still come into office.
            is_held = any(office.is_held for office in engine.offices.all())
            return not (is_held and engine.offices.paused)

        return is_idle
