"""A place that runs begin in because a script, or the record of a real run, has led there."""

from collections.abc import Mapping

from electorate.check.interned import Item, Local
from electorate.claims import Row
from electorate.core import NodeId, Value
from electorate.trace import Step, is_consequence
from electorate.trace.word import counted


class Given(Value):
    """A global state, and the steps that led to it from where its setting says that runs begin."""

    name: str
    """What the user calls it."""
    steps: tuple[Step, ...]
    nodes: tuple[Local, ...]
    """Each node, its timers with what remains of them."""
    mail: tuple[tuple[NodeId, Item], ...] = ()
    """What is on its way, and to whom, in the order of sending."""
    cut: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """The ways over which nothing gets through now, each in one direction."""
    past: tuple[Row, ...] = ()
    """All that claims could see until then, this place included."""
    about: str = ""
    """What else a verdict has to say of it."""
    names: Mapping[NodeId, str] = {}
    """What people call the nodes, if it is the place of a real run."""

    @property
    def moves(self) -> int:
        """How many steps somebody had to make."""
        return sum(not is_consequence(step) for step in self.steps)

    def text(self) -> str:
        """For the sentence of a verdict: `mine.txt (12 steps)`."""
        steps = counted(self.moves, "steps")
        return f"{self.name} ({self.about or steps})"
