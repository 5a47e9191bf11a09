"""Only what a machine declares gets through the wire, and it gets through whole."""

from typing import Any

import msgspec
import pytest

from electorate.core import Machine, Members, NodeId, Result, Stable, Standing, State, Status
from electorate.core.codec import Codec, json_of
from electorate.protocols.bully import AreYouThere, Bully, BullyState, Halt, Phase, Yes
from tests.faulty.undeclared import Quiet


class Counter(Stable):
    count: int
    owners: frozenset[tuple[int, int]] = frozenset()


class CounterState(State):
    stable: Counter
    rivals: frozenset[Counter] = frozenset()


class Counting(Machine[CounterState]):
    state_type = CounterState
    stable_type = Counter
    messages = (AreYouThere,)

    def boot(self, me: NodeId, stable: Counter | None) -> Result[CounterState]:
        return CounterState(me, stable or Counter(0)), []

    def step(self, s: CounterState, event: Any) -> Result[CounterState]:
        return s, []

    def view(self, s: CounterState) -> Standing:
        return Standing(Status.ELECTION)


BULLY = Codec(Bully)
COUNTING = Codec(Counting)


def packed(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


@pytest.mark.parametrize("message", [kind() for kind in Bully.messages], ids=str)
def test_every_message_survives_the_wire(message: Any) -> None:
    assert BULLY.message(BULLY.encode(message)) == message


def test_a_state_survives_the_wire() -> None:
    state = BullyState(2, Stable(), Phase.HALTED, halter=1, alive=frozenset({1, 2}))
    assert BULLY.state(BULLY.encode(state)) == state


def test_stable_parts_and_sets_of_records_survive_the_wire() -> None:
    kept = Counter(3, frozenset({(1, 2), (0, 3)}))
    state = CounterState(1, kept, frozenset({Counter(1), Counter(2)}))
    assert COUNTING.stable(COUNTING.encode(kept)) == kept
    assert COUNTING.state(COUNTING.encode(state)) == state


@pytest.mark.parametrize(
    "data",
    [
        packed({"type": "Shout"}),
        packed({}),
        packed({"type": "Yes", "loud": True}),
        packed(["Yes"]),
        packed(None),
        packed(Yes()) + b"\x00",
        packed(Yes())[:-1],
        b"",
    ],
)
def test_what_is_not_a_declared_message_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        BULLY.message(data)


def test_another_machines_message_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Invalid value 'Halt'"):
        COUNTING.message(BULLY.encode(Halt()))


@pytest.mark.parametrize(
    "fields",
    [
        {"count": "3"},
        {"count": True},
        {"count": 3, "owners": [[1]]},
        {"count": 3, "colour": "red"},
        {},
    ],
)
def test_a_stable_part_of_another_shape_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        COUNTING.stable(packed(fields))


def test_a_machine_without_messages_takes_none() -> None:
    codec = Codec(Quiet(Members.of([1]), None))  # type: ignore[arg-type]
    with pytest.raises(msgspec.ValidationError):
        codec.message(packed(Yes()))


def test_json_is_sorted_whatever_is_in_a_set() -> None:
    rivals = frozenset({Counter(10), Counter(2, frozenset({(3, 1), (1, 20), (1, 3)}))})
    state = CounterState(1, Counter(0), rivals)
    text = json_of(state).decode()
    assert text == (
        '{"me":1,"stable":{"count":0,"owners":[]},"rivals":['
        '{"count":10,"owners":[]},{"count":2,"owners":[[1,20],[1,3],[3,1]]}]}'
    )
    assert msgspec.json.decode(text, type=CounterState) == state


def test_json_keeps_the_type_of_a_message() -> None:
    assert json_of(Yes()) == b'{"type":"Yes"}'
