"""One election at one node: its machine's instance, and the term that the application has.

`ElectionInstance` is what both kinds have in common: who waits for a term, and who is told of the
leader. A `QuorumElection` gives a term only with a majority behind it.
"""

import unicodedata
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Machine,
    Members,
    Message,
    NodeId,
    Received,
    Request,
    Stable,
    Standing,
    Status,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.core.turn import Sample, SampledTurns
from electorate.leadership.term import Tenure
from electorate.pace import Pace
from electorate.protocols.leadership import Election
from electorate.protocols.mandate.message import Confirm, Ended, Release, Stand, StepDown
from electorate.protocols.mandate.state import Roster
from electorate.runtime.host import Host
from electorate.runtime.instance import Instance, Owner
from electorate.runtime.recorder import described
from electorate.trace.record import Letterhead

PREFIX = "office "
TURNS_MAX = 2_000
NAME_MAX = 200
UNSPEAKABLE = {"Cc", "Cs", "Zl", "Zp"}
"""Kinds of characters that end a line or cannot be written: names stand in logs and tables."""


def is_speakable(name: str) -> bool:
    """Whether a name is one line of text."""
    return UNSPEAKABLE.isdisjoint(map(unicodedata.category, name))


class Machines:
    """The machine of all elections by quorum of a node: one for all of them, for its whole life."""

    def __init__(self, pace: Pace) -> None:
        self.kind_of_turns: Callable[[Machine[Any], int], Turns]
        self.kind_of_turns = partial(SampledTurns, sample=Sample())
        rules = replace(Election.form("application"), **pace.lengths)
        self._machine = Election(Members.open("highest"), pace.timing, rules)
        self.codec = Codec(self._machine)
        self._turns: Turns | None = None

    @property
    def of_elections(self) -> Turns:
        """Its turns."""
        if self._turns is None:
            self._turns = self.turns(self._machine)
        return self._turns

    def turns(self, machine: Machine[Any]) -> Turns:
        """How turns of this machine are taken here."""
        return self.kind_of_turns(machine, TURNS_MAX)


class KnownLeader(NamedTuple):
    """The leader, as one node knows it; None while the office is vacant."""

    leader: NodeId | None = None
    token: int | None = None


class ElectionPort(Protocol):
    """What an election of either kind needs of its node."""

    @property
    def me(self) -> NodeId:
        """This node."""

    @property
    def alive(self) -> frozenset[NodeId]:
        """The nodes that are not suspect."""

    def now_ms(self) -> float:
        """The node's clock."""

    def then(self, effect: Callable[..., object], *given: Any) -> None:
        """Do this once everything is saved that was promised before."""

    def enter(self, act: Callable[..., None], *given: Any) -> None:
        """Run this in the node's thread, from any other."""


