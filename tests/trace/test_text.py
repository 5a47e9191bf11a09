"""Every happening has a command and a text, and a whole run is a script."""

import pytest

from electorate.core import (
    CancelTimer,
    Effect,
    Message,
    Request,
    Send,
    SetTimer,
    Stable,
    State,
    Timing,
    text_of,
)
from electorate.protocols.bully import AreYouThere, Halt, Phase, Yes
from electorate.trace import (
    KINDS,
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
    Step,
    Ticked,
    Trace,
    TurnRecord,
    command_of,
    is_consequence,
    lines_of,
    script_of,
)


class Seat(State):
    phase: Phase
    leader: int | None = None
    fresh: bool = False
    alive: frozenset[int] = frozenset()


TWO = Timing(T=2)
NORMAL = Seat(2, Stable(), Phase.NORMAL, 1, alive=frozenset({1, 2}))
PROBING = Seat(2, Stable(), Phase.PROBING, alive=frozenset({2}))


class Vote(Message):
    """I am for this node."""

    node: int


class Resign(Request):
    """Step down."""


class Counter(Stable):
    count: int = 0


class Counted(State):
    stable: Counter
    inner: Seat


HAPPENINGS: list[tuple[Happening, str, str]] = [
    (Ticked(), "tick", "time T+1"),
    (Ticked(4), "tick 4", "time T+1"),
    (Delivered(1, 2, Vote(3)), "deliver 1->2", "1->2 Vote(3)"),
    (Delivered(1, 2, Yes(), 2), "deliver 1->2 #2", "1->2 Yes"),
    (Doubled(1, 2, Yes()), "double 1->2", "1->2 Yes, and a copy stays on its way"),
    (Doubled(1, 2, Yes(), 1), "double 1->2 #1", "1->2 Yes, and a copy stays on its way"),
    (Lost(1, 2, Yes()), "lose 1->2", "1->2 Yes lost"),
    (Lost(1, 2, Yes(), place=1), "lose 1->2 #1", "1->2 Yes lost"),
    (Lost(1, 2, Yes(), "2 is down"), "lose 1->2", "1->2 Yes lost: 2 is down"),
    (Fired(2, "probe"), "fire 2 probe", "2 probe fires"),
    (Saw(2, frozenset({2}), frozenset({1, 2, 3})), "view 2 2", "2 suspects 1 3"),
    (Saw(2, frozenset({10, 9}), frozenset({9})), "view 2 9 10", "2 trusts 10"),
    (Saw(2, frozenset({2, 3}), frozenset({1, 2})), "view 2 2 3", "2 suspects 1 and trusts 3"),
    (Saw(2, frozenset({1, 2}), frozenset({1, 2})), "view 2 1 2", "2 sees 1 2"),
    (Requested(2, Resign()), "ask 2 Resign", "2 is asked for Resign"),
    (Crashed(2), "crash 2", "2 crashes"),
    (Recovered(2), "recover 2", "2 recovers"),
    (Recovered(2, first=True), "recover 2", "2 boots"),
    (Paused(2), "pause 2", "2 is paused"),
    (Resumed(2), "resume 2", "2 is resumed"),
    (Cut(1, 2), "cut 1->2", "1->2 is cut"),
    (Healed(1, 2), "heal 1->2", "1->2 is healed"),
    (Phased(2, "check", 3), "phase 2 check 3", "2 check has T+1 left"),
    (Cut(1, 2, both=True), "cut 1 2", "1<->2 is cut"),
    (Healed(1, 2, both=True), "heal 1 2", "1<->2 is healed"),
    (Reset(1, 2), "reset 1->2", "1->2 is reset"),
    (Reset(1, 2, both=True), "reset 1 2", "1<->2 is reset"),
    (Placed(2, "null", is_up=False), "place 2 down null", "2 is down with null"),
    (
        Placed(2, "{}", True, frozenset({2, 1}), (("probe", 0, 3),)),
        "place 2 up {} view=1,2 probe=0..3",
        "2 is up with {}",
    ),
    (
        Placed(2, "{}", True, frozenset({2}), (), ((1, 0, "[1]"), (3, 2, "[2]"))),
        "place 2 up {} view=2 ->1=[1] ->3@2=[2]",
        "2 is up with {}, and has sent [1] to 1 and [2] to 3",
    ),
    (
        Placed(2, "null", is_up=False, sent=((1, 1, "[1]"),)),
        "place 2 down null ->1@1=[1]",
        "2 is down with null, and has sent [1] to 1",
    ),
]


def step(happening: Happening, *turns: TurnRecord) -> Step:
    return Step(3, happening, turns)


@pytest.mark.parametrize(("happening", "command", "fact"), HAPPENINGS, ids=lambda v: str(v)[:30])
def test_every_happening_has_a_command_and_a_text(
    happening: Happening, command: str, fact: str
) -> None:
    assert command_of(step(happening)) == command
    assert list(lines_of(step(happening), TWO)) == [fact]


