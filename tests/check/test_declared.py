"""A machine that does otherwise with its numbers than its types say is found out."""

import pytest

from electorate.check import Bounds, Budget, Model, Result, Verdict, check
from electorate.check.effort import Progress
from electorate.claims import Claim
from electorate.trace import Setting, Start
from tests.check.agree import ALWAYS, GOAL
from tests.check.claim import claim_that
from tests.check.drawn import MODES, Rule
from tests.check.probe import Probe
from tests.check.tally import CAUSES, Tally

COUNTS: dict[str, tuple[str, ...]] = {
    "boot": ("set once 1",),
    "once": ("count it", "raise it", "send note", "send other", "set once 1"),
    "fresh": ("adopt it",),
    "high": ("follow it",),
}
"""Everybody counts for ever and takes down what the others have counted."""


def judged(
    sin: str | None,
    *,
    saves: bool = True,
    nodes: int = 2,
    orders: dict[str, tuple[str, ...]] = COUNTS,
    claim: Claim = ALWAYS,
    **budget: int,
) -> Verdict:
    """What is said of a machine that counts; in mode 1, which it comes to by its sin, it elects."""
    setting = Setting("tally", tuple(range(1, nodes + 1)), start=Start.BOOT)
    rules: dict[tuple[str, int], Rule] = {
        (cause, mode): (mode and 1, saves, orders.get(cause, ()) if mode == 0 else ())
        for cause in CAUSES
        for mode in range(MODES)
    }
    machine = Tally(setting.members(), setting.timing, rules, views=False, sin=sin)
    model = Model(setting, Budget(**budget), Bounds(capacity=4))
    return check(machine, model, [claim], engine="python")


def test_a_machine_that_does_as_it_says_is_explored_without_a_cut() -> None:
    verdict = judged(None)
    assert (verdict.result, verdict.renamed, verdict.cuts) == (Result.HOLDS, True, {})


@pytest.mark.parametrize("sin", ["constant", "set", "dict", "slice", "repr", "parity", "view"])
def test_a_number_that_is_held_against_a_constant_tells(sin: str) -> None:
    """Fails if a bug that waits for a certain number is never met, because it is renamed."""
    verdict = judged(sin, nodes=1)
    assert (verdict.result, verdict.renamed) == (Result.VIOLATED, False)


def test_a_claim_that_may_hold_a_number_against_a_constant_sees_it_as_it_is() -> None:
    """Fails if tokens are renamed under a claim that has not said that it only compares them."""
    small = claim_that(lambda row: all((view.token or 0) < 3 for _, view in row.live()))
    verdict = judged(None, claim=small)
    assert (verdict.result, verdict.renamed) == (Result.VIOLATED, False)


def test_what_can_be_seen_of_a_first_boot_must_not_hang_on_its_numbers_either() -> None:
    """Fails if only turns that follow another are taken again."""
    verdict = judged("view", orders={"boot": ("count it",)})
    assert (verdict.result, verdict.renamed) == (Result.VIOLATED, False)


@pytest.mark.parametrize("sin", ["cross", "foreign", "wrap", "skip"])
def test_a_machine_that_calculates_otherwise_is_not_renamed(sin: str) -> None:
    """Fails if numbers of two nodes are compared, or made by another node, and nobody notices."""
    assert not judged(sin).renamed


def test_a_node_that_may_come_back_must_have_saved_how_far_it_has_counted() -> None:
    """Fails if it makes a number again, and nobody knows any more how far off that was."""
    assert judged(None, saves=False).renamed
    assert judged(None, saves=False, crashes=1).renamed
    assert judged(None, crashes=1, recoveries=1).renamed
    assert not judged(None, saves=False, crashes=1, recoveries=1).renamed


def test_where_time_stands_still_no_claim_holds_though_another_is_broken() -> None:
    """Fails if only a verdict that is good all through is asked whether time goes on."""
    orders = {"1 boot": "follow 1; set x 0", "1 fired x": "quietly; set x 0"}
    kept, broken = claim_that(lambda row: True), ALWAYS._replace(name="broken")
    broken = broken._replace(judge=claim_that(lambda row: False).judge)
    probe = Probe(orders, nodes=1)
    alone = probe.check(kept)
    assert alone.claims == {kept.name: Result.UNKNOWN}
    verdict = check(probe.machine, probe.model, [kept, broken], keep_going=True, engine="python")
    assert verdict.claims == {kept.name: Result.UNKNOWN, "broken": Result.VIOLATED}
    assert verdict.result is Result.VIOLATED
    both = check(probe.machine, probe.model, [kept, GOAL], engine="python")
    assert both.claims == {kept.name: Result.UNKNOWN, GOAL.name: Result.VIOLATED}


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_what_stops_the_search_for_a_standstill_leaves_safety_unknown(engine: str) -> None:
    """Fails if a search that did not end is taken to have found that time goes on."""
    orders = {"1 boot": "follow 1; set x 0", "1 fired x": "quietly; set x 0"}
    probe, searches = Probe(orders, nodes=1), 0

    def report(progress: Progress) -> None:
        nonlocal searches
        searches += progress.phase == "search" and progress.level == 0
        if searches > 1:
            raise KeyboardInterrupt

    kept = claim_that(lambda row: True)
    verdict = check(probe.machine, probe.model, [kept], report=report, engine=engine)
    assert verdict.claims == {kept.name: Result.UNKNOWN}
    assert verdict.reason == "whether time goes on was not seen: interrupted"
