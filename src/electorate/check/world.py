"""The world as the checker sees it: rows of small integers, and every move that a row allows.

A row has one column per node, per channel, per failure detector, and one for the budget that is
left. Each column holds the code of a part (check/part.py). A move changes a few columns; what it
does to them is worked out once and looked up ever after.
"""

from collections import Counter
from typing import Any, NamedTuple

from electorate.check.model import Budget, Model
from electorate.check.part import (
    Channel,
    ChannelCard,
    Item,
    Local,
    LocalCard,
    Pool,
    Pulse,
)
from electorate.check.turning import Outcome, Sends, Torn, Turning
from electorate.check.watching import Watching
from electorate.core import Asked, Event, Message, NodeId, Received, TimedOut, Turns, Viewed
from electorate.trace import Connections, Order, Ties

Row = tuple[int, ...]


class Move(NamedTuple):
    """What happens next: its kind, the node or channel column, and what is special about it."""

    kind: str
    where: int = 0
    what: Any = None
    torn: Torn | None = None


TICK = Move("tick")
Successor = tuple[Move, Row]


class Coded(NamedTuple):
    """An outcome in codes: the node's new code, and per receiver the code of its messages."""

    outcome: Outcome
    local: int
    sends: tuple[tuple[int, int], ...]
    torn: tuple[tuple[Torn, int, tuple[tuple[int, int], ...]], ...]
    cut: str | None


