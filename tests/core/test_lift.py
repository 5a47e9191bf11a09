"""One machine inside another: what goes in and out, and that the two never mix."""

from collections import deque
from typing import Any

import msgspec
import pytest

from electorate.check import Budget, Model, check
from electorate.claims import CLAIMS
from electorate.core import (
    Asked,
    CancelTimer,
    Machine,
    Members,
    NodeId,
    Received,
    Send,
    SetTimer,
    State,
    T,
    TimedOut,
    Timing,
    Turn,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.protocols.bully import AreYouThere, Bully, BullyRules, Phase
from electorate.trace import Setting
from tests.core.lifted import (
    Claim,
    Nudge,
    OuterStable,
    OverBully,
    OverBullyRules,
    OverTenure,
    Resign,
    Rest,
    TenureStable,
)

THREE = Members.of([1, 2, 3])
EVERYBODY = frozenset(THREE.ids)


def over_bully() -> OverBully:
    return OverBully(THREE, Timing(T=2))


def over_tenure() -> OverTenure:
    return OverTenure(THREE, Timing(T=2))


def wrapped(machine: Machine[Any], message: Any) -> Any:
    return machine.messages[-1](message)


def elect(machine: Machine[Any]) -> tuple[dict[NodeId, State], list[str]]:
    """Boot everybody, deliver in order of sending, and let timers fire when all is quiet."""
    turns = Turns(machine)
    states: dict[NodeId, State] = {}
    sent: deque[tuple[NodeId, Send]] = deque()
    timers: dict[tuple[NodeId, str], int] = {}
    told: list[str] = []

    def take(node: NodeId, turn: Turn) -> None:
        states[node] = turn.state
        for effect in turn.effects:
            match effect:
                case Send():
                    sent.append((node, effect))
                case SetTimer(timer, after):
                    timers[node, timer] = len(told) + 100 * after
                case CancelTimer(timer):
                    timers.pop((node, timer), None)

    for node in machine.members.ids:
        for turn in turns.life(node, None, EVERYBODY):
            take(node, turn)
    while sent or timers:
        if sent:
            sender, send = sent.popleft()
            told.append(f"{sender}->{send.to} {send.message!r}")
            take(send.to, turns.step(states[send.to], Received(sender, send.message)))
        else:
            node, timer = min(timers, key=lambda key: (timers[key], key))
            del timers[node, timer]
            told.append(f"{node} {timer}")
            take(node, turns.step(states[node], TimedOut(timer)))
    return states, told


def test_a_lifted_election_runs_as_a_bare_one() -> None:
    bare, bare_told = elect(Bully(THREE, Timing(T=2)))
    lifted, lifted_told = elect(over_bully())
    assert [s.inner for s in lifted.values()] == list(bare.values())  # type: ignore[attr-defined]
    assert len([line for line in lifted_told if "patience" not in line]) == len(bare_told)
    assert {over_bully().view(s).leader for s in lifted.values()} == {1}  # type: ignore[arg-type]


def test_the_checker_finds_a_lifted_election_no_different_from_a_bare_one() -> None:
    model = Model(Setting("any", (1, 2, 3)), Budget(crashes=1))
    claims = [CLAIMS["A1"], CLAIMS["A2"]]
    bare = check(Bully(THREE, Timing()), model, claims)
    lifted = check(OverBully(THREE, Timing()), model, claims)
    assert lifted.claims == bare.claims
    assert (lifted.states, lifted.transitions) == (bare.states, bare.transitions)
    assert lifted.tau == bare.tau


def test_inner_messages_are_wrapped_and_unwrapped() -> None:
    machine = over_bully()
    turns = Turns(machine)
    booted = turns.boot(2, None)
    probe = wrapped(machine, AreYouThere())
    assert Send(1, probe) in booted.effects
    answered = turns.step(booted.state, Received(3, probe))
    assert [type(effect) for effect in answered.effects] == [Send]


def test_a_bare_inner_message_is_not_for_the_inner_machine() -> None:
    turns = Turns(over_bully())
    booted = turns.boot(2, None).state
    assert turns.step(booted, Received(3, AreYouThere())) == Turn(booted, ())


def test_outer_messages_do_not_reach_the_inner_machine() -> None:
    turns = Turns(over_bully())
    booted: Any = turns.boot(2, None).state
    nudged: Any = turns.step(booted, Received(3, Nudge())).state
    assert nudged.nudges == 1
    assert nudged.inner == booted.inner


def test_inner_timers_carry_the_name_of_the_field() -> None:
    machine = over_bully()
    turns = Turns(machine)
    booted = turns.boot(2, None)
    assert SetTimer("inner.probe", 4) in booted.effects
    halting: Any = turns.step(booted.state, TimedOut("inner.probe"))
    assert halting.state.inner.phase is Phase.HALTING
    assert CancelTimer("inner.answered") in halting.effects
    assert turns.step(booted.state, TimedOut("probe")) == Turn(booted.state, ())


def test_all_inner_timers_can_be_silenced() -> None:
    machine = over_bully()
    turns = Turns(machine)
    silenced = turns.step(turns.boot(2, None).state, Asked(Rest()))
    assert set(silenced.effects) == {CancelTimer(f"inner.{t.name}") for t in Bully.timers}


def test_a_view_is_for_both() -> None:
    turns = Turns(over_bully())
    viewed: Any = turns.step(turns.boot(2, None).state, Viewed(frozenset({2, 3}))).state
    assert viewed.alive == viewed.inner.alive == {2, 3}


def test_an_inner_machine_that_uses_no_views_is_shown_none() -> None:
    machine = over_tenure()
    assert not machine.uses_views
    turns = Turns(machine)
    viewed: Any = turns.step(turns.boot(2, None).state, Viewed(EVERYBODY)).state
    assert viewed.alive == EVERYBODY


def test_an_inner_office_ends_with_the_lifted_timer() -> None:
    turns = Turns(over_tenure())
    booted = turns.boot(2, None)
    office = turns.view(booted.state)
    assert office.until == "inner.lease"
    assert SetTimer("inner.lease", 6) in booted.effects
    assert turns.view(turns.step(booted.state, TimedOut("inner.lease")).state).until is None


def test_inner_requests_are_wrapped_and_unwrapped() -> None:
    machine = over_tenure()
    turns = Turns(machine)
    booted = turns.boot(2, None).state
    rest, resign = turns.may_ask(turns.view(booted))
    assert rest == Rest()
    assert resign == machine.requests[-1](Resign())
    resigned: Any = turns.step(booted, Asked(resign)).state
    assert not resigned.inner.holds
    assert turns.may_ask(turns.view(resigned)) == (Rest(),)


def test_what_the_inner_machine_keeps_survives_a_crash() -> None:
    machine = over_tenure()
    turns = Turns(machine)
    booted = turns.boot(2, None).state
    later = turns.step(booted, Received(3, wrapped(machine, Claim(7)))).state
    assert later.stable == OuterStable(TenureStable(7), lives=1)
    saved = Codec(machine).stable(Codec.encode(later.stable))
    assert turns.boot(2, saved).state.stable == OuterStable(TenureStable(8), lives=2)


def test_inner_rules_are_nested() -> None:
    rules = OverBullyRules().with_texts(["inner.guard=3T", "patience=T"])
    assert rules == OverBullyRules(BullyRules(guard=3 * T), T)
    assert OverBully(THREE, Timing(), rules).lift.inner.rules.guard == 3 * T


def test_declarations_are_joined() -> None:
    machine = over_tenure()
    names = {timer.name: timer.periodic for timer in machine.timers}
    assert names == {"patience": False, "inner.lease": False, "inner.beat": True}
    assert machine.growing == ("inner.stable.number",)
    assert over_bully().uses_views
    assert [kind.__name__ for kind in machine.messages] == ["Nudge", "inner.message"]
    assert [kind.__name__ for kind in machine.requests] == ["Rest", "inner.request"]
    assert OverTenure.messages == (Nudge,)  # The class is left as it was.


def test_two_machines_that_are_built_alike_speak_alike() -> None:
    assert over_bully().messages == over_bully().messages
    assert Turns(over_bully()).boot(2, None) == Turns(over_bully()).boot(2, None)


def test_lifted_states_and_messages_survive_the_wire() -> None:
    machine = over_tenure()
    codec = Codec(machine)
    state = Turns(machine).boot(2, None).state
    assert codec.state(codec.encode(state)) == state
    claim = wrapped(machine, Claim(3))
    assert codec.message(codec.encode(claim)) == claim


@pytest.mark.parametrize(
    "message",
    [
        {"type": "inner.message"},
        {"type": "inner.message", "message": {"type": "Nudge"}},
        {"type": "inner.message", "message": {"type": "Claim", "number": "3"}},
        {"type": "inner.message", "message": {"type": "Claim", "number": 3, "loud": True}},
        {"type": "Claim", "number": 3},
        {"type": "outer.message", "message": {"type": "Claim", "number": 3}},
    ],
)
def test_a_lifted_message_is_strictly_decoded(message: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        Codec(over_tenure()).message(msgspec.msgpack.encode(message))
