"""Every step of a run is one plain sentence, exact about who did what to whom."""

from pathlib import Path
from typing import Any

import pytest

from electorate.core import (
    CancelTimer,
    Effect,
    Message,
    Request,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    Timing,
)
from electorate.protocols.bully import Halt, Yes
from electorate.protocols.registry import REGISTRY
from electorate.runs import FOLDER
from electorate.simulate import run_script
from electorate.trace import (
    KINDS,
    Clock,
    Crashed,
    Cut,
    Delivered,
    Doubled,
    Fired,
    Happening,
    Healed,
    Lost,
    Paused,
    Phased,
    Placed,
    Recovered,
    Requested,
    Reset,
    Resumed,
    Saw,
    Setting,
    Start,
    Step,
    Ticked,
    Trace,
    TurnRecord,
)
from electorate.trace.sentence import Sentence, sentences_of

GOLDEN = FOLDER / "bully"


class Vote(Message):
    """I am for this node."""

    node: int


class Resign(Request):
    """Step down."""


class Kept(Stable):
    votes: int = 0


class Seat(State):
    stable: Kept = Kept()
    leader: int | None = None
    """0 stands for an election."""
    asked: bool = False
    rival: int | None = 3
    alive: frozenset[int] = frozenset()


def view(state: State) -> Standing:
    assert isinstance(state, Seat)
    return Standing(Status.ELECTION) if state.leader == 0 else Standing(Status.NORMAL, state.leader)


SETTING = Setting("seats", (1, 2, 3, 4), timing=Timing(2))
IDLE = Seat(2, leader=1)


def told(*steps: Step, setting: Setting = SETTING, **given: Any) -> list[str]:
    return [sentence.text for sentence in sentences_of(Trace(setting, steps), view, **given)]


def turned(
    happening: Happening, before: Seat | None, after: Seat, *effects: Effect, at: int = 0
) -> Step:
    return Step(at, happening, (TurnRecord(after.me, before, after, effects),))


def reaction(happening: Happening, *effects: Effect, after: Seat = IDLE) -> str:
    (text,) = told(turned(happening, IDLE, after, *effects))
    return text


HAPPENINGS: list[tuple[Happening, str]] = [
    (Ticked(), "1 tick passes."),
    (Ticked(4), "4 ticks pass."),
    (Delivered(1, 2, Vote(3)), "Node 2 hears Vote(3) from node 1."),
    (Delivered(1, 2, Yes(), 1), "Node 2 hears Yes from node 1 ahead of an older message."),
    (Delivered(1, 2, Yes(), 2), "Node 2 hears Yes from node 1 ahead of 2 older messages."),
    (Doubled(1, 2, Yes()), "Node 2 hears Yes from node 1 (a copy is still on its way)."),
    (
        Doubled(1, 2, Yes(), 1),
        "Node 2 hears Yes from node 1 ahead of an older message (a copy is still on its way).",
    ),
    (Lost(1, 2, Yes()), "Yes from node 1 to node 2 is lost."),
    (Lost(1, 2, Yes(), "1->2 is cut"), "Yes from node 1 to node 2 is lost: that link is cut."),
    (Lost(1, 2, Yes(), "bad luck"), "Yes from node 1 to node 2 is lost: bad luck."),
    (Fired(2, "probe"), "Node 2's timer probe runs out."),
    (Saw(2, frozenset({1, 2}), frozenset({1, 2})), "Node 2 still sees nodes 1 and 2."),
    (Requested(2, Resign()), "Node 2 is asked for Resign."),
    (Crashed(2), "Node 2 crashes."),
    (Recovered(2), "Node 2 recovers."),
    (Recovered(2, first=True), "Node 2 starts."),
    (Paused(2), "Node 2 is paused."),
    (Resumed(2), "Node 2 is resumed."),
    (Cut(1, 2), "The link from node 1 to node 2 is cut."),
    (Cut(1, 2, both=True), "The link between nodes 1 and 2 is cut."),
    (Healed(1, 2), "The link from node 1 to node 2 is healed."),
    (Healed(1, 2, both=True), "The link between nodes 1 and 2 is healed."),
    (
        Reset(1, 2),
        "The link from node 1 to node 2 is reset, and all that was on its way there is lost.",
    ),
    (Phased(2, "beat", 3), "Node 2's timer beat has T+1 left at the start."),
    (Placed(2, "{}"), "At the start node 2 is up, in the state {}."),
    (Placed(2, "null", is_up=False), "At the start node 2 is down, and has saved null."),
    (
        Placed(2, "{}", sent=((1, 0, "[1]"),)),
        "At the start node 2 is up, in the state {} and has sent [1] to node 1.",
    ),
]


