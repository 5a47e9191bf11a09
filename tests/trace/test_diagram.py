"""Runs laid out in time: the flights of messages, the axis, the lives of nodes."""

from collections import Counter

from electorate.core import (
    CancelTimer,
    Send,
    SetTimer,
    Stable,
    Standing,
    Status,
    Timing,
)
from electorate.trace import (
    Clock,
    Connections,
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Healed,
    Lost,
    Order,
    Paused,
    Phased,
    Recovered,
    Reset,
    Resumed,
    Saw,
    Step,
    Ticked,
    TurnRecord,
)
from electorate.trace.diagram.axis import Axis
from electorate.trace.diagram.flight import BEFORE, Fate, flights_of
from electorate.trace.diagram.life import Ending, lives_of, severances_of
from tests.trace.run import SVG, A, B, C, NoteState, drawn, fates, of_class, starts, trace_of, view

# --- messages ---


def test_a_message_is_taken_from_its_place_in_the_channel() -> None:
    sends = [starts(0, 1, Send(2, A)), starts(0, 1, Send(2, A)), starts(0, 1, Send(2, A))]
    trace = trace_of(*sends, (1, Delivered(1, 2, A, 1)), (1, Lost(1, 2, A)), order=Order.BAG)
    assert fates(flights_of(trace)) == [
        (1, 3, Fate.ARRIVED),
        (0, 4, Fate.LOST),
        (2, 5, Fate.FLYING),
    ]


def test_a_doubled_message_flies_twice() -> None:
    trace = trace_of(starts(0, 1, Send(2, A)), (1, Doubled(1, 2, A)), (1, Delivered(1, 2, A)))
    assert fates(flights_of(trace)) == [(0, 1, Fate.ARRIVED), (0, 2, Fate.ARRIVED)]


def test_a_message_from_before_the_record_comes_from_the_left_edge() -> None:
    trace = trace_of(starts(0, 1, Send(2, B)), (1, Delivered(1, 2, A)), (1, Delivered(1, 2, B)))
    assert fates(flights_of(trace)) == [(BEFORE, 1, Fate.ARRIVED), (0, 2, Fate.ARRIVED)]
    assert len(of_class(drawn(trace, view), "message")) == 2


def test_earlier_messages_stand_before_those_of_the_record() -> None:
    trace = trace_of(starts(0, 1, Send(2, B)), (1, Delivered(1, 2, B, 1)), (1, Delivered(1, 2, A)))
    assert fates(flights_of(trace)) == [(0, 1, Fate.ARRIVED), (BEFORE, 2, Fate.ARRIVED)]


def test_a_place_that_cannot_be_right_gives_way_to_what_the_message_says() -> None:
    sends = starts(0, 1, Send(2, A), Send(2, B))
    trace = trace_of(sends, (1, Delivered(1, 2, B, 0)), (1, Delivered(1, 2, A, 0)))
    strange = trace_of(sends, (1, Delivered(1, 2, A, 1)), (1, Delivered(1, 2, B, 5)))
    assert Counter(fate for _, _, fate in fates(flights_of(trace)))[Fate.ARRIVED] == 2
    assert fates(flights_of(strange)) == [(0, 1, Fate.ARRIVED), (0, 2, Fate.ARRIVED)]


def test_what_a_crash_tears_off_never_leaves() -> None:
    effects = (Send(2, A), Send(2, B), Send(3, A), SetTimer("wait", 2))
    torn = TurnRecord(1, None, NoteState(1, Stable()), effects, ((2, 1), (3, 0)))
    trace = trace_of(Step(0, Fired(1, "start"), (torn,)))
    found = {(flight.to, flight.message): flight for flight in flights_of(trace)}
    assert found[2, A].fate is Fate.FLYING
    assert found[2, B].fate is found[3, A].fate is Fate.TORN
    assert found[3, A].unsent
    assert [tuple(down) for down in lives_of(trace, view)[1].downs] == [(0, 1)]
    assert [wait.timer for wait in lives_of(trace, view)[1].waits] == ["start"]


def test_a_message_on_a_cut_link_is_lost_at_once_and_others_keep_their_place() -> None:
    trace = trace_of(
        starts(0, 1, Send(2, A)),
        (0, Cut(1, 2)),
        starts(0, 1, Send(2, A)),
        (0, Lost(1, 2, A, "1->2 is cut")),
        (0, Healed(1, 2)),
        (1, Delivered(1, 2, A)),
    )
    assert fates(flights_of(trace)) == [(2, 3, Fate.LOST), (0, 5, Fate.ARRIVED)]
    assert flights_of(trace)[0].unsent


