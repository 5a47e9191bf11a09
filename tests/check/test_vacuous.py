"""A search in which nothing happened that matters says so, and what was not exercised."""

import pytest

from electorate.check import Liveness, Result, check
from electorate.check.effort import Progress
from electorate.claims import CLAIMS
from tests.check.asked import asked
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.probe import Probe

NOTHING_TO_DO = "no node ever had anything to do (--from boot, or other faults)"
NO_FAULT = "none of the faults that a run may spend could happen"
NOBODY_LED = "not once did anybody lead"

IDLE = {
    "bully --losses 5": (1, NOTHING_TO_DO, "losses ≤ 5: no message was on its way to a live node"),
    "bully --doubles 3": (
        1,
        NOTHING_TO_DO,
        "doubles ≤ 3: no message was on its way to a live node",
    ),
    "bully --recoveries 3": (1, NOTHING_TO_DO, "recoveries ≤ 3: nobody was down"),
    "bully --asks 5": (1, NOTHING_TO_DO, "asks ≤ 5: there was nothing to ask for"),
    "park --losses 3": (1, NOTHING_TO_DO, "losses ≤ 3: no message was on its way to a live node"),
    "bully-rpc --lies 3": (1340, NO_FAULT, "lies ≤ 3: there was no failure detector to lie"),
    "invitation --lies 2": (43_385, NO_FAULT, "lies ≤ 2: there was no failure detector to lie"),
    "ring-list --pauses 1": (8, NOTHING_TO_DO, None),
    "ring-attribute --pauses 1": (8, NOTHING_TO_DO, None),
    "park --pauses 1": (8, NOTHING_TO_DO, None),
    "bully": (1, NOTHING_TO_DO, None),
    "mandate --claim M1": (1, NOTHING_TO_DO, None),
    "mandate --form brief --crashes 1 --claim M1": (4, NOTHING_TO_DO, None),
    "park-literal --from boot": (21, NOBODY_LED, None),
    "two-phase --claim C1": (1, NOTHING_TO_DO, None),
    "two-phase --from boot --claim C1": (1, "not once was a transaction decided", None),
}
"""How many states there are, why they say nothing, and the budget that nobody could spend."""


@pytest.mark.parametrize("engine", ["python", "numba"])
@pytest.mark.parametrize("line", IDLE)
def test_where_nothing_happens_nothing_holds(line: str, engine: str) -> None:
    """Fails if promises count as kept because nothing ever put them to the test."""
    verdict = asked(line, engine)
    states, reason, unspent = IDLE[line]
    assert verdict.states == states
    assert verdict.result is Result.UNKNOWN
    assert set(verdict.claims.values()) == {Result.UNKNOWN}
    assert verdict.reason == f"the search says nothing: {reason}"
    assert (verdict.liveness, verdict.tau) == (None, None)
    assert verdict.unspent == (() if unspent is None else (unspent,))


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_who_does_not_matter_may_crash_without_an_election(engine: str) -> None:
    """Fails if a check says nothing for no other reason than that nobody was elected anew."""
    verdict = asked("bully --crashes 1 --mortal 3", engine)
    assert verdict.claims == {"A1": Result.HOLDS, "A2": Result.HOLDS}
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 0)
    assert (verdict.states, verdict.cuts, verdict.unspent) == (11, {}, ())
    assert verdict.sometimes["a leader was elected"] is False


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_a_budget_that_stirs_nothing_beside_one_that_does_is_only_mentioned(engine: str) -> None:
    verdict = asked("bully --crashes 1 --asks 2", engine)
    assert verdict.result is Result.HOLDS
    assert verdict.unspent == ("asks ≤ 2: there was nothing to ask for",)


@pytest.mark.parametrize("engine", ["python", "numba"])
def test_faults_that_lead_to_any_state_have_been_exercised(engine: str) -> None:
    """Fails if only the search from those states is asked, in which nothing fails any more."""
    verdict = asked("bully-rpc --from any --nodes 2 --crashes 1 --recoveries 1", engine)
    assert verdict.claims == {"A2": Result.HOLDS}
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 13)
    assert verdict.unspent == ()


def test_a_violation_counts_though_nobody_ever_led() -> None:
    """Fails if a run that breaks a claim is thrown away with those that say nothing."""
    orders = {"1 boot": "elect; set x 1", "1 fired x": "follow 2"}
    verdict = Probe(orders).check(nobody_follows(2), nobody_follows(1))
    assert verdict.result is Result.VIOLATED
    assert verdict.claims == {"never-2": Result.VIOLATED, "never-1": Result.UNKNOWN}
    stuck = Probe({"1 boot": "elect"}).check(everybody_follows(2))
    assert (stuck.result, stuck.liveness) == (Result.VIOLATED, Liveness.STUCK)


def test_what_nothing_is_known_of_does_not_hold_because_somebody_interrupts() -> None:
    """Fails if a search that is stopped after its last fault forgets to ask what it has shown."""
    probe = Probe({"any boot": "elect; set x 1", "any fired x": "quietly; set x 1"})

    def report(progress: Progress) -> None:
        if progress.phase == "stable phase":
            raise KeyboardInterrupt

    claims = [CLAIMS["A1"], everybody_follows(1)]
    verdict = check(probe.machine, probe.model, claims, report=report, engine="python")
    assert set(verdict.claims.values()) == {Result.UNKNOWN}
    assert verdict.reason == "interrupted"
