"""Verdicts: what is said, how sure it is, and every constant that it depends on."""

import pytest

from electorate.check import Budget, Detector, Model, Result, check
from electorate.check.model import BUDGETS
from electorate.claims import CLAIMS
from electorate.core import Event, Machine, NodeId, Stable, Standing, State, Status, Timing
from electorate.core import Result as Turn
from electorate.trace import Clock, Connections, Order, Setting, Start, Ties
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.probe import Probe

STEPS = {"1 boot": "set x 1", "1 fired x": "set y 2", "1 fired y": "follow 1"}


def test_the_shortest_run_to_a_violation_is_the_one_that_is_shown() -> None:
    verdict = Probe(STEPS).check(nobody_follows(1))
    assert verdict.result is Result.VIOLATED
    (violation,) = verdict.violations
    # Tick, x, tick, tick, y.
    assert (violation.claim, violation.length) == ("never-1", 5)
    assert violation.witness.nodes == (1,)


def test_a_violation_at_the_very_start_needs_no_step() -> None:
    (violation,) = Probe({"1 boot": "follow 1"}).check(nobody_follows(1)).violations
    assert violation.length == 0


def test_a_search_ends_when_every_claim_that_can_break_has() -> None:
    orders = {**STEPS, "2 boot": "follow 2; set z 9"}
    one = Probe(orders).check(nobody_follows(2))
    both = Probe(orders).check(nobody_follows(2), nobody_follows(1))
    assert (one.states, one.transitions) == (1, 0)
    assert both.claims == {"never-2": Result.VIOLATED, "never-1": Result.VIOLATED}
    assert [violation.length for violation in both.violations] == [0, 5]


def test_a_claim_that_holds_beside_one_that_breaks_is_searched_to_the_end() -> None:
    orders = {**STEPS, "2 boot": "follow 2"}
    verdict = Probe(orders).check(nobody_follows(2), CLAIMS["S2"]._replace(name="S"))
    assert verdict.claims == {"never-2": Result.VIOLATED, "S": Result.VIOLATED}
    quiet = {"2 boot": "follow 2; set x 1", "2 fired x": "quietly; set x 1"}
    claims = Probe(quiet, start=Start.NORMAL, pauses=1).check(nobody_follows(1)).claims
    assert claims == {"never-1": Result.HOLDS}


def test_a_search_that_is_stopped_knows_nothing_and_says_why() -> None:
    verdict = Probe(STEPS).check(nobody_follows(2), everybody_follows(1), states_max=3)
    assert verdict.result is Result.UNKNOWN
    assert set(verdict.claims.values()) == {Result.UNKNOWN}
    assert verdict.reason == "more than 3 states (--states-max)"
    assert verdict.states == 4


def test_a_violation_beats_everything_that_is_unknown() -> None:
    orders = {**STEPS, "2 boot": "follow 2"}
    verdict = Probe(orders).check(nobody_follows(2), nobody_follows(1), states_max=2)
    assert verdict.claims == {"never-2": Result.VIOLATED, "never-1": Result.UNKNOWN}
    assert verdict.result is Result.VIOLATED
    goal = Probe(orders).check(nobody_follows(2), everybody_follows(1))
    assert goal.claims == {"never-2": Result.VIOLATED, "follow-1": Result.UNKNOWN}
    assert goal.result is Result.VIOLATED


def test_a_search_in_which_nobody_is_ever_elected_says_nothing() -> None:
    verdict = Probe({}).check(CLAIMS["A1"])
    assert verdict.result is Result.UNKNOWN
    assert verdict.claims == {"A1": Result.UNKNOWN}
    assert verdict.reason == "the search says nothing: not once did anybody lead"
    assert (
        Probe({"any boot": "set x 1", "1 fired x": "follow 1"}).check(CLAIMS["A1"]).reason is None
    )


IDLE = "no node ever had anything to do (--from boot, or other faults)"
NOBODY_LED = "not once did anybody lead"


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, IDLE), ({"crashes": 1}, NOBODY_LED), ({"lies": 1}, NOBODY_LED), ({"losses": 1}, IDLE)],
)
def test_a_leader_is_expected_only_of_a_search_in_which_somebody_has_something_to_do(
    given: dict[str, int], reason: str
) -> None:
    verdict = Probe({}, views=True, start=Start.NORMAL, **given).check(CLAIMS["A1"])
    assert verdict.result is Result.UNKNOWN
    assert verdict.reason == f"the search says nothing: {reason}"