def test_connections_that_die_take_their_messages_with_them() -> None:
    steps: list[Step | tuple[int, Happening]] = [
        starts(0, 1, Send(2, A), Send(3, B)),
        starts(0, 3, Send(2, C)),
        (0, Crashed(2)),
        starts(0, 1, Send(2, B)),
        (0, Crashed(1)),
        (1, Recovered(1)),
        (1, Recovered(2)),
    ]
    died = {f.message: f for f in flights_of(trace_of(*steps, connections=Connections.DIE))}
    assert (died[A].ended, died[A].fate) == (2, Fate.LOST)
    assert (died[C].ended, died[C].fate) == (2, Fate.LOST)
    flights = flights_of(trace_of(*steps, connections=Connections.DIE))
    assert [(f.to, f.ended, f.why, f.unsent) for f in flights if f.message == B] == [
        (2, 3, "2 is down", True),
        (3, 5, "its connection died", False),
    ]
    assert {f.fate for f in flights_of(trace_of(*steps))} == {Fate.FLYING}


def test_what_a_node_says_to_itself_is_a_loop() -> None:
    trace = trace_of(starts(0, 1, Send(1, A)))
    [flight] = flights_of(trace)
    assert flight.fate is Fate.REMEMBERED
    [message] = of_class(drawn(trace, view), "message")
    assert message.get("data-fate") == "remembered"


# --- time ---


def test_time_is_to_scale_where_nothing_is_crowded() -> None:
    trace = trace_of(*((at, Fired(1, "beat")) for at in (0, 2, 4, 8)), timing=Timing(4))
    axis = Axis(trace, ())
    first, second, third, fourth = axis.steps
    assert second - first == third - second == (fourth - third) / 2
    assert [instant.at for instant in axis.grid(axis.end)] == [0, 4, 8]
    assert axis.of_time(6) == (third + fourth) / 2


def test_steps_of_one_instant_are_fanned_out_as_far_as_they_depend_on_each_other() -> None:
    trace = trace_of(
        (0, Fired(1, "start")),
        starts(0, 2, Send(3, A)),
        (0, Delivered(2, 3, A)),
        (0, Fired(3, "late")),
        (1, Ticked()),
        (1, Fired(1, "start")),
    )
    axis = Axis(trace, flights_of(trace))
    alone, sent, arrived, later, ticked, next_tick = axis.steps
    assert alone == sent < arrived < later < ticked == next_tick
    assert [instant.at for instant in axis.instants] == [0, 1]
    assert axis.instants[0].right == later


def test_a_suspicion_stands_right_of_the_crash() -> None:
    everybody = frozenset({1, 2, 3})
    trace = trace_of((0, Crashed(1)), (0, Saw(2, everybody - {1}, everybody)))
    crash, suspicion = Axis(trace, ()).steps
    assert crash < suspicion


def test_all_that_comes_after_a_mark_stands_right_of_it() -> None:
    trace = trace_of((0, Fired(1, "a")), (0, Fired(1, "b")), (0, Fired(2, "c")))
    assert Axis(trace, ()).steps[2] == Axis(trace, ()).steps[0]
    marked = Axis(trace, (), barriers=[1])
    assert marked.steps[2] > marked.steps[1]
    [mark] = of_class(drawn(trace, view, marks=[(1, "broken")]), "mark")
    assert mark.findtext(f"{SVG}title") == "broken"


def test_a_partition_is_one_thing_to_look_at() -> None:
    links = [(1, 2), (2, 1), (1, 3), (3, 1)]
    cuts: list[tuple[int, Happening]] = [(0, Cut(*link)) for link in links]
    heals: list[tuple[int, Happening]] = [(4, Healed(*link)) for link in links]
    trace = trace_of(*cuts, *heals)
    [severance] = severances_of(trace)
    assert severance.text == "{1} | {2, 3}"
    assert tuple(severance.period) == (0, 4)
    assert len(set(Axis(trace, ()).steps)) == 2
    [single] = severances_of(trace_of((0, Cut(3, 2)), (0, Cut(1, 2)), (0, Cut(2, 1))))
    assert single.text == "1↔2, 3→2 cut"
    assert "{1} | {2, 3}" in drawn(trace, view)


