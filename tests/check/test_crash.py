"""Crashes and recoveries: between turns, in the middle of turns, and what survives them."""

from itertools import product

import pytest

from electorate.core import ProtocolError
from electorate.trace import Clock, Connections, Storage
from tests.check.diary import Saved
from tests.check.probe import Probe

A, B, C = "heard a", "heard b", "heard c"
BROADCAST = {"1 boot": "set x 1", "1 fired x": "save s; send 2 a; send 3 b; send 2 c"}


def heard(probe: Probe, *nodes: int) -> set[tuple[tuple[str, ...] | None, ...]]:
    """What the nodes have heard together, wherever nothing more happens."""
    return {tuple(probe.diary(row, n) for n in nodes) for row in probe.rows if probe.is_end(row)}


def test_a_crash_keeps_any_prefix_of_a_turn_on_each_channel() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1)
    first = probe.space.locals.cards
    live = {
        (probe.diary(row, 2), probe.diary(row, 3))
        for row in probe.rows
        if probe.is_end(row) and not first[row[0]].up
    }
    assert live == set(product([(), (A,), (A, C)], [(), (B,)]))


def test_the_crash_after_a_whole_turn_is_a_move_of_its_own() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1)
    torn = [taken.move.torn for taken in probe.moves() if taken.move.torn]
    # Of the six combinations of prefixes all but the whole: (3 * 2) - 1.
    assert len(torn) == 5
    assert {t.sent for t in torn} == set(product([(2, 0), (2, 1), (2, 2)], [(3, 0), (3, 1)])) - {
        ((2, 2), (3, 1))
    }


def test_what_is_stable_is_saved_before_the_first_message_leaves() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1, recoveries=1)
    for row in probe.rows:
        if probe.node(row, 1).state is None and (probe.diary(row, 2) or probe.diary(row, 3)):
            assert probe.node(row, 1).stable == Saved(("s",))
    torn = (taken.after for taken in probe.moves() if taken.move.torn)
    assert {probe.node(row, 1).stable for row in torn} == {Saved(("s",))}


def test_a_crash_before_the_turn_saves_nothing() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1, recoveries=1)
    crashes = (t.after for t in probe.moves() if t.move.kind == "crash" and t.move.where == 0)
    assert {probe.node(row, 1).stable for row in crashes} == {Saved(), Saved(("s",))}


def test_with_atomic_sends_all_messages_of_a_turn_leave_or_none() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1, atomic_sends=True)
    ends = heard(probe, 2, 3)
    alive = {end for end in ends if None not in end}
    assert alive == {((), ()), ((A, C), (B,))}
    assert len([taken for taken in probe.moves() if taken.move.torn]) == 1


def test_a_message_whose_turn_is_torn_has_been_taken() -> None:
    orders = {"1 boot": "send 2 a", "2 heard a": "send 3 b; send 3 c"}
    probe = Probe(orders, nodes=3, crashes=1)
    torn = [t for t in probe.moves() if t.move.kind == "deliver" and t.move.torn]
    assert {t.move.torn.sent for t in torn if t.move.torn} >= {((3, 0),), ((3, 1),)}
    assert {t.after[probe.columns.of_channel[0, 1]] for t in torn} == {probe.space.empty}


def test_a_message_torn_out_of_its_turn_is_still_fifo() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=1)
    assert probe.diaries(2) == {(), (A,), (A, C)}


@pytest.mark.parametrize("atomic", [False, True])
def test_a_crash_may_hit_the_first_turn_of_a_new_life(atomic: bool) -> None:
    orders = {"1 again": "save s; send 2 a; send 3 b"}
    probe = Probe(orders, nodes=3, crashes=2, recoveries=2, atomic_sends=atomic)
    torn = [t for t in probe.moves() if t.move.torn and t.move.kind == "recover"]
    counts = {taken.move.torn.sent for taken in torn if taken.move.torn}
    none = ((2, 0), (3, 0))
    halves = set() if atomic else {((2, 1), (3, 0)), ((2, 0), (3, 1))}
    assert counts == {none} | halves
    assert {probe.node(taken.after, 1).stable for taken in torn} == {Saved(("s",))}
    budgets = {probe.space.budgets.cards[taken.after[-1]] for taken in torn}
    assert {(left.crashes, left.recoveries) for left in budgets} == {(0, 1)}


def test_a_recovery_cannot_be_torn_without_a_crash_left() -> None:
    orders = {"1 again": "send 2 a; send 3 b"}
    probe = Probe(orders, nodes=3, crashes=1, recoveries=1)
    assert not [t for t in probe.moves() if t.move.kind == "recover" and t.move.torn]


MEMORY = {
    "1 boot": "set x 1",
    "1 fired x": "send 2 a; send 1 m; send 2 b",
    "1 heard m": "save s; send 2 c",
}


