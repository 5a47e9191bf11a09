"""Values on the wire: strict msgpack, decoded only into what a machine declares."""

from functools import reduce
from operator import or_
from typing import Any

import msgspec

from electorate.core.machine import Machine
from electorate.core.value import Message, Stable, State


class Codec:
    """Encodes and strictly decodes the values of one machine."""

    def __init__(self, machine: Machine[Any] | type[Machine[Any]]) -> None:
        self._messages = msgspec.msgpack.Decoder(reduce(or_, machine.messages))
        self._stable = msgspec.msgpack.Decoder(machine.stable_type)
        self._state = msgspec.msgpack.Decoder(machine.state_type)

    @staticmethod
    def encode(value: Message | Stable | State) -> bytes:
        """The value as bytes, the same in every process."""
        return msgspec.msgpack.encode(value, order="deterministic")

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
