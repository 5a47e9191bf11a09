"""What an event does to a node, in the codes of the state space: worked out once, then looked up.

`node_step` says what happens to the node itself; here that gets its codes, the bounds that it
exceeds are named, and numbers that grow are tried out as declared.
"""

from collections.abc import Sequence
from typing import NamedTuple

from electorate.check.declared import Trial
from electorate.check.interned import Item, Local, LocalCard, Pool
from electorate.check.model import Model
from electorate.check.node_step import NodeSteps, Outcome, Sends, Torn
from electorate.core import Asked, Event, Message, NodeId, Request, Standing, State, TimedOut, Turns
from electorate.core.growing import declared_families, numbers_in

CodedSends = tuple[tuple[int, int], ...]
"""Per receiver the code of its messages."""


class Coded(NamedTuple):
    """An outcome in codes: the node's new code, and what it sends."""

    outcome: Outcome
    local: int
    sends: CodedSends
    torn: tuple[tuple[Torn, int, CodedSends], ...]
    cut: str | None


class Outcomes:
    """What events do to the nodes of one model, and what their applications may ask."""

    def __init__(
        self,
        turns: Turns,
        model: Model,
        locals_: Pool[Local, LocalCard],
        messages: Pool[tuple[Item, ...], tuple[Item, ...]],
        trial: Trial | None,
    ) -> None:
        """`trial` tries turns out with other numbers, where these are renamed."""
        self.may_stand_still = False
        """Whether there was reason to ask if time goes on for ever."""
        self._turns = turns
        self._machine = turns.machine
        self._ids = turns.machine.members.ids
        self._model = model
        self._locals = locals_
        self._messages = messages
        self._trial = trial
        self._node_steps = NodeSteps(turns, model)
        self._known: dict[tuple[int, Event | int], Coded] = {}
        self._offers: dict[tuple[State, Standing], tuple[Request, ...]] = {}
        self._has_numbers = bool(declared_families(self._machine))
        begun = [node for node in (model.given.nodes if model.given else ()) if node.state]
        self._begun = max(map(self._largest, begun), default=0)
        """The largest declared number at any node where runs begin."""
        grown = [self._machine.grown(node.state) for node in begun]
        self._grown = tuple(map(max, zip(*grown, strict=True)))
        """How far the numbers that the machine names have grown where runs begin."""

    def coded(self, local: int, index: int, event: Event | None) -> Coded:
        """The outcome of an event (None: a boot) at the node with this index."""
        key = (local, index if event is None else event)
        known = self._known.get(key)
        if known is None:
            value = self._locals.cards[local].value
            outcome = self._outcome(value, index, event)
            known = self._known[key] = Coded(
                outcome,
                self._locals.code(outcome.local),
                self._sends_code(index, outcome.sends),
                tuple(
                    (torn, self._locals.code(torn.local), self._sends_code(index, torn.sends))
                    for torn in outcome.torn
                ),
                self._cut(outcome.local),
            )
            self.may_stand_still |= self._is_pressing(value, event, outcome.local)
        return known

    def _outcome(self, value: Local, index: int, event: Event | None) -> Outcome:
        """What an event, or a boot, does to a node."""
        me = self._ids[index]
        if event is None:
            outcome = self._node_steps.boot(me, value.stable)
        else:
            outcome = self._node_steps.step(value, event)
        if self._trial is not None:
            budget = self._model.budget
            comes_back = bool(budget.crashes and budget.recoveries) and self._model.may_crash(me)
            self._trial.verify(value, me, event, outcome, comes_back=comes_back)
        return outcome

    def _is_pressing(self, before: Local, event: Event | None, after: Local) -> bool:
        """Whether something that time had to wait for led at once to more of the kind.

        Nothing else can make time stand still: a message that was just sent is not due yet.
        """
        if not self._model.bounded:
            return False
        card = self._locals.cards[self._locals.code(after)]
        if isinstance(event, Asked):
            owed = self._locals.cards[self._locals.code(before)].owes
            return event.request in owed and card.due
        if not isinstance(event, TimedOut):
            return False
        was_due = {armed.timer for armed in before.timers if armed.latest == 0} - {event.timer}
        is_due = {armed.timer for armed in after.timers if armed.latest == 0}
        return bool(card.owes) or not is_due <= was_due

    def _cut(self, local: Local) -> str | None:
        """The bound that this node exceeds, if any."""
        bounds = self._model.bounds
        if local.firings > bounds.firings:
            return "firings"
        numbers = enumerate(self._machine.grown(local.state))
        begun = self._grown or (0,) * len(self._machine.growing)
        grown = any(number - begun[k] > bounds.counter for k, number in numbers)
        if self._trial is None:
            grown = grown or self._largest(local) - self._begun > bounds.counter
        return "counter" if grown else None

    def _largest(self, local: Local) -> int:
        """The largest number at a node of those that the machine's types declare."""
        assert local.state is not None
        if not self._has_numbers:
            return 0
        found = numbers_in(local.state, local.state.me).values()
        return max((max(numbers) for numbers in found), default=0)

    def offers(self, node: LocalCard) -> tuple[Request, ...]:
        """What the application may ask of this node."""
        state, standing = node.value.state, node.standing
        if state is None or standing is None:
            return ()
        key = state, standing
        if key not in self._offers:
            offered, me = self._turns.offers(state, standing), state.me
            wanted = (each for each in offered if self._model.may_ask(me, each))
            self._offers[key] = tuple(wanted)
        return self._offers[key]

    def _sends_code(self, index: int, sends: Sends) -> CodedSends:
        return tuple(
            (self._ids.index(to), self._messages.code(self._items(index, messages)))
            for to, messages in sorted(sends.items())
        )

    def _items(self, index: int, messages: Sequence[Message]) -> tuple[Item, ...]:
        sender: NodeId = self._ids[index]
        return tuple(Item(sender, message, 0) for message in messages)