class ElectionInstance(Owner, ABC):
    """Owns the instance of one election, and gives terms to those that wait for one."""

    _instance: Instance

    def __init__(self, name: str, port: ElectionPort) -> None:
        self.name = name
        self.priority = 1
        self.paused = False
        self.waiting: deque[Future[Tenure]] = deque()
        self.watchers: list[Callable[[KnownLeader], None]] = []
        self.seen = KnownLeader()
        """What may be told; the present wake-up may have changed it, but that is not saved yet."""
        self.term: Tenure | None = None
        """The term whose work has not ended, even if the term itself is over."""
        self.released = KnownLeader()
        """The last term that its own leader gave up."""
        self._seen = KnownLeader()
        self._promised: Future[Tenure] | None = None
        """Gets the present term once that is saved."""
        self._election_port = port

    @property
    @abstractmethod
    def stands_with(self) -> int:
        """The priority with which this node stands; 0 if it does not."""

    @abstractmethod
    def stand(self) -> None:
        """See whether this node stands now as it did before."""

    @abstractmethod
    def reconsider(self) -> None:
        """The set of suspects changed."""

    @abstractmethod
    def _finished(self, term: Tenure) -> None:
        """The work of a term has ended."""

    @property
    def is_held(self) -> bool:
        """Whether this node is in office."""
        return self.seen.leader == self._election_port.me

    @property
    def is_down(self) -> bool:
        """Whether it has not begun yet, or is over."""
        return self._instance.state is None

    @property
    def is_urgent(self) -> bool:
        """A node in office has no time to wait."""
        return self.is_held

    def boot(self, stable: Stable | None) -> None:
        """Begin, with what the last life promised."""
        self._instance.boot(stable, self._election_port.alive)

    def ask(self, request: Request) -> None:
        """The application's word."""
        self._instance.take(Asked(request))

    def halt(self, error: Exception) -> None:
        """The node has ended, and with it every term."""
        self._instance.halt()
        if self.term is not None:
            self.term.end()
        if self._promised is not None:
            self._promised.set_exception(error)
        while self.waiting:
            future = self.waiting.popleft()
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        self._show(KnownLeader())

    # --- what the application wants ---

    def wait(self, future: "Future[Tenure]") -> None:
        """The application wants to lead."""
        self.waiting.append(future)
        self.stand()

    def leave(self, future: "Future[Tenure]") -> None:
        """The application does not want to lead any more."""
        if future in self.waiting:
            self.waiting.remove(future)
            self.stand()

    def finished(self, term: Tenure) -> None:
        """The work of a term has ended; called in any thread."""
        self._election_port.enter(self._finished, term)

    # --- what follows from a turn ---

    def _give(self, term: Tenure) -> None:
        """Give the term to the one that has waited longest."""
        while self.waiting and self.term is None:
            future = self.waiting.popleft()
            if future.set_running_or_notify_cancel():
                self.term, self._promised = term, future
                self._election_port.then(self._hand, future, term)

    def _hand(self, future: "Future[Tenure]", term: Tenure) -> None:
        """What the term rests on is saved: no later life of this node uses its token again."""
        self._promised = None
        future.set_result(term)

    def _tell(self, seen: KnownLeader) -> None:
        if seen != self._seen:
            self._seen = seen
            self._election_port.then(self._show, seen)

    def _show(self, seen: KnownLeader) -> None:
        if seen != self.seen:
            self.seen = seen
            for tell in list(self.watchers):
                tell(seen)


