"""Machines side by side: when a wire tells one what another has saved."""

import pytest

from electorate.core import (
    Asked,
    CancelTimer,
    Ensemble,
    Members,
    Part,
    Received,
    Send,
    SetTimer,
    Span,
    State,
    TimedOut,
    Timing,
    Wire,
)
from electorate.core.turn import Turns
from tests.core.pair import UNTIL, WIRE, Count, Counter, Enter, Heard, Known, Office, Pair, Said

SWEEP = "office.told"


class Story:
    """One node, event by event."""

    def __init__(self, **rules: object) -> None:
        kind = type(Pair.form("sound"))
        self.machine = Pair(Members.of([1, 2]), Timing(10), kind(**rules))
        self.turns = Turns(self.machine)
        self.turn = self.turns.boot(1, None)

    def count(self, number: int) -> "Story":
        counter = self.machine.lifts["counter"]
        return self.take(Asked(counter.request(Count(number))))

    def enter(self, ticks: int) -> "Story":
        return self.take(Asked(self.machine.lifts["office"].request(Enter(ticks))))

    def hear(self, number: int) -> "Story":
        wrapped = self.machine.lifts["office"].messages[0]
        return self.take(Received(2, wrapped(Said(number))))

    def fire(self, timer: str) -> "Story":
        return self.take(TimedOut(timer))

    def take(self, event: Asked | Received | TimedOut) -> "Story":
        self.turn = self.turns.step(self.turn.state, event)
        return self

    @property
    def lived(self) -> tuple[str, ...]:
        state: State = self.turn.state
        return tuple(state.office.lived)  # type: ignore[attr-defined]


def test_a_part_is_told_before_its_next_event() -> None:
    story = Story().count(1)
    assert story.lived == ("booted",)
    assert story.hear(7).lived == ("booted", "heard 1", "7 was said")
    assert story.turn.state.stable.office == Known(1)  # type: ignore[attr-defined]


def test_what_has_changed_again_is_never_heard_of() -> None:
    assert Story().count(1).count(2).hear(7).lived == ("booted", "heard 2", "7 was said")


def test_an_office_that_has_run_out_ends_before_anything_is_told() -> None:
    story = Story().enter(5).count(1)
    assert story.fire(f"office.{UNTIL}").lived[-1] == "left"
    assert story.fire("office.nap").lived[-2:] == ("heard 1", "nap")


def test_a_sweep_tells_a_part_to_which_nothing_happens() -> None:
    story = Story(sweep=Span(ticks=3)).count(1)
    assert story.turn.effects == (SetTimer(SWEEP, 0, 3),)
    assert story.fire(SWEEP).lived == ("booted", "heard 1")
    assert isinstance(story.turn.effects[0], Send)
    assert story.hear(7).lived == ("booted", "heard 1", "7 was said")


def test_no_sweep_comes_once_a_part_was_told() -> None:
    story = Story().count(1).hear(7)
    assert story.turn.effects[0] == CancelTimer(SWEEP)
    assert story.hear(8).turn.effects == ()


def test_a_second_change_needs_no_second_sweep() -> None:
    assert Story().count(1).count(2).turn.effects == ()


def test_a_part_is_told_everything_at_boot() -> None:
    story = Story().count(3)
    booted = story.turns.boot(1, story.turn.state.stable)
    assert booted.state.office.lived == ("booted", "heard 3")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("rule", "lived"),
    [
        ("after", ("booted", "7 was said", "heard 1")),
        ("at-once", ("booted", "heard 1", "7 was said")),
    ],
)
def test_other_orders_can_be_tried(rule: str, lived: tuple[str, ...]) -> None:
    assert Story(told=rule).count(1).hear(7).lived == lived


def test_without_the_rule_nothing_is_told_at_boot() -> None:
    story = Story(at_boot="no").count(3)
    booted = story.turns.boot(1, story.turn.state.stable)
    assert booted.state.office.lived == ("booted",)  # type: ignore[attr-defined]


def test_it_declares_what_its_parts_declare() -> None:
    machine = Story().machine
    assert {timer.name for timer in machine.timers} == {f"office.{UNTIL}", "office.nap", SWEEP}
    state = Story().enter(5).turn.state
    assert machine.offices(state, machine.view(state)) == (f"office.{UNTIL}",)
    assert machine.view(state).until == f"office.{UNTIL}"


@pytest.mark.parametrize(
    ("wire", "reason"),
    [
        (WIRE._replace(output="sum"), "counter has no output 'sum'; its outputs: number"),
        (WIRE._replace(request=Count), "office has no request Count"),
        (Wire("office", "known", "counter", Heard), "office has to be named before counter"),
    ],
)
def test_a_wire_that_does_not_fit_is_refused(wire: Wire, reason: str) -> None:
    class Misjoined(Ensemble):
        """Joined in a way that cannot be."""

        parts = {"counter": Part(Counter), "office": Part(Office)}
        wires = (wire,)
        focus = "office"

    with pytest.raises(ValueError, match=reason):
        Misjoined(Members.of([1, 2]), Timing(10))
