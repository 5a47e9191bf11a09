"""What a search needs of whatever makes its moves: plain Python, or compiled loops over tables."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import Effort
from electorate.check.graph import Stretch
from electorate.check.loops import Loops, NumberArray

Path = list[tuple[Row, Move]]

OnStep = Callable[[int, Row, Row], None]
"""Called with the number of a state, its row and the next one, for each step that may be new."""


class StableStates(Protocol):
    """The states of a stable graph, as an engine finds and keeps them.

    They are numbered as they are met, so that no number is smaller than those of nearer states.
    """

    @property
    def loops(self) -> Loops:
        """The loops that go over its edges."""

    @property
    def sweeps_max(self) -> int:
        """After so many sweeps over the edges the components are asked if there is an end to it."""

    @property
    def facts(self) -> int:
        """What moves have shown to be possible."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def frontier(self) -> int:
        """How many of them are still to be expanded."""

    def meet(self) -> None:
        """Enter the states of the search's present level, as they are once nothing fails."""

    def expand(
        self, depth: int, lack: Callable[[Row], int]
    ) -> Iterator[tuple[Stretch, NumberArray]]:
        """Add all successors of the states met last, which are so many moves away.

        The edges come with the states some of whose successors lie beyond a bound. `lack` is asked
        for the code of what is lacking, once for each observation.
        """

    def parent(self, state: int) -> int:
        """The state that it was met from; minus one minus that of the search, if faults ended."""

    def row(self, state: int) -> Row:
        """Its row."""

    def complete(self) -> None:
        """All states are known: let go of what found them."""


class SearchEngine(Protocol):
    """The states of a search, as an engine finds and keeps them."""

    @property
    def facts(self) -> int:
        """What moves have shown to be possible."""

    @property
    def transitions(self) -> int:
        """How many moves were made."""

    @property
    def stable(self) -> StableStates | None:
        """The states of the stable graph; None if no goals are asked for."""

    @property
    def states(self) -> int:
        """How many were met."""

    def begin(self, rows: Iterable[Row]) -> None:
        """Enter the rows that runs begin with."""

    def next_level(self) -> int:
        """Turn to the states that were met last; how many they are."""

    def unjudged(self) -> Iterator[tuple[int, Row]]:
        """The states of this level that show claims what no state before them has shown."""

    def pairs(self) -> Iterator[set[tuple[int, int]]]:
        """For each node the codes that it and its detector have at this level."""

    def expand(self, skipped: int | None, on_step: OnStep | None) -> None:
        """Meet the successors of this level, but for those of states with the budget `skipped`."""

    def way(self, state: int) -> tuple[Path, Row]:
        """A shortest way from where a run begins to a state, and the row of that."""

    def complete(self) -> None:
        """All states are known: let go of what found them."""

    def effort(self, preparing: float, searching: float) -> Effort:
        """What was taken, given the seconds before and after the search began."""

    def close(self) -> None:
        """Let the workers go."""
