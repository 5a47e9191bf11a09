"""Seeded runs: the same seed gives the same run, faults do what they should, claims are judged."""

import os
import subprocess
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.core import Machine
from electorate.protocols.registry import REGISTRY
from electorate.simulate import run_script
from electorate.simulate.chance import Fixed
from electorate.simulate.delay import Constant, Lognormal, Pareto
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import (
    Ask,
    Crash,
    CutLink,
    Lie,
    Partition,
    Pause,
    Plan,
    Recover,
    ResetConnection,
    Tear,
)
from electorate.simulate.run import RunResult
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import (
    Connections,
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Healed,
    Lost,
    Order,
    Paused,
    Recovered,
    Requested,
    Reset,
    Resumed,
    Saw,
    Step,
    Ticked,
    script_of,
)
from tests.simulate.machines import find as find_probe

T = 1000
QUIET = Scenario(faults=Faults(), safety=30 * T, delay=Constant(T))


def find(name: str) -> tuple[type[Machine[Any]], str]:
    return REGISTRY[name]


def run(plan: Plan, scenario: Scenario = QUIET, numbers: dict[Any, int] | None = None) -> RunResult:
    """A run of sound Bully in which every message takes T and detectors notice at once."""
    experiment = Experiment(Subject("bully", scenario), find)
    return experiment.rerun(plan, Fixed(numbers or {}, T), record=True)


def happened(result: RunResult, kind: type[Any]) -> list[tuple[int, Any]]:
    steps: tuple[Step, ...] = result.trace.steps
    return [(step.at, step.happening) for step in steps if isinstance(step.happening, kind)]


def facts(result: RunResult) -> list[str]:
    script = script_of(result.trace)
    return [line for line in script.splitlines() if line and not line.startswith(" ")]


# --- faults ---


def test_without_faults_nothing_happens() -> None:
    result = run(())
    assert [type(step.happening) for step in result.trace.steps] == [Ticked]
    assert (result.violations, result.deliveries, result.elected) == ({}, 0, 0)


def test_a_crash_is_noticed_and_a_new_leader_elected() -> None:
    result = run((Crash(5 * T, 1),))
    assert happened(result, Crashed) == [(5 * T, Crashed(1))]
    assert [at for at, _ in happened(result, Saw)] == [5 * T, 5 * T]
    assert result.elected == 4 * T
    assert result.violations == {}


def test_a_recovery_is_noticed_too() -> None:
    result = run((Crash(5 * T, 3), Recover(9 * T, 3)))
    assert happened(result, Recovered) == [(9 * T, Recovered(3))]
    assert [seen.alive for _, seen in happened(result, Saw)][-1] == {1, 2, 3}
    assert result.elected == 3 * T


def test_faults_that_find_nothing_to_do_do_nothing() -> None:
    result = run((Recover(1 * T, 1), Crash(2 * T, 1), Crash(3 * T, 1), Pause(4 * T, 5 * T, 1)))
    assert len(happened(result, Crashed)) == 1
    assert happened(result, Recovered) + happened(result, Paused) == []


def test_a_tear_waits_for_a_turn_that_sends_something() -> None:
    result = run((Tear(1 * T, 2, draw=4), Crash(5 * T, 1)))
    (torn,) = [step for step in result.trace.steps if any(t.sent is not None for t in step.turns)]
    assert isinstance(torn.happening, Saw)
    assert torn.turns[0].sent == ((1, 0),)
    assert happened(result, Crashed) == [(5 * T, Crashed(1))]


def test_a_boot_can_be_torn() -> None:
    result = run((Crash(1 * T, 1), Tear(2 * T, 1, draw=1), Recover(3 * T, 1)))
    (torn,) = [step for step in result.trace.steps if any(t.sent is not None for t in step.turns)]
    assert torn.happening == Recovered(1)


def test_a_paused_node_answers_late() -> None:
    result = run((Crash(1 * T, 3), Recover(2 * T, 3), Pause(2 * T, 10 * T, 1)))
    assert happened(result, Paused) == [(2 * T, Paused(1))]
    assert happened(result, Resumed) == [(10 * T, Resumed(1))]
    first = next(at for at, what in happened(result, Delivered) if what.to == 1)
    assert first == 10 * T