@pytest.mark.parametrize(("happening", "text"), HAPPENINGS, ids=lambda v: str(v)[:30])
def test_every_happening_has_a_sentence(happening: Happening, text: str) -> None:
    assert told(Step(3, happening)) == [text]


def test_no_happening_is_forgotten() -> None:
    assert {type(happening) for happening, _ in HAPPENINGS} == set(KINDS.values())


def test_ticks_in_a_row_make_one_sentence() -> None:
    steps = [Step(0, Crashed(1)), *(Step(k, Ticked()) for k in (1, 2)), Step(4, Ticked(2))]
    trace = Trace(SETTING, (*steps, Step(4, Paused(2)), Step(5, Ticked())))
    assert sentences_of(trace, view) == [
        Sentence(0, 1, "Node 1 crashes."),
        Sentence(1, 4, "4 ticks pass."),
        Sentence(4, 5, "Node 2 is paused."),
        Sentence(5, 6, "1 tick passes."),
    ]
    parted = sentences_of(trace, view, apart={2})
    assert [s.text for s in parted[1:3]] == ["1 tick passes.", "3 ticks pass."]


def test_what_is_sent_to_whom() -> None:
    hears = Delivered(3, 2, Yes())
    assert reaction(hears, Send(3, Halt())) == "Node 2 hears Yes from node 3 and answers Halt."
    assert reaction(hears, Send(1, Halt()), Send(3, Halt())) == (
        "Node 2 hears Yes from node 3 and sends Halt to nodes 1 and 3."
    )
    assert reaction(hears, Send(3, Yes()), Send(1, Halt()), Send(4, Vote(2))) == (
        "Node 2 hears Yes from node 3, answers Yes and sends Halt to node 1 and Vote(2) to node 4."
    )
    assert reaction(Fired(2, "probe"), Send(1, Halt()), Send(4, Halt())) == (
        "Node 2's timer probe runs out: it sends Halt to nodes 1 and 4."
    )
    assert reaction(Doubled(3, 2, Yes()), Send(3, Halt())) == (
        "Node 2 hears Yes from node 3 (a copy is still on its way) and answers Halt."
    )


def test_what_a_node_believes_now() -> None:
    assert reaction(Delivered(3, 2, Halt()), after=Seat(2, leader=0)) == (
        "Node 2 hears Halt from node 3, gives up node 1 as leader and enters an election."
    )
    assert reaction(Requested(2, Resign()), Send(1, Yes()), after=Seat(2, leader=2)) == (
        "Node 2 is asked for Resign, gives up node 1 as leader, becomes the leader and sends Yes "
        "to node 1."
    )
    booted = turned(Recovered(2), None, Seat(2, leader=0), Send(1, Yes()), Send(2, Yes()))
    assert told(Step(0, Crashed(2)), booted)[1] == (
        "Node 2 recovers, enters an election and sends Yes to node 1 and itself."
    )


def test_what_nobody_else_can_see_is_told_only_if_there_is_nothing_else() -> None:
    asked = Seat(2, leader=1, asked=True)
    assert reaction(Delivered(3, 2, Yes()), after=asked) == (
        "Node 2 hears Yes from node 3 (now asked: yes)."
    )
    assert reaction(Delivered(3, 2, Yes()), Send(3, Yes()), after=asked) == (
        "Node 2 hears Yes from node 3 and answers Yes."
    )
    assert reaction(Delivered(3, 2, Yes()), after=Seat(2, leader=1, rival=None)) == (
        "Node 2 hears Yes from node 3 (now rival: none)."
    )
    assert reaction(Delivered(3, 2, Vote(2)), after=Seat(2, Kept(1), leader=1)) == (
        "Node 2 hears Vote(2) from node 3 (now stable.votes: 1)."
    )


