"""Claims about more than one row of standings: steps, what is remembered, what else is seen."""

from collections.abc import Callable
from typing import Any

import pytest

from electorate.check import Liveness, Result
from electorate.claims import Claim, Fold, Following, Kind, Row, Sight, Witness
from electorate.core import NodeId
from electorate.trace import Clock
from tests.check.claiming import (
    STABLES,
    TIMERS,
    fold_claim,
    leaders,
    led,
    moved,
    shown_by,
    step_claim,
)
from tests.check.diary import Saved
from tests.check.probe import NOTHING, Probe

# --- steps ---

CHANGE = {"1 boot": "follow 1; set x 3", "1 fired x": "follow 2"}


def test_a_step_is_broken_by_the_move_that_ends_the_shortest_run() -> None:
    """Fails if the breaking move is not told, or the run to it is not a shortest one."""
    violation = shown_by(Probe(CHANGE), moved(1, 2))["1-to-2"]
    assert violation.length == 4
    assert [type(step.happening).__name__ for step in violation.trace.steps][-2:] == [
        "Ticked",
        "Fired",
    ]
    assert violation.witness == Witness((), "1-to-2")
    assert not shown_by(Probe(CHANGE), moved(2, 1))


def test_rows_that_do_not_follow_one_another_break_no_step() -> None:
    """Fails if a step is judged over more than one move."""
    orders = {**CHANGE, "1 fired x": "elect; set y 1", "1 fired y": "follow 2"}
    found = shown_by(Probe(orders), moved(1, 2), moved(1, None), moved(None, 2))
    assert set(found) == {"1-to-None", "None-to-2"}


def test_a_move_into_a_state_that_is_known_already_is_judged_like_any_other() -> None:
    """Fails if only the first move into a state is judged."""
    orders = {
        "1 boot": "follow 3; set x 0 1; set y 1",
        "1 fired x": "quietly; elect",
        "1 fired y": "quietly; follow 2; cancel x",
    }
    probe = Probe(orders, nodes=3)
    direct, round_about = shown_by(probe, moved(3, 2), moved(None, 2)).values()
    assert (direct.length, round_about.length) == (2, 3)
    # Both lead to the same state, which was met after two moves.
    last = {row for row in probe.rows if leaders_of(probe, row) == 2}
    assert len(last) == 1


def leaders_of(probe: Probe, row: tuple[int, ...]) -> NodeId | None:
    state = probe.state(row, 1)
    return state.standing.leader if state else None


def test_a_run_has_no_step_before_its_first_move() -> None:
    """Fails if the start is judged as a step from nowhere."""
    never = step_claim("never", lambda before, row: True)
    assert shown_by(Probe({}, nodes=1), never)["never"].length == 1
    still = Probe({"1 boot": "follow 1"}, nodes=1, clock=Clock.UNBOUNDED)
    assert still.check(never).claims == {"never": Result.HOLDS}
    assert Following(never).judge(Row(still.machine.members, (None,))) is None


def test_crashes_and_returns_are_steps() -> None:
    """Fails if only turns are judged, and not what happens to nodes."""
    ups = step_claim("ups", lambda before, row: len(leaders(before)) < len(leaders(row)))
    downs = step_claim("downs", lambda before, row: len(leaders(before)) > len(leaders(row)))
    found = shown_by(Probe({}, crashes=1, recoveries=1), ups, downs)
    assert (found["downs"].length, found["ups"].length) == (1, 2)


def test_each_of_several_claims_has_its_own_shortest_run() -> None:
    """Fails if a search stops at its first violation, or mixes up which claim was broken."""
    orders = {**CHANGE, "1 fired x": "follow 2; set y 1", "1 fired y": "follow 1"}
    probe = Probe(orders)
    both = shown_by(probe, moved(2, 1), moved(1, 2))
    alone = [shown_by(probe, claim) for claim in (moved(2, 1), moved(1, 2))]
    assert {name: v.length for name, v in both.items()} == {"1-to-2": 4, "2-to-1": 6}
    assert both == alone[0] | alone[1]


# --- what is remembered ---