def test_a_connection_that_breaks_loses_what_is_on_its_way_and_nothing_else() -> None:
    trace = trace_of(
        starts(0, 1, Send(2, A), Send(3, B)),
        starts(0, 2, Send(1, C)),
        (1, Reset(1, 2)),
        starts(1, 1, Send(2, B)),
        (2, Delivered(1, 2, B)),
        (2, Delivered(2, 1, C)),
        (2, Delivered(1, 3, B)),
    )
    flights = {(f.sent, f.to): (f.ended, f.fate, f.why) for f in flights_of(trace)}
    assert flights[0, 2] == (2, Fate.LOST, "its connection died")
    assert {key: fate for key, (_, fate, _) in flights.items() if key != (0, 2)} == dict.fromkeys(
        [(0, 3), (1, 1), (3, 2)], Fate.ARRIVED
    )
    [severance] = severances_of(trace)
    assert (severance.period, severance.text) == ((2, 2), "1→2 reset")
    svg = drawn(trace, view)
    assert len(of_class(svg, "cut")) == 1
    assert "1→2 reset" in svg
    assert "links are reset" in svg
    both = trace_of((0, Reset(1, 2, both=True)), (0, Reset(1, 3, both=True)), (1, Cut(1, 2)))
    assert [each.text for each in severances_of(both)] == ["{1} | {2, 3} reset", "1→2 cut"]


def test_a_run_in_which_time_never_passes_has_no_grid() -> None:
    trace = trace_of(starts(0, 1, Send(2, A)), (0, Delivered(1, 2, A)), clock=Clock.UNBOUNDED)
    svg = drawn(trace, view)
    assert not of_class(svg, "grid")
    assert "order only" in svg


# --- lives ---


def test_timers_end_in_one_of_five_ways() -> None:
    trace = trace_of(
        (0, Phased(1, "beat", 2)),
        starts(0, 1, SetTimer("a", 2), SetTimer("b", 2), SetTimer("c", 2), SetTimer("d", 9)),
        starts(1, 1, CancelTimer("a"), SetTimer("b", 5), CancelTimer("never set")),
        (2, Fired(1, "c")),
        starts(2, 2, SetTimer("e", 9), SetTimer("brief", 9), CancelTimer("brief")),
        (3, Crashed(1)),
    )
    lives = lives_of(trace, view)
    endings = {(wait.timer, wait.begin): (wait.end, wait.ending) for wait in lives[1].waits}
    assert endings == {
        ("start", BEFORE): (1, Ending.FIRED),
        ("beat", BEFORE): (5, Ending.CRASHED),
        ("a", 1): (2, Ending.CANCELLED),
        ("b", 1): (2, Ending.RESET),
        ("b", 2): (5, Ending.CRASHED),
        ("c", 1): (3, Ending.FIRED),
        ("d", 1): (5, Ending.CRASHED),
    }
    [started, pending] = lives[2].waits
    assert (started.timer, pending.timer, pending.ending) == ("start", "e", Ending.PENDING)
    assert len(of_class(drawn(trace, view), "timer")) == 9


def test_a_node_stands_as_its_turns_say_and_as_the_start_says_before_them() -> None:
    leads, follows = Standing(Status.NORMAL, 1), Standing(Status.NORMAL, 2)
    trace = trace_of(starts(0, 2, leader=2), (1, Crashed(1)), (2, Recovered(1)), (3, Paused(3)))
    lives = lives_of(trace, view)
    election = Standing(Status.ELECTION)
    assert [belief.standing for belief in lives[2].beliefs] == [election, follows]
    assert [belief.standing for belief in lives[1].beliefs] == [None]
    assert [tuple(down) for down in lives[1].downs] == [(1, 2)]
    assert [tuple(pause) for pause in lives[3].pauses] == [(3, 4)]
    told = lives_of(trace, view, {1: leads, 3: leads})
    assert [belief.standing for belief in told[1].beliefs] == [leads]
    assert [belief.standing for belief in told[3].beliefs] == [leads]
    resumed = trace_of((0, Paused(3)), (5, Resumed(3)))
    assert [tuple(pause) for pause in lives_of(resumed, view)[3].pauses] == [(0, 1)]


def test_a_node_that_boots_in_the_record_was_down_before() -> None:
    booted = TurnRecord(1, None, NoteState(1, Stable()), ())
    lives = lives_of(trace_of(Step(0, Recovered(1, first=True), (booted,))), view)
    assert [tuple(down) for down in lives[1].downs] == [(BEFORE, 0)]


def test_an_office_ends_with_its_timer_whether_or_not_the_node_notices() -> None:
    lease = SetTimer("lease", 4)
    trace = trace_of(
        starts(0, 1, lease, leader=1, until="lease"),
        starts(2, 1, lease, leader=1, until="lease"),
        (3, Paused(1)),
        (9, Resumed(1)),
        (9, Fired(1, "lease")),
    )
    [before, office] = lives_of(trace, view)[1].beliefs
    assert before.standing == Standing(Status.ELECTION)
    assert (office.begin, office.end, office.expires) == (0, 5, 6)
    titles = [g.findtext(f"{SVG}title") for g in of_class(drawn(trace, view), "belief")]
    assert titles[:3] == ["election", "leads", "election"]
