"""The wires of a host: what one instance has saved becomes a request to others.

`core/ensemble.py` says when. Nothing is scanned: a change of an output makes it one version newer,
and a target compares that number before each of its events. Targets to which nothing happens are
told a few at a time, in wake-ups of their own.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from electorate.core import Asked, Machine, Stable, State, Wire
from electorate.runtime.timers import ChunkedWork


class Wired(Protocol):
    """What a wire needs of an instance."""

    name: str
    state: State | None
    outputs: "list[Output]"
    inlets: "list[Inlet]"

    @property
    def machine(self) -> Machine[Any]:
        """The machine that takes its turns."""

    def hear(self) -> None:
        """Take what wires have for it, if there is anything."""


class Output:
    """What an instance has saved under one name, and who is told of it."""

    def __init__(
        self, source: str, read: Callable[[Stable], Any], sweep: Callable[["Output"], None]
    ) -> None:
        self.source = source
        """The name of the instance."""
        self.value: Any = None
        """What it saved last, also once it is down."""
        self.version = 0
        """Grows with every change; 0 until the instance has booted for the first time."""
        self.targets: dict[Wired, None] = {}
        self._read = read
        self._sweep = sweep

    def look(self, stable: Stable) -> None:
        """The instance uses this state from now on."""
        value = self._read(stable)
        if self.version and value == self.value:
            return
        self.value = value
        self.version += 1
        self._sweep(self)


class Inlet:
    """A wire as its target has it."""

    def __init__(self, wire: Wire, output: Output) -> None:
        self.output = output
        self.heard = 0
        """The version that the target was told last; 0 if none in this life. While the output has a
        newer one, something is due; a target looks before each of its events."""
        self._wire = wire

    def asked(self) -> Asked:
        """What the target is told now."""
        self.heard = self.output.version
        return self._wire.asked(self.output.value)

    def forget(self) -> None:
        """A new life of the target is told everything."""
        self.heard = 0


class Wiring:
    """All wires of a host."""

    def __init__(self, enter: Callable[..., None]) -> None:
        self._enter = enter
        self._outputs: dict[tuple[Wired, str], Output] = {}
        self._hearing: ChunkedWork[Wired] = ChunkedWork(enter, lambda target: target.hear())
        self._changed: dict[Output, None] = {}

    def join(self, wire: Wire, source: Wired, target: Wired) -> None:
        """From now on the target is told what the source has saved."""
        if wire.request not in target.machine.requests:
            raise ValueError(f"{target.name} has no request {wire.request.__name__}")
        output = self._output(wire, source)
        output.targets[target] = None
        target.inlets.append(Inlet(wire, output))

    def part(self, target: Wired) -> None:
        """Stop telling it anything."""
        for inlet in target.inlets:
            inlet.output.targets.pop(target, None)
        target.inlets.clear()

    def _output(self, wire: Wire, source: Wired) -> Output:
        """What the wire reads."""
        key = source, wire.output
        output = self._outputs.get(key)
        if output is None:
            read = wire.reader(source.machine)
            output = self._outputs[key] = Output(source.name, read, self._sweep_soon)
            source.outputs.append(output)
            if source.state is not None:
                output.look(source.state.stable)
        return output

    def _sweep_soon(self, output: Output) -> None:
        """Have all its targets told, once this wake-up is over."""
        if not self._changed:
            asyncio.get_running_loop().call_soon(self._enter, self._sweep)
        self._changed[output] = None

    def _sweep(self) -> None:
        changed, self._changed = self._changed, {}
        self._hearing.over(target for output in changed for target in output.targets)
