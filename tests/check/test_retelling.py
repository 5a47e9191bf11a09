"""Every run that the checker shows is one that the simulator can retell, word for word.

What the checker says about a run is held against that: a loop leads back to where it began, and
the slowest run takes τ ticks after the last fault. Runs that are drawn from all its moves are
retold as well; after every move both hold the same of everybody.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from electorate.check import Model, check
from electorate.check.column import ModelError, Row
from electorate.check.explain import trace_of
from electorate.check.moves import Moves
from electorate.check.space import StateSpace
from electorate.check.start import StartError, beginnings
from electorate.core import Machine, ProtocolError, Turns
from electorate.simulate.script import run_script
from electorate.simulate.simulation import Simulation
from electorate.trace import Order, Start, Ticked, Trace, is_consequence, script_of
from tests.check import snapshot
from tests.check.drawn import drawn, drawn_talkers, drawn_watchers, same
from tests.check.snapshot import Snapshot
from tests.check.test_drawn import ALWAYS, GOAL

SEEDS = 320
PARTS = 4
STATES_MAX = 600
WALKS = 240
CROSSING = 763
"""Here messages that wait in different lines change places before a run repeats itself."""
MOVES = 25
KINDS = {"deliver", "double", "lose", "fire", "view", "lie", "ask", "tick"} | {
    "crash",
    "recover",
    "pause",
    "resume",
    "cut",
    "heal",
}

Draw = Callable[[int], tuple[Machine[Any], Model]]


class Shown(NamedTuple):
    """A run of the checker, and what it says about it."""

    trace: Trace
    loop_after: int | None = None
    calm_after: int | None = None
    tau: int | None = None


@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulator_retells_the_runs_of_drawn_machines(part: int) -> None:
    told = loops = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed)
        for shown in runs(machine, model):
            text = script_of(shown.trace)
            retold, snapshots = played(machine, text)
            assert retold == text, seed
            told += 1
            if shown.loop_after is not None:
                loops += 1
                assert snapshots[shown.loop_after].for_good() == snapshots[-1].for_good(), seed
                assert len(snapshots) > shown.loop_after + 1, seed
            if shown.tau is not None:
                assert ticks_after(shown) == shown.tau, seed
    assert told > SEEDS / PARTS
    assert loops > SEEDS / PARTS / 8


@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulator_retells_runs_from_wherever_drawn_machines_go_round(part: int) -> None:
    told = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed)
        setting = msgspec.structs.replace(model.setting, start=Start.NORMAL)
        normal = msgspec.structs.replace(model, setting=setting)
        if setting.order is Order.SET:
            with pytest.raises(ModelError, match="never comes to rest"):
                check(machine, normal, [ALWAYS])
            continue
        for shown in runs(machine, normal):
            text = script_of(shown.trace)
            assert played(machine, text)[0] == text, seed
            told += 1
    assert told > SEEDS / PARTS / 2


def runs(machine: Machine[Any], model: Model) -> Iterator[Shown]:
    for claim in (ALWAYS, GOAL):
        try:
            verdict = check(machine, model, [claim], STATES_MAX)
        except (ProtocolError, StartError):
            continue
        for violation in verdict.violations:
            yield Shown(violation.trace, violation.loop_after)
        if verdict.slowest is not None:
            yield Shown(verdict.slowest, calm_after=verdict.slowest_from, tau=verdict.tau)


def ticks_after(shown: Shown) -> int:
    moves = [step for step in shown.trace.steps if not is_consequence(step)]
    return sum(isinstance(step.happening, Ticked) for step in moves[shown.calm_after :])


class Walk(NamedTuple):
    """Some moves of the checker, drawn by lot."""

    trace: Trace
    kinds: list[str]
    space: StateSpace
    rows: list[Row]
    """Where it began, and where each move led."""


@pytest.mark.parametrize(
    ("draw", "start", "count"),
    [
        (drawn, Start.BOOT, WALKS),
        (drawn, Start.NORMAL, WALKS),
        (drawn_watchers, Start.BOOT, WALKS),
        (drawn_watchers, Start.NORMAL, WALKS),
        (drawn_talkers, Start.BOOT, WALKS),
        (drawn_talkers, Start.NORMAL, WALKS // 4),  # To find where they go round takes long.
    ],
)
def test_the_simulator_goes_wherever_the_checker_goes(draw: Draw, start: Start, count: int) -> None:
    kinds: Counter[str] = Counter()
    walks = 0
    for seed in (*range(count), CROSSING):
        machine, model = draw(seed)
        setting = msgspec.structs.replace(model.setting, start=start)
        try:
            went = walk(machine, msgspec.structs.replace(model, setting=setting), Random(seed))
        except (ProtocolError, StartError, ModelError):
            continue
        text = script_of(went.trace)
        retold, places = played(machine, text)
        assert retold == text, seed
        assert len(places) == len(went.rows), seed
        for place, row in zip(places, went.rows, strict=True):
            assert place.as_kept(went.space, row) == snapshot.of_row(went.space, row), seed
        kinds.update(went.kinds)
        walks += 1
    assert walks > count / 2
    if draw is drawn_talkers:
        assert set(kinds) >= KINDS
        assert min(kinds.values()) > 5


def walk(machine: Machine[Any], model: Model, lot: Random) -> Walk:
    moves = Moves(StateSpace(Turns(machine), model))
    beginning = lot.choice(beginnings(moves, lambda twin, row: None))
    path, row = list(beginning.path), beginning.row
    rows = [*(passed for passed, _ in path), row]
    while len(rows) <= MOVES and (found := moves.successors(row)):
        # As many faults as deliveries, however many messages there are, and seldom a tick.
        kinds = sorted({move.kind for move, _ in found} - {lot.choice(("tick", ""))})
        wanted = lot.choice(kinds or ["tick"])
        move, after = lot.choice([each for each in found if each[0].kind == wanted])
        path.append((row, move))
        rows.append(after)
        row = after
    return Walk(trace_of(moves, path), [move.kind for _, move in path], moves.space, rows)


def played(machine: Machine[Any], text: str) -> tuple[str, list[Snapshot]]:
    """The script as the simulator tells it, and what its world was like after each move."""
    snapshots: list[Snapshot] = []

    def watch(cluster: Simulation) -> None:
        moves = sum(not is_consequence(step) for step in cluster.steps)
        del snapshots[moves:]
        snapshots.append(snapshot.of_cluster(cluster))
        assert len(snapshots) == moves + 1

    replayed = run_script(text, lambda name: (same(machine), "sound"), watch=watch)
    return replayed.text, snapshots