class World:
    """All rows and moves of one machine under one model."""

    def __init__(self, turns: Turns, model: Model) -> None:
        self.model = model
        self.turns = turns
        self.machine = turns.machine
        self.ids = self.machine.members.ids
        self.n = len(self.ids)
        self.cuts: Counter[str] = Counter()
        self.turning = Turning(turns, model)
        bounded, setting = model.bounded, model.setting
        age_max = setting.delay_max if bounded else None
        age_min = setting.delay_min if bounded else 0
        order = setting.order
        self.locals: Pool[Local, LocalCard] = Pool(self._local_card)
        self.channels: Pool[Channel, ChannelCard] = Pool(
            lambda value: ChannelCard(value, order, age_min, age_max)
        )
        self.watching = Watching(self.ids, model)
        self.budgets: Pool[Budget, Budget] = Pool(lambda value: value)
        self.messages: Pool[tuple[Item, ...], tuple[Item, ...]] = Pool(lambda value: value)
        self.empty = self.channels.code(())
        self._lay_out()
        self._outcomes: dict[tuple[int, Event | int], Coded] = {}
        self._appended: dict[tuple[int, int], int | None] = {}

    def _local_card(self, value: Local) -> LocalCard:
        standing = None if value.state is None else self.turns.view(value.state)
        return LocalCard(value, standing, self.model.bounded)

    def _lay_out(self) -> None:
        """Decide which column holds what."""
        every = range(self.n)
        if self.model.setting.order is Order.GLOBAL:
            self.channel_columns = [(self.n + to, to) for to in every]
            self.column = {(a, b): self.n + b for a in every for b in every if a != b}
        else:
            pairs = [(a, b) for b in every for a in every if a != b]
            self.column = {pair: self.n + k for k, pair in enumerate(pairs)}
            self.channel_columns = [(column, b) for (_, b), column in self.column.items()]
        self.watch_column = self.n + len(self.channel_columns)
        self.width = self.watch_column + self.n + 1

    # --- every move ---

    def successors(self, row: Row) -> list[Successor]:
        """Every move that this row allows, with the row it leads to."""
        nodes = [self.locals.cards[code] for code in row[: self.n]]
        budget = self.budgets.cards[row[-1]]
        moves: list[Successor] = []
        blocked, waiting = self._deliveries(row, nodes, budget, moves)
        blocked |= self._timers(row, nodes, budget, waiting, moves)
        if self.machine.uses_views:
            blocked |= self._opinions(row, nodes, budget, moves)
        if self.model.bounded and not blocked:
            moves.append((TICK, self._ticked(row, nodes)))
        if budget.asks:
            self._requests(row, nodes, budget, moves)
        self._faults(row, nodes, budget, moves)
        return moves

    def _deliveries(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> tuple[bool, bool]:
        """Hand over messages. Says whether one is due, and whether timers must wait for it."""
        blocked = waiting = False
        for column, to in self.channel_columns:
            if row[column] == self.empty:
                continue
            channel = self.channels.cards[row[column]]
            node = nodes[to]
            if node.awake and channel.due:
                blocked = True
                waiting |= not node.woken
            for place in channel.deliverable:
                value = channel.value
                rest = self.channels.code(value[:place] + value[place + 1 :])
                if budget.losses and node.up:
                    lost = self._with(row, (column, rest), (-1, self._spent(row, "losses")))
                    moves.append((Move("lose", column, place), lost))
                if not node.awake or node.expired:
                    continue
                event = Received(value[place].sender, value[place].message)
                self._take(Move("deliver", column, place), event, to, (row, column, rest), moves)
                if budget.doubles:
                    spent = self._with(row, (-1, self._spent(row, "doubles")))
                    self._take(Move("double", column, place), event, to, (spent, 0, None), moves)
        return blocked, waiting

    def _timers(
        self,
        row: Row,
        nodes: list[LocalCard],
        budget: Budget,
        waiting: bool,
        moves: list[Successor],
    ) -> bool:
        """Fire timers. Says whether one is due."""
        blocked = False
        closed = self.model.setting.ties is Ties.MESSAGES_FIRST
        for place, node in enumerate(nodes):
            if not node.awake:
                continue
            blocked |= node.due
            for timer in node.ready:
                if node.expired:
                    if timer != node.expired:
                        continue
                elif waiting and closed and not node.woken:
                    continue
                event = TimedOut(timer)
                self._take(Move("fire", place, timer), event, place, (row, 0, None), moves)
        return blocked

    def _opinions(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> bool:
        """Let detectors correct themselves, or lie. Says whether a correction is due."""
        blocked = False
        for place, node in enumerate(nodes):
            if not node.awake or node.expired:
                continue
            column = self.watch_column + place
            watch = row[column]
            blocked |= self.watching.pool.cards[watch].overdue
            for code in self.watching.corrections(watch):
                self._see("view", place, (row, column, code), moves)
            if budget.lies:
                spent = self._with(row, (-1, self._spent(row, "lies")))
                for code in self.watching.lies(watch, place):
                    self._see("lie", place, (spent, column, code), moves)
        return blocked

    def _see(
        self, kind: str, place: int, change: tuple[Row, int, int], moves: list[Successor]
    ) -> None:
        alive = self.watching.pool.cards[change[2]].alive
        self._take(Move(kind, place, alive), Viewed(alive), place, change, moves)

    def _requests(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> None:
        spent = self._with(row, (-1, self._spent(row, "asks")))
        for place, node in enumerate(nodes):
            if node.awake and not node.expired and node.standing is not None:
                for request in self.machine.may_ask(node.standing):
                    event = Asked(request)
                    self._take(Move("ask", place, request), event, place, (spent, 0, None), moves)

    def _faults(
        self, row: Row, nodes: list[LocalCard], budget: Budget, moves: list[Successor]
    ) -> None:
        """Crash, recover, pause and resume nodes."""
        for place, node in enumerate(nodes):
            if not node.up:
                if budget.recoveries:
                    self._recover(row, place, nodes, moves)
                continue
            if budget.crashes:
                state = node.value.state
                assert state is not None
                down = self.locals.code(Local(None, state.stable))
                moves.append((Move("crash", place), self._fallen(row, place, down)))
            if node.value.pulse is Pulse.PAUSED:
                woken = self.locals.code(node.value._replace(pulse=Pulse.WOKEN))
                moves.append((Move("resume", place), self._with(row, (place, woken))))
            elif budget.pauses:
                paused = self.locals.code(node.value._replace(pulse=Pulse.PAUSED))
                spent = (-1, self._spent(row, "pauses"))
                moves.append((Move("pause", place), self._with(row, (place, paused), spent)))

    # --- what a move does ---

    def _take(
        self,
        move: Move,
        event: Event | None,
        place: int,
        change: tuple[Row, int, int | None],
        moves: list[Successor],
    ) -> None:
        """Let a node take an event, wholly or torn by a crash; `change` is what else it changes."""
        row, column, code = change
        base = row if code is None else self._with(row, (column, code))
        coded = self._coded(row[place], place, event)
        if coded.cut is not None:
            self.cuts[coded.cut] += 1
            return
        whole = self._sent(self._with(base, (place, coded.local)), place, coded.sends)
        if whole is not None:
            moves.append((move, whole))
        if self.budgets.cards[row[-1]].crashes:
            for torn, down, sends in coded.torn:
                partly = self._sent(base, place, sends)
                if partly is not None:
                    moves.append((move._replace(torn=torn), self._fallen(partly, place, down)))

    def _recover(
        self, row: Row, place: int, nodes: list[LocalCard], moves: list[Successor]
    ) -> None:
        changed = list(self._with(row, (-1, self._spent(row, "recoveries"))))
        if self.model.setting.connections is Connections.DIE:
            for (sender, _), column in self.column.items():
                if sender == place:
                    changed[column] = self._without_sender(changed[column], self.ids[place])
        ups = [node.up or other == place for other, node in enumerate(nodes)]
        if self.machine.uses_views:
            changed[self.watch_column + place] = self.watching.first(ups)
            for other in range(self.n):
                if nodes[other].up:
                    column = self.watch_column + other
                    changed[column] = self.watching.note(changed[column], place, up=True)
        self._take(Move("recover", place), None, place, (tuple(changed), 0, None), moves)

    def _fallen(self, row: Row, place: int, down: int) -> Row:
        """The row after the node has crashed."""
        changed = list(row)
        changed[place] = down
        changed[-1] = self._spent(row, "crashes")
        if self.machine.uses_views:
            changed[self.watch_column + place] = self.watching.blind
            for other in range(self.n):
                if other != place and self.locals.cards[row[other]].up:
                    column = self.watch_column + other
                    changed[column] = self.watching.note(row[column], place, up=False)
        if self.model.setting.connections is Connections.DIE:
            for column, to in self.channel_columns:
                if to == place:
                    changed[column] = self.empty
        return tuple(changed)

    def _coded(self, local: int, place: int, event: Event | None) -> Coded:
        """The outcome of an event (None: a boot) in codes; worked out once."""
        key = (local, place if event is None else event)
        known = self._outcomes.get(key)
        if known is None:
            value = self.locals.cards[local].value
            if event is None:
                outcome = self.turning.boot(self.ids[place], value.stable)
            else:
                outcome = self.turning.step(value, event)
            known = self._outcomes[key] = Coded(
                outcome,
                self.locals.code(outcome.local),
                self._sends_code(place, outcome.sends),
                tuple(
                    (torn, self.locals.code(torn.local), self._sends_code(place, torn.sends))
                    for torn in outcome.torn
                ),
                self._cut(outcome.local),
            )
        return known

    def _cut(self, local: Local) -> str | None:
        """The bound that this node exceeds, if any."""
        bounds = self.model.bounds
        if local.firings > bounds.firings:
            return "firings"
        grown = (getattr(local.state, name) for name in self.machine.growing)
        return "counter" if any(number > bounds.counter for number in grown) else None

    def _sends_code(self, place: int, sends: Sends) -> tuple[tuple[int, int], ...]:
        return tuple(
            (self.ids.index(to), self.messages.code(self._items(place, messages)))
            for to, messages in sorted(sends.items())
        )

    def _items(self, place: int, messages: tuple[Message, ...]) -> tuple[Item, ...]:
        return tuple(Item(self.ids[place], message, 0) for message in messages)

    def _sent(self, row: Row, place: int, sends: tuple[tuple[int, int], ...]) -> Row | None:
        """The row with these messages on their channels; None if that exceeds their capacity."""
        if not sends:
            return row
        changed = list(row)
        dies = self.model.setting.connections is Connections.DIE
        for to, items in sends:
            if dies and not self.locals.cards[row[to]].up:
                continue
            column = self.column[place, to]
            code = self._append(row[column], items)
            if code is None:
                self.cuts["capacity"] += 1
                return None
            changed[column] = code
        return tuple(changed)

    def _append(self, channel: int, items: int) -> int | None:
        key = (channel, items)
        if key not in self._appended:
            value = self.channels.cards[channel].value + self.messages.cards[items]
            fits = len(value) <= self.model.bounds.capacity
            self._appended[key] = self.channels.code(value) if fits else None
        return self._appended[key]

    def _without_sender(self, channel: int, sender: NodeId) -> int:
        items = self.channels.cards[channel].value
        return self.channels.code(tuple(item for item in items if item.sender != sender))

    def _ticked(self, row: Row, nodes: list[LocalCard]) -> Row:
        """The row one tick later."""
        changed = list(row)
        for place, node in enumerate(nodes):
            if node.aged is None:
                node.aged = self.locals.code(node.value.aged())
            changed[place] = node.aged
            if self.machine.uses_views:
                column = self.watch_column + place
                changed[column] = self.watching.aged(row[column])
        for column, to in self.channel_columns:
            if row[column] != self.empty:
                channel = self.channels.cards[row[column]]
                up = nodes[to].up
                if up not in channel.aged:
                    channel.aged[up] = self.channels.code(channel.aged_value(up))
                changed[column] = channel.aged[up]
        return tuple(changed)

    # --- looking back at a move ---

    def node_of(self, move: Move) -> int:
        """The node that takes this move."""
        if move.kind in ("deliver", "double", "lose"):
            return dict(self.channel_columns)[move.where]
        return move.where

    def coded_of(self, row: Row, move: Move) -> Coded | None:
        """What the move's event does to its node; None if it brings no event."""
        event: Event | None = None
        match move.kind:
            case "deliver" | "double":
                sender, message, _ = self.channels.cards[row[move.where]].value[move.what]
                event = Received(sender, message)
            case "fire":
                event = TimedOut(move.what)
            case "view" | "lie":
                event = Viewed(move.what)
            case "ask":
                event = Asked(move.what)
            case "recover":
                pass
            case _:
                return None
        place = self.node_of(move)
        return self._coded(row[place], place, event)

    # --- rows ---

    def _with(self, row: Row, *changes: tuple[int, int]) -> Row:
        changed = list(row)
        for column, code in changes:
            changed[column] = code
        return tuple(changed)

    def _spent(self, row: Row, kind: str) -> int:
        left = self.budgets.cards[row[-1]].spent(kind)
        assert left is not None
        return self.budgets.code(left)

    def booted(self) -> Row:
        """The row in which all nodes have just booted for the first time."""
        row = (0,) * self.n + (self.empty,) * len(self.channel_columns)
        row += (self.watching.first([True] * self.n),) * self.n
        row += (self.budgets.code(self.model.first_budget()),)
        unborn = self.locals.code(Local(None, None))
        row = self._with(row, *((place, unborn) for place in range(self.n)))
        for place in range(self.n):
            coded = self._coded(unborn, place, None)
            sent = self._sent(self._with(row, (place, coded.local)), place, coded.sends)
            if sent is None:
                raise ValueError("the first messages exceed the capacity of a channel")
            row = sent
        return row

    def stabilised(self, row: Row) -> Row:
        """The row from which nothing fails any more: no budget is left, everybody is resumed."""
        changed = list(row)
        for place in range(self.n):
            value = self.locals.cards[row[place]].value
            if value.pulse is Pulse.PAUSED:
                changed[place] = self.locals.code(value._replace(pulse=Pulse.WOKEN))
        changed[-1] = self.budgets.code(self.model.last_budget())
        return tuple(changed)

