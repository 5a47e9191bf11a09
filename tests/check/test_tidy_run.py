"""Of all shortest runs the one is shown that switches least often between nodes."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from electorate.check import Bounds, Budget, Model, Violation, check
from electorate.check.column import Row
from electorate.check.compiler import Move
from electorate.check.effort import LimitReached, Limits
from electorate.check.explain import trace_of
from electorate.check.moves import Moves
from electorate.check.plain import plain_search
from electorate.check.start import StartError
from electorate.check.tidy_run import (
    Ordered,
    Run,
    fewest_switches,
    mended,
    ordered_violation,
    switches_of,
)
from electorate.claims import CLAIMS, Claim, Kind, Witness
from electorate.claims import Row as Views
from electorate.core import Machine, ProtocolError
from electorate.protocols.bully import Bully
from electorate.trace import (
    Clock,
    Cut,
    Delivered,
    Doubled,
    Healed,
    Lost,
    Order,
    Phased,
    Setting,
    Start,
    Step,
    Ticked,
    Ties,
    is_consequence,
    script_of,
)
from tests.check.drawn import drawn
from tests.check.probe import Probe
from tests.check.test_drawn import ALWAYS

STATES_MAX = 3000
RUNS_MAX = 20_000
PARTS = 4
SEEDS = 600

Path = list[tuple[Row, Move]]


class Unbroken(Exception):
    """The claim holds."""


class Broken:
    """A search that was run until its one claim broke, and the run that it found."""

    def __init__(
        self, machine: Machine[Any], model: Model, claim: Claim, states_max: int = STATES_MAX
    ) -> None:
        self.claim = claim
        self.search = plain_search(machine, model, [claim], Limits(states_max))
        self.search.run(lambda progress: None)
        self.space, self.moves = self.search.space, self.search.moves
        self.starts = list(self.search.origins.values())
        if claim.name not in self.search.broken:
            raise Unbroken
        place, _ = self.search.broken[claim.name]
        self.found = Run(self.search.path(place), self.search.engine.rows[place])
        self.depth = self.search.engine.depths[place]

    def witness_of(self, before: Row | None, row: Row) -> Witness | None:
        broken = self.search.judge.of(row).broken
        return broken[0][1] if broken else None

    def shown(self, **given: Any) -> Ordered:
        search = self.search
        return ordered_violation(
            self.moves,
            search.judge,
            self.claim.name,
            self.starts,
            self.found.path,
            search.states,
            **given,
        )

    def fewest(self) -> Run:
        run = fewest_switches(self.moves, self.starts, self.depth, self.witness_of)
        assert run is not None
        return run

    def mended(self) -> Run:
        first = len(self.found.path) - self.depth
        return mended(self.moves, self.found, self.witness_of, first)


# --- a brute force that knows nothing of levels ---


def all_shortest(broken: Broken) -> list[Path] | None:
    """Every run of that length to a broken claim, first moves first; None if there are many."""
    found: list[Path] = []
    tried = 0

    def extend(row: Row, path: Path, left: int) -> None:
        nonlocal tried
        tried += 1
        if tried > RUNS_MAX:
            return
        if not left and broken.witness_of(None, row):
            found.append(path)
        for move, after in broken.moves.successors(row) if left else ():
            extend(after, [*path, (row, move)], left - 1)

    for beginning in broken.starts:
        extend(beginning.row, list(beginning.path), broken.depth)
    return None if tried > RUNS_MAX else found


def node_of(step: Step) -> int | None:
    match step.happening:
        case Ticked() | Phased():
            return None
        case Delivered(to=node) | Doubled(to=node) | Lost(to=node):
            return node
        case Cut(sender=node) | Healed(sender=node):
            return node
        case other:
            node = getattr(other, "node")  # noqa: B009
            assert isinstance(node, int)
            return node


def counted(moves: Moves, path: Path) -> int:
    """The switches as a reader of the trace counts them."""
    steps = [step for step in trace_of(moves, path).steps if not is_consequence(step)]
    nodes = [node for step in steps if (node := node_of(step)) is not None]
    return sum(1 for k in range(1, len(nodes)) if nodes[k] != nodes[k - 1])


def best(broken: Broken) -> Path | None:
    """By brute force: of the runs with the shortest start and the fewest switches the first."""
    runs = all_shortest(broken)
    if runs is None:
        return None
    assert runs
    return min(runs, key=lambda path: (len(path), counted(broken.moves, path)))


def drawn_broken(part: int, start: Start) -> Iterator[tuple[int, Broken]]:
    """Drawn machines whose claim breaks."""
    for seed in range(part, SEEDS, PARTS):
        try:
            machine, model = drawn(seed, jitter=start is Start.BOOT)
            if start is Start.NORMAL and model.setting.order is Order.SET:
                continue  # Such a network never comes to rest.
            setting = msgspec.structs.replace(model.setting, start=start)
            broken = Broken(machine, msgspec.structs.replace(model, setting=setting), ALWAYS)
        except (ProtocolError, StartError, LimitReached, Unbroken):
            continue
        yield seed, broken


@pytest.mark.parametrize("start", [Start.BOOT, Start.NORMAL])
@pytest.mark.parametrize("part", range(PARTS))
def test_no_shortest_run_of_a_drawn_machine_switches_less_often(part: int, start: Start) -> None:
    compared = 0
    for seed, broken in drawn_broken(part, start):
        wanted = best(broken)
        if wanted is None:
            continue
        run = broken.fewest()
        assert list(run.path) == wanted, seed
        compared += 1
    assert compared > 20


# --- runs that can be read ---

ERRANDS = {"any boot": "set x 0; set y 0; set z 0", "any fired z": "follow 1"}


def both_followed(row: Views) -> Witness | None:
    followers = tuple(node for node, view in row.live() if view.leader == 1)
    return Witness(followers, "both are done") if len(followers) == 2 else None


BOTH = Claim("both", Kind.ALWAYS, "never are both done", both_followed)


def errands(claim: Claim = BOTH, **given: Any) -> Broken:
    probe = Probe(ERRANDS, **given)
    return Broken(probe.machine, probe.model, claim)


def told(violation: Violation) -> list[str]:
    return [line for line in script_of(violation.trace).splitlines() if line.endswith("fires")]


def test_a_node_is_done_before_the_next_one_begins() -> None:
    shown = errands().shown()
    assert (shown.length, shown.switches, shown.fewest) == (2, 1, True)
    assert told(shown) == ["1 z fires", "2 z fires"]


def test_among_equals_the_run_comes_first_whose_moves_do() -> None:
    def others(row: Views) -> Witness | None:
        lost = tuple(node for node, view in row.live() if view.leader == 1)
        return Witness(lost, "somebody is done") if lost else None

    shown = errands(Claim("none", Kind.ALWAYS, "nobody is done", others)).shown()
    assert told(shown) == ["1 z fires"]
    assert shown.witness == Witness((1,), "somebody is done")


def test_ticks_are_nobodys_and_undo_no_switch() -> None:
    def run(*made: tuple[str, int]) -> int:
        return switches_of(moves, Run([((), Move(*move)) for move in made], ()))

    moves = errands().moves
    fires = [("fire", 0), ("fire", 1)]
    assert run(*fires) == run(fires[0], ("tick", 0), fires[1]) == 1
    assert run(fires[1], ("tick", 0), fires[1]) == 0
    assert run(fires[1], ("phase", 0), fires[1]) == 0
    assert run(fires[0], ("crash", 1), ("recover", 1), ("pause", 0)) == 2
    into = {to: column for column, to in moves.space.columns.channels}
    assert run(("lose", into[1]), ("deliver", into[1]), ("double", into[0])) == 1


def test_a_claim_that_is_broken_from_the_start_needs_no_moves() -> None:
    probe = Probe({"1 boot": "follow 1", "2 boot": "follow 1; set x 0"})
    shown = Broken(probe.machine, probe.model, BOTH).shown()
    assert (shown.length, shown.switches, shown.fewest) == (0, 0, True)
    assert Broken(probe.machine, probe.model, BOTH).shown(states_max=0).length == 0


# --- one run, mended ---


def is_valid(broken: Broken, run: Run) -> bool:
    """Whether each move is one that its row allows, and leads to the next row."""
    first = len(run.path) - broken.depth
    rows = run.rows
    return all(
        (move, rows[place + 1]) in broken.moves.successors(row)
        for place, (row, move) in enumerate(run.path)
        if place >= first
    )


@pytest.mark.parametrize("start", [Start.BOOT, Start.NORMAL])
@pytest.mark.parametrize("part", range(PARTS))
def test_a_mended_run_ends_in_the_same_row_and_switches_no_more_often(
    part: int, start: Start
) -> None:
    compared = 0
    for seed, broken in drawn_broken(part, start):
        run, found = broken.mended(), broken.found
        assert is_valid(broken, run), seed
        assert run.end == found.end, seed
        assert len(run.path) == len(found.path), seed
        first = len(run.path) - broken.depth
        assert list(run.path[:first]) == list(found.path[:first]), seed
        switches = switches_of(broken.moves, run)
        assert switches <= switches_of(broken.moves, found), seed
        if len(broken.fewest().path) == len(run.path):
            assert switches >= switches_of(broken.moves, broken.fewest()), seed
        compared += 1
    assert compared > 20


def muddled(broken: Broken, places: list[int]) -> Run:
    """A run that takes a ready timer at each of these nodes."""
    row = broken.starts[0].row
    path: Path = []
    for place in places:
        move, after = next(
            (move, after)
            for move, after in broken.moves.successors(row)
            if move.kind == "fire" and move.where == place
        )
        path.append((row, move))
        row = after
    return Run(path, row)


@pytest.mark.parametrize(
    "places", [[0, 1, 0, 1], [0, 1, 0, 0, 1], [0, 1, 1, 0, 1], [0, 1, 0, 1, 0, 1]]
)
def test_moves_are_carried_past_several_others(places: list[int]) -> None:
    broken = errands()
    run = muddled(broken, places)

    def anything(before: Row | None, row: Row) -> Witness:
        return Witness((), "")

    assert switches_of(broken.moves, mended(broken.moves, run, anything)) == 1
    last = mended(broken.moves, run, anything, len(places) - 1)
    assert last.path == run.path, "nothing before the first is touched"


def test_a_run_is_mended_only_if_the_claim_stays_broken() -> None:
    broken = errands()
    run = muddled(broken, [0, 1, 0, 1])
    assert mended(broken.moves, run, lambda before, row: None).path == run.path


def test_beyond_so_many_states_the_run_that_was_found_is_mended() -> None:
    setting = Setting("bully-as-printed", (1, 2, 3))
    model = Model(setting, Budget(crashes=1, recoveries=1))
    broken = Broken(setting.machine(Bully, "printed"), model, CLAIMS["A1"], 20_000)
    best, other = broken.shown(), broken.shown(states_max=broken.search.states - 1)
    assert (best.fewest, other.fewest) == (True, False)
    assert best.length == other.length == broken.depth
    assert best.switches <= other.switches < switches_of(broken.moves, broken.found)


def test_too_many_rows_are_given_up() -> None:
    broken = errands(nodes=3)
    assert fewest_switches(broken.moves, broken.starts, broken.depth, broken.witness_of, 1) is None


def test_an_interruption_shows_the_run_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = errands()
    usual = broken.moves.successors

    def interrupted(row: Row) -> Any:
        if row == broken.found.path[-1][0]:
            return usual(row)
        raise KeyboardInterrupt

    monkeypatch.setattr(broken.moves, "successors", interrupted)
    shown = broken.shown()
    monkeypatch.setattr(broken.moves, "successors", usual)
    assert not shown.fewest
    assert shown.trace == trace_of(broken.moves, broken.found.path)


def test_to_compare_runs_is_no_new_cut() -> None:
    boots = {"1 boot": "send 2 a; set x 0; set z 0", "2 boot": "set z 0"}
    probe = Probe({**boots, "1 fired x": "send 2 b", "any fired z": "follow 1"}, capacity=1)
    broken = Broken(probe.machine, probe.model, BOTH)
    cuts = broken.space.cuts.copy()
    assert cuts.total() > 0
    assert broken.shown().fewest
    assert not broken.shown(states_max=0).fewest
    assert broken.space.cuts == cuts


# --- every engine ---

BULLY: dict[str, tuple[Setting, Budget]] = {
    "crash and recovery": (Setting("bully/printed", (1, 2, 3)), Budget(crashes=1, recoveries=1)),
    "losses": (Setting("bully", (1, 2, 3)), Budget(crashes=1, losses=2)),
    "pause": (Setting("bully", (1, 2, 3)), Budget(crashes=1, pauses=1)),
    "ties": (Setting("bully", (1, 2, 3), ties=Ties.BOTH), Budget(crashes=1)),
    "unbounded": (Setting("bully", (1, 2, 3), clock=Clock.UNBOUNDED), Budget(lies=1)),
}


@pytest.mark.parametrize("name", BULLY)
def test_both_engines_show_the_same_run(name: str) -> None:
    setting, budget = BULLY[name]
    form = "printed" if "printed" in setting.protocol else "sound"
    machine, model = setting.machine(Bully, form), Model(setting, budget, Bounds(capacity=3))
    plain, table = (
        check(machine, model, [CLAIMS["A1"]], engine=engine).violations
        for engine in ("python", "numba")
    )
    assert plain == table
    assert isinstance(plain[0], Ordered)
    assert plain[0].fewest


@pytest.mark.parametrize("part", range(PARTS))
def test_both_engines_show_the_same_run_of_drawn_machines(part: int) -> None:
    shown = 0
    for seed, broken in drawn_broken(part, Start.BOOT):
        if seed >= SEEDS / 3:
            break
        machine, model = broken.space.machine, broken.space.model
        plain, table = (
            check(machine, model, [ALWAYS], engine=engine).violations
            for engine in ("python", "numba")
        )
        assert plain == table, seed
        shown += 1
    assert shown > 5
