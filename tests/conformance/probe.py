"""A probe: one machine that every driver runs, and that writes down in its state what it lived.

What it was handed is in `facts`; together with `kept`, what it booted with, that determines all
its states and orders. Its promise is raised in the very turn that speaks of it.
"""

from collections.abc import Iterable
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
    Rules,
    Send,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    Value,
    Viewed,
)

SOONER, LATER, VOID, LOOSE, LEASE = "sooner", "later", "void", "loose", "lease"


class Note(Message):
    """This is my life, the number of this note to you in it, and what I have promised."""

    life: int
    number: int
    promise: int


class Echo(Message):
    """I told myself so in that turn of my life; and I may have to say something to everybody."""

    life: int
    turn: int
    aloud: bool = False


class Speak(Request):
    """Promise more and say so to everybody, several times, and to yourself."""


class Wind(Request):
    """Promise more, and order timers about."""


class Reign(Request):
    """Promise more, and take an office that runs out."""


REQUESTS: dict[str, Request] = {"speak": Speak(), "wind": Wind(), "reign": Reign()}


class Kept(Stable):
    """How many lives there were, and what was promised in them."""

    life: int = 0
    promise: int = 0


class Fact(Value):
    """One event, as the probe wrote it down."""

    what: str
    sender: NodeId = 0
    message: Note | Echo | None = None


class ProbeState(State):
    """Everything that has happened to the probe in this life."""

    stable: Kept
    kept: Kept | None
    facts: tuple[Fact, ...] = ()
    numbers: tuple[int, ...] = ()
    """How many notes it has sent to each member."""
    reigns: bool = False


class ProbeRules(Rules):
    """How much the probe has to say."""

    greets: int = 1
    """Notes to every other node at boot."""
    burst: int = 2
    """Notes to every other node when it is asked to speak."""
    wishes: str = "speak+wind+reign"
    """What it may be asked for."""


class Probe(Machine[ProbeState]):
    """Does what it is asked to, and writes everything down."""

    state_type = ProbeState
    stable_type = Kept
    rules_type = ProbeRules
    messages = (Note, Echo)
    requests = (Speak, Wind, Reign)
    timers = tuple(Timer(name) for name in (SOONER, LATER, VOID, LOOSE, LEASE))
    uses_views = True

    def boot(self, me: NodeId, stable: Kept | None) -> Result[ProbeState]:
        known = stable or Kept()
        now = Kept(known.life + 1, known.promise + 1)
        s = ProbeState(me, now, stable, numbers=(0,) * len(self.members.ids))
        s, notes = self._notes(s, self.rules.greets)
        return s, [self._echo(s), *notes]

    def step(self, s: ProbeState, event: Event) -> Result[ProbeState]:
        s = replace(s, facts=(*s.facts, fact_of(event)))
        t = self.timing.T
        match event:
            case Asked(Speak()):
                s, notes = self._notes(_promising(s), self.rules.burst)
                return s, [self._echo(s, aloud=True), *notes, self._echo(s)]
            case Asked(Wind()):
                return _promising(s), [
                    *(SetTimer(SOONER, 3 * t), SetTimer(SOONER, t)),
                    *(SetTimer(LATER, t), SetTimer(LATER, 2 * t)),
                    *(SetTimer(VOID, t), CancelTimer(VOID)),
                    *(CancelTimer(LOOSE), SetTimer(LOOSE, t, t)),
                ]
            case Asked(Reign()):
                s = replace(_promising(s), reigns=True)
                return s, [SetTimer(LEASE, 2 * t), self._echo(s)]
            case Received(j, Echo(aloud=True)) if j == s.me:
                s, notes = self._notes(_promising(s), 1)
                return s, [*notes, self._echo(s)]
            case TimedOut(timer) if timer == SOONER:
                return s, [SetTimer(LOOSE, 2 * t), SetTimer(VOID, t)]
            case TimedOut(timer) if timer == LATER:
                return s, [CancelTimer(VOID)]
            case TimedOut(timer) if timer == LEASE:
                return replace(s, reigns=False), []
        return s, []

    def view(self, s: ProbeState) -> Standing:
        if s.reigns:
            return Standing(Status.NORMAL, s.me, until=LEASE)
        return Standing(Status.ELECTION)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return tuple(REQUESTS[wish] for wish in self.rules.wishes.split("+"))

    def _notes(self, s: ProbeState, count: int) -> tuple[ProbeState, list[Effect]]:
        """So many notes to every other node, by turns."""
        notes: list[Effect] = []
        numbers = list(s.numbers)
        for _ in range(count):
            for place, node in enumerate(self.members.ids):
                if node != s.me:
                    numbers[place] += 1
                    note = Note(s.stable.life, numbers[place], s.stable.promise)
                    notes.append(Send(node, note))
        return replace(s, numbers=tuple(numbers)), notes

    def _echo(self, s: ProbeState, *, aloud: bool = False) -> Send:
        return Send(s.me, Echo(s.stable.life, len(s.facts), aloud))


def _promising(s: ProbeState) -> ProbeState:
    return replace(s, stable=replace(s.stable, promise=s.stable.promise + 1))


def fact_of(event: Event) -> Fact:
    """The event as the probe writes it down."""
    match event:
        case Received(sender, Note() | Echo() as message):
            return Fact("heard", sender, message)
        case TimedOut(timer):
            return Fact(f"fired {timer}")
        case Viewed(alive):
            return Fact(" ".join(["saw", *map(str, sorted(alive))]))
        case Asked(request):
            return Fact(f"asked {type(request).__name__.lower()}")
    raise TypeError(f"a probe knows nothing of {event!r}")


def event_of(fact: Fact) -> Event:
    """The event that was written down so."""
    match fact.what.split():
        case ["heard"] if fact.message is not None:
            return Received(fact.sender, fact.message)
        case ["fired", timer]:
            return TimedOut(timer)
        case ["saw", *nodes]:
            return Viewed(frozenset(map(int, nodes)))
        case ["asked", wish]:
            return Asked(REQUESTS[wish])
    raise ValueError(f"no event is written down as {fact!r}")


def find(name: str) -> tuple[type[Machine[Any]], str]:
    """The machine that all scripts of this suite mean."""
    return Probe, "sound"


def notes_of(effects: Iterable[Effect], to: NodeId) -> list[Note]:
    """The notes to one node among the orders of a turn."""
    sent = (e.message for e in effects if isinstance(e, Send) and e.to == to)
    return [message for message in sent if isinstance(message, Note)]


def echoes_of(effects: Iterable[Effect]) -> list[Echo]:
    """What the node tells itself among the orders of a turn."""
    return [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Echo)]