def test_what_changes_nothing_is_said_to() -> None:
    assert reaction(Delivered(3, 2, Yes())) == (
        "Node 2 hears Yes from node 3, which changes nothing."
    )
    assert reaction(Fired(2, "probe")) == "Node 2's timer probe runs out, which changes nothing."
    # A timer was set, although it does not matter here.
    assert reaction(Delivered(3, 2, Yes()), SetTimer("probe", 4)) == "Node 2 hears Yes from node 3."


def saw(node: int, alive: set[int], before: set[int]) -> Saw:
    return Saw(node, frozenset(alive), frozenset(before))


def test_an_opinion_is_wrong_if_the_node_is_there() -> None:
    crash = Step(0, Crashed(1))
    both = told(crash, Step(0, saw(2, {2}, {1, 2, 3})), Step(0, saw(2, {1, 2, 3}, {2})))
    assert both[1:] == [
        "Node 2 suspects node 1 and wrongly suspects node 3.",
        "Node 2 trusts node 3 again and wrongly trusts node 1 again.",
    ]
    back = told(crash, Step(0, Recovered(1)), Step(0, saw(2, {2}, {1, 2})))
    assert back[-1] == "Node 2 wrongly suspects node 1."
    cut = told(Step(0, Cut(2, 1)), Step(0, saw(2, {2}, {1, 2})))
    assert cut[-1] == "Node 2 suspects node 1."
    healed = told(Step(0, Cut(2, 1)), Step(0, Healed(2, 1)), Step(0, saw(2, {2}, {1, 2})))
    assert healed[-1] == "Node 2 wrongly suspects node 1."
    both = told(
        Step(0, Cut(1, 2, both=True)), Step(0, Lost(1, 2, Yes())), Step(0, saw(2, {2}, {1, 2}))
    )
    assert both[1:] == [
        "Yes from node 1 to node 2 is lost: that link is cut.",
        "Node 2 suspects node 1.",
    ]
    line = Setting("seats", (1, 2, 3), graph=((1, 2),))
    assert told(Step(0, saw(2, {1, 2}, {1, 2, 3})), setting=line) == ["Node 2 suspects node 3."]
    down = Setting("seats", (1, 2), start=Start.DOWN)
    assert told(Step(0, saw(2, {2}, {1, 2})), setting=down) == ["Node 2 suspects node 1."]


def test_a_suspected_leader_is_named_once() -> None:
    before = Seat(2, leader=1, alive=frozenset({1, 2}))
    alone = frozenset({2})
    (text,) = told(turned(saw(2, {2}, {1, 2}), before, Seat(2, leader=0, alive=alone)))
    assert text == "Node 2 wrongly suspects node 1, gives it up as leader and enters an election."
    (text,) = told(turned(saw(2, {2}, {1, 2}), before, Seat(2, leader=1, alive=alone)))
    assert text == "Node 2 wrongly suspects node 1.", "whom it sees has just been said"


def test_a_message_to_a_node_that_is_down_is_lost_for_that_reason() -> None:
    lost = told(Step(0, Crashed(1)), Step(0, Lost(2, 1, Yes())), Step(1, Lost(3, 1, Yes(), "x")))
    assert lost[1:] == [
        "Yes from node 2 to node 1 is lost: node 1 is down.",
        "Yes from node 3 to node 1 is lost: node 1 is down.",
    ]


