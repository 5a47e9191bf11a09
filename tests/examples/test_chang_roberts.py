"""The ring in the examples: who wins, and what it costs."""

from collections import deque

import pytest

from electorate.check import Budget, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Members, NodeId, Received, Send, State, Strongest, Timing, Turns
from electorate.trace import Order, Setting, Start
from examples.chang_roberts import ChangRoberts, Elected, Election


def elect(size: int, strongest: Strongest) -> tuple[set[NodeId | None], int]:
    """The leaders that the nodes end with, and the number of messages sent."""
    machine = ChangRoberts(Members.of(range(1, size + 1), strongest), Timing())
    turns = Turns(machine)
    states: dict[NodeId, State] = {}
    waiting: deque[tuple[NodeId, Send]] = deque()
    for node in machine.members.ids:
        states[node], effects = turns.boot(node, None).state, turns.boot(node, None).effects
        waiting += [(node, effect) for effect in effects if isinstance(effect, Send)]
    sent = 0
    while waiting:
        sender, send = waiting.popleft()
        sent += 1
        turn = turns.step(states[send.to], Received(sender, send.message))
        states[send.to] = turn.state
        waiting += [(send.to, effect) for effect in turn.effects if isinstance(effect, Send)]
    return {turns.view(state).leader for state in states.values()}, sent


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


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_promises_hold_within_the_assumptions(size: int) -> None:
    assert verdict(size) == []


def test_each_assumption_is_needed() -> None:
    assert verdict(3, budget=Budget(crashes=1)) == ["A2", "S1"]
    assert verdict(3, budget=Budget(losses=1)) == ["A2"]
    assert verdict(4, Order.BAG) == ["A2"]


def test_three_nodes_are_too_few_to_see_what_the_order_is_for() -> None:
    assert verdict(3, Order.BAG) == []


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_ring_in_rising_order_costs_3n_minus_1_messages(size: int) -> None:
    assert elect(size, "highest") == ({size}, 3 * size - 1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_a_ring_in_falling_order_costs_a_triangle_and_a_round(size: int) -> None:
    assert elect(size, "lowest") == ({1}, size * (size + 1) // 2 + size)


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