class QuorumPort(ElectionPort, Protocol):
    """What an election by quorum needs of its node."""

    host: Host

    def keeps(self, election: "QuorumElection") -> None:
        """Something that others rely on is about to be saved."""

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members."""

    def hosted(self, election: "QuorumElection") -> Instance:
        """The instance of this election; it will be told who the members are."""

    def stand_soon(self, election: "QuorumElection") -> None:
        """Stand in this election, together with all others that begin now."""


class QuorumElection(ElectionInstance):
    """An election that a majority decides, so that there is never a second leader."""

    def __init__(self, name: str, port: QuorumPort) -> None:
        super().__init__(name, port)
        self._port = port
        self._list: Roster | None = None
        self._lease: str | None = None
        """The lease that was in force when a majority was last asked to confirm the term."""
        self._instance = port.hosted(self)

    @property
    def stands_with(self) -> int:
        """The priority with which this node stands; 0 if it only votes.

        A node without anybody to do the work does not stand. Neither does one that is still busy
        with the work of a term that is over.
        """
        has_hands = bool(self.waiting) or self.term is not None
        is_late = self.term is not None and self.term.lost.is_set()
        return 0 if self.paused or is_late or not has_hands else self.priority

    @property
    def roster(self) -> Roster | None:
        """The members, as they are saved here; None before it has booted."""
        state: Any = self._instance.state
        return None if state is None else state.stable.roster

    def hear(self, sender: NodeId, message: Message, head: Letterhead) -> None:
        """A message has come."""
        if isinstance(message, Release):
            self.released = KnownLeader(sender, message.epoch)
        self._instance.take(Received(sender, message), head)

    def described(self, machine: Machine[Any]) -> str:
        """Its machine as the first line of a script."""
        return described(machine, "mandate-over-strongest-alive/application", "application")

    def packed(self, stable: Stable) -> bytes:
        """What to save of it."""
        self._port.keeps(self)
        return Codec.encode(stable)

    def closed(self, node: NodeId) -> None:
        """The process of a node has ended: with that it has given up its term."""
        state: Any = self._instance.state
        if state is not None and state.bound == node:
            self.released = KnownLeader(node, state.stable.promise.epoch)
            self._instance.take(Received(node, Release(state.stable.promise.epoch)))

    def reconsider(self) -> None:
        """The set of suspects changed."""
        if self._instance.state is not None:
            self._instance.take(Viewed(self._port.alive))

    def stand(self) -> None:
        """See whether this node stands now as it did before; if not, it may have to step down."""
        state: Any = self._instance.state
        if state is not None and state.wish != self.stands_with:
            if state.wish:
                self.ask_to_stand()
            else:
                self._port.stand_soon(self)

    def ask_to_stand(self) -> None:
        """Stand as the application wants it; the others are told, and asked for theirs."""
        self.ask(Stand(self.stands_with))

    def priority_of(self, node: NodeId) -> int:
        """The priority with which a node stands, as far as it is known here."""
        if node == self._port.me:
            return self.stands_with
        state: Any = self._instance.state
        return 0 if state is None else dict(state.ranks).get(node, 0)

    def confirm(self, tenure: Tenure) -> None:
        """The work wants to know whether the term still holds; called in any thread."""
        self._port.enter(self._confirm, tenure)

    def _confirm(self, term: Tenure) -> None:
        """Ask all voters, unless they are being asked: too many rounds would spoil each other."""
        standing = self._instance.standing
        if self.term is term and standing is not None and term.begin_to_confirm():
            self._lease = standing.until
            self.ask(Confirm())

    def doubt(self) -> None:
        """This machine may have stood still, and its clock with it."""
        if self.term is not None and self.is_held:
            self.term.doubt()
            self._confirm(self.term)

    def _finished(self, term: Tenure) -> None:
        if self.term is term:
            self.term = None
            if self._seen == (self._port.me, term.token):
                self._leave_office()
            self.stand()

    def _leave_office(self) -> None:
        """The work has ended, or nobody is there to do it: ask for what can be asked for."""
        for status, request in ((Status.NORMAL, StepDown()), (Status.REORGANIZATION, Ended())):
            standing = self._instance.standing
            if standing is None or standing.leader != self._port.me:
                return
            if standing.status is status:
                self.ask(request)

    # --- what follows from a turn ---

    def after(self) -> None:
        """See whether this node has come into office, stays there, or has left it."""
        if self.roster is not self._list:
            self._list = self.roster
            if self.term is not None:
                self.term.members = self._port.members
        standing = self._instance.standing
        seen = self._seen
        if standing is None or (standing.leader, standing.token) != seen:
            seen = (
                KnownLeader() if standing is None else KnownLeader(standing.leader, standing.token)
            )
        if self.term is not None and seen != (self._port.me, self.term.token):
            self.term.end()
        if standing is not None and seen.leader == self._port.me:
            self._hold(standing, seen)
        else:
            self._tell(seen)
        self.stand()

    def _hold(self, standing: Standing, seen: KnownLeader) -> None:
        """This node is in office: so is the application, for as long as that is certain."""
        assert standing.token is not None
        assert standing.until is not None
        deadline_ms = self._instance.deadline_ms(standing.until)
        is_new = seen != self._seen
        self._tell(seen)
        if self.term is None and is_new and self.stands_with:
            self._lease = None
            self._give(self._term(standing.token, deadline_ms))
        if self.term is not None and self.term.token == standing.token:
            self.term.last(deadline_ms)
            if self._lease not in (None, standing.until):
                # Another lease is in force: a majority has answered a round that began since then.
                self._lease = None
                if self.term.confirmed():
                    self.confirm(self.term)
            if standing.status is not Status.NORMAL:
                self.term.ask_to_end()
        elif standing.status is Status.NORMAL:
            # There is nobody to do the work, or it is still busy with that of an earlier term.
            self._leave_office()

    def _term(self, token: int, deadline_ms: float) -> Tenure:
        port = self._port
        known = deadline_ms, port.now_ms, port.members
        return Tenure(self.name, token, self, *known, self.confirm)
