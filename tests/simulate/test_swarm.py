"""Swarms: many seeds, counted the same whoever runs them; and failing seeds, shrunk."""

from typing import Any

import pytest
from msgspec.structs import replace

from electorate.core import Machine
from electorate.protocols.registry import REGISTRY
from electorate.simulate import run_script
from electorate.simulate.delay import Pareto
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import Crash, Recover
from electorate.simulate.run import RunResult
from electorate.simulate.scenario import Faults, Scenario
from electorate.simulate.shrink import Shrinker
from electorate.simulate.story import shrunk_story, tell
from electorate.simulate.swarm import Interrupted, Seeded, Swarmed, run_swarm
from electorate.trace import Clock

PRINTED = Subject("bully-as-printed", Scenario(ids=(1, 2, 3, 4, 5)))


def find(name: str) -> tuple[type[Machine[Any]], str]:
    return REGISTRY[name]


@pytest.fixture(scope="module")
def swarmed() -> Swarmed:
    return run_swarm(PRINTED, find, range(400), workers=1)


def test_a_swarm_of_sound_bully_holds() -> None:
    subject = Subject("bully", Scenario(ids=(1, 2, 3, 4)))
    swarmed = run_swarm(subject, find, range(300), workers=1)
    assert (swarmed.seeds, swarmed.broken, swarmed.first) == (300, {}, {})
    assert len(swarmed.elected) == 300
    assert swarmed.deliveries > 1000


def test_a_swarm_finds_what_is_wrong_with_the_printed_form(swarmed: Swarmed) -> None:
    assert swarmed.broken["A1"] > 3
    first = swarmed.first["A1"]
    assert "follows" in first.broken["A1"]
    assert first.seed == min(
        seed for seed in range(first.seed + 1) if Experiment(PRINTED, find).run(seed).violations
    )


def test_it_does_not_matter_who_runs_which_seed(swarmed: Swarmed) -> None:
    heard: list[Seeded] = []
    again = run_swarm(PRINTED, find, range(400), workers=2, progress=heard.extend)
    assert again == swarmed
    assert sorted(seeded.seed for seeded in heard) == list(range(400))


def test_quantiles() -> None:
    swarmed = Swarmed(4, {}, {}, 0, (1, 2, 3, 9))
    assert [swarmed.quantile(share) for share in (0.0, 0.5, 0.95, 1.0)] == [1, 3, 9, 9]
    assert Swarmed(0, {}, {}, 0, ()).quantile(0.5) is None


def test_an_interrupted_swarm_tells_what_it_knows() -> None:
    def interrupt(done: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        run_swarm(PRINTED, find, range(300), workers=1, progress=interrupt)
    assert caught.value.swarmed.seeds == 50


def test_what_is_wrong_with_a_subject_is_said_before_any_worker_starts() -> None:
    with pytest.raises(ValueError, match="unknown claim 'A9'"):
        run_swarm(Subject("bully", Scenario(claims=("A9",))), find, range(1000))


# --- shrinking ---


def test_a_failing_seed_is_shrunk_to_one_crash_and_one_recovery(swarmed: Swarmed) -> None:
    seed = swarmed.first["A1"].seed
    shrinker = Shrinker(PRINTED, find, seed, "A1")
    result = shrinker.shrink()
    assert shrinker.faults_before == 8
    assert [type(fault) for fault in shrinker.case.plan] == [Crash, Recover]
    assert len(shrinker.case.setting.ids) == 3
    assert shrinker.case.setting.timing.T <= 8, "the clock is as coarse as it goes"
    assert shrinker.case.setting.clock is Clock.BOUNDED
    assert "A1" in result.violations


def test_a_shrunk_run_is_a_script_that_breaks_the_same_claim(swarmed: Swarmed) -> None:
    story = shrunk_story(PRINTED, find, swarmed.first["A1"].seed, "A1")
    assert story.script.startswith("# bully-as-printed breaks A1: ")
    assert story.script.endswith(f"A1 violated: {story.witness}\n")
    assert run_script(story.script, find).text == story.script


def test_a_goal_that_is_missed_is_shrunk_too() -> None:
    scenario = Scenario(ids=(1, 2, 3), faults=Faults(partitions=4), safety=50_000)
    subject = Subject("bully-as-printed", scenario)
    first = run_swarm(subject, find, range(40), workers=1).first["A2"]
    story = shrunk_story(subject, find, first.seed, "A2")
    assert len(story.script.splitlines()) < 150
    assert run_script(story.script, find).text == story.script


@pytest.mark.parametrize(
    "change",
    [
        {"delay": Pareto(100, 1.1)},
        {"loss": 0.05, "duplication": 0.05},
        {"faults": Faults(crashes=2, recoveries=2, pauses=3, cuts=3, lies=3)},
    ],
    ids=["late", "lossy", "everything"],
)
def test_runs_outside_the_assumptions_are_shrunk_too(change: dict[str, Any]) -> None:
    subject = Subject("bully", replace(Scenario(ids=(1, 2, 3, 4)), **change))
    first = run_swarm(subject, find, range(150), workers=1).first["A1"]
    story = shrunk_story(subject, find, first.seed, "A1")
    assert len(story.trace.steps) < 60
    assert run_script(story.script, find).text == story.script


def test_only_a_failing_seed_can_be_shrunk() -> None:
    with pytest.raises(ValueError, match="seed 1 does not break A1"):
        Shrinker(Subject("bully"), find, 1, "A1")


def test_a_run_that_does_not_replay_is_not_passed_off_as_one(swarmed: Swarmed) -> None:
    result = Shrinker(PRINTED, find, swarmed.first["A1"].seed, "A1").shrink()
    violation = result.violations["A1"]
    wrong = RunResult({"A1": violation._replace(steps=violation.steps - 1)}, *result[1:])
    with pytest.raises(RuntimeError, match="did not come out the same"):
        tell(wrong, find, "A1", "")
