"""The checker and the plain explorer agree on machines and models that are drawn by lot."""

from typing import Any

import pytest

from electorate.check import Liveness, Model, check
from electorate.claims import Claim, Kind, Row, Witness
from electorate.core import Machine, ProtocolError, Status
from tests.check.drawn import drawn
from tests.check.plain import EndlessTalk
from tests.check.plain_goal import Grade, PlainGoal
from tests.check.plain_moves import PlainMoves, Reached

PLACES_MAX = 400
SEEDS = 320
PARTS = 8


def all_elect(row: Row) -> Witness | None:
    electing = [node for node, view in row.live() if view.status is Status.ELECTION]
    return Witness(tuple(electing), "all elect") if len(electing) == len(row.standings) else None


def somebody_elects(row: Row) -> Witness | None:
    electing = [node for node, view in row.live() if view.status is Status.ELECTION]
    return Witness(tuple(electing), "an election") if electing else None


ALWAYS = Claim("not-all-elect", Kind.ALWAYS, "never are all in an election", all_elect)
GOAL = Claim("rest", Kind.GOAL, "in the end nobody is in an election", somebody_elects)


@pytest.mark.parametrize("part", range(PARTS))
def test_drawn_machines_have_the_states_and_fates_that_the_plain_explorer_finds(part: int) -> None:
    compared = sum(compare(seed, *drawn(seed)) for seed in range(part, SEEDS, PARTS))
    assert compared > SEEDS / PARTS / 3


def compare(seed: int, machine: Machine[Any], model: Model) -> bool:
    """Whether both got to an end with this seed; they then agree."""
    plain = PlainMoves(machine, model)
    try:
        reached = plain.reached([plain.start()], PLACES_MAX)
    except EndlessTalk:
        with pytest.raises(ProtocolError, match="never stops talking to itself"):
            check(machine, model, [GOAL])
        return True
    if reached is None or not reached.places:
        return False
    calm = plain.reached([plain.calmed(place) for place in reached.places], PLACES_MAX)
    if calm is None:
        return False
    verdict = check(machine, model, [GOAL])
    counts = (verdict.states, verdict.transitions, verdict.stable_states)
    assert counts == (len(reached.places), reached.transitions, len(calm.places)), seed
    assert verdict.stable_states <= verdict.states, seed
    assert verdict.cuts == {name: n for name, n in plain.cuts.items() if n}, seed
    assert verdict.depth == max(reached.depths), seed
    assert (verdict.liveness, verdict.tau) == grade(plain, GOAL, reached, calm), seed
    # Whoever asks for a goal alone gets the same answer without seeing every state twice.
    lean = check(machine, model, [GOAL], lean=True)
    told = (lean.liveness, lean.tau, lean.stable_states)
    assert told == (verdict.liveness, verdict.tau, verdict.stable_states), seed
    found = check(machine, model, [ALWAYS]).violations
    assert [violation.length for violation in found] == plain.first_violation(reached, ALWAYS), seed
    return True


def grade(plain: PlainMoves, goal: Claim, reached: Reached, calm: Reached) -> Grade:
    """What becomes of the goal; of one that is reached nothing is said if nothing happened."""
    hidden = plain.cuts.total() > 0
    found = PlainGoal(calm, plain.lacking(calm, goal), plain.bounded, hidden).grade()
    is_kept = found.liveness in (Liveness.LIVE, Liveness.UNDECIDED)
    return Grade() if is_kept and plain.says_nothing(reached, calm) else found
