"""The checker and the plain explorer agree on machines and models that are drawn by lot.

`make drawn` draws thousands (tests/check/drawn_run.py); these are the first few hundred.
"""

from typing import Any

import msgspec
import pytest

from electorate.check import Liveness, Model, check
from electorate.claims import Claim
from electorate.core import Machine
from electorate.trace import Clock
from tests.check.agree import ALWAYS, GOAL, Compared, Oracle, of_checker
from tests.check.agree import compare as agree
from tests.check.drawing import KINDS, case_of, drawn_flood, drawn_probe
from tests.check.plain_goal import Grade, PlainGoal
from tests.check.plain_moves import PlainMoves, Reached

__all__ = ["ALWAYS", "GOAL", "compare", "grade"]

SEEDS = 360
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_machines_have_the_states_and_fates_that_the_plain_explorer_finds(part: int) -> None:
    """Fails if they differ on a state, a cut, a verdict and its reason, a grade, τ or a length."""
    found = [compared_at(seed) for seed in range(part, SEEDS, PARTS)]
    assert sum(any(each) for each in found) > SEEDS / PARTS / 2
    assert any(each.renamed for each in found)


def compared_at(seed: int) -> Compared:
    case = case_of(seed)
    return agree(case.machine, case.model, counts=case.counts)


def test_both_engines_say_of_every_kind_what_the_plain_explorer_says() -> None:
    """Fails if the table engine goes its own way with a kind of machine that was never drawn."""
    compared = dict.fromkeys(KINDS, 0)
    for seed in range(500, 560):
        case = case_of(seed)
        if compared[case.kind] < 2:
            found = agree(case.machine, case.model, ["numba"], counts=case.counts)
            compared[case.kind] += any(found)
    assert set(compared.values()) == {2}


def compare(seed: int, machine: Machine[Any], model: Model) -> bool:
    """Whether both got to an end with this machine; they then agree, and so do lean searches."""
    found = agree(machine, model)
    if not found.raw:
        return found.refused
    verdict, lean = (check(machine, model, [GOAL], lean=lean) for lean in (False, True))
    told = (lean.liveness, lean.tau, lean.stable_states)
    assert told == (verdict.liveness, verdict.tau, verdict.stable_states), seed
    return True


def test_whoever_asks_for_a_goal_alone_gets_the_same_answer_without_seeing_states_twice() -> None:
    cases = [case_of(seed) for seed in range(600, 640)]
    machines = [(case.machine, case.model) for case in cases if not case.counts]
    compared = sum(compare(number, *machine) for number, machine in enumerate(machines))
    assert compared > len(machines) / 3


@pytest.mark.parametrize("draw", [drawn_probe, drawn_flood])
def test_what_is_dropped_makes_no_difference_where_channels_hold_all(draw: Any) -> None:
    """Fails if mail or notes that are dropped could still have mattered to a claim."""
    compared = 0
    for seed in range(90):
        machine, model = draw(seed)
        budget = msgspec.structs.replace(model.budget, crashes=1)
        roomy = msgspec.structs.replace(model.bounds, capacity=3, blocks=False)
        model = msgspec.structs.replace(model, budget=budget, bounds=roomy)
        kept = Oracle(machine, model, drops=False).opinion(places_max=150)
        dropped = Oracle(machine, model).opinion(places_max=150)
        if kept is None or dropped is None or "capacity" in kept.seen.cuts:
            continue
        assert kept.said == dropped.said, seed
        assert kept.seen.states >= dropped.seen.states, seed
        compared += not kept.refused
    assert compared > 10


def test_where_full_channels_block_their_senders_nothing_is_cut_and_a_deadlock_is_an_end() -> None:
    """Fails if a sender that waits for room is taken for a run that nobody has followed."""
    stuck = compared = 0
    for seed in range(300):
        machine, model = drawn_flood(seed)
        if model.setting.clock is not Clock.UNBOUNDED or not model.bounds.blocks:
            continue
        plain = Oracle(machine, model).opinion()
        if plain is not None and not plain.refused:
            assert of_checker(machine, model, "python")[0] == plain, seed
            assert "capacity" not in plain.seen.cuts, seed
            stuck += plain.said[GOAL.name].liveness is Liveness.STUCK
            compared += 1
    assert compared > 15
    assert stuck


def grade(plain: PlainMoves, goal: Claim, reached: Reached, calm: Reached) -> Grade:
    """What becomes of the goal; of one that is reached nothing is said if nothing happened."""
    hidden = plain.cuts.total() > 0
    found = PlainGoal(calm, plain.lacking(calm, goal), plain.bounded, hidden).grade()
    is_kept = found.liveness in (Liveness.LIVE, Liveness.UNDECIDED)
    return Grade() if is_kept and plain.says_nothing(reached, calm) else found
