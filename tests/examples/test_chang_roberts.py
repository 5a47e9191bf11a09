"""The ring in the examples: who wins, and what it costs."""

import pytest

from electorate.check import Budget, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Members, NodeId, Received, Send, Strongest, Timing, Turns
from electorate.costs import Measure, MeasuredProtocol, cases_of
from electorate.simulate import started
from electorate.trace import Order, Setting, Start
from examples.chang_roberts import ChangRoberts, Elected, Election


def verdict(size: int, order: Order = Order.FIFO, budget: Budget | None = None) -> list[str]:
    """The promises that some run breaks."""
    ids = tuple(range(1, size + 1))
    setting = Setting("ring", ids, strongest="highest", order=order, start=Start.BOOT)
    claims = [CLAIMS[name] for name in ChangRoberts.promises]
    found = check(
        setting.machine(ChangRoberts, "sound"), Model(setting, budget or Budget()), claims
    )
    assert not found.cuts
    return [name for name, result in found.claims.items() if result is not Result.HOLDS]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_all_promises_hold_within_the_assumptions(size: int) -> None:
    assert verdict(size) == []


def test_of_agreement_one_node_alone_says_nothing() -> None:
    assert verdict(1) == ["A1"]


def test_each_assumption_is_needed() -> None:
    assert verdict(3, budget=Budget(crashes=1)) == ["A2", "S1"]
    assert verdict(3, budget=Budget(losses=1)) == ["A2"]
    assert verdict(4, Order.BAG) == ["A2"]


def test_three_nodes_are_too_few_to_see_what_the_order_is_for() -> None:
    assert verdict(3, Order.BAG) == []


def test_it_costs_what_it_declares() -> None:
    rows = list(
        Measure(MeasuredProtocol("ring", ChangRoberts)).rows(cases_of(ChangRoberts), (3, 5, 8))
    )
    assert [row.case.name for row in rows[::3]] == [
        "all vote at boot, ranks rise along the ring",
        "all vote at boot, ranks fall",
    ]
    assert all(row.equal for row in rows)


@pytest.mark.parametrize(("strongest", "leader"), [("highest", 3), ("lowest", 1)])
def test_the_strongest_wins(strongest: Strongest, leader: NodeId) -> None:
    setting = Setting("ring", (1, 2, 3), strongest=strongest)
    cluster, _ = started(setting, setting.machine(ChangRoberts, "sound"))
    assert {view.leader for _, view in cluster.row().live()} == {leader}


def test_a_participant_swallows_the_vote_for_a_weaker_node() -> None:
    turns = Turns(ChangRoberts(Members.of([1, 2, 3], "highest"), Timing()))
    booted = turns.boot(2, None).state
    assert turns.step(booted, Received(1, Election(1))).effects == ()
    assert turns.step(booted, Received(1, Election(3))).effects == (Send(3, Election(3)),)


def test_a_late_vote_starts_an_election_with_the_same_outcome() -> None:
    turns = Turns(ChangRoberts(Members.of([1, 2, 3], "highest"), Timing()))
    decided = turns.step(turns.boot(2, None).state, Received(1, Elected(3))).state
    assert turns.view(decided).leader == 3
    again = turns.step(decided, Received(1, Election(1)))
    assert again.effects == (Send(3, Election(2)),)
    assert turns.view(again.state).leader is None


def test_a_vote_for_a_stranger_is_dropped() -> None:
    turns = Turns(ChangRoberts(Members.of([1, 2, 3], "highest"), Timing()))
    booted = turns.boot(2, None).state
    assert turns.step(booted, Received(1, Election(9))).effects == ()
    assert turns.step(booted, Received(1, Elected(9))).state == booted
