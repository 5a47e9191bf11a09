"""Channels that block their sender when they are full: nothing is cut, and deadlocks are found."""

from typing import Any

import pytest

from electorate.check import Bounds, Liveness, Result, Verdict, check
from electorate.check.column import ModelError
from electorate.trace import Clock
from tests.check.asked import asked
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.planted import FLOOD
from tests.check.probe import Probe

ENGINES = ["python", "numba"]

EMBRACE = {
    "1 boot": "follow 1; send 2 a; send 2 a",
    "2 boot": "elect; send 1 b; send 1 b",
    "1 heard b": "quietly; send 2 c",
    "2 heard a": "quietly; send 1 d",
    "2 heard c": "quietly; follow 1",
}
"""Whoever takes a message has to send one first, for which there may be no room."""


def judged(orders: dict[str, str], engine: str = "python", **given: Any) -> Verdict:
    probe = Probe(orders, clock=Clock.UNBOUNDED, **given)
    return check(probe.machine, probe.model, [everybody_follows(1)], engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_where_all_channels_are_full_for_ever_a_goal_is_stuck(engine: str) -> None:
    """Fails if a sender that waits for room is taken for a run beyond a bound, or overtakes."""
    blocked = judged(EMBRACE, engine, capacity=2, blocks=True)
    assert (blocked.result, blocked.liveness) == (Result.VIOLATED, Liveness.STUCK)
    assert (blocked.states, blocked.cuts) == (1, {})
    assert [violation.length for violation in blocked.violations] == [0]


@pytest.mark.parametrize("engine", ENGINES)
def test_with_room_for_one_more_everybody_goes_on(engine: str) -> None:
    wider = judged(EMBRACE, engine, capacity=3, blocks=True)
    assert (wider.result, wider.liveness, wider.cuts) == (Result.HOLDS, Liveness.LIVE, {})
    cut = judged(EMBRACE, engine, capacity=2)
    assert (cut.result, cut.liveness) == (Result.UNKNOWN, Liveness.UNDECIDED)
    assert cut.cuts == {"capacity": 4}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_flood_into_channels_that_block_is_seen_to_its_end(engine: str) -> None:
    """Fails if a bound that blocks counts as one that cuts."""
    flood = judged(FLOOD, engine, capacity=3, blocks=True)
    assert (flood.result, flood.liveness) == (Result.VIOLATED, Liveness.STUCK)
    assert flood.cuts == {}
    probe = Probe(FLOOD, clock=Clock.UNBOUNDED, capacity=3, blocks=True)
    safe = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
    assert (safe.result, safe.cuts) == (Result.HOLDS, {})
    sentence = safe.sentence("flood", probe.machine, probe.model)
    assert "channels of 3 that block" in sentence
    assert "up to" not in sentence


@pytest.mark.parametrize("engine", ENGINES)
def test_a_turn_that_needs_more_room_than_there_can_be_is_refused(engine: str) -> None:
    """Fails if a node that can never send anything is taken for one that waits."""
    orders = {"1 boot": "follow 1; set x 1", "1 fired x": "send 2 a; send 2 b; send 2 c"}
    with pytest.raises(ModelError, match="a turn sends 3 messages to one node at once"):
        judged(orders, engine, capacity=2, blocks=True)


@pytest.mark.parametrize("clock", [Clock.BOUNDED, Clock.CLOCKS])
def test_where_time_is_kept_nobody_can_be_blocked(clock: Clock) -> None:
    with pytest.raises(ModelError, match="a node that is blocked cannot keep its time"):
        Probe(EMBRACE, clock=clock, capacity=2, blocks=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_may_begin_in_the_normal_state_too(engine: str) -> None:
    """Fails if the run to the normal state, which keeps its time, is refused."""
    line = "bully-as-printed --crashes 1 --timing unbounded --claim A2 --capacity-blocks 3"
    verdict = asked(line, engine)
    assert (verdict.liveness, verdict.cuts) == (Liveness.PREVENTABLE, {})


def test_bounds_are_told_in_the_order_in_which_they_came() -> None:
    assert Bounds(2, 3, 4) == Bounds(capacity=2, counter=3, firings=4, blocks=False)