def test_pauses_that_overlap_end_together() -> None:
    result = run((Pause(1 * T, 5 * T, 1), Pause(2 * T, 9 * T, 1)))
    assert happened(result, Resumed) == [(9 * T, Resumed(1))]


def test_a_crash_ends_a_pause() -> None:
    result = run((Pause(1 * T, 5 * T, 1), Crash(2 * T, 1), Recover(3 * T, 1)))
    assert happened(result, Resumed) == []
    assert result.violations == {}


def test_a_cut_link_loses_what_is_sent_and_both_ends_miss_each_other() -> None:
    result = run((CutLink(1 * T, 20 * T, 3, 1),))
    assert happened(result, Cut) == [(1 * T, Cut(3, 1))]
    assert happened(result, Healed) == [(20 * T, Healed(3, 1))]
    missed = {(what.node, *(what.before - what.alive)) for _, what in happened(result, Saw)}
    assert {(1, 3), (3, 1)} <= missed
    assert {what.why for _, what in happened(result, Lost)} == {"3->1 is cut"}


def test_a_connection_breaks_only_where_something_is_on_its_way() -> None:
    result = run((ResetConnection(2 * T, 2, 3), Crash(5 * T, 1), ResetConnection(5 * T + 1, 2, 3)))
    assert happened(result, Reset) == [(5 * T + 1, Reset(2, 3, both=True))]
    assert result.seen.happened == {"crashes": 1, "resets": 1}


def test_a_partition_cuts_every_link_between_its_sides() -> None:
    result = run((Partition(1 * T, 20 * T, (1,)),))
    links = {(what.sender, what.to) for _, what in happened(result, Cut)}
    assert links == {(1, 2), (1, 3), (2, 1), (3, 1)}
    assert "A1" in result.violations, "each side has a leader"
    assert "A2" not in result.violations, "and afterwards there is one"


def test_what_still_lasts_ends_with_the_safety_phase() -> None:
    result = run((CutLink(1 * T, 99 * T, 3, 1), Pause(2 * T, 99 * T, 2)))
    assert happened(result, Healed) == [(30 * T, Healed(3, 1))]
    assert happened(result, Resumed) == [(30 * T, Resumed(2))]


def test_no_fault_happens_after_the_safety_phase() -> None:
    assert happened(run((Crash(31 * T, 1),)), Crashed) == []


def test_a_lie_is_told_and_taken_back() -> None:
    result = run((Lie(1 * T, 3, 1),))
    told = [(what.node, set(what.alive)) for _, what in happened(result, Saw)]
    assert told == [(3, {2, 3}), (3, {1, 2, 3})]


def test_the_application_may_ask() -> None:
    scenario = replace(QUIET, claims=("S2",))
    experiment = Experiment(Subject("probe", scenario), find_probe)
    plan = (Ask(1 * T, 1, draw=1), Ask(2 * T, 2, draw=0), Ask(9 * T, 9 % 3 + 1, draw=3))
    result = experiment.rerun(plan, Fixed({}, T), record=True)
    assert [what.node for _, what in happened(result, Requested)] == [1, 2, 1]
    assert next((at, what.timer) for at, what in happened(result, Fired)) == (3 * T, "lease")


def test_an_office_ends_before_the_messages_of_the_same_moment() -> None:
    scenario = replace(QUIET, claims=("S2",))
    experiment = Experiment(Subject("probe", scenario), find_probe)
    plan = (Ask(1 * T, 1, draw=1), Ask(2 * T, 2, draw=0))
    result = experiment.rerun(plan, Fixed({}, T), record=True)
    at_once = [step.happening for step in result.trace.steps if step.at == 3 * T]
    assert [type(what) for what in at_once if getattr(what, "to", 1) == 1] == [
        Ticked,
        Fired,
        Delivered,
        Delivered,
    ]


def test_a_paused_holder_is_out_of_office_when_its_time_is_over() -> None:
    scenario = replace(QUIET, claims=("S2",))
    experiment = Experiment(Subject("probe", scenario), find_probe)
    plan = (Ask(1 * T, 1, draw=1), Pause(2 * T, 9 * T, 1), Ask(4 * T, 2, draw=1))
    assert experiment.rerun(plan, Fixed({}, T)).violations == {}
    sooner = (*plan[:2], Ask(3 * T - 1, 2, draw=1))
    assert "S2" in experiment.rerun(sooner, Fixed({}, T)).violations


# --- detectors and the network ---


