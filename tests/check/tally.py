"""Machines drawn by lot that count: rounds of their own, which only tell one from another, and a
term that is compared by its size. Some of them do otherwise than their types say.
"""

from random import Random
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from electorate.check import Bounds, Model
from electorate.core import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Machine,
    Members,
    Message,
    NodeId,
    Ordinal,
    Received,
    Request,
    Result,
    Send,
    Serial,
    SetTimer,
    Stable,
    Standing,
    State,
    Status,
    TimedOut,
    Timer,
    Timing,
    Viewed,
)
from tests.check.drawn import MODES, ORDERS, Poke, Rule, Table, drawn_model

HEARD = ("known", "fresh", "low", "even", "high", "mine", "stale", "passed")
"""What a message is by its numbers: by the round of its sender, by its term, by whose round it
comes back to."""
CAUSES = ("boot", "again", "all", "some", "once", "often", "ask", *HEARD)
NUMBERED = ("count it", "raise it", "adopt it", "follow it", "forget it", "echo it", "pass it")
SINS = ("constant", "parity", "wrap", "order", "cross", "foreign", "reset", "skip", "view", "lapse")
"""How a machine may do otherwise than its types say; by order, nothing goes wrong."""

Round = tuple[NodeId, Annotated[int, Serial(of=0)]]


class Call(Message):
    kind: str
    number: Annotated[int, Serial()]
    term: Annotated[int, Ordinal()]


class Echo(Message):
    caller: NodeId
    number: Annotated[int, Serial("caller")]


class Ledger(Stable):
    mode: int
    number: Annotated[int, Serial()]
    term: Annotated[int, Ordinal()]


class TallyState(State):
    stable: Ledger
    mode: int
    number: Annotated[int, Serial()]
    term: Annotated[int, Ordinal()]
    heard: Round | None = None


