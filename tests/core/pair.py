"""Two machines that a wire joins: a counter, and an office that hears how far it has counted."""

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Ensemble,
    Event,
    Machine,
    Message,
    NodeId,
    Part,
    Received,
    Request,
    Result,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    Wire,
)

UNTIL = "until"


class Count(Request):
    """Count up to this."""

    number: int


class Heard(Request):
    """So far it has counted."""

    number: int


class Enter(Request):
    """Be in office for this long."""

    ticks: int


class Said(Message):
    """I have heard this number."""

    number: int


class Counted(Stable):
    number: int = 0


class CounterState(State):
    stable: Counted = Counted()


class Counter(Machine[CounterState]):
    """Counts as far as it is asked to."""

    requests = (Count,)
    state_type = CounterState
    stable_type = Counted
    outputs = {"number": "number"}

    def boot(self, me: NodeId, stable: Counted | None) -> Result[CounterState]:
        return CounterState(me, stable or Counted()), []

    def step(self, s: CounterState, event: Event) -> Result[CounterState]:
        match event:
            case Asked(Count(number)):
                return replace(s, stable=Counted(number)), []
        return s, []

    def view(self, s: CounterState) -> Standing:
        return Standing(Status.NORMAL)


class Known(Stable):
    number: int = 0


class OfficeState(State):
    stable: Known = Known()
    lived: tuple[str, ...] = ()
    holds: bool = False


class Office(Machine[OfficeState]):
    """Says what it has heard, and remembers everything that has happened to it."""

    requests = (Heard, Enter)
    messages = (Said,)
    timers = (Timer(UNTIL), Timer("nap"))
    state_type = OfficeState
    stable_type = Known
    outputs = {"known": "number"}

    def boot(self, me: NodeId, stable: Known | None) -> Result[OfficeState]:
        return OfficeState(me, stable or Known(), ("booted",)), []

    def step(self, s: OfficeState, event: Event) -> Result[OfficeState]:
        match event:
            case Asked(Heard(number)) if number == s.stable.number:
                return s, []
            case Asked(Heard(number)):
                s = replace(s, stable=Known(number), lived=(*s.lived, f"heard {number}"))
                return s, [Send(2, Said(number))]
            case Asked(Enter(ticks)):
                s = replace(s, lived=(*s.lived, "entered"), holds=True)
                return s, [SetTimer(UNTIL, ticks), SetTimer("nap", ticks + 1)]
            case TimedOut(timer) if timer == UNTIL:
                return replace(s, lived=(*s.lived, "left"), holds=False), []
            case TimedOut(timer):
                return replace(s, lived=(*s.lived, timer)), []
            case Received(_, Said(number)):
                return replace(s, lived=(*s.lived, f"{number} was said")), []
        return s, []

    def view(self, s: OfficeState) -> Standing:
        if s.holds:
            return Standing(Status.NORMAL, s.me, None, UNTIL)
        return Standing(Status.NORMAL)


WIRE = Wire("counter", "number", "office", Heard)


class Pair(Ensemble):
    """Both at every node."""

    parts = {"counter": Part(Counter), "office": Part(Office)}
    wires = (WIRE,)
    focus = "office"
