"""What can never matter again is dropped at once, and that hides nothing."""

from typing import Any

import pytest

from electorate.check import Model
from electorate.core import Machine
from tests.check.claiming import STABLES
from tests.check.diary import Saved
from tests.check.drawn import drawn, drawn_watchers
from tests.check.plain import EndlessTalk
from tests.check.plain_goal import Grade
from tests.check.plain_moves import PlainMoves
from tests.check.probe import Probe
from tests.check.test_claims import seen_by
from tests.check.test_drawn import ALWAYS, GOAL, grade

SEEDS = 480
PARTS = 4
PLACES_MAX = 300


class Told:
    """What the plain explorer says, dropping things or keeping them."""

    def __init__(self, machine: Machine[Any], model: Model, *, drops: bool) -> None:
        plain = PlainMoves(machine, model, drops=drops)
        reached = plain.reached([plain.start()], PLACES_MAX)
        calm = reached and plain.reached([plain.calmed(p) for p in reached.places], PLACES_MAX)
        self.ended = bool(reached and reached.places and calm)
        if reached and calm:
            self.places = len(reached.places), len(calm.places)
            self.lengths: list[int] = plain.first_violation(reached, ALWAYS)
            self.grade: Grade = grade(plain, GOAL, reached, calm)
            self.overflows = plain.cuts["capacity"] > 0


@pytest.mark.parametrize("part", range(PARTS))
def test_whether_things_are_dropped_or_kept_the_verdict_is_the_same(part: int) -> None:
    compared = fewer = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = (drawn, drawn_watchers)[seed % 3 == 0](seed)
        if not (model.budget.crashes or model.budget.cuts):
            continue
        try:
            kept = Told(machine, model, drops=False)
        except EndlessTalk:
            continue
        if not kept.ended:
            continue
        dropped = Told(machine, model, drops=True)
        assert dropped.ended, seed
        assert dropped.places <= kept.places, seed
        if not kept.overflows:
            assert (dropped.lengths, dropped.grade) == (kept.lengths, kept.grade), seed
            compared += 1
            fewer += dropped.places < kept.places
    assert compared > 20
    assert fewer > 5


def test_a_claim_that_looks_at_what_is_saved_sees_it_of_nodes_that_never_come_back() -> None:
    """Fails if what a claim asks to see is dropped."""
    orders = {"1 boot": "save s"}
    probe = Probe(orders, nodes=1, crashes=1)
    found = seen_by(probe, lambda row: (bool(list(row.live())), *row.stables), STABLES)
    assert found == {(True, Saved(("s",))), (False, Saved(("s",)))}


def test_what_is_saved_is_kept_for_a_next_life_and_no_longer() -> None:
    orders = {"1 boot": "save s", "1 again": "quietly"}
    probe = Probe(orders, nodes=1, crashes=2, recoveries=1)
    down = [row for row in probe.rows if probe.node(row, 1).state is None]
    left = {(probe.space.budgets.cards[row[-1]].recoveries, probe.node(row, 1)) for row in down}
    assert {(recoveries, local.stable) for recoveries, local in left} == {
        (1, Saved(("s",))),
        (0, None),
    }


def test_a_message_over_a_link_that_is_cut_for_good_is_dropped_at_once() -> None:
    for heals in (0, 1):
        probe = Probe({"1 boot": "send 2 a"}, cuts=1, heals=heals)
        column = probe.columns.of_channel[0, 1]
        cut = [taken.after[column] for taken in probe.moves() if taken.move.kind == "cut"]
        assert any(code != probe.space.empty for code in cut) is bool(heals)
