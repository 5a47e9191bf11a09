"""Paxos: the first value that a majority has kept is decided, whoever leads.

Source: L. Lamport, "The Part-Time Parliament", 1998, section 2, and "Paxos Made Simple", 2001,
section 2: one decision. That an election says who conducts ballots is from section 2.4 of the
latter.
Needs: a disk that keeps its word: run paxos/forgets_a_promise. For a decision at all, an election
that comes to name one node to a majority, and messages that arrive within T: run paxos/duel.
"""

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec.structs import replace

from electorate.core import *

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)


class Ballot(Value):
    """A number that no two nodes share: numbers first, then the conductor."""

    number: Annotated[int, Ordinal()] = 0
    owner: NodeId = 0

    def is_after(self, other: "Ballot") -> bool:
        """Whether it is the later one."""
        return (self.number, self.owner) > (other.number, other.owner)


class Vote(Value):
    """A value that was kept, and in which ballot."""

    ballot: Ballot
    value: int


class Prepare(Message):
    """Leave all ballots before this one: what have you kept?"""

    ballot: Ballot


class Promise(Message):
    """I have left them; this is what I have kept."""

    ballot: Ballot
    vote: Vote | None


class Accept(Message):
    """Keep this value, in this ballot."""

    ballot: Ballot
    value: int


class Accepted(Message):
    """I have kept it, in this ballot."""

    ballot: Ballot


class Refuse(Message):
    """I have left your ballot for this one."""

    ballot: Ballot


class Decided(Message):
    """A majority has kept this value in one ballot: it is decided."""

    value: int


class Help(Message):
    """I have not decided, and hear nothing: do you know?"""


class Wait(StrEnum):
    """The timers."""

    RETRY = "retry"  # those that I asked would have answered by now


class PaxosRules(OverRules):
    """What may be varied. The defaults are the sound form."""

    forgets: Literal["nothing", "promise", "vote", "decision"] = "nothing"
    """What a node does not know any more after a crash."""
    promises: Literal["kept", "ignored"] = "kept"
    """Whether a node that has left a ballot refuses to keep a value in it."""
    value: Literal["latest", "oldest", "own"] = "latest"
    """Which value is proposed: that of the latest vote that a majority knows of; that of the
    oldest; or always one's own."""
    quorum: Literal["majority", "minority"] = "majority"
    """How many must have promised, and how many must have kept a value for it to be decided."""
    numbers: Literal["unique", "shared"] = "unique"
    """Whether a ballot has its conductor's id in its number."""
    retry: Span = 2 * T + 2 * P
    """How long a leader waits for answers."""
    patience: Span = 6 * T + 6 * P
    """How long everybody else waits for a decision."""


class PaxosStable(Stable, Generic[Kept]):
    """What survives a crash."""

    inner: Kept
    promised: Ballot = Ballot()
    """I keep no value in a ballot before this one."""
    vote: Vote | None = None
    """The last value that I have kept."""
    decided: int | None = None


class PaxosState(State, Generic[Inner, Kept]):
    """One node's part: as a voter, and as the conductor of a ballot."""

    stable: PaxosStable[Kept]
    inner: Inner
    ballot: Ballot | None = None
    """The ballot that I conduct."""
    value: int | None = None
    """The value proposed in it; None as long as I ask what was kept before."""
    latest: Vote | None = None
    """The one vote that counts, of those that I have been told of."""
    heard: frozenset[NodeId] = frozenset()
    """The nodes that have promised, or have kept the value."""


