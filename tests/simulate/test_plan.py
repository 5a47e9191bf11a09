"""Plans are drawn from a seed, each kind of fault from its own stream."""

from msgspec.structs import replace

from electorate.simulate.fault import (
    Ask,
    Crash,
    CutLink,
    Lie,
    Partition,
    Pause,
    Recover,
    ResetConnection,
    Tear,
)
from electorate.simulate.plan import draw_plan
from electorate.simulate.scenario import Faults, Scenario

EVERYTHING = Faults(
    crashes=5, recoveries=3, pauses=2, cuts=4, resets=3, partitions=2, lies=3, asks=2, torn=0.5
)
SCENARIO = Scenario(ids=(1, 2, 3, 4), faults=EVERYTHING)


def test_the_same_seed_gives_the_same_plan_and_another_seed_another() -> None:
    assert draw_plan(SCENARIO, 7) == draw_plan(SCENARIO, 7)
    assert draw_plan(SCENARIO, 7) != draw_plan(SCENARIO, 8)


def test_a_plan_has_as_many_faults_as_it_should() -> None:
    for seed in range(20):
        plan = draw_plan(SCENARIO, seed)
        count = {kind: sum(isinstance(fault, kind) for fault in plan) for kind in (Crash, Tear)}
        assert sum(count.values()) == 5
        assert sum(isinstance(fault, Recover) for fault in plan) == 3
        assert sum(isinstance(fault, Pause) for fault in plan) == 2
        assert 4 <= sum(isinstance(fault, CutLink) for fault in plan) <= 8
        assert sum(isinstance(fault, ResetConnection) for fault in plan) == 3
        assert sum(isinstance(fault, Partition) for fault in plan) == 2
        assert sum(isinstance(fault, Lie) for fault in plan) == 3
        assert sum(isinstance(fault, Ask) for fault in plan) == 2


def test_faults_come_in_order_within_the_safety_phase() -> None:
    for seed in range(20):
        times = [fault.at for fault in draw_plan(SCENARIO, seed) if not isinstance(fault, Recover)]
        assert times == sorted(times)
        assert times[0] >= 0
        assert times[-1] <= SCENARIO.safety


def test_no_kind_of_crash_is_torn_or_all_are() -> None:
    for share, kind in ((0.0, Crash), (1.0, Tear)):
        scenario = replace(SCENARIO, faults=Faults(crashes=6, torn=share))
        assert all(isinstance(fault, kind) for fault in draw_plan(scenario, 1))


def test_listed_faults_are_in_every_plan() -> None:
    listed = (Crash(5, 1), Recover(9, 1))
    scenario = replace(SCENARIO, listed=listed)
    for seed in range(5):
        assert set(listed) <= set(draw_plan(scenario, seed))


def test_other_kinds_of_faults_do_not_change_what_a_crash_is() -> None:
    """The bursts move with the number of faults, but who crashes, and how, stays."""
    alone = replace(SCENARIO, faults=Faults(crashes=5, recoveries=3))
    for seed in range(10):
        both = [f for f in draw_plan(SCENARIO, seed) if isinstance(f, Crash | Tear)]
        one = [f for f in draw_plan(alone, seed) if isinstance(f, Crash | Tear)]
        assert sorted(fault.node for fault in both) == sorted(fault.node for fault in one)