def test_a_crash_may_fall_between_a_turn_and_what_it_told_itself() -> None:
    probe = Probe(MEMORY, crashes=1, recoveries=1)
    ends = {
        (probe.node(row, 1).stable, probe.diary(row, 2))
        for row in probe.rows
        if probe.is_end(row) and probe.node(row, 1).state is None
    }
    unsaved, saved = Saved(), Saved(("s",))
    assert ends == {
        (unsaved, ()),
        (unsaved, (A,)),
        (unsaved, (A, B)),
        (saved, (A, B)),
        (saved, (A, B, C)),
    }


def test_what_a_node_told_itself_is_gone_after_a_crash() -> None:
    probe = Probe(MEMORY, crashes=1, recoveries=1)
    diaries = {diary for diary in probe.diaries(1) if diary and diary[0] == "again"}
    assert diaries == {("again",)}


def test_with_atomic_sends_each_turn_of_a_step_is_atomic_by_itself() -> None:
    probe = Probe(MEMORY, crashes=1, atomic_sends=True)
    assert probe.diaries(2) == {(), (A,), (A, B), (A, B, C)}
    # Nothing of the first turn, all of it, and the save of the second.
    assert len([taken for taken in probe.moves() if taken.move.torn]) == 3


def test_messages_to_oneself_come_before_anything_else_and_take_no_time() -> None:
    orders = {
        "1 boot": "send 1 m; send 1 n; set x 0",
        "2 boot": "send 1 a",
        "1 heard m": "send 1 o",
    }
    probe = Probe(orders)
    starts = {diary[:3] for diary in probe.diaries(1)}
    assert starts == {("heard m", "heard n", "heard o")}


def test_messages_to_oneself_are_neither_lost_nor_doubled_nor_delayed() -> None:
    probe = Probe({"1 boot": "send 1 m"}, T=2, delay_min=2, losses=1, doubles=1)
    assert probe.ends(1) == {("heard m",)}
    assert len(probe.rows) == 1


def test_a_node_that_never_stops_talking_to_itself_breaks_the_contract() -> None:
    with pytest.raises(ProtocolError, match="never stops talking to itself"):
        Probe({"1 boot": "send 1 m", "1 heard m": "quietly; send 1 m"})


def test_timers_and_diary_are_gone_after_a_crash() -> None:
    orders = {"1 boot": "set x 2; save s", "1 again": ""}
    probe = Probe(orders, crashes=1, recoveries=1)
    lives = {diary for diary in probe.diaries(1) if "again" in diary}
    assert lives == {("again",)}


@pytest.mark.parametrize(
    ("crashes", "recoveries"), [(0, 0), (1, 0), (0, 2), (2, 1), (2, 2), (1, 3)]
)
@pytest.mark.parametrize("clock", list(Clock))
def test_nodes_crash_and_recover_as_often_as_the_budget_allows(
    crashes: int, recoveries: int, clock: Clock
) -> None:
    probe = Probe({"any again": "quietly"}, crashes=crashes, recoveries=recoveries, clock=clock)
    assert probe.most(lambda t: t.move.kind == "crash") == crashes
    assert probe.most(lambda t: t.move.kind == "recover") == min(crashes, recoveries)


def test_a_torn_turn_costs_one_crash_like_any_other() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=2)
    down = [sum(probe.node(row, n).state is None for n in (1, 2, 3)) for row in probe.rows]
    assert max(down) == 2
    assert probe.most(lambda t: t.move.kind == "crash" or t.move.torn is not None) == 2


def test_a_crash_may_fall_into_the_turn_of_a_doubled_message() -> None:
    orders = {"1 boot": "send 2 a", "2 heard a": "send 3 b; send 3 c"}
    for connections in Connections:
        budget = {"crashes": 1, "recoveries": 1, "doubles": 1}
        probe = Probe(orders, nodes=3, connections=connections, **budget)
        torn = [t for t in probe.moves() if t.move.kind == "double" and t.move.torn]
        assert {t.move.torn.sent for t in torn if t.move.torn} == {((3, 0),), ((3, 1),)}
        left = {
            probe.space.channels.cards[t.after[probe.columns.of_channel[0, 1]]].value for t in torn
        }
        assert bool(left - {()}) is (connections is Connections.OUTLIVE)


def test_only_those_crash_that_may() -> None:
    probe = Probe(BROADCAST, nodes=3, crashes=2, mortal=(1, 3))
    fallen = {n for row in probe.rows for n in (1, 2, 3) if probe.node(row, n).state is None}
    assert fallen == {1, 3}
    assert any(t.move.torn for t in probe.moves())
    spared = Probe(BROADCAST, nodes=3, crashes=2, mortal=(2,))
    assert not any(t.move.torn for t in spared.moves())


def test_where_storage_is_lost_a_node_boots_as_if_for_the_first_time() -> None:
    orders = {"1 boot": "send 2 m", "1 again": "send 2 n"}
    for storage in Storage:
        probe = Probe(orders, crashes=1, recoveries=1, mortal=(1,), storage=storage)
        recovered = [taken for taken in probe.moves() if taken.move.kind == "recover"]
        diaries = {probe.diary(taken.after, 1) for taken in recovered}
        assert diaries == ({("again",)} if storage is Storage.KEPT else {()})
        probe.expect_retold(recovered[0].after)
