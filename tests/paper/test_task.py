"""The state of the coordinated task: who has it, who gets it, and when work on it rests.

P. F. Souto, "Elections", 2021, slide "The Actual Bully Algorithm (3/3)", reorganization; the
Carnegie Mellon lecture notes "Coordinator Election" ("the notes" below). What can happen to it in
any run at all is searched in tests/check/test_task.py.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.core import Asked, Request, Status, Turn
from electorate.protocols import bully_rpc, bully_textbook
from electorate.protocols.invitation import Begin, Invitation, InvitationState, Tasks
from electorate.simulate import Simulation, settle
from electorate.simulate.settle import run_until
from electorate.trace import Setting, Start
from tests.test_laws import walks

WORK: dict[str, Request] = {
    "bully-rpc": bully_rpc.Work(),
    "bully-textbook": bully_textbook.Work(),
    "invitation": Begin(1),
}

SIDES = [((1,), (2, 3)), ((1, 2), (3, 4)), ((2, 4), (1, 3, 5)), ((1, 2), (3,), (4, 5))]


@pytest.mark.parametrize("name", WORK)
def test_nobody_works_unless_its_standing_says_that_work_goes_on(name: str) -> None:
    """The notes: once the merging of groups begins, processing should be halted."""

    @given(st.data())
    def law(data: st.DataObject) -> None:
        walk = data.draw(walks(name))
        for state, _, _ in walk.steps():
            view = walk.turns.view(state)
            if view.status is not Status.NORMAL:
                assert walk.turns.may_ask(view) == ()
                assert walk.turns.step(state, Asked(WORK[name])) == Turn(state, ())

    law()


def groups(sides: tuple[tuple[int, ...], ...], newcomer: int = 0) -> Simulation:
    """A cluster that booted in parts which cannot reach each other; a newcomer is not there yet."""
    ids = tuple(sorted(node for side in sides for node in side))
    setting = Setting("invitation", ids, start=Start.DOWN)
    cluster = Simulation(setting, setting.machine(Invitation, "sound"))
    for a in ids:
        for b in ids:
            if a != b and not any({a, b} <= set(side) for side in sides):
                cluster.cut(a, b)
    for node in ids:
        if node != newcomer:
            cluster.recover(node)
    run_until(cluster, 20)
    return cluster


def heal(cluster: Simulation) -> None:
    for (a, b), channel in cluster.channels.items():
        if channel.cut:
            cluster.heal(a, b)
    run_until(cluster, cluster.now + 40)


def tasks(cluster: Simulation) -> dict[int, Tasks]:
    states: dict[int, Any] = {n.id: n.local.state for n in cluster.nodes.values() if n.local}
    assert all(isinstance(state, InvitationState) for state in states.values())
    return {node: state.tasks for node, state in states.items()}


@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_groups_that_merge_end_with_the_tasks_of_all(sides: tuple[tuple[int, ...], ...]) -> None:
    """The notes: the merge process would throw out the duplicate work and assemble the results."""
    cluster = groups(sides)
    common = 1
    for number, side in enumerate(sides, start=2):
        leader = min(side)
        for task in (common, number):
            cluster.ask(leader, Begin(task))
            run_until(cluster, cluster.now + 6)
        assert {node: tasks(cluster)[node] for node in side} == dict.fromkeys(
            side, frozenset({common, number})
        )
    heal(cluster)
    everything = frozenset(range(1, len(sides) + 2))
    assert tasks(cluster) == dict.fromkeys(cluster.nodes, everything)


def test_a_node_that_was_never_there_and_one_that_was_away_get_the_tasks() -> None:
    """The notes: a node that is newly installed or returns to service forms a group of its own."""
    cluster = groups(((1, 2, 3, 4),), newcomer=4)
    cluster.ask(1, Begin(2))
    settle(cluster)
    cluster.crash(3)
    cluster.ask(1, Begin(1))
    run_until(cluster, cluster.now + 6)
    for node in (3, 4):
        cluster.recover(node)
        assert tasks(cluster)[node] == frozenset()
    run_until(cluster, cluster.now + 30)
    assert tasks(cluster) == dict.fromkeys((1, 2, 3, 4), frozenset({1, 2}))


def test_a_group_whose_leader_dies_keeps_its_tasks() -> None:
    cluster = groups(((1, 2, 3),))
    cluster.ask(1, Begin(3))
    settle(cluster)
    cluster.crash(1)
    run_until(cluster, cluster.now + 40)
    assert {view.leader for _, view in cluster.row().live()} == {2}
    assert tasks(cluster) == dict.fromkeys((2, 3), frozenset({3}))
