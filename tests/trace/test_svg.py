"""Space-time diagrams show every message with its fate, and come out the same in every process."""

import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from electorate.core import (
    CancelTimer,
    Effect,
    Message,
    NodeId,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    Timing,
)
from electorate.simulate import run_script
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
    Resumed,
    Saw,
    Setting,
    Step,
    Ticked,
    Trace,
    TurnRecord,
    svg_of,
)
from electorate.trace.diagram import (
    BEFORE,
    Axis,
    Ending,
    Fate,
    Flight,
    flights_of,
    lives_of,
    severances_of,
)
from tests.script import GOLDEN, SCRIPTS, find

SVG = "{http://www.w3.org/2000/svg}"


class Note(Message):
    """This is what I have to say."""

    text: str = ""


class NoteState(State):
    leader: NodeId | None = None
    until: str | None = None


def view(state: State) -> Standing:
    assert isinstance(state, NoteState)
    status = Status.ELECTION if state.leader is None else Status.NORMAL
    return Standing(status, state.leader, until=state.until)


def turn(
    node: NodeId, *effects: Effect, leader: NodeId | None = None, until: str | None = None
) -> TurnRecord:
    before, after = NoteState(node, Stable()), NoteState(node, Stable(), leader, until)
    return TurnRecord(node, before, after, effects)


def starts(at: int, node: NodeId, *effects: Effect, **after: Any) -> Step:
    """A node sends and sets whatever it wants, because a timer told it to."""
    return Step(at, Fired(node, "start"), (turn(node, *effects, **after),))


def trace_of(*steps: Step | tuple[int, Happening], nodes: int = 3, **setting: Any) -> Trace:
    whole = tuple(step if isinstance(step, Step) else Step(*step) for step in steps)
    return Trace(Setting("notes", tuple(range(1, nodes + 1)), **setting), whole)


def golden_trace(script: Path) -> tuple[Trace, Any]:
    trace = run_script(script.read_text(encoding="utf-8"), find).trace
    return trace, trace.setting.machine(*find(trace.setting.protocol))


def of_class(svg: str, name: str) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == name]


def fates(flights: tuple[Flight, ...]) -> list[tuple[int, int, Fate]]:
    return [(flight.sent, flight.ended, flight.fate) for flight in flights]


A, B, C = Note("a"), Note("b"), Note("c")


# --- whole drawings ---


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_drawing_has_a_lane_for_each_node_and_an_arrow_for_each_message(script: Path) -> None:
    trace, machine = golden_trace(script)
    svg = svg_of(trace, machine.view, script.stem)
    lanes = [lane.get("data-node") for lane in of_class(svg, "lane")]
    assert lanes == [str(node) for node in trace.setting.ids]
    drawn = Counter(message.get("data-fate") for message in of_class(svg, "message"))
    effects = [effect for step in trace.steps for turn in step.turns for effect in turn.effects]
    copies = sum(isinstance(step.happening, Doubled) for step in trace.steps)
    # Protocols that are never at rest have messages on their way when the run begins.
    before = sum(flight.sent == BEFORE for flight in flights_of(trace))
    assert drawn.total() == sum(isinstance(effect, Send) for effect in effects) + copies + before
    kinds = Counter(type(step.happening) for step in trace.steps)
    assert drawn["arrived"] == kinds[Delivered] + kinds[Doubled]
    if trace.setting.connections is Connections.OUTLIVE:
        assert drawn["lost"] == kinds[Lost]


def test_every_loss_has_a_cross_and_says_why() -> None:
    lost = Lost(1, 2, A, "2 is down")
    svg = svg_of(trace_of(starts(0, 1, Send(2, A)), (0, Crashed(2)), (2, lost)), view)
    [message] = of_class(svg, "message")
    title = message.findtext(f"{SVG}title") or ""
    assert message.findall(f"{SVG}path")
    assert "1->2 Note(a), sent at 0, lost: 2 is down" in title


