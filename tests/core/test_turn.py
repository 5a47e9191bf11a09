"""Turns: a sound machine is memoised, and every breach of the contract is one clear error."""

import pickle
from typing import Any

import pytest

from electorate.core import (
    Machine,
    Members,
    NodeId,
    ProtocolError,
    Received,
    Result,
    Stable,
    Standing,
    State,
    Status,
    Timing,
    Turns,
    Viewed,
    text_of,
)
from electorate.core.turn import Sample, SampledTurns
from electorate.protocols.bully import AreYouThere, Bully
from tests.faulty import garbage, mutates, raises, stranger, undeclared, undetermined

THREE = Members.of([1, 2, 3])
EVERYBODY = frozenset(THREE.ids)

IN_STEP: list[tuple[type[Machine[Any]], str]] = [
    (raises.RaisesInStep, "the handler raised KeyError: 'leader'"),
    (raises.Exits, "the handler raised SystemExit: 0"),
    (raises.Panics, "the handler raised Panic: out of this world"),
    (mutates.MutatesState, "the handler changed its input, which was (TallyState("),
    (mutates.MutatesStable, "the handler changed its input, which was (TallyState("),
    (mutates.MutatesEvent, "the handler changed its input, which was (TallyState("),
    (mutates.RemembersInMachine, "the handler changed the machine, which all nodes share"),
    (mutates.RemembersInAttribute, "the handler changed the machine, which all nodes share"),
    (mutates.RemembersInClass, "the handler changed the machine, which all nodes share"),
    (mutates.KeepsBox, "which the wire refuses: Encoding objects of type Box is unsupported"),
    (garbage.ReturnsNone, "returned None instead of (state, effects)"),
    (garbage.ReturnsThree, "instead of (state, effects)"),
    (garbage.ReturnsGenerator, "instead of (state, effects)"),
    (garbage.ReturnsText, "returned the state 'normal', which is not a State"),
    (garbage.ReturnsSpecialState, "which is not a State"),
    (garbage.ReturnsSpecialStable, "state.stable is SpecialStable(), which is not a Stable"),
    (garbage.ReturnsNoStable, "state.stable is None, which is not a Stable"),
    (garbage.ReturnsAnotherNode, "returned a state of node 3 for node 2"),
    (garbage.ReturnsTextStatus, "status='normal'), which comes off the wire as StatusState("),
    (garbage.UnknownEffect, "returned the effect 'halt everybody'"),
    (garbage.UndeclaredMessage, "sends Whisper(), which is not a declared message"),
    (garbage.UnhashableMessage, "which can change: unhashable type: 'list'"),
    (garbage.MistypedMessage, "which the wire refuses: Expected `array`, got `str`"),
    (garbage.UndeclaredTimer, "uses the timer 'alarm', which is not declared"),
    (garbage.UnhashableTimer, "uses the timer ['nap'], which is not declared"),
    (garbage.NegativeDuration, "sets nap to -1 with jitter 0"),
    (garbage.NegativeJitter, "sets nap to 2 with jitter -1"),
    (garbage.TrueDuration, "sets nap to True with jitter 0"),
    (garbage.FractionDuration, "sets nap to 1.5 with jitter 0"),
    (garbage.SpanDuration, "sets nap to the span 2T: a timer takes its length, .of(self.timing)"),
    (undetermined.RollsDice, "called twice, the handler answered differently"),
    (undetermined.Counts, "called twice, the handler answered differently"),
    (stranger.WritesToStranger, "sends to 99, which is not a member"),
    (stranger.WritesToTrue, "sends to True, which is not a member"),
]

IN_VIEW: list[tuple[type[Machine[Any]], str]] = [
    (raises.RaisesInView, "the handler raised AttributeError: no attribute 'leader'"),
    (mutates.MutatesInView, "the handler changed its input"),
    (undetermined.ViewsDice, "called twice, the handler answered differently"),
    (garbage.ViewsText, "view returned 'normal' instead of a Standing"),
    (garbage.ViewsTextStatus, "view returned the status 'normal', which is not a Status"),
    (garbage.ViewsStranger, "view returned the leader 99, which is not a member"),
    (garbage.ViewsListGroup, "view returned the group [1], which is no tuple of numbers"),
    (garbage.ViewsUndeclaredTimer, "view names the timer 'lease', which is not declared"),
    (garbage.ViewsNoChoice, "view returned Standing("),
    (garbage.ViewsUntoldDecision, "view returned Decision("),
]

