"""Values on the wire: strict msgpack, decoded only into what a machine declares."""

from functools import reduce
from operator import or_
from typing import Any

import msgspec

from electorate.core.machine import Machine
from electorate.core.value import Message, Stable, State


class Nothing(Message):
    """Never sent: it stands in where a machine declares no message at all."""


class Codec:
    """Encodes and strictly decodes the values of one machine."""

    def __init__(self, machine: Machine[Any] | type[Machine[Any]]) -> None:
        declared = reduce(or_, machine.messages) if machine.messages else Nothing
        self._messages = msgspec.msgpack.Decoder(declared)
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
