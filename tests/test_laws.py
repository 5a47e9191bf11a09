"""What every machine obeys, whatever happens to it: random walks over the whole registry.

The walks go through Turns, which calls every handler twice and holds what it returns against the
contract: a machine that raises, mutates, rolls dice or returns garbage anywhere ends the walk.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.claims import CLAIMS
from electorate.core import (
    Asked,
    Assumption,
    Event,
    Machine,
    Members,
    NodeId,
    Received,
    Rules,
    State,
    Strongest,
    TimedOut,
    Timing,
    Turn,
    Turns,
    text_of,
)
from electorate.core.codec import Codec
from electorate.protocols.bully import Bully
from electorate.protocols.consensus import Consensus
from electorate.protocols.mandate import Mandate
from electorate.protocols.registry import REGISTRY
from examples.chang_roberts import ChangRoberts
from examples.peterson import Peterson
from examples.shared_work.protocol import SharedWork
from tests.core.lifted import OverBully, OverTenure
from tests.drawn import STRANGER, events, messages

KINDS: dict[str, tuple[type[Machine[Any]], str]] = {
    **{name: (entry.machine, entry.form) for name, entry in REGISTRY.items()},
    "examples/chang-roberts": (ChangRoberts, "sound"),
    "examples/peterson": (Peterson, "sound"),
    "examples/shared-work": (SharedWork, "sound"),
    # It says nothing of its own: there would be no message to try.
    "consensus": (Consensus.over(Bully), "sound"),
    "mandate-over-bully": (Mandate.over(Bully), "sound"),
    "over-bully": (OverBully, "sound"),
    "over-tenure": (OverTenure, "sound"),
}
FORMS = sorted(
    {(kind, form) for kind, _ in KINDS.values() for form in ("sound", *kind.forms)},
    key=lambda found: (found[0].__name__, found[1]),
)
DECLARED = [
    ChangRoberts,
    Peterson,
    SharedWork,
    *dict.fromkeys(entry.machine for entry in REGISTRY.values()),
]

EXPLORED_MAX = 100

every_machine = pytest.mark.parametrize("name", KINDS)


class Walk(NamedTuple):
    """A node of a machine, and what happens to it."""

    turns: Turns
    me: NodeId
    events: list[Event]

    def steps(self) -> Iterator[tuple[State, Event, Turn]]:
        """The state before each event, and the turn that came of it."""
        everybody = frozenset(self.turns.machine.members.ids)
        state = self.turns.life(self.me, None, everybody)[-1].state
        for event in self.events:
            turn = self.turns.step(state, event)
            yield state, event, turn
            state = turn.state


@st.composite
def walks(draw: st.DrawFn, name: str) -> Walk:
    kind, form = KINDS[name]
    ids = range(1, draw(st.integers(1, 5)) + 1)
    attributes = draw(st.dictionaries(st.sampled_from(ids), st.integers(-2, 2), max_size=3))
    members = Members.of(ids, draw(st.sampled_from(get_args(Strongest))), attributes)
    machine = kind(members, Timing(T=draw(st.integers(1, 3))), kind.form(form))
    me = draw(st.sampled_from(members.ids))
    return Walk(Turns(machine), me, draw(st.lists(events(machine, me), max_size=30)))


@every_machine
def test_no_event_in_any_reached_state_breaks_the_contract(name: str) -> None:
    @given(walks(name))
    def law(walk: Walk) -> None:
        turns = walk.turns
        for _, _, turn in walk.steps():
            for request in turns.may_ask(turns.view(turn.state)):
                turns.step(turn.state, Asked(request))

    law()


@every_machine
def test_a_state_survives_the_wire_and_a_node_boots_from_what_it_kept(name: str) -> None:
    @given(walks(name))
    def law(walk: Walk) -> None:
        codec = Codec(walk.turns.machine)
        for state, _, _ in walk.steps():
            arrived = codec.state(codec.encode(state))
            assert arrived == state
            assert hash(arrived) == hash(state)
            assert text_of(arrived) == text_of(state)
            kept = codec.stable(codec.encode(state.stable))
            assert kept == state.stable
            assert walk.turns.boot(walk.me, kept) == walk.turns.boot(walk.me, state.stable)

    law()


@every_machine
def test_any_declared_message_survives_the_wire(name: str) -> None:
    kind, form = KINDS[name]
    machine = kind(Members.of([1, 2, 3]), Timing(), kind.form(form))
    codec = Codec(machine)

    @given(messages(machine))
    def law(message: Any) -> None:
        assert codec.message(codec.encode(message)) == message

    law()


@every_machine
def test_a_stranger_is_ignored(name: str) -> None:
    @given(st.data())
    def law(data: st.DataObject) -> None:
        walk = data.draw(walks(name))
        message = data.draw(messages(walk.turns.machine))
        for state, _, _ in walk.steps():
            assert walk.turns.step(state, Received(STRANGER, message)) == Turn(state, ())

    law()


@pytest.mark.parametrize(("kind", "form"), FORMS)
def test_the_texts_of_a_form_make_that_form(kind: type[Machine[Any]], form: str) -> None:
    rules = kind.form(form)
    assert type(rules) is kind.rules_type
    texts = [f"{name}={text}" for name, text in rules.texts().items()]
    for other in ("sound", *kind.forms):
        assert kind.form(other).with_texts(texts) == rules


@pytest.mark.parametrize("kind", DECLARED)
def test_a_protocol_promises_known_claims_under_known_assumptions(
    kind: type[Machine[Any]],
) -> None:
    for form in ("sound", *kind.forms):
        assert set(kind.promised(form)) <= set(CLAIMS)
    assert set(kind.form_promises) <= {"sound", *kind.forms}
    assert set(kind.assumptions) <= set(Assumption)
    assert kind.strongest in get_args(Strongest)
    assert issubclass(kind.rules_type, Rules)
    assert all(message.__doc__ for message in kind.messages)
    head = sys.modules[kind.__module__].__doc__ or ""
    assert re.search(r"^Source: \S", head, re.MULTILINE)
    assert re.search(r"^Needs: \S", head, re.MULTILINE)


@pytest.mark.parametrize("entry", REGISTRY.values(), ids=REGISTRY)
def test_a_registry_entry_names_a_form_of_its_machine(entry: Any) -> None:
    assert isinstance(entry.machine.form(entry.form), Rules)


def explored(kind: type[Machine[Any]], form: str) -> Iterator[str]:
    """The turns of one node that bare messages and timers lead to, as text."""
    turns = Turns(kind(Members.of([1, 2, 3]), Timing(), kind.form(form)))
    bare = [message() for message in kind.messages if not message.__struct_fields__]
    happens: list[Event] = [Received(j, message) for j in (1, 3) for message in bare]
    happens += [TimedOut(timer.name) for timer in turns.machine.timers]
    found = {turns.boot(2, None).state: None}
    for place in range(EXPLORED_MAX):
        if place == len(found):
            break
        state = list(found)[place]
        for event in happens:
            turn = turns.step(state, event)
            found[turn.state] = None
            yield text_of(turn)


def test_turns_are_the_same_in_every_process() -> None:
    script = (
        "from tests.test_laws import KINDS, explored\n"
        "for kind, form in KINDS.values():\n"
        "    print(*explored(kind, form), sep='\\n')\n"
    )
    root = Path(__file__).parents[1]
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert "AreYouThere" in texts.pop()
