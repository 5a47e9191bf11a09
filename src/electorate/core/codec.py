"""Values on the wire: strict msgpack, decoded only into what a machine declares; and as JSON."""

from functools import reduce
from operator import or_
from typing import Any

import msgspec

from electorate.core.machine import Machine
from electorate.core.value import Message, Stable, State


class Nothing(Message):
    """Never sent: it stands in where a machine declares no message at all."""


def declared_messages(machine: Machine[Any] | type[Machine[Any]]) -> Any:
    """The type that every message of a machine is decoded into, and nothing else."""
    return reduce(or_, machine.messages) if machine.messages else Nothing


class Codec:
    """Encodes and strictly decodes the values of one machine."""

    def __init__(self, machine: Machine[Any] | type[Machine[Any]]) -> None:
        self._messages = msgspec.msgpack.Decoder(declared_messages(machine))
        self._stable = msgspec.msgpack.Decoder(machine.stable_type)
        self._state = msgspec.msgpack.Decoder(machine.state_type)

    @staticmethod
    def encode(value: Message | Stable | State) -> bytes:
        """The value as bytes. Equal values may differ in bytes, for sets have no order."""
        return msgspec.msgpack.encode(value)

    def message(self, data: bytes) -> Message:
        """The declared message in `data`; msgspec.ValidationError if it is anything else."""
        message: Message = self._messages.decode(data)
        return message

    def stable(self, data: bytes) -> Stable:
        """The stable part in `data`."""
        return self._stable.decode(data)

    def state(self, data: bytes) -> State:
        """The state in `data`."""
        return self._state.decode(data)


def json_of(value: object) -> bytes:
    """A value as JSON, the same in every process: sets are sorted."""
    return msgspec.json.encode(_without_sets(value), order="deterministic")


def _without_sets(value: object) -> object:
    """The value with a list for each set; items without an order of their own go by their JSON."""
    match value:
        case frozenset() | set() if all(isinstance(each, int | str) for each in value):
            return sorted(value)
        case frozenset() | set():
            return [msgspec.Raw(json) for json in sorted(map(json_of, value))]
        case tuple() | list():
            return [_without_sets(each) for each in value]
        case msgspec.Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            listed = {name: _without_sets(field) for name, field in fields.items()}
            return msgspec.structs.replace(value, **listed)
    return value
