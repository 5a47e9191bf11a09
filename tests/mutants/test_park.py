"""Park with a patience that is too short: attempts follow one another without end.

That breaks no claim in any number of moves: what shows it is that the search goes as far as it may,
wherever that is. The mutants that a claim notices are in the dossier.
"""

from typing import Any

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.park import Park
from electorate.trace import Setting, Start, Ties


def judged(rule: str, claims: tuple[str, ...], budget: Budget, **given: Any) -> Verdict:
    bounds = given.pop("bounds", Bounds())
    nodes, T = given.pop("nodes", 3), given.pop("T", 1)
    rules = (rule,) if rule else ()
    setting = Setting("park", tuple(range(1, nodes + 1)), rules, timing=Timing(T), **given)
    machine = setting.machine(Park, "sound")
    model = Model(setting, budget, bounds)
    return check(machine, model, [CLAIMS[name] for name in claims], engine="numba")


@pytest.mark.parametrize("most", [8, 16])
def test_rivals_that_retry_at_once_outbid_each_other_without_end(most: int) -> None:
    """And in no time at all, where messages take none."""
    given: dict[str, Any] = {"start": Start.BOOT, "bounds": Bounds(counter=most, capacity=16)}
    assert judged("retry=0", ("P1",), Budget(lies=1), **given).cuts["counter"]
    assert not judged("retry=1", ("P1",), Budget(lies=1), **given).cuts


def goes_on(rule: str, **given: Any) -> bool:
    """Whether rounds can follow one another beyond any bound that was tried: a livelock."""
    verdicts = [
        judged(rule, ("P2",), Budget(), start=Start.BOOT, bounds=Bounds(counter=most), **given)
        for most in (6, 12)
    ]
    grades = {verdict.liveness for verdict in verdicts}
    assert grades in ({Liveness.LIVE}, {Liveness.UNDECIDED})
    return grades == {Liveness.UNDECIDED}


@pytest.mark.parametrize("T", [1, 2, 3])
def test_patience_must_last_for_the_way_there_and_back(T: int) -> None:
    assert not goes_on("patience=2T", T=T)
    assert goes_on("patience=2T-1", T=T)
    assert judged("patience=2T-1", ("P2",), Budget(), T=T).cuts["counter"]
    assert not judged("patience=2T", ("P2",), Budget(), T=T).cuts


@pytest.mark.parametrize("T", [1, 2])
def test_where_ties_go_either_way_it_must_last_a_little_longer(T: int) -> None:
    assert not goes_on("patience=2T+1", T=T, ties=Ties.BOTH)
    assert goes_on("patience=2T", T=T, ties=Ties.BOTH)


def test_who_gives_its_leader_up_with_a_promise_needs_more_patience() -> None:
    def found(patience: str, most: int) -> tuple[Liveness | None, int | None]:
        rules = (f"patience={patience}", "release=promise")
        setting = Setting("park", (1, 2, 3), rules)
        model = Model(setting, Budget(lies=1), Bounds(counter=most))
        machine = setting.machine(Park, "sound")
        verdict = check(machine, model, [CLAIMS["P2"]], engine="numba")
        return verdict.liveness, verdict.tau

    assert found("3T", 6) == found("3T", 12) == (Liveness.LIVE, 7)
    assert found("3T-1", 6) == (Liveness.UNDECIDED, 20)
    assert found("3T-1", 12) == (Liveness.UNDECIDED, 38)
