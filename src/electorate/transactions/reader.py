"""What the letters of other nodes mean, and whether they can be believed.

A node that has lost its memory, a vote that is in no log, a decision that somebody else has made
by hand: they are noticed here, and reported as damage. Nobody guesses.
"""

from typing import Protocol

from electorate.core import Message, NodeId, Received, Stage
from electorate.protocols.commit.state import Abort, Commit, Done, Forget, Help, Prepare
from electorate.protocols.commit.two_phase import Poll
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
    Settled,
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

    def open(self, tx: str, parts: Parts) -> Deal:
        """A transaction that is to be decided."""

    def presume_aborted(self, tx: str, parts: Parts) -> Deal:
        """A transaction of this coordinator of which there is nothing in the log."""

    def whom(self, deal: Deal) -> NodeId | None:
        """Who finds out the decision."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""

    def send_alone(self, to: NodeId, tx: str, parts: Parts, message: Message) -> None:
        """Send a message of a machine that is no more."""


class Reader:
    """Reads the letters of one node."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def read(self, sender: NodeId, hello: Hello, letter: Letter) -> None:
        """A letter has come."""
        deal = self._desk.deals.get(letter.tx)
        match letter:
            case Settled():
                self._settle(sender, letter)
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
        """A message of the machine of one transaction has come."""
        parts, message = mail.message
        deal = self._desk.deals.get(mail.name) or self._met_unknown(mail, parts, message)
        if deal is None or deal.parts.of(mail.sender) is None:
            return
        if self.is_sound(mail.sender, mail.hello, deal) and not self._is_split(
            mail.sender, deal, message
        ):
            deal.take(Received(mail.sender, message), mail.head)

    def _met_unknown(self, mail: Mail, parts: Parts, message: Message) -> Deal | None:
        """A transaction of which there is nothing in the log."""
        if not self._is_whole(mail.sender, mail.name, parts):
            return None
        if parts.coordinator.node == self._desk.members.me:
            # It was never begun, or was forgotten before anybody had voted: presumed aborted.
            return self._desk.presume_aborted(mail.name, parts)
        match message:
            case Commit():
                # A coordinator forgets before it lets others forget: this one was promised.
                self._lose(mail.sender, mail.name, "has no vote in its log")
            case Prepare() | Abort() | Poll() | Help():
                deal = self._desk.open(mail.name, parts)
                deal.name(self._desk.whom(deal))
                return deal
        return None

    def _is_whole(self, sender: NodeId, tx: str, parts: Parts) -> bool:
        """Whether this node takes part, and remembers what it has said if it has forgotten this."""
        now, then = self._desk.me_as_part(), parts.of(self._desk.members.me)
        if then is None:
            return False
        if now.store != then.store or now.incarnation < then.incarnation:
            self._lose(sender, tx, WIPED)
            return False
        return True

    def _lose(self, sender: NodeId, tx: str, reason: str) -> None:
        self._desk.losses[tx] = reason
        self._desk.send(sender, Lost(tx, reason))

    def is_sound(self, sender: NodeId, hello: Hello, deal: Deal) -> bool:
        """Whether a node remembers what it has said in this transaction."""
        part = deal.parts.of(sender)
        if part is not None and part.lost_by(hello):
            deal.damage = f"{self._called(sender)} {WIPED}"
            return False
        return True

    def _settle(self, sender: NodeId, letter: Settled) -> None:
        """A participant has done what was decided, and still waits for the word to forget it."""
        deal = self._desk.deals.get(letter.tx)
        if deal is None:
            if self._is_whole(sender, letter.tx, letter.parts):
                # It is over, and the word of that was lost.
                self._desk.send_alone(sender, letter.tx, letter.parts, Forget())
        elif letter.stage is deal.view.state:
            deal.take(Received(sender, Done()))
        elif deal.view.state.is_final:
            deal.damage = f"was {deal.view.state}, but {letter.stage} at {self._called(sender)}"
            deal.tell_again(sender)

    def _is_split(self, sender: NodeId, deal: Deal, message: Message) -> bool:
        """Whether another has decided otherwise: somebody has decided by hand. It stays open."""
        word = WORDS.get(type(message))
        if word is None or not deal.view.state.is_final:
            return False
        if word is deal.view.state:
            deal.confirmed |= sender == deal.parts.coordinator.node
            return False
        how = f"{deal.view.state} by hand" if deal.by_hand else str(deal.view.state)
        deal.damage = f"was {how} here, but {word} at {self._called(sender)}"
        return True

    def _called(self, node: NodeId) -> str:
        return self._desk.members.called(node)