def test_a_timer_is_mentioned_if_this_setting_runs_out() -> None:
    set_both = turned(Requested(2, Resign()), IDLE, IDLE, SetTimer("a", 4), SetTimer("b", 5, 2))
    a, b = (turned(Fired(2, timer), IDLE, IDLE, at=7) for timer in "ab")
    assert told(set_both, a)[0] == "Node 2 is asked for Resign and sets its timer a to 2T."
    assert told(set_both, a, b)[0] == (
        "Node 2 is asked for Resign and sets its timers a to 2T and b to 2T+1 or up to T more."
    )
    late_first = turned(Requested(2, Resign()), IDLE, IDLE, SetTimer("b", 5, 2), SetTimer("a", 4))
    assert told(late_first, a, b)[0] == told(set_both, a, b)[0]
    assert told(set_both, set_both, a)[:2] == [
        "Node 2 is asked for Resign.",
        "Node 2 is asked for Resign and sets its timer a to 2T.",
    ]
    assert told(set_both, Step(1, Crashed(2)), Step(1, Recovered(2)))[0] == (
        "Node 2 is asked for Resign."
    )
    unbounded = Setting("seats", (1, 2), clock=Clock.UNBOUNDED)
    assert told(set_both, a, setting=unbounded)[0] == (
        "Node 2 is asked for Resign and sets its timer a."
    ), "how long it was set for says nothing"


def test_a_cancelled_timer_is_mentioned_if_it_would_have_run_out() -> None:
    set_it = turned(Fired(2, "z"), IDLE, IDLE, SetTimer("a", 4))
    cancel = turned(Delivered(1, 2, Yes()), IDLE, IDLE, CancelTimer("a"))
    later, soon = Step(4, Ticked(4)), Step(3, Ticked(3))
    assert told(set_it, cancel, later)[1] == "Node 2 hears Yes from node 1 and cancels its timer a."
    assert told(set_it, cancel, soon)[1] == "Node 2 hears Yes from node 1."
    visible = turned(Delivered(1, 2, Yes()), IDLE, IDLE, CancelTimer("a"), Send(1, Yes()))
    assert told(set_it, visible, later)[1] == "Node 2 hears Yes from node 1 and answers Yes."
    again = turned(Delivered(1, 2, Yes()), IDLE, IDLE, CancelTimer("a"), SetTimer("a", 1))
    assert told(set_it, again, later)[1] == "Node 2 hears Yes from node 1."


def torn(sent: tuple[tuple[int, int], ...], *effects: Effect, after: Seat = IDLE) -> str:
    turn = TurnRecord(2, IDLE, after, effects, sent)
    text, down = told(Step(0, Fired(2, "probe"), (turn,)), Step(0, Lost(1, 2, Yes())))
    assert down.endswith("node 2 is down.")
    return text.removeprefix("Node 2's timer probe runs out: it ")


def test_a_torn_turn_tells_what_left_and_what_did_not() -> None:
    halts = (Send(3, Halt()), Send(4, Halt()))
    assert torn(((3, 1), (4, 0)), *halts) == (
        "crashes after sending Halt to node 3, before sending it to node 4."
    )
    assert torn(((3, 0), (4, 0)), *halts) == "crashes before sending Halt to nodes 3 and 4."
    assert torn(((3, 1), (4, 1)), *halts) == "crashes after sending Halt to nodes 3 and 4."
    mixed = (Send(3, Yes()), *halts, Send(2, Vote(2)), SetTimer("probe", 2))
    assert torn(((3, 1), (4, 1)), *mixed) == (
        "crashes after sending Yes to node 3 and Halt to node 4, before sending Halt to node 3."
    )
    assert torn((), SetTimer("probe", 2)) == "crashes in the middle of this."
    assert torn(((3, 0),), Send(3, Yes()), after=Seat(2, Kept(1), leader=1)) == (
        "crashes after saving what it must not forget, before sending Yes to node 3."
    )
    assert torn((), after=Seat(2, Kept(1))) == "crashes after saving what it must not forget."


def test_a_node_that_fell_in_the_middle_of_a_turn_is_rightly_suspected() -> None:
    fell = Step(0, Fired(2, "a"), (TurnRecord(2, IDLE, IDLE, (), ()),))
    assert told(fell, Step(0, saw(1, {1}, {1, 2})))[1] == "Node 1 suspects node 2."


