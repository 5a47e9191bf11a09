"""Shared work in the examples: nothing is lost, little is done twice, nobody works out of turn."""

from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.check import Budget, Model, Result, check
from electorate.claims import Claim, Kind, Row, Witness
from electorate.core import Members, Received, Standing, Status, Timing, Turns
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import Crashed, Fired, Recovered, Setting, Start, Trace
from examples.shared_work.protocol import (
    Local,
    Order,
    Part,
    Parts,
    Report,
    SharedWork,
    SharedWorkState,
    Wait,
)
from examples.shared_work.run import IDS, SIDES, real, simulated
from examples.shared_work.story import story_of

ITEMS = frozenset(range(1, 37))
PRIMES = 503
"""How many primes there are up to 3,600."""
SEEDS = range(1, 9)


def final(trace: Trace) -> dict[int, Parts]:
    """What each node knows in the end."""
    last: dict[int, Any] = {turn.node: turn.after for step in trace.steps for turn in step.turns}
    return {node: state.stable.parts for node, state in sorted(last.items())}


def done(trace: Trace) -> list[tuple[int, Local]]:
    """When an item was done, and in what state the node was that did it."""
    found: list[tuple[int, Any]] = []
    for step in trace.steps:
        if isinstance(step.happening, Fired) and step.happening.timer == Wait.EFFORT:
            found.append((step.at, step.turns[0].before))
    return found


def expect_everything(trace: Trace) -> None:
    known = final(trace)
    assert set(known) == set(IDS)
    assert len(set(known.values())) == 1
    parts = known[1]
    assert {part.item for part in parts} == ITEMS
    assert len(parts) == len(ITEMS)
    assert sum(part.result for part in parts) == PRIMES


def drawn(seed: int, faults: Faults) -> Trace:
    """A run with faults that the seed draws."""
    scenario = Scenario(ids=IDS, start=Start.BOOT, faults=faults, claims=("A2",))
    experiment = Experiment(Subject("shared-work", scenario), lambda _: (SharedWork, "sound"))
    return experiment.run(seed, record=True).trace


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_partition_all_know_everything_and_only_the_two_sides_do_work_twice(
    seed: int,
) -> None:
    trace = simulated(seed)
    expect_everything(trace)
    by: dict[int, list[int]] = defaultdict(list)
    for _, state in done(trace):
        assert state.item is not None
        by[state.item].append(state.me)
    twice = {item: nodes for item, nodes in by.items() if len(nodes) > 1}
    for nodes in twice.values():
        assert all(len(side.intersection(nodes)) == 1 for side in SIDES)
        assert len(nodes) == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_works_while_groups_merge_and_no_group_does_an_item_twice(seed: int) -> None:
    trace = simulated(seed)
    machine = SharedWork(Members.of(IDS), trace.setting.timing)
    in_group: Counter[tuple[object, int | None]] = Counter()
    for _, state in done(trace):
        assert machine.lift.view(state).status is Status.NORMAL
        assert machine.view(state).status is Status.NORMAL
        in_group[state.group, state.item] += 1
    assert set(in_group.values()) == {1}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_done_is_not_forgotten_whoever_crashes(seed: int) -> None:
    trace = drawn(seed, Faults(crashes=3, recoveries=3, partitions=1, pauses=1))
    known: dict[int, set[int]] = defaultdict(set)
    down: set[int] = set()
    for step in trace.steps:
        match step.happening:
            case Crashed(node):
                down.add(node)
            case Recovered(node):
                down.discard(node)
        for turn in step.turns:
            after: Any = turn.after
            items = {part.item for part in after.stable.parts}
            assert known[turn.node] <= items
            known[turn.node] = items
            if turn.sent is not None:
                down.add(turn.node)
    assert any(isinstance(step.happening, Recovered) for step in trace.steps)
    assert all(known[node] == ITEMS for node in IDS if node not in down)


def test_over_tcp_it_comes_out_the_same() -> None:
    trace = real()
    expect_everything(trace)
    *_, conclusion = story_of(trace)
    assert conclusion.startswith("36 items were done in ")


# --- every run of a small job ---


class Seen(SharedWork):
    """Shows claims what it is doing, and what it knows."""

    def view(self, s: Local) -> Standing:
        shown = super().view(s)
        known = sum(1 << part.item for part in s.stable.parts)
        return replace(shown, group=(*(s.group or (0, 0)), s.item or 0, known))


def nobody_does_the_work_of_another(row: Row) -> Witness | None:
    for (i, at_i), (j, at_j) in combinations(row.live(), 2):
        assert at_i.group is not None
        assert at_j.group is not None
        if at_i.group[2] and at_i.group[:3] == at_j.group[:3]:
            return Witness((i, j), f"{i} and {j} both do item {at_i.group[2]}")
    return None


def nothing_is_forgotten(before: Row, row: Row) -> Witness | None:
    old = dict(before.live())
    for node, view in row.live():
        assert view.group is not None
        was = old[node].group if node in old else None
        if was is not None and was[3] & ~view.group[3]:
            return Witness((node,), f"{node} forgets a result")
    return None


def all_is_known(row: Row) -> Witness | None:
    everything = 0b110
    lacking = tuple(
        node for node, view in row.live() if view.group is None or view.group[3] != everything
    )
    return Witness(lacking, "not all know everything") if lacking else None


CLAIMS = [
    Claim("apart", Kind.ALWAYS, "nobody does another's work", nobody_does_the_work_of_another),
    Claim("kept", Kind.STEP, "nothing is forgotten", nothing_is_forgotten),
    Claim("all", Kind.GOAL, "in the end all is known", all_is_known),
]


@pytest.mark.parametrize(
    ("budget", "states"),
    [
        (Budget(), 68),
        (Budget(losses=1), 392),
        (Budget(crashes=1, recoveries=1), 4306),
    ],
    ids=str,
)
def test_two_items_are_done_in_every_run(budget: Budget, states: int) -> None:
    setting = Setting("shared-work", (1, 2), ("items=2",), delay_min=1, start=Start.BOOT)
    machine = setting.machine(Seen, "sound")
    found = check(machine, Model(setting, budget), CLAIMS, engine="numba")
    assert found.claims == dict.fromkeys(("apart", "kept", "all"), Result.HOLDS)
    assert not found.cuts
    assert found.states == states


# --- single turns ---


def alone(turns: Turns, me: int) -> SharedWorkState[Any, Any]:
    state = turns.boot(me, None).state
    assert isinstance(state, SharedWorkState)
    return state


def test_of_two_results_for_one_item_that_of_the_lower_id_stays() -> None:
    turns = Turns(SharedWork(Members.of(IDS), Timing()))
    state = alone(turns, 1)
    assert state.group is not None
    for by in (4, 2, 3):
        report = Report(state.group, frozenset({Part(9, 14, by)}))
        taken = turns.step(state, Received(by, report)).state
        assert isinstance(taken, SharedWorkState)
        state = taken
    assert state.stable.parts == frozenset({Part(9, 14, 2)})


def test_an_order_from_anybody_but_the_leader_or_for_an_item_that_is_none_is_ignored() -> None:
    turns = Turns(SharedWork(Members.of(IDS), Timing()))
    state = alone(turns, 1)
    assert state.group is not None
    for sender, item in ((2, 5), (1, 37), (1, 0)):
        order = Order(state.group, item, frozenset())
        assert turns.step(state, Received(sender, order)).state == state
