"""Networks by their shape, as the command line names them, and checks on them."""

from itertools import pairwise
from typing import Any

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.check.model import BUDGETS
from electorate.claims import CLAIMS, Claim
from electorate.core import Machine, Timing
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting

Links = tuple[tuple[int, int], ...]

PATH_3: Links = tuple(pairwise(range(1, 4)))
PATH_4: Links = tuple(pairwise(range(1, 5)))
CYCLE_4: Links = (*PATH_4, (1, 4))
STAR_4: Links = ((1, 2), (1, 3), (1, 4))


def judged(
    name: str,
    *claims: str | Claim,
    kind: type[Machine[Any]] | None = None,
    nodes: int = 3,
    T: int = 1,
    bounds: Bounds | None = None,
    detection: int | None = None,
    engine: str = "numba",
    **given: Any,
) -> Verdict:
    """What an engine says of a protocol; `kind` may be a variant of its machine."""
    machine, form = REGISTRY[name]
    budget = Budget(**{each: given.pop(each) for each in BUDGETS if each in given})
    given = {"strongest": machine.strongest, "timing": Timing(T), **given}
    if given.get("graph"):
        nodes = max(node for link in given["graph"] for node in link)
    setting = Setting(name, tuple(range(1, nodes + 1)), **given)
    model = Model(setting, budget, bounds or Bounds(normal=200_000), detection=detection)
    wanted = [CLAIMS[claim] if isinstance(claim, str) else claim for claim in claims]
    return check(setting.machine(kind or machine, form), model, wanted, engine=engine)
