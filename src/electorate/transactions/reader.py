"""What the letters of other nodes mean, and whether they can be believed.

Here it is noticed if a node has lost its memory, if a vote is in no log, or if somebody has decided
otherwise by hand; it is reported as damage. Nobody guesses.
"""

from typing import Protocol

from electorate.core import Message, NodeId, Received, Stage
from electorate.protocols.commit.state import Abort, Commit, Prepare, Settled
from electorate.runtime.frame import Hello
from electorate.runtime.host import Mail
from electorate.transactions.guard import ResourceGuard
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import (
    Failed,
    Leave,
    Letter,
    Parties,
    Party,
    PromiseLost,
    Word,
    Work,
    Worked,
)
from electorate.transactions.recovery import KnownMembers
from electorate.transactions.transaction import Errands

WIPED = "came back without the memory that it had when it joined"

WORDS: dict[type[Message], Stage] = {Commit: Stage.COMMITTED, Abort: Stage.ABORTED}


class ReaderPort(Protocol):
    """What a reader needs of its node."""

    instances: dict[str, TransactionInstance]
    losses: dict[str, str]
    by_hand: dict[str, str]
    members: KnownMembers
    guard: ResourceGuard
    errands: Errands

    def me_as_part(self) -> Party:
        """This node, with the memory that it has."""

    def open(
        self, tx: str, parts: Parties, *, begins: bool, held: Stage = Stage.WORKING
    ) -> TransactionInstance:
        """A transaction that begins here, or one that others know and this node's log does not.

        What is held is how far the database has come with it.
        """

    def whom(self, instance: TransactionInstance) -> NodeId | None:
        """The node that finds out the decision."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Send a letter, or drop it."""


class Reader:
    """Reads the letters of one node."""

    def __init__(self, port: ReaderPort) -> None:
        self._port = port

    def read(self, sender: NodeId, hello: Hello, letter: Letter) -> None:
        """A letter has come."""
        instance = self._port.instances.get(letter.tx)
        match letter:
            case Work():
                self._port.guard.begin_work(sender, hello, letter)
            case Worked() | Failed():
                self._port.errands.answered(sender, hello, letter)
            case Leave(tx):
                self._port.guard.undo(tx)
            case Word(_, reason) if instance is not None:
                instance.reasons.append(f"{self._called(sender)}: {reason}")
            case PromiseLost(_, reason) if instance is not None:
                instance.damage = f"{self._called(sender)} {reason}"

    def step(self, mail: Mail) -> None:
        """A message of one transaction's machine has come; what it means, the machine says."""
        parts, message = mail.message
        instance = self._port.instances.get(mail.name) or self._met_unknown(mail, parts)
        if (
            instance is None
            or (sender := self.sender_in(instance, mail.sender, mail.hello)) is None
        ):
            return
        if instance.is_held and isinstance(message, Prepare):
            return  # It may have refused already, in the log that is gone: it never votes again.
        if isinstance(message, Commit | Abort | Settled):
            self._compare(sender, instance, message)
        instance.take(Received(sender, message), mail.head)

    def _met_unknown(self, mail: Mail, parts: Parties) -> TransactionInstance | None:
        """A transaction that is unknown here, if it is this node that takes part."""
        now, then = self._port.me_as_part(), parts.of(self._port.members.me)
        if then is None:
            return None
        if not self._port.guard.has_looked:
            return None  # As if it were lost: what matters will be said again.
        held = self._port.guard.held(mail.name)
        if mail.name in self._port.by_hand:
            held = Stage(self._port.by_hand[mail.name])
        if held is not Stage.WORKING:
            return self._take_up(mail, parts, held)
        if now.store != then.store or now.incarnation < then.incarnation:
            self._lose(mail.sender, mail.name, WIPED)
            return None
        instance = self._port.open(mail.name, parts, begins=False)
        instance.name(self._port.whom(instance))
        return instance

    def _take_up(self, mail: Mail, parts: Parties, held: Stage) -> TransactionInstance:
        """Go on with what the database holds and the log does not: it may have been voted for."""
        instance = self._port.open(mail.name, parts, begins=False, held=held)
        instance.by_hand = self._port.by_hand.get(mail.name)
        instance.name(self._port.whom(instance))
        return instance

    def sender_in(self, instance: TransactionInstance, node: NodeId, hello: Hello) -> NodeId | None:
        """The member that a node is to a transaction; None if it does not take part.

        A member is a memory. A node that comes back with another one is a stranger to the machine.
        """
        part = instance.parts.of(node)
        if part is not None and part.lost_by(hello):
            instance.damage = f"{self._called(node)} {WIPED}"
            return None
        return None if part is None else node

    # --- what people are told of ---

    def _compare(self, sender: NodeId, instance: TransactionInstance, message: Message) -> None:
        """See whether another node has decided otherwise, or counts on what is not here.

        The machine ignores such a message; this is for people. They may have decided by hand, or
        have brought back a log from a backup.
        """
        state = instance.view.state
        is_coordinator = sender == instance.parts.coordinator.node
        match message:
            case Commit() | Abort() if state.is_final:
                word = WORDS[type(message)]
                how = f"{state} by hand" if instance.by_hand else str(state)
                if word is not state:
                    instance.damage = f"was {how} here, but {word} at {self._called(sender)}"
                else:
                    instance.confirmed |= is_coordinator
            case Commit() if state is Stage.WORKING and is_coordinator:
                # A coordinator forgets before it lets others forget: this one was promised.
                self._lose(sender, instance.tx, "has no vote in its log")
            case Settled(stage) if state.is_final and stage is not state:
                instance.damage = f"was {state}, but {stage} at {self._called(sender)}"

    def _lose(self, sender: NodeId, tx: str, reason: str) -> None:
        self._port.losses[tx] = reason
        self._port.send(sender, PromiseLost(tx, reason))

    def _called(self, node: NodeId) -> str:
        return self._port.members.called(node)
