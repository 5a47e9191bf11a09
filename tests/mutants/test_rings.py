"""The rings broken on purpose: each repair switched off, and what the checker makes of it.

The sound forms number their elections, and a number that grows hides a ring that goes round for
ever (the search is cut instead). Where that is the break, the mutant leaves the numbers out too.
"""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Strongest
from electorate.protocols.registry import REGISTRY
from electorate.trace import Clock, Setting, Start, Ties

STUCK, PREVENTABLE = Liveness.STUCK, Liveness.PREVENTABLE
ONE_CRASH = Budget(crashes=1)
RECOVERY = Budget(crashes=2, recoveries=1)
RECOVERIES = Budget(crashes=2, recoveries=2)
CRASH_AND_ASK = Budget(crashes=1, asks=1)


class Mutant(NamedTuple):
    """What was changed, where it was let loose, and how it was caught."""

    name: str
    rules: tuple[str, ...]
    budget: Budget
    claim: str
    moves: int
    liveness: Liveness | None = None
    strongest: Strongest = "highest"
    start: Start = Start.NORMAL

    def __str__(self) -> str:
        return " ".join((self.name, *self.rules, *self.budget.texts()))


KILLED = [
    Mutant("chang-roberts", ("ballots=alike",), RECOVERY, "A1", 10),
    Mutant("chang-roberts", ("accept=anyone",), RECOVERY, "A1", 18),
    Mutant("chang-roberts", ("sender=anyone",), Budget(lies=1), "A1", 3),
    Mutant("chang-roberts", ("sender=anyone",), RECOVERIES, "A1", 15),
    Mutant("chang-roberts", ("orphans=pass",), CRASH_AND_ASK, "A2", 10, STUCK),
    Mutant("chang-roberts", ("appearing=ignore",), Budget(lies=2), "A2", 4, STUCK),
    Mutant("chang-roberts", ("patience=0",), ONE_CRASH, "A2", 5, STUCK),
    Mutant("chang-roberts", ("successor=next", "ballots=alike"), ONE_CRASH, "A2", 9, STUCK),
    Mutant("ring-list", ("rounds=all", "accept=anyone"), Budget(1, 1), "A1", 16),
    Mutant(
        "ring-list",
        ("rounds=all", "numbers=none"),
        Budget(),
        "A2",
        16,
        PREVENTABLE,
        start=Start.BOOT,
    ),
    Mutant("ring-list", ("accept=anyone",), RECOVERY, "A1", 10),
    Mutant("ring-list", ("numbers=none",), RECOVERY, "A1", 10),
    Mutant("ring-list", ("sender=anyone",), Budget(lies=1), "A1", 3),
    Mutant("ring-list", ("sender=anyone",), RECOVERIES, "A1", 17),
    Mutant("ring-list", ("orphans=pass",), CRASH_AND_ASK, "A2", 10, STUCK),
    Mutant("ring-list", ("appearing=ignore",), Budget(lies=2), "A2", 4, STUCK),
    Mutant("ring-list", ("patience=0",), ONE_CRASH, "A2", 5, STUCK),
    Mutant(
        "ring-attribute",
        ("forwarded=election", "patience=0"),
        Budget(asks=2),
        "A2",
        7,
        STUCK,
        "lowest",
    ),
    Mutant("ring-attribute", ("cache=ever", "numbers=none"), Budget(asks=1), "A2", 6, STUCK),
    Mutant(
        "ring-attribute",
        ("remembers=received", "numbers=none"),
        Budget(),
        "A2",
        29,
        PREVENTABLE,
        start=Start.BOOT,
    ),
    Mutant("ring-attribute", ("accept=anyone",), RECOVERY, "A1", 10),
    Mutant("ring-attribute", ("numbers=none",), RECOVERY, "A1", 10),
    Mutant("ring-attribute", ("sender=anyone",), Budget(lies=1), "A1", 3),
    Mutant("ring-attribute", ("sender=anyone",), RECOVERIES, "A1", 17),
    Mutant("ring-attribute", ("orphans=pass",), CRASH_AND_ASK, "A2", 10, STUCK),
    Mutant("ring-attribute", ("appearing=ignore",), Budget(lies=2), "A2", 4, STUCK),
    Mutant("ring-attribute", ("patience=0",), ONE_CRASH, "A2", 5, STUCK),
    Mutant("ring-attribute", ("watchers=predecessor",), Budget(crashes=2), "A2", 4, STUCK),
    Mutant("ring-attribute", ("watchers=successor",), Budget(crashes=2), "A2", 4, STUCK),
    Mutant("ring-attribute", ("watchers=predecessor",), CRASH_AND_ASK, "A2", 12, STUCK),
    Mutant("ring-attribute", ("watchers=successor",), CRASH_AND_ASK, "A2", 12, STUCK),
]

