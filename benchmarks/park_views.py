"""How Park's election fares against the rate at which nodes believe that their leader has failed.

At random moments a random node wrongly takes the strongest one for dead, and is right again within
2T. The runs are drawn from seeds, so the figures are the same on every machine:

    python benchmarks/park_views.py
    python benchmarks/park_views.py --nodes 5 --rule patience=3T --gap 10 --gap 100
"""

import argparse
import json
import random
import sys
from collections import Counter
from typing import NamedTuple

from electorate.claims import CLAIMS
from electorate.core import Send
from electorate.protocols.registry import REGISTRY
from electorate.simulate import Simulation, started
from electorate.simulate.chance import Drawn
from electorate.simulate.fault import Lie
from electorate.simulate.judge import RunJudge
from electorate.simulate.run import SimulatedRun
from electorate.simulate.scenario import Faults, Scenario, T

GAPS = (2, 4, 6, 9, 12, 15, 20, 30, 50, 100, 200)
"""Mean times between two wrong suspicions, in T."""


class Fare(NamedTuple):
    """What came of all runs with one rate; every number but the first is a share."""

    gap: int
    repaired: float
    """Of the suspicions: those after which all agreed again before the next one."""
    agreed: float
    """Of the time: all nodes follow the same leader."""
    committed: float
    """Of the proposals: those that led to a commit."""
    split: float
    """Of the time: two nodes that see each other follow different leaders."""


class Watcher:
    """Looks at a cluster after every step, and adds up."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.suspicions = self.repaired = 0
        self._since = 0
        self._agrees, self._splits = True, False

    def begin(self, lies: list[Lie]) -> None:
        """A new run begins, in which all follow the strongest."""
        self._next = [lie.at for lie in reversed(lies)]
        self._since, self._agrees, self._splits = 0, True, False

    def look(self, cluster: Simulation) -> None:
        """A step was taken."""
        while self._next and self._next[-1] <= cluster.now:
            self._next.pop()
            self.suspicions += 1
            self.repaired += self._agrees
        passed = cluster.now - self._since
        self.spent["all"] += passed
        self.spent["agreed"] += passed * self._agrees
        self.spent["split"] += passed * self._splits
        self._since, row = cluster.now, cluster.row()
        self._agrees = CLAIMS["A2"].judge(row) is None
        self._splits = CLAIMS["P1"].judge(row) is not None
        for turn in cluster.steps[-1].turns:
            # Who proposes or commits says so to itself as well: that counts each of them once.
            words = [e.message for e in turn.effects if isinstance(e, Send) and e.to == turn.node]
            self.sent.update(type(word).__name__ for word in words)


def fare(protocol: str, nodes: int, rules: tuple[str, ...], gap: int, seeds: int) -> Fare:
    """Run all seeds with one rate of suspicions."""
    length = 1000 * T
    ids = tuple(range(1, nodes + 1))
    scenario = Scenario(ids=ids, faults=Faults(), safety=length, stable=1, claims=("P1",))
    kind, form = REGISTRY[protocol]
    setting = scenario.setting(protocol, rules, kind.strongest)
    machine = setting.machine(kind, form)
    start, _ = started(setting, machine)
    strongest = machine.members.strongest_of(ids)
    watcher = Watcher()
    for seed in range(seeds):
        lots = random.Random(f"{seed} suspicions every {gap}T")
        lies, at = [], lots.expovariate(1 / (gap * T))
        while at < length:
            lies.append(Lie(int(at), lots.choice(machine.members.others(strongest)), strongest))
            at += lots.expovariate(1 / (gap * T))
        cluster = start.copy()
        watcher.begin(lies)
        cluster.watch = watcher.look
        judge, chance = RunJudge(machine.members, ()), Drawn(seed, scenario.delay, 0.0, 0.0)
        SimulatedRun(scenario, cluster, judge, tuple(lies), chance, record=True).result()
    spent, sent = watcher.spent, watcher.sent
    return Fare(
        gap,
        watcher.repaired / watcher.suspicions,
        spent["agreed"] / spent["all"],
        sent["Commit"] / max(1, sent["Propose"]),
        spent["split"] / spent["all"],
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--protocol", default="park")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--rule", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--gap", type=int, action="append", metavar="T")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    subject = options.protocol, options.nodes, tuple(options.rule)
    fares = [fare(*subject, gap, options.seeds) for gap in options.gap or GAPS]
    if options.json:
        print(json.dumps([each._asdict() for each in fares]))
        return 0
    print("mean gap  repaired in time  all agree  proposals committed  split")
    for gap, *shares in fares:
        print(f"{gap:7}T  " + "  ".join(f"{share:16.1%}" for share in shares))
    return 0


if __name__ == "__main__":
    sys.exit(main())