def test_no_happening_is_forgotten() -> None:
    assert {type(happening) for happening, _, _ in HAPPENINGS} == set(KINDS.values())


def test_every_kind_of_happening_is_in_the_table() -> None:
    kinds, known = [Happening], set(KINDS.values())
    for kind in kinds:
        below = kind.__subclasses__()
        kinds += below
        assert below or kind in known, f"{kind.__name__} has no place in KINDS"


def test_a_command_is_read_as_it_is_written() -> None:
    for happening, command, _ in HAPPENINGS:
        fields = type(happening).read(command.split()[1:], TWO)
        written = {name: getattr(happening, name) for name in fields}
        if isinstance(happening, Requested):
            written["request"] = text_of(happening.request)
        assert fields == written


def test_a_turn_tells_what_changed_and_what_was_ordered() -> None:
    effects: tuple[Effect, ...] = (
        Send(1, AreYouThere()),
        SetTimer("probe", 4),
        SetTimer("check", 5, 2),
        CancelTimer("halted"),
    )
    suspects = step(
        Saw(2, frozenset({2}), frozenset({1, 2})), TurnRecord(2, NORMAL, PROBING, effects)
    )
    assert list(lines_of(suspects, TWO)) == [
        "2 suspects 1",
        "  2 phase: normal => probing",
        "  2 leader: 1 => none",
        "  2 alive: {1, 2} => {2}",
        "  2 sends AreYouThere to 1",
        "  2 sets probe to 2T",
        "  2 sets check to 2T+1 or up to T more",
        "  2 cancels halted",
    ]


def test_a_boot_tells_the_whole_state_but_the_name() -> None:
    assert list(lines_of(step(Recovered(2), TurnRecord(2, None, PROBING, ())), TWO)) == [
        "2 recovers",
        "  2 stable: Stable",
        "  2 phase: probing",
        "  2 fresh: no",
        "  2 alive: {2}",
    ]


def test_a_change_inside_a_record_is_named_with_a_dot() -> None:
    before, after = Counted(2, Counter(1), NORMAL), Counted(2, Counter(2), PROBING)
    fired = step(Fired(2, "probe"), TurnRecord(2, before, after, ()))
    assert list(lines_of(fired, TWO))[1:3] == [
        "  2 stable.count: 1 => 2",
        "  2 inner.phase: normal => probing",
    ]


def test_a_torn_turn_tells_what_left_and_what_did_not() -> None:
    effects: tuple[Effect, ...] = (
        Send(1, Halt()),
        Send(3, Halt()),
        Send(3, Yes()),
        Send(2, Yes()),
        SetTimer("settle", 2),
        CancelTimer("probe"),
    )
    torn = step(Fired(2, "probe"), TurnRecord(2, PROBING, PROBING, effects, ((1, 0), (3, 1))))
    assert command_of(torn) == "fire 2 probe torn 1:0 3:1"
    assert list(lines_of(torn, TWO)) == [
        "2 probe fires",
        "  2 does not get to send Halt to 1",
        "  2 sends Halt to 3",
        "  2 does not get to send Yes to 3",
        "  2 sends Yes to 2",
        "  2 crashes in the middle of this turn",
    ]


def test_a_turn_may_tear_before_anything_was_sent() -> None:
    assert command_of(step(Recovered(2), TurnRecord(2, None, NORMAL, (), ()))) == "recover 2 torn"


def test_the_second_turn_of_a_step_may_be_the_torn_one() -> None:
    whole = TurnRecord(2, PROBING, NORMAL, (Send(2, Yes()),))
    torn = TurnRecord(2, NORMAL, PROBING, (Send(1, Yes()),), ((1, 0),))
    assert command_of(step(Fired(2, "probe"), whole, torn)) == "fire 2 probe torn #1 1:0"


def test_only_a_loss_for_a_reason_is_a_consequence() -> None:
    assert is_consequence(step(Lost(1, 2, Yes(), "2 is down")))
    assert not is_consequence(step(Lost(1, 2, Yes())))
    assert not is_consequence(step(Crashed(1)))


def test_a_whole_run_is_a_script() -> None:
    steps = (
        Step(0, Crashed(1)),
        Step(0, Lost(2, 1, Yes(), "1 is down")),
        Step(2, Ticked(2)),
        Step(2, Fired(2, "probe"), (TurnRecord(2, NORMAL, PROBING, ()),)),
    )
    trace = Trace(Setting("bully", (1, 2), timing=TWO), steps)
    assert script_of(trace, ["The leader dies.", ""]) == (
        "# The leader dies.\n"
        "#\n"
        "cluster bully 1 2 T=2\n"
        "\n"
        "crash 1\n"
        "----\n"
        "1 crashes\n"
        "2->1 Yes lost: 1 is down\n"
        "\n"
        "tick 2\n"
        "----\n"
        "time T\n"
        "\n"
        "fire 2 probe\n"
        "----\n"
        "2 probe fires\n"
        "  2 phase: normal => probing\n"
        "  2 leader: 1 => none\n"
        "  2 alive: {1, 2} => {2}\n"
    )
