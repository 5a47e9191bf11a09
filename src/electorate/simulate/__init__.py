"""The seeded driver: clusters that are stepped by hand, by script, or by chance."""

from electorate.simulate.cluster import Cluster
from electorate.simulate.law import IllegalStep
from electorate.simulate.reaction import Torn
from electorate.simulate.script import Replayed, ScriptError, run_script
from electorate.simulate.settle import settle
from electorate.simulate.start import StartError, started

__all__ = [
    "Cluster",
    "IllegalStep",
    "Replayed",
    "ScriptError",
    "StartError",
    "Torn",
    "run_script",
    "settle",
    "started",
]
