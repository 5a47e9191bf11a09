"""A port that only writes down what it is ordered to do, with a clock that is set by hand."""

from typing import Any

from msgspec import msgpack

from electorate.core import (
    Asked,
    Event,
    Machine,
    Members,
    Message,
    NodeId,
    Stable,
    State,
    Timing,
    Turns,
)
from electorate.runtime.instance import Instance, Owner
from tests.runtime.puppet import Do, Promise, Puppet, PuppetState

EVERYBODY = frozenset({1, 2, 3})


class Describing(Owner):
    def described(self, machine: Machine[Any]) -> str:
        return "cluster puppet 1 2 3"


class PuppetPort:
    """The port of one puppet, and the puppet."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.acts: list[str] = []
        self.save_takes_ms = 0.0
        self.jitters: list[int] = []
        machine = Puppet(Members.of([1, 2, 3]), Timing(10))
        self.instance = Instance("puppet", Turns(machine), 1, self, Describing())
        self.instance.record = self

    def boot(self, stable: Promise | None = None) -> "PuppetPort":
        self.instance.boot(stable, EVERYBODY)
        self.acts.clear()
        return self

    def do(self, *orders: str) -> None:
        self.instance.take(Asked(Do(orders)))

    def wake_at(self, now: float) -> None:
        self.now = now
        self.instance.wake()

    @property
    def lived(self) -> list[str]:
        state = self.instance.state
        assert isinstance(state, PuppetState)
        return [what for what in state.lived if not what.startswith("saw")]

    # --- the port ---

    def now_ms(self) -> float:
        return self.now

    def keep(self, name: str, record: bytes) -> None:
        self.now += self.save_takes_ms
        self.acts.append(f"save {msgpack.decode(record, type=Promise).number}")

    def send(self, instance: Instance, to: NodeId, message: Message) -> None:
        self.acts.append(f"send {to} {getattr(message, 'text', '')}")

    def schedule(self, instance: Instance) -> None: ...

    def ruled(self, machine: Machine[Any], cluster: str) -> None: ...

    def halted(self) -> None: ...

    def ended(self, *, over: bool) -> None: ...

    def booted(self, stable: Stable | None, state: State) -> None:
        self.acts.append("booted")

    def took(
        self, event: Event, state: State, letterhead: Any = None, source: str | None = None
    ) -> None:
        self.acts.append(f"took {type(event).__name__}")

    def jitter(self, up_to: int) -> float:
        self.jitters.append(up_to)
        return float(up_to)
