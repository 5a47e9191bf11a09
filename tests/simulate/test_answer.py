"""What an application owes, in the simulator: time waits for it, and it is done at once."""

import pytest

from electorate.core import Decision, Stage
from electorate.protocols.commit.state import Applied, Begin, Vote
from electorate.protocols.registry import REGISTRY
from electorate.simulate import IllegalStep, Simulation, settle, started
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import Ask
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import Requested, Setting, Step


def transaction(words: str = "") -> Simulation:
    """Nodes 1 and 2 vote, node 3 coordinates and has begun."""
    setting = Setting.parse(f"cluster two-phase 1 2 3 {words}")
    cluster, _ = started(setting, setting.machine(*REGISTRY["two-phase"]))
    cluster.ask(3, Begin())
    return cluster


def asked(steps: list[Step] | tuple[Step, ...]) -> list[object]:
    return [step.happening.request for step in steps if isinstance(step.happening, Requested)]


def test_time_does_not_pass_over_what_an_application_owes() -> None:
    cluster = transaction()
    cluster.tick()
    cluster.deliver(3, 1)
    cluster.deliver(3, 2)
    with pytest.raises(IllegalStep, match=r"time cannot pass: 1 owes Vote\(yes\) or Vote\(no\)"):
        cluster.tick()
    cluster.ask(1, Vote(yes=True))
    cluster.ask(2, Vote(yes=False))
    with pytest.raises(IllegalStep, match="time cannot pass: 2 owes Applied"):
        cluster.tick()
    cluster.ask(2, Applied())
    cluster.tick()


def test_time_passes_if_there_are_no_bounds_or_the_node_is_paused() -> None:
    late = transaction("clock=unbounded")
    late.deliver(3, 1)
    late.tick()
    paused = transaction()
    paused.tick()
    paused.deliver(3, 1)
    paused.deliver(3, 2)
    paused.ask(2, Vote(yes=True))
    paused.pause(1)
    paused.tick()


def test_only_what_is_offered_can_be_asked_for() -> None:
    cluster = transaction()
    with pytest.raises(IllegalStep, match=r"1 may be asked for Vote\(no\), .*, not Applied"):
        cluster.ask(1, Applied())


@pytest.mark.parametrize("remembers", [False, True])
def test_a_cluster_that_settles_has_its_applications_do_the_first_thing_that_they_owe(
    remembers: bool,
) -> None:
    cluster = transaction("rule:acknowledge=never" if remembers else "")
    settle(cluster)
    yes = Vote(yes=True)
    assert asked(cluster.steps) == [Begin(), yes, yes, Applied(), Applied()]
    for _, view in cluster.row().live():
        assert isinstance(view, Decision)
        assert (view.state is Stage.COMMITTED) is remembers
        assert view.over is not remembers


def votes_of(seed: int) -> list[object]:
    """What is asked for in a run in which nothing fails, and one transaction begins."""
    faults = Faults(crashes=0, recoveries=0)
    scenario = Scenario(ids=(1, 2, 3), faults=faults, listed=(Ask(0, 3, 0),))
    experiment = Experiment(Subject("two-phase", scenario), REGISTRY.__getitem__)
    return asked(experiment.run(seed, record=True).trace.steps)


def test_a_seed_decides_what_applications_do_that_may_choose() -> None:
    runs = [votes_of(seed) for seed in range(12)]
    assert all(run[0] == Begin() for run in runs)
    votes = {tuple(each for each in run if isinstance(each, Vote)) for run in runs}
    assert votes == {
        (Vote(yes=one), Vote(yes=other)) for one in (True, False) for other in (True, False)
    }
    assert runs == [votes_of(seed) for seed in range(12)]
