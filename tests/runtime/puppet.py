"""A machine that does what it is asked to, word for word: `promise 3`, `send 2 hello`, `set nap 5`.

The last word of an order may be a jitter: `set nap 50 20`. `lead nap` takes an office that ends
with that timer. What is said to oneself is done as if it had been asked for.
"""

from typing import Any

from msgspec.structs import replace

from electorate.core import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Machine,
    Message,
    NodeId,
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
    Viewed,
)


class Say(Message):
    """This."""

    text: str


class Do(Request):
    """Do these things, one after the other."""

    orders: tuple[str, ...]


class Promise(Stable):
    """The highest number that was promised."""

    number: int = 0


class PuppetState(State):
    stable: Promise
    until: str | None = None
    lived: tuple[str, ...] = ()


class Puppet(Machine[PuppetState]):
    """Obeys, and writes down what happened to it."""

    state_type = PuppetState
    stable_type = Promise
    messages = (Say,)
    requests = (Do,)
    timers = (Timer("nap"), Timer("doze"), Timer("lease"))
    uses_views = True

    def boot(self, me: NodeId, stable: Promise | None) -> Result[PuppetState]:
        return PuppetState(me, stable or Promise()), []

    def step(self, s: PuppetState, event: Event) -> Result[PuppetState]:
        match event:
            case Asked(Do(orders)):
                return self._obey(s, "asked", orders)
            case Received(sender, Say(text)) if sender == s.me:
                return self._obey(s, f"told myself {text}", text.split(", "))
            case Received(sender, Say(text)):
                return self._obey(s, f"{sender} said {text}", ())
            case TimedOut(timer):
                over = replace(s, until=None) if timer == s.until else s
                return self._obey(over, f"{timer} ran out", ())
            case Viewed(alive):
                return self._obey(s, f"saw {sorted(alive)}", ())
        return s, []

    def view(self, s: PuppetState) -> Standing:
        if s.until is not None:
            return Standing(Status.NORMAL, s.me, until=s.until)
        return Standing(Status.ELECTION)

    def _obey(self, s: PuppetState, what: str, orders: Any) -> Result[PuppetState]:
        s = replace(s, lived=(*s.lived, what))
        effects: list[Effect] = []
        for order in orders:
            match order.split():
                case ["promise", number]:
                    s = replace(s, stable=Promise(int(number)))
                case ["send", to, *words]:
                    effects.append(Send(int(to), Say(" ".join(words))))
                case ["set", timer, after]:
                    effects.append(SetTimer(timer, int(after)))
                case ["set", timer, after, jitter]:
                    effects.append(SetTimer(timer, int(after), int(jitter)))
                case ["cancel", timer]:
                    effects.append(CancelTimer(timer))
                case ["lead", timer]:
                    s = replace(s, until=timer)
                case ["fail"]:
                    raise KeyError("fail")
        return s, effects