BACK = {
    "1 boot": "set x 1",
    "1 fired x": "quietly; follow 1; set y 1",
    "1 fired y": "quietly; elect; set z 1",
    "1 fired z": "quietly; follow 1",
}
TERMS = Fold(
    (0, False),
    lambda known, row: (known[0] + (leads(row) and not known[1]), leads(row)),
)


def leads(row: Row) -> bool:
    return leaders(row).get(1) == 1


def test_a_claim_remembers_what_no_two_rows_show() -> None:
    """Fails if memory is lost on the way, or counts a row twice."""
    once = fold_claim("one-term", TERMS, lambda row, known: known[0] > 1)
    violation = shown_by(Probe(BACK, nodes=1), once)["one-term"]
    assert (violation.length, violation.witness.text) == (6, "one-term: (2, True)")
    twice = fold_claim("two-terms", TERMS, lambda row, known: known[0] > 2)
    assert Probe(BACK, nodes=1).check(twice).claims == {"two-terms": Result.HOLDS}


def test_the_first_row_is_remembered_too() -> None:
    """Fails if memory begins after the first move."""
    claim = fold_claim("led", led(1), lambda row, known: known)
    assert shown_by(Probe({"1 boot": "follow 1"}, nodes=1), claim)["led"].length == 0
    first = {"1 boot": "follow 1; set x 0", "1 fired x": "quietly; elect"}
    later = fold_claim("late", led(1), lambda row, known: known and not leads(row))
    assert shown_by(Probe(first, nodes=1), later)["late"].length == 1


def test_states_are_told_apart_by_what_is_remembered() -> None:
    """Fails if of two ways to a state only the one that was met first is followed."""
    orders = {
        "1 boot": "elect; set x 0 1; set y 1; set z 3",
        "1 fired x": "quietly; follow 1",
        "1 fired y": "quietly; elect; cancel x",
        "1 fired z": "quietly; follow 2",
    }
    claim = fold_claim("no-return", led(1), lambda row, known: known and 2 in leaders(row).values())
    probe = Probe(orders)
    plain, remembering = probe.check(NOTHING), probe.check(NOTHING, claim)
    assert plain.states < remembering.states
    # The way past the office of node 1 is a move shorter, and comes to the same state.
    assert shown_by(probe, claim)["no-return"].length == 6
    past = fold_claim("past", led(1), lambda row, known: not known and 2 in leaders(row).values())
    assert shown_by(probe, past)["past"].length == 5


def test_two_claims_remember_each_for_itself() -> None:
    """Fails if memories are mixed up, whatever order the claims come in."""
    orders = {
        "1 boot": "elect; set x 1",
        "1 fired x": "quietly; follow 1; set y 1",
        "1 fired y": "quietly; elect",
        "2 boot": "set z 3",
        "2 fired z": "quietly; follow 2",
    }
    one, two = (fold_claim(f"led-{n}", led(n), lambda row, known: known) for n in (1, 2))
    both = fold_claim("never", led(3), lambda row, known: known)
    for claims in ([one, two, both], [both, two, one]):
        found = shown_by(Probe(orders), *claims)
        assert {name: v.length for name, v in found.items()} == {"led-1": 2, "led-2": 6}


def test_a_goal_may_be_reached_for_good_by_what_has_been() -> None:
    """Fails if a goal is judged without its memory, or the stable phase forgets it."""
    orders = {
        "2 boot": "set x 2",
        "2 fired x": "quietly; follow 2; set y 1",
        "2 fired y": "quietly; elect",
    }
    goal = fold_claim("led", led(2), lambda row, known: not known, Kind.GOAL)
    now = Claim("leads", Kind.GOAL, "", lambda row: None if 2 in leaders(row).values() else LOST)
    verdict = Probe(orders).check(goal)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 2)
    assert Probe(orders).check(now).liveness is Liveness.STUCK
    # Who has led before the crash has led; who crashes before never will.
    crashing = Probe(orders, crashes=1).check(goal)
    assert crashing.liveness is Liveness.STUCK
    (violation,) = crashing.violations
    assert violation.witness.text == "led: False"
    late = {**orders, "2 boot": "follow 2; set x 2"}
    crashing = Probe(late, crashes=2).check(goal)
    assert (crashing.liveness, crashing.tau) == (Liveness.LIVE, 0)