IN_DECLARATIONS: list[tuple[type[Machine[Any]], str]] = [
    (undeclared.ForgetsComma, "not a tuple of kinds of Message"),
    (undeclared.NamesTimers, "timers is ('probe',), not a tuple of Timers"),
    (undeclared.RepeatsTimer, "two timers have the same name"),
    (undeclared.RepeatsMessage, "its values do not fit the wire"),
    (undeclared.HasDictState, "state_type is <class 'dict'>, which is not a kind of State"),
    (undeclared.HasOtherRules, "rules is Rules(), not a SpecialRules"),
    (undeclared.ForgetsConstructor, "its constructor does not call that of Machine"),
    (undeclared.TellsInText, "tells is ('groups',), not a set of Topics"),
    (undeclared.KeepsNoStage, "it tells of decisions, and its stable part has no field 'stage'"),
]


def turns_of(kind: type[Machine[Any]]) -> Turns:
    return Turns(kind(THREE, Timing()))


def names(found: list[tuple[type[Machine[Any]], str]]) -> list[str]:
    return [kind.__name__ for kind, _ in found]


@pytest.mark.parametrize(("kind", "problem"), IN_STEP, ids=names(IN_STEP))
def test_a_breach_in_step_names_protocol_state_and_event(
    kind: type[Machine[Any]], problem: str
) -> None:
    turns = turns_of(kind)
    state = turns.boot(2, None).state
    where = f"(state {text_of(state)}, event Viewed({{1, 2, 3}}))"
    with pytest.raises(ProtocolError) as caught:
        turns.step(state, Viewed(EVERYBODY))
    text = str(caught.value)
    assert text.startswith(f"{kind.__name__}: ")
    assert problem in text
    if kind.__module__.endswith("mutates"):
        assert "event Viewed(" in text  # What was changed is shown as it is now, too.
    else:
        assert text.endswith(where)


@pytest.mark.parametrize(("kind", "problem"), IN_VIEW, ids=names(IN_VIEW))
def test_a_breach_in_view_names_protocol_and_state(kind: type[Machine[Any]], problem: str) -> None:
    turns = turns_of(kind)
    state = turns.life(2, None, EVERYBODY)[-1].state
    with pytest.raises(ProtocolError) as caught:
        turns.view(state)
    assert str(caught.value).startswith(f"{kind.__name__}: {problem}")
    assert f"(state {text_of(state)}, view)" in str(caught.value)


def test_a_standing_is_of_the_kind_that_is_declared() -> None:
    for kind, shown in (
        (garbage.ViewsNoChoice, "Choice"),
        (garbage.ViewsUntoldDecision, "Standing"),
    ):
        turns = turns_of(kind)
        with pytest.raises(ProtocolError, match=f"which is not the {shown} that `tells` says"):
            turns.view(turns.life(2, None, EVERYBODY)[-1].state)


@pytest.mark.parametrize(("kind", "problem"), IN_DECLARATIONS, ids=names(IN_DECLARATIONS))
def test_a_breach_in_the_declarations_is_found_before_the_first_turn(
    kind: type[Machine[Any]], problem: str
) -> None:
    with pytest.raises(ProtocolError) as caught:
        turns_of(kind)
    assert problem in str(caught.value)
    assert str(caught.value).startswith(f"{kind.__name__}: ")
    assert str(caught.value).endswith(" (its declarations)")


def test_a_breach_in_boot_names_the_node_and_what_it_had_kept() -> None:
    with pytest.raises(ProtocolError) as caught:
        turns_of(raises.RaisesInBoot).boot(2, None)
    line = raises.RaisesInBoot.boot.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        "RaisesInBoot: the handler raised IndexError: list index out of range,"
        f" at line {line} of {raises.__file__} (boot of node 2 with stable none)"
    )


def test_what_a_library_raises_is_shown_at_the_line_of_the_protocol_that_called_it() -> None:
    with pytest.raises(ProtocolError) as caught:
        turns_of(raises.RaisesInLibrary).boot(1, None)
    line = raises.RaisesInLibrary.boot.__code__.co_firstlineno + 1
    assert f"'asleep' is not a valid Status, at line {line} of {raises.__file__}" in str(
        caught.value
    )


def test_a_text_in_place_of_the_promised_claims_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r'a tuple of one has a comma: promises = \("A1",\)'):
        type("Hasty", (raises.RaisesInStep,), {"promises": "A1"})


def test_a_state_with_a_list_inside_is_refused_at_boot() -> None:
    with pytest.raises(ProtocolError, match="which can change: unhashable type: 'list'"):
        turns_of(mutates.KeepsList).boot(1, None)


