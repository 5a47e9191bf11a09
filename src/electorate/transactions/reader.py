"""What the letters of other nodes mean, and whether they can be believed.

A node that has lost its memory, a vote that is in no log, a decision that somebody else has made
by hand: they are noticed here, and reported as damage. Nobody guesses.
"""

from typing import Protocol

from electorate.core import Message, NodeId, Received, Stage
from electorate.protocols.commit.state import Abort, Commit, Settled
from electorate.runtime.frame import Hello
from electorate.runtime.host import Mail
from electorate.transactions.deal import Deal
from electorate.transactions.guard import ResourceGuard
from electorate.transactions.letter import (
    Failed,
    Leave,
    Letter,
    Lost,
    Part,
    Parts,
    Word,
    Work,
    Worked,
)
from electorate.transactions.recovery import Members
from electorate.transactions.transaction import Errands

WIPED = "came back without the memory that it had when it joined"

WORDS: dict[type[Message], Stage] = {Commit: Stage.COMMITTED, Abort: Stage.ABORTED}


class Desk(Protocol):
    """Whose letters are read."""

    deals: dict[str, Deal]
    losses: dict[str, str]
    members: Members
    guard: ResourceGuard
    errands: Errands

    def me_as_part(self) -> Part:
        """This node, with the memory that it has."""

    def open(self, tx: str, parts: Parts, *, begins: bool) -> Deal:
        """A transaction that begins here, or that others speak of and nothing here knows of."""

    def whom(self, deal: Deal) -> NodeId | None:
        """Who finds out the decision."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""


class Reader:
    """Reads the letters of one node."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def read(self, sender: NodeId, hello: Hello, letter: Letter) -> None:
        """A letter has come."""
        deal = self._desk.deals.get(letter.tx)
        match letter:
            case Work():
                self._desk.guard.begin_work(sender, hello, letter)
            case Worked() | Failed():
                self._desk.errands.answered(sender, hello, letter)
            case Leave(tx):
                self._desk.guard.undo(tx)
            case Word(_, reason) if deal is not None:
                deal.reasons.append(f"{self._called(sender)}: {reason}")
            case Lost(_, reason) if deal is not None:
                deal.damage = f"{self._called(sender)} {reason}"

    def step(self, mail: Mail) -> None:
        """A message of the machine of one transaction has come: what it means, the machine says."""
        parts, message = mail.message
        deal = self._desk.deals.get(mail.name) or self._met_unknown(mail, parts)
        if deal is None or (sender := self.sender_in(deal, mail.sender, mail.hello)) is None:
            return
        if isinstance(message, Commit | Abort | Settled):
            self._compare(sender, deal, message)
        deal.take(Received(sender, message), mail.head)

    def _met_unknown(self, mail: Mail, parts: Parts) -> Deal | None:
        """A transaction of which there is nothing here, if it is this node that takes part."""
        now, then = self._desk.me_as_part(), parts.of(self._desk.members.me)
        if then is None:
            return None
        if now.store != then.store or now.incarnation < then.incarnation:
            self._lose(mail.sender, mail.name, WIPED)
            return None
        deal = self._desk.open(mail.name, parts, begins=False)
        deal.name(self._desk.whom(deal))
        return deal

    def sender_in(self, deal: Deal, node: NodeId, hello: Hello) -> NodeId | None:
        """As which of its members a transaction knows a node; None if it is none of them.

        A member is a memory. Who comes back with another one is a stranger to the machine.
        """
        part = deal.parts.of(node)
        if part is not None and part.lost_by(hello):
            deal.damage = f"{self._called(node)} {WIPED}"
            return None
        return None if part is None else node

    # --- what people are told of ---

    def _compare(self, sender: NodeId, deal: Deal, message: Message) -> None:
        """See whether another has decided otherwise, or counts on what is not here.

        The machine leaves such a message alone; this is for people. They may have decided by hand,
        or have brought back a log from a backup.
        """
        state = deal.view.state
        is_coordinator = sender == deal.parts.coordinator.node
        match message:
            case Commit() | Abort() if state.is_final:
                word = WORDS[type(message)]
                how = f"{state} by hand" if deal.by_hand else str(state)
                if word is not state:
                    deal.damage = f"was {how} here, but {word} at {self._called(sender)}"
                else:
                    deal.confirmed |= is_coordinator
            case Commit() if state is Stage.WORKING and is_coordinator:
                # A coordinator forgets before it lets others forget: this one was promised.
                self._lose(sender, deal.tx, "has no vote in its log")
            case Settled(stage) if state.is_final and stage is not state:
                deal.damage = f"was {state}, but {stage} at {self._called(sender)}"

    def _lose(self, sender: NodeId, tx: str, reason: str) -> None:
        self._desk.losses[tx] = reason
        self._desk.send(sender, Lost(tx, reason))

    def _called(self, node: NodeId) -> str:
        return self._desk.members.called(node)