def test_a_detector_is_right_again_within_its_bound() -> None:
    experiment = Experiment(Subject("bully", replace(QUIET, detection=3 * T)), find)
    lags = set()
    for seed in range(40):
        result = experiment.rerun((Crash(0, 1),), experiment.chance(seed), record=True)
        lags |= {at for at, _ in happened(result, Saw)}
    assert min(lags) < T / 2
    assert 2.5 * T < max(lags) <= 3 * T


def test_an_incomplete_detector_notices_within_its_bound_or_never() -> None:
    experiment = Experiment(Subject("bully", replace(QUIET, complete=False)), find)
    seen = []
    for seed in range(40):
        result = experiment.rerun((Crash(0, 1),), experiment.chance(seed), record=True)
        seen += [(at, seed) for at, _ in happened(result, Saw)]
    assert max(at for at, _ in seen) <= 2 * T
    assert 25 <= len(seen) <= 55  # Of the 80 opinions about node 1, half.
    assert {sum(seed == other for _, other in seen) for seed in range(40)} == {0, 1, 2}


def test_an_incomplete_detector_that_lied_takes_a_suspicion_back() -> None:
    result = run((Lie(0, 2, 1),), replace(QUIET, complete=False), {(7, 2, 1, 0): 1})
    assert [happening.alive for _, happening in happened(result, Saw)][-1] == {1, 2, 3}


def test_a_restart_within_the_bound_may_go_unseen() -> None:
    numbers = {(1, node, 1, 0): 2 * T for node in (2, 3)}
    result = run((Crash(1 * T, 1), Recover(2 * T, 1)), numbers=numbers)
    assert happened(result, Saw) == []


def test_losses_and_copies_stop_with_the_safety_phase() -> None:
    scenario = replace(QUIET, loss=0.3, duplication=0.3, faults=Faults(crashes=4, recoveries=4))
    experiment = Experiment(Subject("bully", scenario), find)
    results = [experiment.run(seed, record=True) for seed in range(10)]
    lost = [at for result in results for at, what in happened(result, Lost) if what.why == "lost"]
    doubled = [at for result in results for at, _ in happened(result, Doubled)]
    assert lost
    assert doubled
    assert max(lost) <= 30 * T
    assert max(doubled) <= 32 * T


@pytest.mark.parametrize("delay", [Pareto(300, 0.9), Lognormal(500, 2.0)])
def test_in_the_stable_phase_messages_arrive_in_time(delay: Pareto | Lognormal) -> None:
    scenario = replace(QUIET, delay=delay, faults=Faults(crashes=5, recoveries=5))
    experiment = Experiment(Subject("bully", scenario), find)
    for seed in range(10):
        sent: dict[tuple[int, int], list[int]] = {}
        for step in experiment.run(seed, record=True).trace.steps:
            for turn in step.turns:
                for effect in turn.effects:
                    if hasattr(effect, "to"):
                        sent.setdefault((turn.node, effect.to), []).append(step.at)
            if isinstance(step.happening, Delivered) and step.at > 31 * T:
                link = step.happening.sender, step.happening.to
                assert any(0 <= step.at - at <= T for at in sent[link])


# --- the same seed, the same run ---

EVERYTHING = Faults(crashes=3, recoveries=3, pauses=2, cuts=2, partitions=1, lies=2)
BASE = Scenario(ids=(1, 2, 3, 4), safety=40 * T)
CONDITIONS = {
    "plain": BASE,
    "everything": replace(BASE, faults=EVERYTHING),
    "lossy": replace(BASE, loss=0.1, duplication=0.1),
    "bag": replace(BASE, order=Order.BAG, duplication=0.1, faults=EVERYTHING),
    "global": replace(BASE, order=Order.GLOBAL, duplication=0.1, faults=EVERYTHING),
    "die": replace(BASE, connections=Connections.DIE, faults=EVERYTHING),
    "reset": replace(BASE, faults=Faults(crashes=2, recoveries=2, resets=20)),
    "late": replace(BASE, delay=Pareto(100, 1.2), loss=0.05, faults=EVERYTHING),
}


