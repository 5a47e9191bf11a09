"""What is said about groups, every delay being exactly T.

P. F. Souto, "Elections", 2021, slides "The Invitation Algorithm"; the Carnegie Mellon lecture notes
"Coordinator Election", section "The Invitation Algorithm" ("the notes" below). What it costs to
merge groups: src/electorate/protocols/invitation/machine.toml.
"""

import pytest

from electorate.core import NodeId
from electorate.costs import cases_of
from electorate.costs.play import Play
from electorate.costs.variant import Variant
from electorate.protocols.invitation import Group, Invitation, InvitationState
from electorate.simulate import Simulation, settle
from electorate.simulate.settle import run_until
from electorate.trace import Delivered, Fired, Setting, Start, Step
from tests.check.forgetful import Forgetful


def example(*rules: str) -> Simulation:
    """Slide "The Invitation Algorithm: Example": 3 leads 2, 4 leads 5 and 6; 3 will check next."""
    setting = Setting("invitation", (1, 2, 3, 4, 5, 6), ("check=60T", *rules), start=Start.DOWN)
    cluster = Simulation(setting, setting.machine(Invitation, "printed"))
    [script] = [
        case.script
        for case in cases_of(Invitation)
        if case.name.startswith("the example") and case.fits("printed", 6)
    ]
    Play(cluster, (), Variant({"N": 6}, {})).run(script.rpartition("fire")[0])
    assert led(cluster) == {2: 3, 3: 3, 4: 4, 5: 4, 6: 4}
    return cluster


def led(cluster: Simulation) -> dict[int, int | None]:
    standings = ((node.id, cluster.standing(node)) for node in cluster.nodes.values())
    return {node: view.leader for node, view in standings if view is not None}


def test_three_T_are_enough_to_collect_acceptances_and_less_is_not() -> None:
    """Slide "The Invitation Algorithm (2/2)", step 5: enough(?)."""
    for accepts, together in (("3T", {2, 3, 4, 5, 6}), ("3T-1", {2, 3, 4}), ("2T", {2, 3, 4})):
        cluster = example(f"accepts={accepts}")
        cluster.fire(3, "check")
        settle(cluster)
        assert {node for node, leader in led(cluster).items() if leader == 3} == together


def test_work_rests_from_the_invitation_until_the_group_is_ready() -> None:
    """Slide "The Invitation Algorithm: Concurrency"; the notes: processing should be halted."""
    cluster = example()
    cluster.fire(3, "check")
    settle(cluster)
    changes: dict[NodeId, list[str]] = {}
    for step in cluster.steps:
        for turn in step.turns:
            before, after = cluster.machine.view(turn.before), cluster.machine.view(turn.after)
            if before.status is not after.status:
                changes.setdefault(turn.node, []).append(f"{cause(step)} {after.status}")
    assert changes.pop(3) == ["answers election", "accepts normal"]
    assert set(changes) == {2, 4, 5, 6}
    assert all(change == ["Invite election", "Ready normal"] for change in changes.values())


def cause(step: Step) -> str:
    """The message or the timer that brought a step about."""
    match step.happening:
        case Delivered(_, _, message):
            return type(message).__name__
        case Fired(_, timer):
            return timer
    raise AssertionError(step)


@pytest.mark.parametrize(("kind", "is_reused"), [(Invitation, False), (Forgetful, True)])
def test_the_number_of_a_group_is_never_reused(
    kind: type[Invitation[InvitationState]], is_reused: bool
) -> None:
    """The notes: the group number is unique among all groups and is never reused."""
    setting = Setting("invitation", (1, 2, 3), start=Start.BOOT)
    cluster = Simulation(setting, setting.machine(kind, "sound"))
    cluster.boot()
    for time, node in ((3, 1), (9, 2), (20, 1), (33, 3), (50, 1), (52, 2)):
        run_until(cluster, time)
        cluster.crash(node)
        cluster.recover(node)
    run_until(cluster, 80)
    formed = groups_formed(cluster)
    assert len(formed) > 12
    assert (len(set(formed)) < len(formed)) is is_reused


def groups_formed(cluster: Simulation) -> list[Group]:
    """The number of every group that was formed, by its leader, in the order of time."""
    formed: list[Group] = []
    for step in cluster.steps:
        for turn in step.turns:
            before, after = turn.before, turn.after
            assert isinstance(after, InvitationState)
            known = before.group if isinstance(before, InvitationState) else None
            if after.leads and after.group != known:
                formed.append(after.group)
    return formed
