"""Whether every letter came that the other nodes have written: they say how many there were.

A protocol may rely on it that no message between live nodes is lost. A network loses some: a
connection breaks, or a node is too slow to read. Whoever learns that it missed a letter can act
as if it had been down when the letter came, and start over.
"""

from electorate.core import NodeId
from electorate.runtime.frame import Hello


class Ledger:
    """For every other node: which life it is in, and how many of its letters are accounted for."""

    def __init__(self) -> None:
        self._lives: dict[NodeId, tuple[str, int]] = {}
        self._accounted: dict[NodeId, int] = {}

    def missing(self, hello: Hello, before: int, arrived: int = 0) -> int:
        """How many letters were lost, given that `before` were written before what came now."""
        life = (hello.store, hello.incarnation)
        if self._lives.get(hello.node) != life:
            self._lives[hello.node] = life
            self._accounted[hello.node] = 0
        lost = before - self._accounted[hello.node]
        self._accounted[hello.node] = max(before + arrived, self._accounted[hello.node])
        return max(0, lost)
