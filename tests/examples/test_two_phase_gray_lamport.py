"""Two-phase commit in the examples: the states of the paper, and its claim."""

from collections.abc import Iterator

import pytest

from electorate.check import Budget, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import (
    CancelTimer,
    Event,
    Members,
    NodeId,
    Received,
    Send,
    SetTimer,
    Standing,
    State,
    Status,
    TimedOut,
    Timing,
    Turn,
    Turns,
)
from electorate.trace import Clock, Order, Setting, Start
from examples.two_phase_gray_lamport import Abort, Act, Commit, Phase, Prepared, TwoPhase
from examples.two_phase_gray_lamport import TwoPhaseState as Local

STATES = [(2, 56), (3, 288), (5, 8832)]

Node = tuple[State, frozenset[str]]
"""A node's state, and its armed timers."""
Net = frozenset[tuple[NodeId, Send]]
"""Everything that was ever sent."""
World = tuple[tuple[Node, ...], Net]


def count(resource_managers: int) -> int:
    """The states over a network that keeps every message: a search apart from the checker."""
    ids = range(1, resource_managers + 2)
    turns = Turns(TwoPhase(Members.of(ids), Timing()))
    nodes: list[Node] = []
    net: Net = frozenset()
    for node in ids:
        after, net = carried_out(frozenset(), turns.boot(node, None), net)
        nodes.append(after)
    seen: set[World] = {(tuple(nodes), net)}
    waiting = list(seen)
    while waiting:
        for world in moves(turns, *waiting.pop()):
            if world not in seen:
                seen.add(world)
                waiting.append(world)
    return len(seen)


def moves(turns: Turns, nodes: tuple[Node, ...], net: Net) -> Iterator[World]:
    events: list[tuple[int, Event]] = [
        (place, TimedOut(timer)) for place, (_, armed) in enumerate(nodes) for timer in armed
    ]
    events += [(send.to - 1, Received(sender, send.message)) for sender, send in net]
    for place, event in events:
        state, armed = nodes[place]
        if isinstance(event, TimedOut):
            armed = armed - {event.timer}
        after, sent = carried_out(armed, turns.step(state, event), net)
        yield (*nodes[:place], after, *nodes[place + 1 :]), sent


def carried_out(armed: frozenset[str], turn: Turn, net: Net) -> tuple[Node, Net]:
    for effect in turn.effects:
        match effect:
            case Send():
                net |= {(turn.state.me, effect)}
            case SetTimer(timer):
                armed |= {timer}
            case CancelTimer(timer):
                armed -= {timer}
    return (turn.state, armed), net


def verdict(kind: type[TwoPhase], budget: Budget, order: Order) -> Result:
    setting = Setting("2pc", (1, 2, 3), order=order, clock=Clock.UNBOUNDED, start=Start.BOOT)
    machine = setting.machine(kind, "sound")
    return check(machine, Model(setting, budget), [CLAIMS["A1"]]).result


@pytest.mark.parametrize(("resource_managers", "states"), STATES)
def test_it_has_the_states_of_the_paper(resource_managers: int, states: int) -> None:
    assert count(resource_managers) == states


@pytest.mark.parametrize(("resource_managers", "states"), STATES)
@pytest.mark.parametrize("engine", ["python", "numba"])
def test_the_checker_meets_just_these(resource_managers: int, states: int, engine: str) -> None:
    ids = tuple(range(1, resource_managers + 2))
    setting = Setting("2pc", ids, order=Order.SET, clock=Clock.UNBOUNDED, start=Start.BOOT)
    machine = setting.machine(TwoPhase, "sound")
    found = check(machine, Model(setting), [CLAIMS["A1"]], engine=engine)
    assert (found.result, found.states, found.cuts) == (Result.HOLDS, states, {})


@pytest.mark.parametrize("order", [Order.FIFO, Order.BAG])
@pytest.mark.parametrize(
    "budget", [Budget(), Budget(crashes=2, recoveries=2), Budget(losses=1, doubles=1)], ids=str
)
def test_nobody_commits_where_another_aborts(budget: Budget, order: Order) -> None:
    assert verdict(TwoPhase, budget, order) is Result.HOLDS


class Hasty(TwoPhase):
    """A transaction manager that does not wait for the last one to prepare."""

    def _enabled(self, s: Local) -> frozenset[Act]:
        enabled = super()._enabled(s)
        return enabled | {Act.COMMIT} if s.stable.prepared and enabled else enabled


def test_a_hasty_transaction_manager_is_caught() -> None:
    assert verdict(Hasty, Budget(), Order.FIFO) is Result.VIOLATED


def test_a_transaction_follows_its_manager_or_nobody() -> None:
    turns = Turns(TwoPhase(Members.of([1, 2, 3]), Timing()))
    working = turns.boot(2, None).state
    prepared = turns.step(working, TimedOut(Act.PREPARE))
    assert prepared.effects[0] == Send(1, Prepared())
    assert turns.view(prepared.state) == Standing(Status.ELECTION)
    committed = turns.step(prepared.state, Received(1, Commit())).state
    assert turns.view(committed) == Standing(Status.NORMAL, 1)
    aborted = turns.step(working, TimedOut(Act.ABORT)).state
    assert turns.view(aborted) == Standing(Status.NORMAL, None)


def test_a_message_that_changes_nothing_leaves_everything_as_it_is() -> None:
    turns = Turns(TwoPhase(Members.of([1, 2, 3]), Timing()))
    manager = turns.boot(1, None).state
    knows = turns.step(manager, Received(2, Prepared())).state
    assert turns.step(knows, Received(2, Prepared())) == Turn(knows, ())
    prepared = turns.step(turns.boot(2, None).state, TimedOut(Act.PREPARE)).state
    aborted = turns.step(prepared, Received(1, Abort())).state
    assert turns.step(aborted, Received(1, Abort())) == Turn(aborted, ())
    assert turns.step(prepared, Received(3, Commit())) == Turn(prepared, ())


def test_a_node_that_comes_back_says_again_what_it_said() -> None:
    turns = Turns(TwoPhase(Members.of([1, 2, 3]), Timing()))
    prepared = turns.step(turns.boot(2, None).state, TimedOut(Act.PREPARE)).state
    again = turns.boot(2, prepared.stable)
    assert again == Turn(prepared, (Send(1, Prepared()),))
    assert isinstance(again.state, Local)
    assert again.state.stable.phase is Phase.PREPARED
