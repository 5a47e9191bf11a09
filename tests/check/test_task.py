"""The state of the task through elections: it is handed over, and nobody's ever goes back.

Claims see standings and nothing else of a node, so these machines show what they know of the task
as further numbers of their group.
"""

from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.check import Result as Outcome
from electorate.claims import Claim, Kind, Row, Witness
from electorate.core import Machine, Standing
from electorate.protocols.bully_rpc import BullyRpc, BullyRpcState
from electorate.protocols.bully_textbook import BullyTextbook, BullyTextbookState
from electorate.protocols.invitation import Invitation, InvitationState, Tasks
from electorate.trace import Setting, Start

ONE_BACK = {"crashes": 1, "recoveries": 1}
WRAPS = ("wraps=4",)
"""Numbers that grow would hide a loop in which nothing else does."""
GROUP = 2
"""How many numbers of a group are its own."""


class Calls(BullyRpc):
    def view(self, s: BullyRpcState) -> Standing:
        return replace(super().view(s), group=(0, 0, s.task))


class Textbook(BullyTextbook):
    def view(self, s: BullyTextbookState) -> Standing:
        return replace(super().view(s), group=(0, 0, s.task))


class Merging(Invitation):
    def view(self, s: InvitationState) -> Standing:
        shown = super().view(s)
        bits = sum(1 << task for task in s.tasks)
        return replace(shown, group=(*(shown.group or (0, 0)), bits))


def task(view: Standing) -> int:
    assert view.group is not None
    return view.group[GROUP]


def nobody_goes_back(before: Row, row: Row) -> Witness | None:
    """In one life a node never takes an older state of the task for a newer one."""
    old = dict(before.live())
    for node, view in row.live():
        if node in old and task(view) < task(old[node]):
            return Witness((node,), f"{node} goes back from {task(old[node])} to {task(view)}")
    return None


def nothing_is_dropped(before: Row, row: Row) -> Witness | None:
    """The same for tasks that are sets."""
    old = dict(before.live())
    for node, view in row.live():
        if node in old and task(old[node]) & ~task(view):
            return Witness((node,), f"{node} drops a task")
    return None


def groups_agree(row: Row) -> Witness | None:
    """The notes: the state is consistent within a group."""
    tasks: dict[tuple[int, ...], set[int]] = {}
    for _, view in row.normal():
        assert view.group is not None
        tasks.setdefault(view.group[:GROUP], set()).add(task(view))
    differ = [group for group, found in tasks.items() if len(found) > 1]
    return Witness((), f"group {differ[0]} does not agree") if differ else None


def linked_nodes_know_the_same(row: Row) -> Witness | None:
    for (i, at_i), (j, at_j) in combinations(row.live(), 2):
        if row.linked(i, j) and task(at_i) != task(at_j):
            return Witness((i, j), f"{i} and {j} know different tasks")
    return None


BACK = Claim("back", Kind.STEP, "nobody goes back", nobody_goes_back)
DROPPED = Claim("dropped", Kind.STEP, "nothing is dropped", nothing_is_dropped)
AGREE = Claim("agree", Kind.ALWAYS, "groups agree", groups_agree)
JOINED = Claim("joined", Kind.GOAL, "all know the same", linked_nodes_know_the_same)


def judged(
    kind: type[Machine[Any]],
    claims: list[Claim],
    rules: tuple[str, ...],
    nodes: int = 3,
    **given: Any,
) -> Verdict:
    start = given.pop("start", Start.NORMAL)
    delay_min = given.pop("delay_min", 0)
    setting = Setting(
        "task",
        tuple(range(1, nodes + 1)),
        rules,
        strongest=kind.strongest,
        start=start,
        delay_min=delay_min,
    )
    model = Model(setting, Budget(**given), Bounds())
    return check(setting.machine(kind, "sound"), model, claims, engine="numba")


@pytest.mark.parametrize("kind", [Calls, Textbook])
@pytest.mark.parametrize("rules", [(), ("start=elect",)])
def test_who_is_halted_hands_its_work_over(
    kind: type[Machine[Any]], rules: tuple[str, ...]
) -> None:
    verdict = judged(kind, [BACK], rules, asks=1, **ONE_BACK)
    assert verdict.result is Outcome.HOLDS
    assert not verdict.cuts


@pytest.mark.parametrize(
    ("kind", "rules", "moves"),
    [
        (Calls, ("resumes=own",), 30),
        (Calls, ("resumes=own", "start=elect"), 26),
        (Textbook, ("resumes=own",), 25),
        (Textbook, ("resumes=own", "start=elect"), 22),
    ],
)
def test_fetching_it_before_is_not_enough(
    kind: type[Machine[Any]], rules: tuple[str, ...], moves: int
) -> None:
    verdict = judged(kind, [BACK], rules, asks=1, **ONE_BACK)
    assert verdict.result is Outcome.VIOLATED
    assert [violation.length for violation in verdict.violations] == [moves]


GIVEN: list[dict[str, Any]] = [
    {"nodes": 2, "asks": 2, **ONE_BACK},
    {"nodes": 2, "asks": 2, "losses": 1},
    {"nodes": 2, "asks": 2, "cuts": 1},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_groups_that_merge_join_their_tasks(given: dict[str, Any]) -> None:
    verdict = judged(Merging, [DROPPED, AGREE, JOINED], WRAPS, delay_min=1, **given)
    assert verdict.claims == dict.fromkeys(("dropped", "agree", "joined"), Outcome.HOLDS)
    assert not verdict.cuts


class Loose(Merging):
    """Its leader hands out what it knows itself."""

    def reconciled(self, one: Tasks, other: Tasks) -> Tasks:
        return one


def test_without_reconciling_tasks_are_dropped() -> None:
    verdict = judged(Loose, [DROPPED], WRAPS, nodes=2, delay_min=1, asks=1, **ONE_BACK)
    assert verdict.result is Outcome.VIOLATED