LOST = Witness((), "lost")


# --- what else is seen ---


def seen_by(probe: Probe, look: Callable[[Row], Any], sights: frozenset[Sight]) -> set[Any]:
    found: set[Any] = set()

    def judge(row: Row) -> None:
        found.add(look(row))

    probe.check(Claim("look", Kind.ALWAYS, "looks", judge, sights=sights))
    return found


def test_who_asks_sees_what_is_saved_of_nodes_that_are_up_and_down() -> None:
    """Fails if what a crash leaves is hidden, or shown to claims that do not ask."""
    orders = {"1 boot": "set x 1", "1 fired x": "quietly; save s", "any again": "quietly; save t"}
    probe = Probe(orders, nodes=1, crashes=1, recoveries=1)
    up = {(True, Saved(words)) for words in ((), ("s",), ("t",), ("s", "t"))}
    down = {(False, Saved(words)) for words in ((), ("s",))}
    found = seen_by(probe, lambda row: (bool(leaders(row)), *row.stables), STABLES)
    assert found == up | down
    assert seen_by(probe, lambda row: (row.stables, row.timers), frozenset()) == {((), ())}


@pytest.mark.parametrize("clock", list(Clock))
def test_who_asks_sees_which_timers_are_armed(clock: Clock) -> None:
    """Fails if a timer is shown that fired, was cancelled or went down with its node."""
    orders = {"1 boot": "set x 1; set y 2", "1 fired x": "quietly; cancel y; set z 1"}
    probe = Probe(orders, nodes=1, crashes=1, clock=clock)
    found = seen_by(probe, lambda row: tuple(sorted(row.timers[0])), TIMERS)
    wanted = {("x", "y"), ("z",), ()}
    # Without bounds the second timer may be the first to fire.
    assert found == (wanted | {("x",)} if clock is Clock.UNBOUNDED else wanted)
    assert seen_by(probe, lambda row: row.stables, TIMERS) == {()}


def test_rows_that_differ_in_nothing_but_what_was_asked_for_are_judged_apart() -> None:
    """Fails if judgements are shared among rows whose standings are the same."""
    orders = {"1 boot": "set x 2", "1 fired x": "quietly; save s"}
    unsaved = Claim(
        "unsaved",
        Kind.ALWAYS,
        "nobody saves anything",
        lambda row: None if row.stables == (Saved(),) else Witness((1,), "saved"),
        sights=STABLES,
    )
    armed = Claim(
        "armed",
        Kind.ALWAYS,
        "x is armed",
        lambda row: None if row.timers == (frozenset({"x"}),) else Witness((1,), "not armed"),
        sights=TIMERS,
    )
    found = shown_by(Probe(orders, nodes=1), unsaved, armed)
    assert {name: violation.length for name, violation in found.items()} == {
        "unsaved": 3,
        "armed": 3,
    }
    counts = {Probe(orders, nodes=1).check(*cs, NOTHING).states for cs in ([], [unsaved, armed])}
    assert len(counts) == 1


def test_steps_and_memories_see_what_they_ask_for() -> None:
    """Fails if sights are for claims about single rows only."""
    orders = {"1 boot": "follow 1; save s", "1 again": "quietly; set x 1"}
    probe = Probe(orders, nodes=1, crashes=1, recoveries=1)
    grows = step_claim("kept", lambda before, row: before.stables != row.stables, STABLES)
    assert probe.check(grows).claims == {"kept": Result.HOLDS}
    fired = step_claim("fires", lambda before, row: "x" in before.timers[0] - row.timers[0], TIMERS)
    assert shown_by(probe, fired)["fires"].length == 4
    was_armed = Fold(False, lambda known, row: known or "x" in row.timers[0])
    ran_out = fold_claim(
        "ran-out", was_armed, lambda row, known: known and not row.timers[0], sights=TIMERS
    )
    assert shown_by(probe, ran_out)["ran-out"].length == 4
