"""Machines to be judged from a place that a script leads to, as `check --from FILE` does."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim
from electorate.cli.beginning import given_of, played
from electorate.cli.protocol import find
from electorate.core import Machine
from electorate.simulate.simulation import Simulation
from electorate.trace import Setting

PLACES = Path(__file__).parent / "places"
"""A folder for each protocol."""
USUAL = Bounds()


def cluster_at(file: str, rules: str = "", **changed: Any) -> Simulation:
    """The cluster once it has obeyed the script of a file under its own rules and these."""
    (path,) = PLACES.glob(f"*/{file}")
    lines = path.read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("cluster "))
    setting = Setting.parse(lines[at])
    setting = replace(setting, rules=(*setting.rules, *rules.split()), **changed)
    lines[at] = setting.text()
    return played("\n".join(lines), file)


def begun(
    file: str,
    rules: str,
    budget: Budget,
    claims: str,
    *more: Claim,
    asked: tuple[str, ...] = (),
    bounds: Bounds = USUAL,
    mortal: tuple[int, ...] | None = None,
    kind: type[Machine[Any]] | None = None,
    states_max: int | None = None,
    **changed: Any,
) -> Verdict:
    """What the checker says of all that can follow the script of a file.

    What is changed of its setting, its clock or its order, is so while it is played, too.
    """
    cluster = cluster_at(file, rules, **changed)
    given = given_of(cluster, file)
    model = Model(cluster.setting, budget, bounds, mortal=mortal, given=given, asked=asked)
    wanted = [*(CLAIMS[name] for name in claims.split()), *more]
    machine = cluster.setting.machine(kind or find(cluster.setting.protocol).kind, "sound")
    return check(machine, model, wanted, states_max, engine="numba", tidy=False)
