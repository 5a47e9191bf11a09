"""Probes: what a small model allows, read off the checker's own graph."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import Limits
from electorate.check.explain import trace_of
from electorate.check.interned import Local
from electorate.check.model import BUDGETS
from electorate.check.plain import plain_search
from electorate.check.space import StateSpace
from electorate.claims import Claim, Kind
from electorate.core import Members, Timing
from electorate.simulate.script import run_script
from electorate.simulate.simulation import Simulation
from electorate.trace import Setting, Start, Trace, script_of
from tests.check.diary import Diary, DiaryState, Orders, diary_of
from tests.check.snapshot import Snapshot, of_cluster, of_row

NOTHING = Claim("nothing", Kind.ALWAYS, "nothing is claimed", lambda row: None)
MODEL_FIELDS = (
    "detector",
    "detection",
    "notices_restarts",
    "atomic_turns",
    "atomic_sends",
    "mortal",
)

Diaries = tuple[tuple[str, ...], ...]


class Taken(NamedTuple):
    """A move, the tick at which it was made, and the rows before and after."""

    now: int
    move: Move
    before: Row
    after: Row


class Probe:
    """One diary machine under one model."""

    def __init__(self, orders: Orders, nodes: int = 2, **given: Any) -> None:
        kind: type[Diary] = given.pop("kind", Diary)
        machine = {k: given.pop(k) for k in ("views", "periodic", "wishes", "debts") if k in given}
        budget = {kind: given.pop(kind) for kind in BUDGETS if kind in given}
        bounds = {b: given.pop(b) for b in Bounds.__struct_fields__ if b in given}
        model = {name: given.pop(name) for name in MODEL_FIELDS if name in given}
        timing = Timing(given.pop("T", 1), given.pop("P", 0))
        given.setdefault("start", Start.BOOT)
        setting = Setting("diary", tuple(range(1, nodes + 1)), timing=timing, **given)
        self.model = Model(setting, Budget(**budget), Bounds(**bounds), **model)
        self.machine = kind(setting.members(), timing, orders, **machine)
        self._kind, self._declared = kind, machine
        self.search = plain_search(self.machine, self.model, [NOTHING], Limits(100_000))
        self.space: StateSpace = self.search.space
        self.columns = self.space.columns
        self.search.run(lambda progress: None)
        self.rows = self.search.engine.rows

    def retold(self, text: str, watch: Callable[[Simulation], None] | None = None) -> str:
        """A script of this machine as the simulator tells it; `watch` looks on."""
        kind, orders, declared = self._kind, self.machine.orders, self._declared

        def again(diary: Diary, members: Members, timing: Timing, rules: object) -> None:
            kind.__init__(diary, members, timing, orders, **declared)

        same = type("Same", (kind,), {"__init__": again})
        return run_script(text, lambda name: (same, "sound"), watch=watch).text

    def expect_retold(self, row: Row) -> Trace:
        """The way to a row; the simulator tells it in the same words and gets to the same place."""
        trace = trace_of(self.search.moves, self.search.path(self.rows.index(row)))
        places: list[Snapshot] = []
        text = script_of(trace)
        assert self.retold(text, lambda cluster: places.append(of_cluster(cluster))) == text
        assert places[-1].as_kept(self.space, row) == of_row(self.space, row)
        return trace

    def check(self, *claims: Claim, states_max: int = 100_000) -> Verdict:
        return check(self.machine, self.model, claims, states_max)

    # --- rows ---

    def node(self, row: Row, node: int) -> Local:
        return self.space.locals.cards[row[node - 1]].value

    def state(self, row: Row, node: int) -> DiaryState | None:
        state = self.node(row, node).state
        assert state is None or isinstance(state, DiaryState)
        return state

    def diary(self, row: Row, node: int) -> tuple[str, ...] | None:
        """What a node has written down in this life; None while it is down."""
        state = self.state(row, node)
        return None if state is None else diary_of(state)

    def diaries(self, node: int) -> set[tuple[str, ...]]:
        """Every diary that the node can have anywhere."""
        found = (self.diary(row, node) for row in self.rows)
        return {diary for diary in found if diary is not None}

    def ends(self, node: int) -> set[tuple[str, ...] | None]:
        """Its diaries where nothing more can happen to anybody, whatever faults are left."""
        return {self.diary(row, node) for row in self.rows if self.is_end(row)}

    def is_end(self, row: Row) -> bool:
        calm = self.space.stabilised(row)
        return all(after == calm for _, after in self.successors(calm))

    # --- moves ---

    def successors(self, row: Row) -> list[tuple[Move, Row]]:
        return self.search.moves.successors(row)

    def node_of(self, move: Move) -> int:
        return self.search.moves.node_of(move)

    def moves(self) -> Iterator[Taken]:
        """Every move of the graph once, without its time."""
        for row in self.rows:
            for move, after in self.successors(row):
                yield Taken(0, move, row, after)

    def kinds(self) -> set[str]:
        return {taken.move.kind for taken in self.moves()}

    def walk(self, start: Row | None = None, horizon: int = 8) -> Iterator[Taken]:
        """Every move at every tick at which it can be made, up to a horizon."""
        first = (self.rows[0] if start is None else start, 0)
        seen, ways = {first}, [first]
        for row, now in ways:
            for move, after in self.successors(row):
                yield Taken(now, move, row, after)
                then = (after, now + (move.kind == "tick"))
                if then not in seen and then[1] <= horizon:
                    seen.add(then)
                    ways.append(then)

    def moments(self, kind: str, node: int, start: Row | None = None, horizon: int = 8) -> set[int]:
        """The ticks at which such a move of that node can be made, as a whole turn."""
        return {
            taken.now
            for taken in self.walk(start, horizon)
            if taken.move.kind == kind
            and taken.move.torn is None
            and self.node_of(taken.move) == node - 1
        }

    def most(self, counted: Callable[[Taken], bool]) -> int:
        """The largest number of such moves in one run; there must be no loop of them."""
        best = dict.fromkeys(self.rows, 0)
        edges = [(taken.before, taken.after, counted(taken)) for taken in self.moves()]
        for rounds in count():
            better: dict[Row, int] = {}
            for before, after, counts in edges:
                if best[before] + counts > max(best[after], better.get(after, 0)):
                    better[after] = best[before] + counts
            if not better:
                return max(best.values())
            assert rounds < 1000, "a loop of such moves"
            best |= better
        raise AssertionError