class Paxos(Over[Any]):
    """Any election, and a majority that remembers what it has kept."""

    state_type = PaxosState
    stable_type = PaxosStable
    rules_type = PaxosRules
    messages = (Prepare, Promise, Accept, Accepted, Refuse, Decided, Help)
    timers = (Timer(Wait.RETRY, periodic=True),)
    tells = frozenset({Topic.CHOICES})
    promises = ("K1", "K2", "K4")
    # For K4; whatever is decided is so without.
    assumptions_over = (Assumption.BOUNDED_DELAY, Assumption.CLOSED_BOUNDS)

    rules: PaxosRules

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.tells |= self.lift.tells
        self.begins_by = self.lift.requests if self.lift.inner.begins_by else ()
        majority = len(members.ids) // 2 + 1
        self.enough = majority if self.rules.quorum == "majority" else max(1, majority - 1)

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        inner, effects = self.lift.boot(me, stable)
        log = replace(stable or PaxosStable(inner.stable), inner=inner.stable)
        if self.rules.forgets != "nothing":
            log = self._without(log)
        s: Any = PaxosState(me, log, inner)
        if log.decided is not None:
            return s, effects
        return self._lead(s, False, [*effects, self._again(s)])

    def _without(self, log: Any) -> Any:
        """What is left after a crash of what should have been kept."""
        match self.rules.forgets:
            case "promise":
                return replace(log, promised=Ballot() if log.vote is None else log.vote.ballot)
            case "vote":
                return replace(log, vote=None)
        return replace(log, decided=None)

    def step(self, s: Any, event: Event) -> Result[Any]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(_, Decided(value)):
                return self._decide(s, value, [])
            case Received(j, Prepare() | Accept() | Help()) if s.stable.decided is not None:
                return s, [Send(j, Decided(s.stable.decided))]
            case Received(j, Prepare(ballot)):
                return self._promise(s, j, ballot)
            case Received(j, Accept(ballot, value)):
                return self._keep(s, j, ballot, value)
            case Received(j, Promise(ballot, vote)) if ballot == s.ballot and s.value is None:
                counted = replace(s, latest=self._counting(s.latest, vote), heard=s.heard | {j})
                return self._prepared(counted, [])
            case Received(j, Accepted(ballot)) if ballot == s.ballot and s.value is not None:
                return self._kept(replace(s, heard=s.heard | {j}), [])
            case Received(_, Refuse(ballot)):
                return self._leave(s, ballot), []
            case Received(_, Promise() | Accepted() | Help()):
                return s, []
            case TimedOut(Wait.RETRY) if s.stable.decided is None:
                return self._retry(s)
        after, effects = self.lift.step(s, event)
        return self._lead(after, self._leads(s), effects)

    def view(self, s: Any) -> Choice:
        return Choice.above(self.lift.view(s), proposes=proposal_of(s.me), decided=s.stable.decided)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lift.may_ask(view)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lift.must_ask(view)

    # --- who votes ---

    def _promise(self, s: Any, j: NodeId, ballot: Ballot) -> Result[Any]:
        """Leave all ballots before this one, and say what I have kept."""
        if s.stable.promised.is_after(ballot):
            return s, [Send(j, Refuse(s.stable.promised))]
        return self._leave(s, ballot), [Send(j, Promise(ballot, s.stable.vote))]

    def _keep(self, s: Any, j: NodeId, ballot: Ballot, value: int) -> Result[Any]:
        """Keep the value, unless I have left that ballot."""
        if s.stable.promised.is_after(ballot) and self.rules.promises == "kept":
            return s, [Send(j, Refuse(s.stable.promised))]
        return self._voted(s, ballot, value), [Send(j, Accepted(ballot))]

    def _voted(self, s: Any, ballot: Ballot, value: int) -> Any:
        """The node once it has kept the value."""
        left = self._leave(s, ballot)
        return replace(left, stable=replace(left.stable, vote=Vote(ballot, value)))

    def _leave(self, s: Any, ballot: Ballot) -> Any:
        """The node once it has left all ballots before this one."""
        if not ballot.is_after(s.stable.promised):
            return s
        return replace(s, stable=replace(s.stable, promised=ballot))

    def _decide(self, s: Any, value: int, effects: list[Effect]) -> Result[Any]:
        """It is decided, for ever. A second decision changes nothing."""
        if s.stable.decided is not None:
            return s, effects
        done = replace(
            s,
            stable=replace(s.stable, decided=value),
            ballot=None,
            value=None,
            latest=None,
            heard=frozenset(),
        )
        return done, [*effects, CancelTimer(Wait.RETRY)]

    # --- who leads ---

    def _leads(self, s: Any) -> bool:
        below = self.lift.view(s)
        return below.status is Status.NORMAL and below.leader == s.me

    def _lead(self, s: Any, led: bool, effects: list[Effect]) -> Result[Any]:
        """A node that comes to lead conducts a ballot; one that does not lead conducts none."""
        leads = self._leads(s)
        if leads == led or s.stable.decided is not None:
            return s, effects
        if leads:
            return self._begin(s, effects)
        rests = replace(s, ballot=None, value=None, latest=None, heard=frozenset())
        return rests, [*effects, self._again(rests)]

    def _begin(self, s: Any, effects: list[Effect]) -> Result[Any]:
        """Conduct a ballot after all that I know of, and be the first to promise."""
        owner = s.me if self.rules.numbers == "unique" else 0
        ballot = Ballot(s.stable.promised.number + 1, owner)
        left = self._leave(s, ballot)
        begun = replace(
            left, ballot=ballot, value=None, latest=s.stable.vote, heard=frozenset({s.me})
        )
        return self._prepared(begun, [*effects, *self._to_others(s, Prepare(ballot))])

    def _counting(self, one: Vote | None, other: Vote | None) -> Vote | None:
        """Of two votes the one whose value must be taken over."""
        if one is None or other is None:
            return one or other
        wants_latest = self.rules.value == "latest"
        return other if other.ballot.is_after(one.ballot) is wants_latest else one

    def _prepared(self, s: Any, effects: list[Effect]) -> Result[Any]:
        """Once enough have promised: have their value kept, or else my own."""
        if len(s.heard) < self.enough:
            return s, [*effects, self._again(s)]
        takes_over = s.latest is not None and self.rules.value != "own"
        value = s.latest.value if takes_over else proposal_of(s.me)
        asked = replace(s, value=value, latest=None, heard=frozenset())
        if not s.stable.promised.is_after(s.ballot):
            asked = replace(self._voted(asked, s.ballot, value), heard=frozenset({s.me}))
        return self._kept(asked, [*effects, *self._to_others(s, Accept(s.ballot, value))])

    def _kept(self, s: Any, effects: list[Effect]) -> Result[Any]:
        """Once enough have kept the value it is decided: tell everybody."""
        if len(s.heard) < self.enough:
            return s, [*effects, self._again(s)]
        return self._decide(s, s.value, [*effects, *self._to_others(s, Decided(s.value))])

    def _retry(self, s: Any) -> Result[Any]:
        """Ask again all that have not answered; in a new ballot, if I have left this one."""
        if not self._leads(s):
            leader = self.lift.view(s).leader
            calls: list[Effect] = [Send(leader, Help())] if leader not in (None, s.me) else []
            return s, [*calls, self._again(s)]
        if s.ballot is None or s.stable.promised.is_after(s.ballot):
            return self._begin(s, [])
        question = Prepare(s.ballot) if s.value is None else Accept(s.ballot, s.value)
        again = [each for each in self._to_others(s, question) if each.to not in s.heard]
        return s, [*again, self._again(s)]

    def _to_others(self, s: Any, message: Message) -> list[Send]:
        return [Send(j, message) for j in self.members.others(s.me)]

    def _again(self, s: Any) -> SetTimer:
        span = self.rules.patience if s.ballot is None else self.rules.retry
        return self.set_timer(Wait.RETRY, span)


def proposal_of(node: NodeId) -> int:
    """The value that a node would have everybody decide on: the last bit of its id."""
    return node % 2
