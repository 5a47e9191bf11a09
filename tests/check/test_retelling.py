"""Every run that the checker shows is one that the simulator can retell, word for word."""

from collections.abc import Iterator
from typing import Any

import pytest

from electorate.check import Model, check
from electorate.check.start import StartError
from electorate.core import Machine, Members, ProtocolError, Timing
from electorate.simulate.script import run_script
from electorate.trace import Trace, script_of
from tests.check.drawn import Drawn, drawn
from tests.check.test_drawn import ALWAYS, GOAL

SEEDS = 400
PARTS = 4
STATES_MAX = 600


@pytest.mark.parametrize("part", range(PARTS))
def test_the_simulator_retells_the_runs_of_drawn_machines(part: int) -> None:
    told = 0
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed)
        for trace in runs(machine, model):
            told += 1
            text = script_of(trace)
            assert retold(machine, text) == text, seed
    assert told > SEEDS / PARTS / 2


def runs(machine: Machine[Any], model: Model) -> Iterator[Trace]:
    for claim in (ALWAYS, GOAL):
        try:
            verdict = check(machine, model, [claim], STATES_MAX)
        except (ProtocolError, StartError):
            return
        yield from (violation.trace for violation in verdict.violations)
        if verdict.slowest is not None:
            yield verdict.slowest


def retold(machine: Machine[Any], text: str) -> str:
    class Same(Drawn):
        def __init__(self, members: Members, timing: Timing, rules: object) -> None:
            assert isinstance(machine, Drawn)
            super().__init__(members, timing, machine.table, machine.uses_views)

    return run_script(text, lambda name: (Same, "sound")).text
