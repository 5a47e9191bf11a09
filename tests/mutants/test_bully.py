"""Bully broken on purpose: each rule switched off, each timer one tick shorter.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest
such run is pinned. Those that survive are choices, not repairs, and the reason is given.
"""

from typing import NamedTuple

import pytest

from electorate.check import Budget, Liveness, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.bully import Bully
from electorate.trace import Setting, Start


class Mutant(NamedTuple):
    """What was changed, where it was let loose, and how it was caught."""

    rule: str
    budget: Budget
    claim: str
    moves: int
    T: int = 1
    start: Start = Start.NORMAL
    liveness: Liveness | None = None
    detection: int | None = None

    def __str__(self) -> str:
        return f"{self.rule} T={self.T}"


KILLED = [
    Mutant("accept=anyone", Budget(crashes=1, recoveries=1), "A1", 15),
    Mutant("accept=anyone", Budget(crashes=1, recoveries=1), "A1", 18, T=2),
    Mutant("halt=latest", Budget(crashes=1, recoveries=1), "A1", 17),
    Mutant("halt=latest", Budget(crashes=1, recoveries=1), "A1", 20, T=2),
    Mutant("guard=0", Budget(crashes=2, recoveries=2), "A1", 18),
    Mutant("guard=0", Budget(crashes=2, recoveries=2), "A1", 20, T=2, detection=1),
    Mutant("guard=T", Budget(crashes=2, recoveries=2), "A1", 23, T=2, detection=1),
    Mutant("probe=2T-1", Budget(crashes=1, lies=1), "A1", 18),
    Mutant("settle=T-1", Budget(crashes=1), "A1", 6),
    Mutant("settle=T-1", Budget(crashes=1, recoveries=1), "A1", 10, T=2),
    Mutant("halted=2T-1", Budget(), "A2", 36, 1, Start.BOOT, Liveness.PREVENTABLE),
    Mutant("halted=2T-1", Budget(), "A2", 42, 2, Start.BOOT, Liveness.PREVENTABLE),
    Mutant("while_halting=restart", Budget(crashes=1), "A2", 13, liveness=Liveness.PREVENTABLE),
    Mutant("while_halting=silent", Budget(crashes=1, lies=1), "A1", 17),
    Mutant("while_halted=silent", Budget(crashes=1, lies=1), "A1", 17),
    Mutant("doubt=0", Budget(crashes=1, recoveries=1), "A2", 1, 1, Start.ANY, Liveness.STUCK),
]

SURVIVE = {
    "guard=2T-1": "a tick less is still enough for three nodes, two crashes and two recoveries",
    "answered=4T-1": "a node that loses patience too soon only asks once more; the exact costs of "
    "an election notice it (tests/costs/test_mutant.py), the claims do not",
    "while_probing=silent": "whoever probes me will be halted by me or by somebody stronger",
    "while_probing=restart": "asking again costs messages, not agreement",
    "while_halted=restart": "it costs messages and time: τ rises from 8 to 12",
    "doubt=T": "asking sooner costs messages where detectors are late, not agreement",
}


def judged(mutant: Mutant, claims: tuple[str, ...]) -> tuple[dict[str, Result], list[int], object]:
    """The fate of the claims, the lengths of the runs that break them, and the liveness."""
    setting = Setting(
        "bully", (1, 2, 3), (mutant.rule,), timing=Timing(mutant.T), start=mutant.start
    )
    model = Model(setting, mutant.budget, detection=mutant.detection)
    machine = setting.machine(Bully, "sound")
    verdict = check(machine, model, [CLAIMS[name] for name in claims], engine="numba")
    return verdict.claims, [v.length for v in verdict.violations], verdict.liveness


@pytest.mark.parametrize("mutant", KILLED, ids=str)
def test_the_checker_kills_this_mutant(mutant: Mutant) -> None:
    results, lengths, liveness = judged(mutant, (mutant.claim,))
    assert results == {mutant.claim: Result.VIOLATED}
    assert liveness == mutant.liveness
    assert lengths == [mutant.moves]


@pytest.mark.parametrize("rule", SURVIVE)
def test_this_mutant_breaks_no_claim(rule: str) -> None:
    for mutant in (
        Mutant(rule, Budget(crashes=2), "", 0),
        Mutant(rule, Budget(crashes=1, recoveries=1), "", 0),
    ):
        results, lengths, liveness = judged(mutant, ("A1", "A2"))
        assert set(results.values()) == {Result.HOLDS}
        assert lengths == []
        assert liveness is Liveness.LIVE