def test_tooltips_tell_what_the_trace_tells() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    svg = svg_of(trace, machine.view)
    titles = [turn.findtext(f"{SVG}title") or "" for turn in of_class(svg, "turn")]
    assert any("2 probe fires\n  2 phase: probing => halting" in title for title in titles)
    assert any(title.startswith("at 3T\n2->3 Yes\n") for title in titles)


def test_the_same_run_is_drawn_with_the_same_bytes_in_every_process() -> None:
    script = "\n".join(
        [
            "import sys",
            "from electorate.protocols.registry import REGISTRY",
            "from electorate.simulate import run_script",
            "from electorate.trace import svg_of",
            "trace = run_script(sys.stdin.read(), REGISTRY.__getitem__).trace",
            "machine = trace.setting.machine(*REGISTRY[trace.setting.protocol])",
            "sys.stdout.write(svg_of(trace, machine.view, 'the same', [(3, 'here')]))",
        ]
    )
    golden = (GOLDEN / "bully" / "weakest_starts.txt").read_text(encoding="utf-8")
    drawings = [
        subprocess.run(
            [sys.executable, "-X", "utf8", "-c", script],
            input=golden,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for seed in ("0", "1")
    ]
    assert drawings[0] == drawings[1]
    assert drawings[0].startswith("<svg ")


def test_a_run_without_steps_is_drawn() -> None:
    svg = svg_of(trace_of(), view, marks=[])
    assert len(of_class(svg, "lane")) == 3
    assert not of_class(svg, "message")


def test_twelve_nodes_are_drawn_below_each_other() -> None:
    sends = [Send(node, A) for node in range(2, 13)]
    arrivals = [(2 + node, Delivered(1, node, A)) for node in range(2, 13)]
    svg = svg_of(trace_of(starts(0, 1, *sends), *arrivals, nodes=12, timing=Timing(4)), view)
    heads = [lane.find(f"{SVG}circle") for lane in of_class(svg, "lane")]
    heights = [float(head.get("cy", "")) for head in heads if head is not None]
    assert len(heights) == 12
    assert all(below - above > 50 for above, below in pairwise(heights))
    assert len(of_class(svg, "message")) == 11


def test_special_characters_are_escaped() -> None:
    odd = Note("<&\"\x00'>")
    trace = trace_of(starts(0, 1, Send(2, odd)), (1, Delivered(1, 2, odd)))
    svg = svg_of(trace, view, title='a <b> & "c" \x01', marks=[(1, "<&>")])
    texts = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert 'a <b> & "c" �' in texts
    assert "<&>" in texts
    assert "Note(<&\"�'>)" in texts


def test_a_drawing_needs_nothing_from_outside() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    root = ElementTree.fromstring(svg_of(trace, machine.view))
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not tags & {"script", "image", "style", "use", "foreignObject"}
    urls = {
        value for element in root.iter() for value in element.attrib.values() if "url(" in value
    }
    assert urls
    assert all(url.startswith("url(#electorate-") for url in urls)


def test_no_text_is_too_small_to_read() -> None:
    trace, machine = golden_trace(GOLDEN / "bully" / "weakest_starts.txt")
    root = ElementTree.fromstring(svg_of(trace, machine.view, "sizes"))
    sizes = {float(element.get("font-size", "11")) for element in root.iter()}
    assert min(sizes) >= 11


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
    assert len(of_class(svg_of(trace, view), "message")) == 2


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
    [message] = of_class(svg_of(trace, view), "message")
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
    [mark] = of_class(svg_of(trace, view, marks=[(1, "broken")]), "mark")
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
    assert "{1} | {2, 3}" in svg_of(trace, view)


def test_a_run_in_which_time_never_passes_has_no_grid() -> None:
    trace = trace_of(starts(0, 1, Send(2, A)), (0, Delivered(1, 2, A)), clock=Clock.UNBOUNDED)
    svg = svg_of(trace, view)
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
    assert len(of_class(svg_of(trace, view), "timer")) == 9


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
    titles = [g.findtext(f"{SVG}title") for g in of_class(svg_of(trace, view), "belief")]
    assert titles[:3] == ["election", "leads", "election"]
