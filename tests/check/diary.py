"""A machine that does as it is told and keeps a diary, for probing the world that it lives in.

Its orders are texts: {"1 boot": "send 2 a; set x 2", "2 heard a": "save it"}. A cause is `boot`,
`again` (a recovery), `heard MESSAGE`, `fired TIMER`, `saw NODES` or `asked WORD`; orders for `any
heard a` are everybody's. Each cause is written down, unless its orders begin with `quietly`.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from electorate.core import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Machine,
    Members,
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
    Timing,
    Viewed,
)

Orders = Mapping[str, str]


class Word(Message):
    text: str


class Please(Request):
    text: str


class Saved(Stable):
    words: tuple[str, ...] = ()


class DiaryState(State):
    stable: Saved
    diary: tuple[str, ...] = ()
    standing: Standing = Standing(Status.NORMAL)
    count: int = 0


class Diary(Machine[DiaryState]):
    """`wishes` may be asked for at any time; a timer is periodic if it is named in `periodic`.

    One of `debts` is owed for as long as the node is in an election.
    """

    state_type = DiaryState
    stable_type = Saved
    messages = (Word,)
    requests = (Please,)

    def __init__(
        self,
        members: Members,
        timing: Timing,
        orders: Orders,
        *,
        views: bool = False,
        periodic: tuple[str, ...] = (),
        wishes: tuple[str, ...] = (),
        debts: tuple[str, ...] = (),
    ) -> None:
        super().__init__(members, timing)
        self.orders = dict(orders)
        self.uses_views = views
        self.wishes = wishes
        self.debts = debts
        words = [order.split() for text in orders.values() for order in text.split(";")]
        timers = sorted({order[1] for order in words if order and order[0] == "set"})
        self.timers = tuple(Timer(timer, timer in periodic) for timer in timers)

    def boot(self, me: NodeId, stable: Saved | None) -> Result[DiaryState]:
        if stable is None:
            return self._obey(DiaryState(me, Saved()), "boot")
        return self._obey(DiaryState(me, stable), "again")

    def step(self, state: DiaryState, event: Event) -> Result[DiaryState]:
        match event:
            case Received(_, Word(text)):
                return self._obey(state, f"heard {text}")
            case TimedOut(timer):
                return self._obey(state, f"fired {timer}")
            case Viewed(alive):
                return self._obey(state, "saw " + " ".join(map(str, sorted(alive))))
            case Asked(Please(text)):
                return self._obey(state, f"asked {text}")
        return state, []

    def view(self, state: DiaryState) -> Standing:
        return state.standing

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return tuple(Please(text) for text in self.wishes)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        owing = view.status is Status.ELECTION
        return tuple(Please(text) for text in self.debts if owing)

    def _obey(self, state: DiaryState, cause: str) -> Result[DiaryState]:
        orders = self.orders.get(f"{state.me} {cause}", self.orders.get(f"any {cause}", ""))
        if not orders.startswith("quietly") and cause != "boot":
            state = replace(state, diary=(*state.diary, cause))
        effects: list[Effect] = []
        for order in filter(None, (text.split() for text in orders.split(";"))):
            state = self._change(state, order)
            effects += self._effects(order)
        return state, effects

    def _change(self, state: DiaryState, order: list[str]) -> DiaryState:
        match order:
            case ["save", word]:
                return replace(state, stable=Saved((*state.stable.words, word)))
            case ["count"]:
                return replace(state, count=state.count + 1)
            case ["elect"]:
                return replace(state, standing=Standing(Status.ELECTION))
            case ["follow", leader]:
                return replace(state, standing=Standing(Status.NORMAL, int(leader)))
            case ["follow", leader, "until", timer]:
                office = Standing(Status.NORMAL, int(leader), until=timer)
                return replace(state, standing=office)
        return state

    def _effects(self, order: list[str]) -> list[Effect]:
        match order:
            case ["send", to, word]:
                return [Send(int(to), Word(word))]
            case ["set", timer, *numbers]:
                return [SetTimer(timer, *map(int, numbers))]
            case ["cancel", timer]:
                return [CancelTimer(timer)]
        return []


def diary_of(state: Any) -> tuple[str, ...]:
    assert isinstance(state, DiaryState)
    return state.diary
