"""A network that keeps everything: any message may come in any order and any number of times."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.check import Budget, Liveness, Model, check
from electorate.check.column import ModelError, Row
from electorate.claims import CLAIMS
from electorate.core import (
    Effect,
    Event,
    Machine,
    Message,
    NodeId,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    text_of,
)
from electorate.trace import Clock, Order, Setting, Start
from tests.check.claim import everybody_follows
from tests.check.diary import Diary, DiaryState
from tests.check.probe import Probe

A, B = "heard a", "heard b"
AB = {"1 boot": "send 2 a; send 2 b"}
ENTRIES = 3


class Brief(Diary):
    """Keeps its first few entries only, so that a search among endless deliveries has an end."""

    def _obey(self, state: DiaryState, cause: str) -> Result[DiaryState]:
        state, effects = super()._obey(state, cause)
        return replace(state, diary=state.diary[:ENTRIES]), effects


def keeping(
    orders: dict[str, str], nodes: int = 2, *, clock: Clock = Clock.UNBOUNDED, **given: Any
) -> Probe:
    return Probe(orders, nodes, kind=Brief, order=Order.SET, clock=clock, **given)


def kept(probe: Probe, row: Row, node: int) -> set[tuple[int, str]]:
    """Senders and texts of what may be handed to the node."""
    column = next(column for column, to in probe.columns.channels if to == node - 1)
    items = probe.space.channels.cards[row[column]].value
    found = {(item.sender, text_of(item.message)) for item in items}
    assert len(found) == len(items)
    return found


def test_messages_come_in_any_order_and_any_number_of_times() -> None:
    """Fails if a message is used up, comes at most so often, or has to keep its turn."""
    every = {d for n in range(ENTRIES + 1) for d in product((A, B), repeat=n)}
    assert keeping(AB).diaries(2) == every


def test_nothing_that_was_sent_ever_goes_away() -> None:
    """Fails if a delivery, a crash or a return takes a message from the set."""
    orders = {**AB, "2 heard a": "send 1 c", "any again": "quietly; send 2 d"}
    probe = keeping(orders, crashes=1, recoveries=1, pauses=1)
    for taken in probe.moves():
        for node in (1, 2):
            assert kept(probe, taken.before, node) <= kept(probe, taken.after, node)
    assert {"recover", "deliver", "crash"} <= probe.kinds()


def test_to_send_the_same_again_changes_nothing() -> None:
    """Fails if equal messages of one sender are counted, or those of two senders are one."""
    orders = {"1 boot": "send 2 a; send 2 a", "3 boot": "send 2 a", "2 heard a": "quietly"}
    probe = keeping(orders, nodes=3)
    assert kept(probe, probe.rows[0], 2) == {(1, "Word(a)"), (3, "Word(a)")}
    # One state: either copy may be handed over for ever, and leads back to it.
    assert (len(probe.rows), probe.search.transitions) == (1, 2)
    again = {**orders, "1 boot": "send 2 a; set x 1", "1 fired x": "quietly; send 2 a; set x 1"}
    assert len(keeping(again, nodes=3).rows) == 1


def test_one_set_is_one_state_however_it_came_about() -> None:
    """Fails if states are told apart by the order in which messages were sent."""
    orders = {
        "1 boot": "set x 1; set y 1; set z 1",
        **{f"1 fired {t}": f"quietly; send 2 {t}" for t in "xyz"},
        **{f"2 heard {t}": "quietly" for t in "xyz"},
    }
    assert len(keeping(orders).rows) == 2**3


@pytest.mark.parametrize("kind", ["losses", "doubles"])
def test_there_are_no_losses_and_no_copies_to_be_spent(kind: str) -> None:
    """Fails if a fault that says nothing here blows up the search."""
    given: dict[str, Any] = {kind: 2}
    counts = [
        (len(probe.rows), probe.search.transitions, probe.kinds())
        for probe in (keeping(AB), keeping(AB, **given))
    ]
    assert counts[0] == counts[1]


def test_a_set_has_room_for_everything() -> None:
    """Fails if the capacity of a channel cuts the search."""
    orders = {"1 boot": "; ".join(f"send 2 m{n}" for n in range(5))}
    probe = keeping(orders, capacity=1)
    assert len(kept(probe, probe.rows[0], 2)) == 5
    assert probe.check().cuts == {}


def test_a_message_reaches_every_later_life() -> None:
    """Fails if a message to a node that is down, or from a life that has ended, goes away."""
    orders = {**AB, "2 boot": "send 1 c", "any again": ""}
    probe = keeping(orders, crashes=1, recoveries=1)
    lives = {diary for diary in probe.diaries(2) if diary[:1] == ("again",)}
    assert lives >= {("again", A, A), ("again", A, B), ("again", B, A)}
    assert "lose" not in probe.kinds()
    assert ("again", "heard c") in probe.diaries(1)


def test_nothing_is_handed_to_a_node_that_is_paused_or_down() -> None:
    """Fails if a message that is always there is also taken by those who take none."""
    probe = keeping(AB, crashes=1, pauses=1)
    for taken in probe.moves():
        if taken.move.kind == "deliver":
            state = probe.node(taken.before, 2)
            assert state.state is not None
            assert state.pulse.name != "PAUSED"


def test_what_is_sent_where_there_is_no_link_is_not_kept() -> None:
    """Fails if a graph is ignored because all senders share one set."""
    orders = {"1 boot": "send 2 a", "3 boot": "send 2 b"}
    probe = keeping(orders, nodes=3, graph=((2, 3),))
    assert kept(probe, probe.rows[0], 2) == {(3, "Word(b)")}


def test_a_set_allows_all_that_a_bag_does() -> None:
    """Fails if keeping messages takes a run away."""
    orders = {**AB, "2 heard b": "send 1 c", "1 heard c": "send 2 a"}
    bag = Probe(orders, kind=Brief, order=Order.BAG, clock=Clock.UNBOUNDED, losses=2)
    keeps = keeping(orders)
    told = [
        {(probe.diary(row, 1), probe.diary(row, 2)) for row in probe.rows} for probe in (bag, keeps)
    ]
    assert told[0] < told[1]


def test_a_goal_must_outlast_whatever_comes_again() -> None:
    """Fails if old messages are taken to have come for the last time."""
    orders = {"1 boot": "follow 1; send 2 a", "2 heard a": "quietly; follow 1"}
    assert keeping(orders).check(everybody_follows(1)).liveness is Liveness.LIVE
    orders |= {"1 boot": "follow 1; send 2 a; send 2 b", "2 heard b": "quietly; elect"}
    assert keeping(orders).check(everybody_follows(1)).liveness is Liveness.STUCK
    bag = Probe({**orders, "1 boot": "follow 1; send 2 b; send 2 a"}, clock=Clock.UNBOUNDED)
    assert bag.check(everybody_follows(1)).liveness is Liveness.LIVE


def test_runs_among_kept_messages_are_retold() -> None:
    """Fails if the simulator uses a message up, or counts the places of a set otherwise."""
    orders = {
        "1 boot": "send 2 b; send 2 c; send 2 a",
        "2 heard b": "send 1 d",
        "3 boot": "send 2 b",
    }
    probe = keeping(orders, nodes=3, crashes=1, recoveries=1)
    for row in probe.rows[:150]:
        probe.expect_retold(row)


def test_messages_that_stay_for_ever_know_no_bounds() -> None:
    """Fails if a setting is taken that promises both."""
    with pytest.raises(ValueError, match="it needs timing clocks or unbounded"):
        Setting("diary", (1, 2), order=Order.SET)


def test_clocks_may_be_bounded_all_the_same() -> None:
    """Fails if a timer forgets its bound where messages have none, or time stands still."""
    orders = {**AB, "2 boot": "set x 2"}
    probe = keeping(orders, clock=Clock.CLOCKS)
    assert probe.moments("fire", 2) == {2}
    assert probe.moments("deliver", 2, horizon=5) == set(range(6))
    free = keeping(orders)
    assert free.diaries(2) == probe.diaries(2)


def test_there_is_no_normal_state_to_begin_with() -> None:
    """Fails if a search begins where a network that forgets would have come to rest."""
    with pytest.raises(ModelError, match="never comes to rest: --from boot"):
        keeping(AB, start=Start.NORMAL)


class Crowd(Message):
    nodes: frozenset[int]


class LoudState(State):
    stable: Stable


class Loud(Machine[LoudState]):
    """Counts the same crowd from either end."""

    state_type = LoudState
    messages = (Crowd,)
    timers = (Timer("up"), Timer("down"))

    def boot(self, me: NodeId, stable: Stable | None) -> Result[LoudState]:
        orders: list[Effect] = [SetTimer("up", 1), SetTimer("down", 1)]
        return LoudState(me, Stable()), orders if me == 1 else []

    def step(self, state: LoudState, event: Event) -> Result[LoudState]:
        match event:
            case TimedOut("up"):
                return state, [Send(2, Crowd(frozenset([0, 8])))]
            case TimedOut("down"):
                return state, [Send(2, Crowd(frozenset([8, 0]))), Send(2, Crowd(frozenset({5})))]
        return state, []

    def view(self, state: LoudState) -> Standing:
        return Standing(Status.NORMAL, 1)


def test_equal_messages_are_one_however_they_are_written() -> None:
    """Fails if a set is sorted by texts in which equal messages differ."""
    assert repr(frozenset([0, 8])) != repr(frozenset([8, 0]))
    setting = Setting("loud", (1, 2), clock=Clock.UNBOUNDED, order=Order.SET, start=Start.BOOT)
    machine = Loud(setting.members(), setting.timing)
    verdict = check(machine, Model(setting, Budget()), [CLAIMS["A1"]])
    # Both timers armed, either or none of them: in the end the set is the same.
    assert verdict.states == 4