def test_what_is_offered_must_be_the_same_whenever_the_view_is() -> None:
    turns, view = turns_of(undetermined.AsksFickly), Standing(Status.ELECTION)
    assert turns.may_ask(view) == (undetermined.Lift(),)
    fickle = r"may_ask depends on more than the view: it answered \(Lift\) before, and now \(\)"
    with pytest.raises(ProtocolError, match=fickle):
        turns.may_ask(view)


@pytest.mark.parametrize("kind", [garbage.AsksList, garbage.AsksText])
def test_only_declared_requests_may_be_asked(kind: type[Machine[Any]]) -> None:
    with pytest.raises(ProtocolError, match=f"{kind.__name__}: may_ask returned"):
        turns_of(kind).may_ask(Standing(Status.ELECTION))


def test_an_interruption_by_the_user_is_not_the_protocols_fault() -> None:
    class Interrupted(undeclared.Quiet):
        def boot(self, me: NodeId, stable: Stable | None) -> Result[Any]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns_of(Interrupted).boot(1, None)


def test_an_error_survives_the_way_out_of_a_worker_process() -> None:
    error = ProtocolError(Bully(THREE, Timing()), "state x", "sends\nto 99")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, ProtocolError)
    assert str(copy) == str(error) == "Bully: sends to 99 (state x)"


def test_a_turn_is_computed_once() -> None:
    turns = turns_of(Bully)
    state = turns.boot(2, None).state
    first = turns.step(state, Received(3, AreYouThere()))
    calls = turns.calls
    assert turns.step(state, Received(3, AreYouThere())) is first
    assert turns.calls == calls == 2


def test_a_life_begins_with_a_view_where_the_machine_uses_views() -> None:
    assert len(turns_of(Bully).life(1, None, EVERYBODY)) == 2
    assert len(turns_of(undeclared.Quiet).life(1, None, EVERYBODY)) == 1


def test_a_machine_may_return_a_tuple_of_effects() -> None:
    class Terse(undeclared.Quiet):
        def step(self, s: State, event: Any) -> Any:
            return s, ()

    turns = turns_of(Terse)
    state = turns.boot(1, None).state
    assert turns.step(state, Viewed(EVERYBODY)).effects == ()


@pytest.mark.parametrize(("kind", "problem"), IN_STEP, ids=names(IN_STEP))
def test_a_sample_finds_every_breach_of_a_turn_that_is_in_it(
    kind: type[Machine[Any]], problem: str
) -> None:
    turns = SampledTurns(kind(THREE, Timing()), 100, Sample(first=0, every=1))
    state = turns.boot(2, None).state
    with pytest.raises(ProtocolError) as caught:
        turns.step(state, Viewed(EVERYBODY))
    assert problem in str(caught.value)


def test_a_sample_has_the_first_ones_and_every_so_manieth_of_all_machines_together() -> None:
    sample = Sample(first=3, every=5)
    drawn = [number for number in range(1, 21) if sample.draw()]
    assert drawn == [1, 2, 3, 5, 10, 15, 20]


def test_a_turn_that_is_not_in_the_sample_is_believed() -> None:
    turns = SampledTurns(undetermined.Counts(THREE, Timing()), 100, Sample(first=0, every=100))
    state = turns.boot(2, None).state
    assert turns.step(state, Viewed(EVERYBODY)).state.me == 2


@pytest.mark.parametrize("kind", [raises.RaisesInStep, raises.Exits, garbage.ReturnsNone])
def test_a_turn_that_cannot_be_believed_is_a_breach_in_every_sample(
    kind: type[Machine[Any]],
) -> None:
    turns = SampledTurns(kind(THREE, Timing()), 100, Sample(first=0, every=100))
    state = turns.boot(2, None).state
    with pytest.raises(ProtocolError):
        turns.step(state, Viewed(EVERYBODY))


@pytest.mark.parametrize("kind", [raises.RaisesInView, garbage.ViewsText])
def test_a_view_that_cannot_be_believed_is_a_breach_in_every_sample(
    kind: type[Machine[Any]],
) -> None:
    turns = SampledTurns(kind(THREE, Timing()), 100, Sample(first=0, every=100))
    state = turns.boot(2, None).state
    with pytest.raises(ProtocolError):
        turns.view(state)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (undeclared.GrowsUnseen, "growing names 'round', which the state lacks"),
        (undeclared.GrowsInText, "growing names 'stable', which is Stable() and no whole number"),
    ],
)
def test_a_growing_number_is_in_the_state(kind: type[Machine[Any]], problem: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        turns_of(kind).boot(2, None)
    assert problem in str(caught.value)
