"""Two assumptions that no option drops, each dropped by a small machine: Bully with one change.

Source: P. F. Souto, "Elections", slide "System Model/Assumptions": all nodes use the same algorithm
(1), and no messages come about by themselves (3).

    electorate check examples/assumptions.py:MixedBelow --crashes 1 --recoveries 1 --claim A1
    electorate check examples/assumptions.py:Babbling --asks 2 --claim A1
"""

from electorate.core import (
    Asked,
    Event,
    Members,
    NodeId,
    Request,
    Result,
    Send,
    Stable,
    Standing,
    Timing,
)
from electorate.protocols.bully import Bully, BullyRules, BullyState, Halt, NewLeader, Yes


class MixedAbove(Bully):
    """The strongest node runs Bully as the slides print it, all others the sound form."""

    strongest_is_old = True

    def __init__(self, members: Members, timing: Timing, rules: BullyRules | None = None) -> None:
        super().__init__(members, timing, rules)
        self.printed = Bully(members, timing, Bully.form("printed"))

    def is_old(self, node: NodeId) -> bool:
        """Whether this node runs the other form."""
        others = self.members.stronger_than if self.strongest_is_old else self.members.weaker_than
        return not others(node)

    def boot(self, me: NodeId, stable: Stable | None) -> Result[BullyState]:
        return self.printed.boot(me, stable) if self.is_old(me) else super().boot(me, stable)

    def step(self, s: BullyState, event: Event) -> Result[BullyState]:
        return self.printed.step(s, event) if self.is_old(s.me) else super().step(s, event)


class MixedBelow(MixedAbove):
    """The same, but it is the weakest node that runs the printed form."""

    strongest_is_old = False


class Forge(Request):
    """Let a message come about that the algorithm would not send."""

    to: NodeId
    what: str


WORDS = {"halt": Halt, "new-leader": NewLeader, "yes": Yes}


class Babbling(Bully):
    """Bully, where any of its messages may come from any node without a reason."""

    requests = (Forge,)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return tuple(Forge(to, what) for to in self.members.ids for what in WORDS)

    def step(self, s: BullyState, event: Event) -> Result[BullyState]:
        match event:
            case Asked(Forge(to, what)) if to != s.me and what in WORDS:
                return s, [Send(to, WORDS[what]())]
            case Asked():
                return s, []
        return super().step(s, event)
