"""What a node of an application runs, to be judged from a place that a script leads to."""

from pathlib import Path

from msgspec.structs import replace

from electorate.check import Budget, Model, Verdict, check
from electorate.claims import CLAIMS, Claim
from electorate.cli.beginning import given_of, played
from electorate.protocols.leadership import Leadership
from electorate.simulate.cluster import Cluster
from electorate.trace import Setting

PLACES = Path(__file__).parent / "places" / "leadership"


def cluster_at(file: str, rules: str = "") -> Cluster:
    """The cluster once it has obeyed the script of a file under its own rules and these."""
    lines = (PLACES / file).read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("cluster "))
    setting = Setting.parse(lines[at])
    lines[at] = replace(setting, rules=(*setting.rules, *rules.split())).text()
    return played("\n".join(lines), file)


def begun(
    file: str,
    rules: str,
    budget: Budget,
    claims: str,
    *more: Claim,
    asked: tuple[str, ...] = (),
    kind: type[Leadership] = Leadership,
) -> Verdict:
    """What the checker says of all that can follow the script of a file."""
    cluster = cluster_at(file, rules)
    given = given_of(cluster, file)
    model = Model(cluster.setting, budget, given=given, asked=asked)
    wanted = [*(CLAIMS[name] for name in claims.split()), *more]
    return check(cluster.setting.machine(kind, "sound"), model, wanted, engine="numba", tidy=False)
