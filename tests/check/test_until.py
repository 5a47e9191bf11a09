"""Offices that a timer ends: they are over when it has run out, noticed or not."""

from electorate.check import Result
from electorate.claims import CLAIMS
from electorate.core import Status
from electorate.trace import Clock, Ties
from tests.check.plain_moves import PlainMoves
from tests.check.probe import Probe

OFFICE = {"1 boot": "follow 1 until x; set x 2", "1 fired x": "elect"}
SUCCESSOR = {**OFFICE, "2 boot": "set y 2", "2 fired y": "follow 2"}


def statuses(probe: Probe, node: int) -> dict[tuple[str, ...] | None, set[Status]]:
    """What counts as the node's status, for each of its diaries."""
    found: dict[tuple[str, ...] | None, set[Status]] = {}
    for row in probe.rows:
        standing = probe.space.locals.cards[row[node - 1]].standing
        assert standing is not None
        found.setdefault(probe.diary(row, node), set()).add(standing.status)
    return found


def test_an_office_has_ended_when_its_timer_has_run_out_fired_or_not() -> None:
    assert statuses(Probe(OFFICE), 1) == {
        (): {Status.NORMAL, Status.ELECTION},
        ("fired x",): {Status.ELECTION},
    }


def test_a_successor_may_take_office_at_the_very_moment_at_which_the_last_one_ends() -> None:
    assert Probe(SUCCESSOR).check(CLAIMS["S2"]).result is Result.HOLDS
    early = {**SUCCESSOR, "2 boot": "set y 1"}
    assert Probe(early).check(CLAIMS["S2"]).result is Result.VIOLATED


def test_a_paused_leader_is_out_of_office_without_running_a_line() -> None:
    for pauses in (1, 2):
        assert Probe(SUCCESSOR, pauses=pauses).check(CLAIMS["S2"]).result is Result.HOLDS
    lax = {**SUCCESSOR, "1 boot": "follow 1; set x 2"}
    assert Probe(lax, pauses=1).check(CLAIMS["S2"]).result is Result.VIOLATED


def test_an_office_whose_timer_is_not_armed_has_ended() -> None:
    orders = {"1 boot": "follow 1 until x; set x 2; set y 1", "1 fired y": "cancel x"}
    found = statuses(Probe(orders), 1)
    assert found == {(): {Status.NORMAL}, ("fired y",): {Status.ELECTION}}


def test_the_end_of_an_office_comes_before_any_other_event_of_that_node() -> None:
    orders = {
        "1 boot": "follow 1 until x; set x 1; set y 1",
        "1 fired x": "elect",
        "2 boot": "send 1 a",
    }
    for ties in Ties:
        probe = Probe(orders, ties=ties, delay_min=1, asks=1, wishes=("w",), views=True, lies=1)
        for taken in probe.walk():
            if taken.now == 1 and probe.space.locals.cards[taken.before[0]].expired:
                mine = taken.move.kind == "tick" or probe.node_of(taken.move) == 0
                assert not mine or (taken.move.kind, taken.move.what) == ("fire", "x")


def test_the_end_of_an_office_does_not_wait_for_messages_that_are_due() -> None:
    orders = {**OFFICE, "1 boot": "follow 1 until x; set x 1", "2 boot": "send 1 a"}
    probe = Probe(orders, delay_min=1)
    assert probe.ends(1) == {("fired x", "heard a")}


def test_other_nodes_go_on_while_an_ended_office_is_not_noticed_yet() -> None:
    orders = {**OFFICE, "1 boot": "follow 1 until x; set x 1", "2 boot": "set y 1"}
    probe = Probe(orders)
    ended = [t for t in probe.walk() if probe.space.locals.cards[t.before[0]].expired]
    assert {t.move.kind for t in ended if t.move.kind != "tick"} == {"fire"}
    assert {t.move.where for t in ended} == {0, 1}


def test_a_crash_may_come_first() -> None:
    probe = Probe(OFFICE, crashes=1)
    ended = (t for t in probe.moves() if probe.space.locals.cards[t.before[0]].expired)
    assert {t.move.kind for t in ended} == {"fire", "crash"}


def test_an_office_with_jitter_lasts_until_its_timer_fires_or_must_have() -> None:
    orders = {**OFFICE, "1 boot": "follow 1 until x; set x 1 2"}
    probe = Probe(orders)
    ended = [t.now for t in probe.walk() if probe.space.locals.cards[t.before[0]].expired]
    assert set(ended) == {3}
    assert probe.moments("fire", 1) == {1, 2, 3}


def test_an_office_that_ends_early_does_not_wait_for_messages_either() -> None:
    """Fails if a fast clock, on which an office is over, is held up by what others have sent."""
    orders = {**OFFICE, "1 boot": "follow 1 until x; set x 1 1", "2 boot": "send 1 a"}
    either = Probe(orders, delay_min=1)
    assert either.ends(1) == {("fired x", "heard a"), ("heard a", "fired x")}
    lax = {**orders, "1 boot": "follow 1; set x 1 1"}
    held_up = Probe(lax, delay_min=1)
    assert held_up.ends(1) == {("heard a", "fired x")}
    for probe in (either, held_up):
        plain = PlainMoves(probe.machine, probe.model)
        reached = plain.reached([plain.start()], 100)
        assert reached is not None
        assert len(reached.places) == len(probe.rows)


def test_without_bounds_an_office_lasts_until_its_timer_fires() -> None:
    probe = Probe(OFFICE, clock=Clock.UNBOUNDED)
    assert statuses(probe, 1) == {(): {Status.NORMAL}, ("fired x",): {Status.ELECTION}}
    assert Probe(SUCCESSOR, clock=Clock.UNBOUNDED).check(CLAIMS["S2"]).result is Result.VIOLATED
