"""Other ways for a node to run a register and an office than that of told.py."""

from collections.abc import Mapping
from typing import Any, ClassVar

from electorate.core import (
    Event,
    NodeId,
    Received,
    Request,
    Result,
    Stable,
    Standing,
    Status,
    TimedOut,
)
from electorate.protocols.mandate.message import Ended, Transfer
from electorate.protocols.mandate.state import MandateStable, Promise, Roster
from tests.check.told import ERA, Pair, PairStable, PairState


class LazyPair(Pair):
    """The office adopts what its register has saved only before an event of its own."""

    def step(self, s: PairState, event: Event) -> Result[PairState]:
        s, asked = self.register.step(s, event)
        if not self.is_for_the_office(event):
            return s, asked
        s, told = self.adopted(s)
        s, claimed = self.office.step(s, event)
        return s, [*asked, *told, *claimed]

    def is_for_the_office(self, event: Event) -> bool:
        match event:
            case Received(_, message):
                return isinstance(message, self.office.messages)
            case TimedOut(timer):
                return any(timer == each.name for each in self.office.timers)
        return False


class HeirPair(Pair):
    """Whoever holds the office may be asked to hand it over to an heir."""

    heirs: ClassVar[Mapping[NodeId, NodeId]] = {1: 2}

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        asked = super().may_ask(view)
        assert view.group is not None
        me, _ = view.group
        if view.leader != me or me not in self.heirs:
            return asked
        is_ending = view.status is Status.REORGANIZATION
        wish = Ended() if is_ending else Transfer(self.heirs[me])
        return (*asked, self.office.request(wish))


REMOVED = Roster((1, 1), (1, 2, 3), (1, 3))


class LatePromise(Pair):
    """Node 3 has proposed to go on without 2, and claimed the office under that list, in vain."""

    def boot(self, me: NodeId, stable: Any) -> Result[PairState]:
        if stable is None:
            is_third = me == 3
            roster = REMOVED if is_third else self.begins[me]
            claimed = Promise(ERA + 1, 3) if is_third else Promise()
            register = MandateStable(Promise(1, 3), Stable(), roster)
            stable = PairStable(register, MandateStable(claimed, Stable(), roster))
        return super().boot(me, stable)
