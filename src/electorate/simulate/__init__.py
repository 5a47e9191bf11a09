"""The seeded driver: clusters that are stepped by hand, by script, or by chance."""

from electorate.simulate.law import IllegalStep
from electorate.simulate.script import Replayed, ScriptError, run_script
from electorate.simulate.settle import settle
from electorate.simulate.simulation import Simulation, TornTurn
from electorate.simulate.start import SimulationStartError, started

__all__ = [
    "IllegalStep",
    "Replayed",
    "ScriptError",
    "Simulation",
    "SimulationStartError",
    "TornTurn",
    "run_script",
    "settle",
    "started",
]