def test_messages_to_oneself_are_told_turn_by_turn() -> None:
    asked, leads = Seat(2, leader=1, asked=True), Seat(2, leader=2, asked=True)
    first = TurnRecord(2, IDLE, asked, (Send(2, Vote(2)), Send(2, Yes())))
    second = TurnRecord(2, asked, leads, (Send(1, Halt()),))
    third = TurnRecord(2, leads, Seat(2, leader=2), ())
    whole = Step(0, Delivered(1, 2, Yes()), (first, second, third))
    assert told(whole) == [
        "Node 2 hears Yes from node 1, sends Vote(2) to itself and Yes to itself, hears its own "
        "Vote(2), gives up node 1 as leader, becomes the leader, sends Halt to node 1 and hears "
        "its own Yes (now asked: no)."
    ]
    broken = TurnRecord(2, asked, leads, (Send(1, Halt()),), ((1, 0),))
    assert told(Step(0, Delivered(1, 2, Yes()), (first, broken))) == [
        "Node 2 hears Yes from node 1, sends Vote(2) to itself and Yes to itself, hears its own "
        "Vote(2) and crashes before sending Halt to node 1."
    ]


def test_the_first_view_after_a_boot_is_not_taken_for_a_message_to_oneself() -> None:
    booted, seen = Seat(2, leader=0), Seat(2, leader=0, alive=frozenset({1, 2}))
    boot = TurnRecord(2, None, booted, (Send(2, Vote(2)),))
    look = TurnRecord(2, booted, seen, (Send(1, Yes()),))
    quiet = TurnRecord(2, booted, seen, ())
    hear = TurnRecord(2, seen, Seat(2, leader=2, alive=seen.alive), ())
    begin = "Node 2 starts, enters an election, sends Vote(2) to itself"
    starts = Recovered(2, first=True)
    down = Setting("seats", (1, 2), start=Start.DOWN)
    assert told(Step(0, starts, (boot, look, hear)), setting=down, uses_views=True) == [
        f"{begin}, sends Yes to node 1, hears its own Vote(2) and becomes the leader."
    ]
    assert told(Step(0, starts, (boot, quiet, hear)), setting=down, uses_views=True) == [
        f"{begin}, hears its own Vote(2) and becomes the leader."
    ]
    assert told(Step(0, starts, (boot, look)), setting=down) == [
        f"{begin}, hears its own Vote(2) and sends Yes to node 1."
    ]


@pytest.mark.parametrize("script", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_the_sentences_of_a_golden_run_cover_each_step_once(script: Path) -> None:
    trace = run_script(script.read_text(encoding="utf-8"), lambda name: REGISTRY[name]).trace
    machine = trace.setting.machine(*REGISTRY[trace.setting.protocol])
    sentences = sentences_of(trace, machine.view, uses_views=machine.uses_views)
    covered = [step for s in sentences for step in range(s.first, s.end)]
    assert covered == list(range(len(trace.steps)))
    for sentence in sentences:
        assert sentence.text[0].isupper() or sentence.text[0].isdigit(), sentence.text
        assert sentence.text.endswith("."), sentence.text
        assert not {"none", "None", "=>"} & set(sentence.text.split()), sentence.text


def test_one_golden_run_word_for_word() -> None:
    text = (GOLDEN / "crash_in_mid_new_leader.txt").read_text(encoding="utf-8")
    trace = run_script(text, lambda name: REGISTRY[name]).trace
    machine = trace.setting.machine(*REGISTRY[trace.setting.protocol])
    sentences = sentences_of(trace, machine.view, uses_views=machine.uses_views)
    assert [s.text for s in sentences][:13] == [
        "Node 1 crashes.",
        "Node 2 suspects node 1, gives it up as leader, enters an election, sends AreYouThere to "
        "node 1 and sets its timer probe to 2T.",
        "2 ticks pass.",
        "AreYouThere from node 2 to node 1 is lost: node 1 is down.",
        "Node 2's timer probe runs out: it sends Halt to nodes 3 and 4 and sets its timer settle "
        "to T.",
        "1 tick passes.",
        "Node 3 hears Halt from node 2, gives up node 1 as leader and enters an election.",
        "Node 4 hears Halt from node 2, gives up node 1 as leader, enters an election and sets "
        "its timer halted to 2T.",
        "Node 3 suspects node 1.",
        "Node 4 suspects node 1.",
        "Node 2's timer settle runs out: it crashes after sending NewLeader to node 3, before "
        "sending it to node 4.",
        "1 tick passes.",
        "Node 3 hears NewLeader from node 2 and follows node 2.",
    ]