class Tally(Machine[TallyState]):
    """Does what its table says, with its numbers too. `sin` says what it does otherwise."""

    state_type = TallyState
    stable_type = Ledger
    messages = (Call, Echo)
    requests = (Poke,)
    timers = (Timer("once"), Timer("often", periodic=True))

    def __init__(
        self, members: Members, timing: Timing, table: Table, views: bool, sin: str | None = None
    ) -> None:
        super().__init__(members, timing)
        self.table, self.uses_views, self.sin = table, views, sin

    def boot(self, me: NodeId, stable: Ledger | None) -> Result[TallyState]:
        kept = stable or Ledger(0, 0, 0)
        state = TallyState(me, kept, kept.mode, kept.number, kept.term)
        return self._obey(state, "boot" if stable is None else "again")

    def step(self, s: TallyState, event: Event) -> Result[TallyState]:
        match event:
            case Received(sender, Call("note", number) as call):
                return self._obey(s, self._known(s, (sender, number)), (sender, number), call)
            case Received(sender, Call(_, number, term) as call):
                size = "low" if term < s.term else "even" if term == s.term else "high"
                return self._obey(s, size, (sender, number), call)
            case Received(_, Echo(caller, number) as echo):
                whose = "mine" if number == s.number else "stale"
                return self._obey(s, whose if caller == s.me else "passed", (caller, number), echo)
            case TimedOut(timer):
                return self._obey(s, timer)
            case Viewed(alive):
                return self._obey(s, "all" if len(alive) == len(self.members.ids) else "some")
            case Asked():
                return self._obey(s, "ask")
        return s, []

    def _known(self, s: TallyState, met: Round) -> str:
        if self.sin == "order" and s.heard is not None and s.heard[0] == met[0]:
            return "known" if met[1] <= s.heard[1] else "fresh"
        return "known" if met == s.heard else "fresh"

    def view(self, s: TallyState) -> Standing:
        if s.mode == 1 or (self.sin == "view" and s.number % 2):
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, self.members.ids[0], group=s.heard, token=s.term)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Poke(),) if view.status is Status.NORMAL else ()

    def _is_twisted(self, s: TallyState) -> bool:
        """Whether the machine makes a difference that it should not."""
        match self.sin:
            case "constant":
                return s.number == 2 or s.term == 3
            case "set":
                return s.number in {2, 5} or s.term in {3}
            case "dict":
                return {2: True}.get(s.number, False) or {3: True}.get(s.term, False)
            case "slice":
                return "..x"[s.number : s.number + 1] == "x" or "...x"[s.term : s.term + 1] == "x"
            case "repr":
                return repr(s.number) == "2" or f"{s.term!r}" == "3"
            case "parity":
                return s.number % 2 == 1 or s.term % 2 == 1
            case "cross":
                return s.heard is not None and s.heard[0] != s.me and s.heard[1] == s.number
        return False

    def _obey(
        self,
        s: TallyState,
        cause: str,
        met: Round | None = None,
        message: Call | Echo | None = None,
    ) -> Result[TallyState]:
        mode, save, orders = self.table[cause, (s.mode + self._is_twisted(s)) % MODES]
        s = replace(s, mode=mode)
        effects: list[Effect] = []
        for order in orders:
            if order in NUMBERED[:5]:
                s = self._counted(s, order.split()[0], met, message)
            else:
                effects += self._order(s, order, message)
        if save:
            s = replace(s, stable=Ledger(mode, s.number, s.term))
        return s, effects

    def _counted(
        self, s: TallyState, verb: str, met: Round | None, message: Call | Echo | None
    ) -> TallyState:
        match verb:
            case "count" if self.sin == "foreign" and s.heard is not None:
                return replace(s, heard=(s.heard[0], s.heard[1] + 1))
            case "count":
                number = s.number + (2 if self.sin == "skip" else 1)
                return replace(s, number=number % 3 if self.sin == "wrap" else number)
            case "raise":
                return replace(s, term=(s.term + 1) % 3 if self.sin == "wrap" else s.term + 1)
            case "adopt" if met is not None:
                mine = self.sin == "lapse" and met[0] == s.me
                return replace(s, number=met[1]) if mine else replace(s, heard=met)
            case "follow" if isinstance(message, Call):
                return replace(s, term=max(s.term, message.term))
            case "forget":
                return replace(s, heard=None, number=0 if self.sin == "reset" else s.number)
        return s

    def _order(self, s: TallyState, order: str, message: Call | Echo | None) -> list[Effect]:
        verb, what, *lengths = order.split()
        after = self.members.after(s.me)
        match verb:
            case "send":
                return [Send(after, Call(what, s.number, s.term))]
            case "remember":
                return [Send(s.me, Echo(s.me, s.number))]
            case "echo":
                return [] if s.heard is None else [Send(after, Echo(*s.heard))]
            case "pass":
                return [Send(after, message)] if isinstance(message, Echo) else []
            case "cancel":
                return [CancelTimer(what)]
            case "set":
                return [SetTimer(what, *map(int, lengths))]
        return []


def tally_table(lot: Random, bounded: bool) -> Table:
    """Rules that count more often than not; a loop that counts is likely."""
    timers = [order for order in ORDERS if bounded or order != "set once 0"]
    table: dict[tuple[str, int], Rule] = {}
    for cause in CAUSES:
        for mode in range(MODES):
            allowed = [o for o in timers if cause not in HEARD[5:] or not o.startswith("remember")]
            given = lot.sample(allowed, lot.choice((0, 0, 1, 1)))
            given += lot.sample(NUMBERED, lot.choice((0, 1, 1, 2)))
            lot.shuffle(given)
            table[cause, mode] = (lot.choice((0, 0, 1, 2)), lot.random() < 0.5, tuple(given))
    if lot.random() < 0.6:
        loop = (lot.choice(("count it", "raise it")), lot.choice(("send note", "send other")))
        for mode in range(MODES):
            table["once", mode] = (lot.choice((0, 0, mode)), True, (*loop, "set once 1"))
    return table


def drawn_tally(seed: int) -> tuple[Machine[Any], Model]:
    """A machine that counts and a model, the same for the same seed; one in three sins."""
    lot = Random(f"tally {seed}")
    model = drawn_model(lot)
    sin = lot.choice(SINS) if lot.random() < 0.35 else None
    table = tally_table(lot, model.bounded)
    machine = Tally(model.setting.members(), model.setting.timing, table, lot.random() < 0.3, sin)
    bounds = Bounds(capacity=lot.choice((1, 1, 2)), counter=lot.choice((2, 3, 5)), firings=1)
    return machine, msgspec.structs.replace(model, bounds=bounds)
