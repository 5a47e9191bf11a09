"""What a confirmation of a term promises, whatever the network and the clocks do.

Walks at random in which messages take any time and timers run out at any moment, as on machines
that stand still with their clocks: there M3 is broken, and two nodes are in office at once. Still a
holder's lease is renewed after `Confirm` only by grants that a majority gave after it was asked.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from electorate.check import Budget
from electorate.cli.protocol import find
from electorate.core import (
    Asked,
    CancelTimer,
    Machine,
    Received,
    Send,
    SetTimer,
    TimedOut,
    Timing,
    text_of,
)
from electorate.protocols.mandate.message import Confirm, Grant
from electorate.protocols.mandate.state import Phase
from electorate.trace import Setting
from tests.check.mandate import BARE, Case, judged, named

NODES = (1, 2, 3)


class Mail(NamedTuple):
    """A message on its way, and when it was sent."""

    sender: int
    to: int
    message: Any
    at: int


class Walk:
    """Nodes that take turns, and what is on its way between them."""

    def __init__(self, machine: Machine[Any], seed: int) -> None:
        self.machine = machine
        self.chance = random.Random(seed)
        self.step = 0
        self.states: dict[int, Any] = {}
        self.armed: dict[int, set[str]] = {node: set() for node in NODES}
        self.mail: list[Mail] = []
        self.asked: dict[int, tuple[int, str]] = {}
        """When a holder was asked to confirm its term, and which lease was in force then."""
        self.granted: dict[int, list[Mail]] = {node: [] for node in NODES}
        """The grants that have come since."""
        for node in NODES:
            self._carry_out(node, machine.boot(node, None))
            may = machine.may_ask(machine.view(self.states[node]))
            # Each is told that it leads.
            self.take(node, Asked(next(each for each in may if f"Name({node})" in text_of(each))))

    def _carry_out(self, node: int, turn: tuple[Any, list[Any]]) -> None:
        self.states[node], effects = turn
        for effect in effects:
            match effect:
                case Send(to, message):
                    self.mail.append(Mail(node, to, message, self.step))
                case SetTimer(timer):
                    self.armed[node].add(timer)
                case CancelTimer(timer):
                    self.armed[node].discard(timer)

    def take(self, node: int, event: Any) -> None:
        self._carry_out(node, self.machine.step(self.states[node], event))

    def go(self) -> Iterator[tuple[int, set[int]]]:
        """One step; the holder that is confirmed by it, and the nodes that have granted since."""
        self.step += 1
        holders = [node for node, s in self.states.items() if s.office is not None]
        if holders and not self.asked and self.chance.random() < 0.1:
            node = self.chance.choice(holders)
            if self.states[node].phase in (Phase.HOLDING, Phase.ENDING):
                self.asked[node] = self.step, self.states[node].office
                self.granted[node].clear()
                self.take(node, Asked(Confirm()))
        elif self.mail and self.chance.random() < 0.8:
            mail = self.mail.pop(self.chance.randrange(len(self.mail)))
            if isinstance(mail.message, Grant):
                self.granted[mail.to].append(mail)
            if self.chance.random() < 0.9:  # Else it is lost.
                self.take(mail.to, Received(mail.sender, mail.message))
        else:
            node = self.chance.choice(NODES)
            if self.armed[node]:
                timer = self.chance.choice(sorted(self.armed[node]))
                self.armed[node].discard(timer)
                self.take(node, TimedOut(timer))
        for node, (at, lease) in list(self.asked.items()):
            office = self.states[node].office
            if office != lease:
                del self.asked[node]
                if office is not None:
                    yield node, {node, *(m.sender for m in self.granted[node] if m.at >= at)}


def walks(*rules: str, count: int) -> Iterator[set[int]]:
    """The nodes that stood behind each confirmation of many walks."""
    setting = Setting("mandate-over-told-leader", NODES, (*BARE.split(), *rules), timing=Timing(1))
    machine = setting.machine(find("mandate-over-told-leader").kind, "sound")
    for seed in range(count):
        walk = Walk(machine, seed)
        for _ in range(400):
            for _, granted in walk.go():
                yield granted


def test_a_confirmation_rests_on_grants_that_a_majority_gave_after_it_was_asked_for() -> None:
    found = list(walks(count=60))
    assert len(found) > 50
    assert all(len(granted) >= 2 for granted in found)


def test_it_would_rest_on_older_ones_if_rounds_had_no_numbers() -> None:
    assert any(len(granted) < 2 for granted in walks("rounds=1", count=60))


def test_a_holder_that_is_asked_at_any_time_keeps_what_mandates_promise() -> None:
    """With clocks that are right, a loss, and terms and renewals as close as they can be."""
    case = Case(f"{BARE} confirms=offered", 2, Budget(losses=1, asks=2), moves=named(1, 2))
    verdict = judged(case._replace(asked=("Confirm", "StepDown")))
    assert verdict.result == "holds-within-bounds"
    assert verdict.states == 18_086