def test_sometimes_facts_are_seen_where_they_happen() -> None:
    orders = {
        "any boot": "elect; set x 1",
        "1 fired x": "follow 1; send 2 a; send 3 a",
    }
    verdict = Probe(orders, nodes=3, crashes=1).check(nobody_follows(3))
    assert all(verdict.sometimes.values())
    calm = Probe(orders, nodes=3).check(nobody_follows(3))
    assert [*calm.sometimes.values()] == [True, True]  # No crash could hit anything.
    atomic = Probe(orders, nodes=3, crashes=1, atomic_sends=True).check(nobody_follows(3))
    assert [*atomic.sometimes.values()] == [True, True, False]


def test_the_sentence_names_every_constant() -> None:
    probe = Probe(
        {"1 boot": "follow 1"},
        nodes=2,
        T=2,
        P=1,
        delay_min=1,
        ties=Ties.BOTH,
        order=Order.BAG,
        connections=Connections.DIE,
        strongest="highest",
        views=True,
        detection=3,
        notices_restarts=True,
        atomic_turns=True,
        crashes=1,
        recoveries=2,
        losses=3,
        lies=1,
        pauses=1,
    )
    verdict = probe.check(nobody_follows(1))
    assert verdict.sentence("diary", probe.machine, probe.model) == (
        "diary: never-1 is violated for N=2, bounded timing, T=2, P=1, delay 1..3, ties both, "
        "order bag, connections die, from boot, highest rank wins, detector eventually-perfect "
        "within 3, notices restarts, atomic turns, crashes ≤ 1, recoveries ≤ 2, losses ≤ 3, "
        "lies ≤ 1, pauses ≤ 1."
    )


def test_the_sentence_of_a_search_without_bounds_or_faults() -> None:
    orders = {f"any saw {seen}": "quietly" for seen in ("1", "2", "1 2")}
    probe = Probe(orders, clock=Clock.UNBOUNDED, views=True, detector=Detector.UNRELIABLE)
    verdict = probe.check(nobody_follows(2), CLAIMS["S2"])
    assert probe.model.setting.timing == Timing()
    assert verdict.sentence("diary", probe.machine, probe.model).startswith(
        "diary: never-2 and S2 are unknown for N=2, unbounded timing, order fifo, "
        "connections outlive, from boot, detector unreliable, no faults"
    )


def test_the_depth_is_that_of_the_farthest_state() -> None:
    verdict = Probe(STEPS).check(nobody_follows(2))
    assert (verdict.states, verdict.depth) == (6, 5)


def test_calls_count_the_turns_that_were_worked_out_not_those_that_were_taken() -> None:
    verdict = Probe(STEPS, pauses=1).check(nobody_follows(2))
    # Two boots, x and y.
    assert verdict.calls == 4
    assert verdict.transitions > 20


class StillState(State):
    pass


class Still(Machine[StillState]):
    """Declares nothing and does nothing."""

    state_type = StillState

    def boot(self, me: NodeId, stable: Stable | None) -> Turn[StillState]:
        return StillState(me, Stable()), []

    def step(self, state: StillState, event: Event) -> Turn[StillState]:
        return state, []

    def view(self, state: StillState) -> Standing:
        return Standing(Status.NORMAL, state.me)


@pytest.mark.parametrize("clock", list(Clock))
def test_a_machine_without_messages_and_timers_can_be_checked(clock: Clock) -> None:
    for start in Start:
        setting = Setting("still", (1,), clock=clock, start=start)
        faults = Budget(**dict.fromkeys(BUDGETS, 1))
        machine = Still(setting.members(), setting.timing)
        claims = [CLAIMS["A2"]] if start is Start.ANY else [CLAIMS["A1"], CLAIMS["A2"]]
        verdict = check(machine, Model(setting, faults), claims)
        # Of agreement one node alone says nothing; that it leads is seen all the same.
        assert (verdict.claims["A2"], verdict.tau) == (
            Result.HOLDS,
            None if clock is Clock.UNBOUNDED else 0,
        )