SURVIVE = {
    ("chang-roberts", "lower=replace"): "it costs messages: tests/costs/test_mutant.py",
    ("ring-attribute", "forwarded=election"): "patience starts the run that goes through",
    ("ring-attribute", "initiators=id"): "any order will do, if it is the same for all",
    (
        "ring-attribute",
        "first=forwarded",
    ): "a run never comes back to its initiator with a worse node",
    ("ring-attribute", "watchers=predecessor"): "one failure that falls outside of elections is "
    "noticed by a predecessor that is up",
}

UNNUMBERED = {
    "chang-roberts": "ballots=alike",
    "ring-list": "numbers=none",
    "ring-attribute": "numbers=none",
}
"""What leaves the numbers out, so that going round for ever shows."""


def judged(
    name: str,
    rules: tuple[str, ...],
    budget: Budget,
    claims: tuple[str, ...],
    nodes: int = 3,
    **given: Any,
) -> Verdict:
    setting = Setting(name, tuple(range(1, nodes + 1)), rules, **{"strongest": "highest", **given})
    machine = setting.machine(*REGISTRY[name])
    return check(
        machine, Model(setting, budget), [CLAIMS[claim] for claim in claims], engine="numba"
    )


@pytest.mark.parametrize("mutant", KILLED, ids=str)
def test_the_checker_kills_this_mutant(mutant: Mutant) -> None:
    given: dict[str, Any] = {"strongest": mutant.strongest, "start": mutant.start}
    verdict = judged(mutant.name, mutant.rules, mutant.budget, (mutant.claim,), **given)
    assert verdict.claims == {mutant.claim: Result.VIOLATED}
    assert verdict.liveness == mutant.liveness
    assert [violation.length for violation in verdict.violations] == [mutant.moves]


@pytest.mark.parametrize(("name", "rule"), SURVIVE)
def test_this_mutant_breaks_no_claim(name: str, rule: str) -> None:
    for budget in (Budget(crashes=1), Budget(crashes=1, recoveries=1), Budget(asks=2)):
        verdict = judged(name, (rule,), budget, ("A1", "A2", "S2"))
        assert set(verdict.claims.values()) == {Result.HOLDS}
        assert (verdict.violations, verdict.liveness) == ((), Liveness.LIVE)


def test_who_never_forgets_that_it_has_forwarded_is_asked_again_and_again() -> None:
    """Patience starts run after run, and none goes through."""
    verdict = judged("ring-attribute", ("forwarded=ever",), Budget(asks=2), ("A1", "A2", "S2"))
    assert verdict.claims == {"A1": Result.HOLDS, "A2": Result.VIOLATED, "S2": Result.HOLDS}
    assert not verdict.cuts


@pytest.mark.parametrize("name", UNNUMBERED)
def test_with_both_orders_of_a_tie_patience_is_too_short_by_a_hair(name: str) -> None:
    unnumbered = UNNUMBERED[name]
    given: dict[str, Any] = {"ties": Ties.BOTH, "start": Start.BOOT}
    short = judged(name, (unnumbered,), Budget(), ("A2",), **given)
    assert (short.claims, short.liveness) == ({"A2": Result.VIOLATED}, PREVENTABLE)
    longer = judged(name, (unnumbered, "patience=T+P+1"), Budget(), ("A2",), **given)
    assert (longer.claims, longer.liveness) == ({"A2": Result.HOLDS}, Liveness.LIVE)


@pytest.mark.parametrize("name", UNNUMBERED)
def test_without_bounds_on_time_impatience_can_prevent_every_election(name: str) -> None:
    given: dict[str, Any] = {"clock": Clock.UNBOUNDED, "start": Start.BOOT}
    setting = Setting(name, (1, 2), (UNNUMBERED[name],), strongest="highest", **given)
    machine = setting.machine(*REGISTRY[name])
    model = Model(setting, bounds=Bounds(capacity=3))
    verdict = check(machine, model, [CLAIMS["A1"], CLAIMS["A2"]], engine="numba")
    assert verdict.claims == {"A1": Result.WITHIN_BOUNDS, "A2": Result.VIOLATED}
    assert verdict.liveness is PREVENTABLE