@pytest.mark.parametrize("protocol", ["bully", "bully-as-printed"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_every_run_keeps_the_laws_and_can_be_replayed(name: str, protocol: str) -> None:
    """A strict cluster takes every step of a run, and comes to the same states."""
    experiment = Experiment(Subject(protocol, CONDITIONS[name]), find)
    for seed in range(15):
        recorded = experiment.run(seed, record=True)
        script = script_of(recorded.trace)
        assert run_script(script, find).text == script, f"seed {seed}"


@pytest.mark.parametrize("protocol", ["bully-rpc", "leadership"])
def test_what_is_on_its_way_when_a_run_begins_arrives_within_its_bound(protocol: str) -> None:
    experiment = Experiment(Subject(protocol, CONDITIONS["lossy"]), find)
    for seed in range(5):
        script = script_of(experiment.run(seed, record=True).trace)
        assert run_script(script, find).text == script, f"seed {seed}"


@pytest.mark.parametrize("name", CONDITIONS)
def test_recording_changes_nothing(name: str) -> None:
    experiment = Experiment(Subject("bully", CONDITIONS[name]), find)
    for seed in range(15):
        one, other = experiment.run(seed), experiment.run(seed, record=True)
        assert one[1:4] == other[1:4]
        assert {c: v.at for c, v in one.violations.items()} == {
            c: v.at for c, v in other.violations.items()
        }


PRINT_RUN = """
from tests.simulate.test_run import CONDITIONS, find
from electorate.simulate.experiment import Experiment, Subject
from electorate.trace import to_json_lines
for name in ("everything", "late"):
    for seed in range(3):
        result = Experiment(Subject("bully", CONDITIONS[name]), find).run(seed, record=True)
        print("\\n".join(to_json_lines(result.trace)), result[:4])
"""


def test_the_same_seed_gives_the_same_bytes_in_every_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", PRINT_RUN],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert len(outputs.pop()) > 10_000


def test_leaving_out_a_fault_does_not_change_what_happened_before_it() -> None:
    experiment = Experiment(Subject("bully", BASE), find)
    plan = (Crash(5 * T, 1), Recover(8 * T, 1), Crash(20 * T, 2), Recover(22 * T, 2))
    whole = experiment.rerun(plan, experiment.chance(1), record=True)
    part = experiment.rerun(plan[:2], experiment.chance(1), record=True)
    before = [step for step in whole.trace.steps if step.at < 20 * T]
    assert list(part.trace.steps[: len(before)]) == before


# --- claims ---


def test_sound_bully_keeps_its_promises_within_its_assumptions() -> None:
    for ids, seeds in (((1, 2, 3), 300), ((1, 2, 3, 4, 5), 200)):
        experiment = Experiment(Subject("bully", Scenario(ids=ids)), find)
        for seed in range(seeds):
            assert experiment.run(seed).violations == {}, f"{len(ids)} nodes, seed {seed}"


def test_a_violation_says_when_and_after_which_step() -> None:
    result = run((Partition(1 * T, 20 * T, (1,)),))
    found = result.violations["A1"]
    assert found.witness.text == "1 is normal and follows 1, but 2 is normal and follows 2"
    assert found.at == 4 * T
    assert result.trace.steps[found.steps - 1].happening == Fired(2, "settle")


def test_a_run_can_stop_at_a_violation() -> None:
    experiment = Experiment(Subject("bully", QUIET), find)
    plan = (Partition(1 * T, 20 * T, (1,)),)
    result = experiment.rerun(plan, Fixed({}, T), record=True, stop_at="A1")
    assert (result.ended_at, list(result.violations)) == (4 * T, ["A1"])


def test_a_goal_that_is_never_reached_is_a_violation() -> None:
    scenario = replace(QUIET, claims=("A2",))
    experiment = Experiment(Subject("bully", scenario, rules=("probe=2T", "answered=4T")), find)
    result = experiment.rerun((Crash(30 * T, 1),), Fixed({}, T))
    assert result.violations == {}
    impatient = Experiment(Subject("bully", replace(scenario, stable=2 * T)), find)
    late = impatient.rerun((Crash(30 * T, 1),), Fixed({}, T))
    assert list(late.violations) == ["A2"]
    assert late.elected is None


def test_a_machine_that_never_rests_is_judged_when_its_goals_have_held_for_a_while() -> None:
    scenario = replace(QUIET, stay=10 * T)
    result = Experiment(Subject("beat", scenario), find_probe).rerun(
        (Crash(3 * T, 3),), Fixed({}, T)
    )
    assert result.violations == {}
    assert 30 * T < result.ended_at <= 41 * T
