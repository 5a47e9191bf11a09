"""Park: the strongest node of a view leads once everybody in that view has promised to follow it.

Source: S. Park, "A Safe Election Protocol based on an Unreliable Failure Detector in Distributed
Systems", section 4, with the repairs that the figure needs to run and to keep its theorems.
Needs: for a leader to come of it, failure detectors that are right in the end, and messages that
arrive within T: run park/late_answers. Agreement (P1) needs nothing but a memory that
survives a crash: run park/without_durable.
"""

from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Literal

from msgspec.structs import replace

from electorate.core import *

Round = Annotated[int, Ordinal()]


class Propose(Message):
    """Let me lead: promise me this round."""

    round: Round


class Accept(Message):
    """This round is yours: until I hear more I follow nobody."""

    round: Round


class Reject(Message):
    """Your round is too low: I have promised that one to somebody."""

    round: Round
    promised: Round


class Commit(Message):
    """Everybody in this view has promised me this round: I lead."""

    round: Round
    view: frozenset[NodeId]


class Abort(Message):
    """Nothing came of this round: forget that I proposed it."""

    round: Round


class Wanted(Message):
    """I see nobody stronger than you, and do not follow you yet."""


class Wait(StrEnum):
    """The timers."""

    PATIENCE = "patience"  # the strongest node that I see would lead me by now


class Bid(Value):
    """A round that some node proposed. Among equal rounds that of the stronger node wins."""

    round: Round = 0
    by: NodeId | None = None


class ParkRules(Rules):
    """What may be varied. The defaults are the sound form."""

    newcomer: Literal["reelect", "keep"] = "reelect"
    """Whether a node gives its leader up when it sees a node that had no part in the election."""
    unseen: Literal["wait", "accept"] = "wait"
    """Whether a stronger node gets a promise from one that does not see it."""
    absent: Literal["refuse", "follow"] = "refuse"
    """Whether a commit counts that comes from a node which I do not see."""
    commit: Literal["promised", "round", "any"] = "promised"
    """Whose commit counts: of the bid that I promised last, of that round, or anybody's."""
    compare: Literal["bid", "greater", "at-least"] = "bid"
    """What a bid has to be: above the promised one by round and rank, or by its round alone."""
    durable: Literal["yes", "no"] = "yes"
    """Whether a promise survives a crash."""
    wanted: Literal["ask", "wait"] = "ask"
    """Whether a node without a leader for long tells the strongest node that it sees."""
    release: Literal["commit", "promise"] = "commit"
    """When a node gives its old leader up: as the new one commits, or as it promises a round."""
    number: Literal["above", "next"] = "above"
    """The round of a new attempt: above all that I promised, or one more than my own last."""
    learn: Literal["yes", "no"] = "yes"
    """Whether a rejected node goes on above the round that it was rejected for."""
    store: Literal["each", "latest", "none"] = "each"
    """Whose proposals wait for a view that approves of them; with none they are rejected."""
    attempt: Literal["drop", "keep"] = "drop"
    """What becomes of an open attempt when the view changes."""
    abort: Literal["send", "omit"] = "send"
    """Whether a rejected node tells its view."""
    retry: Span = T
    """How long after a rejection a node tries again."""
    patience: Span = 5 * T
    """How long after its last promise a node waits for a leader."""


class ParkStable(Stable):
    """What survives a crash."""

    promised: Bid = Bid()


class ParkState(State):
    """One node's part in the election."""

    stable: ParkStable
    alive: frozenset[NodeId]
    leader: NodeId | None = None
    group: frozenset[NodeId] = frozenset()
    """The view in which my leader was elected."""
    round: Round = 0
    """The last round that I proposed, or was rejected for."""
    attempt: frozenset[NodeId] | None = None
    """The view that I want to lead; None while I am not trying."""
    accepted: frozenset[NodeId] = frozenset()
    waiting: tuple[Bid, ...] = ()
    """Proposals that my view does not approve of yet, by proposer; not a set, so that rounds can be
    renamed."""


class Park(Machine[ParkState]):
    """Three phases: propose, accept, commit."""

    state_type = ParkState
    stable_type = ParkStable
    rules_type = ParkRules
    messages = (Propose, Accept, Reject, Commit, Abort, Wanted)
    timers = tuple(Timer(wait) for wait in Wait)
    uses_views = True
    promises = ("P1", "P2")
    assumptions = (Assumption.BOUNDED_DELAY,)
    tells = frozenset({Topic.VIEWS})
    strongest = "lowest"

    rules: ParkRules

    def boot(self, me: NodeId, stable: ParkStable | None) -> Result[ParkState]:
        kept = stable if stable is not None and self.rules.durable == "yes" else ParkStable()
        last = kept.promised.round if self.rules.number == "above" else 0
        alone = ParkState(me, kept, frozenset({me}), round=last)
        return alone, [self.set_timer(Wait.PATIENCE)]

    def step(self, s: ParkState, event: Event) -> Result[ParkState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Viewed(alive):
                return self._look(s, alive)

            case Received(j, Propose(k)):
                return self._answer(s, Bid(k, j))
            case Received(j, Accept(k)) if s.attempt is not None and k == s.round:
                return self._count(s, s.attempt, j)
            case Received(_, Reject(k, above)) if s.attempt is not None and k == s.round:
                return self._withdraw(s, s.attempt, above)

            case Received(j, Commit(k, view)) if self._believes(s, Bid(k, j), view):
                return self._follow(s, j, view)
            case Received(j, Abort(k)):
                left = tuple(bid for bid in s.waiting if bid != Bid(k, j))
                return replace(s, waiting=left), []

            case Received(j, Wanted()) if s.leader == s.me and s.attempt is None and j in s.alive:
                return self._start(s)
            case TimedOut(Wait.PATIENCE) if self._strongest(s) == s.me:
                return self._start(s)
            case TimedOut(Wait.PATIENCE) if not self._is_settled(s):
                return s, [*self._plea(s), self.set_timer(Wait.PATIENCE)]
        return s, []

    def view(self, s: ParkState) -> Standing:
        status = Status.ELECTION if s.leader is None else Status.NORMAL
        return Standing(status, s.leader, tuple(sorted(s.alive)))

    def _look(self, s: ParkState, alive: frozenset[NodeId]) -> Result[ParkState]:
        """See which nodes are there now: whom I follow, what I try and put off depends on it."""
        seen = replace(s, alive=alive)
        if s.attempt != alive and self.rules.attempt == "drop":
            seen = replace(seen, attempt=None, accepted=frozenset())
        # Unlike the paper, a leader lasts only while all that I see had a part in its election:
        # a node that had none may follow somebody else.
        if s.leader not in alive or not (alive <= s.group or self.rules.newcomer == "keep"):
            seen = replace(seen, leader=None)
        seen, effects = self._answer_waiting(seen)
        if self._is_settled(s) and not self._is_settled(seen):
            effects = [self.set_timer(Wait.PATIENCE), *effects]
        if seen.leader is None and seen.attempt is None and self._strongest(seen) == s.me:
            seen, proposals = self._start(seen)
            effects += proposals
        return seen, effects

    def _start(self, s: ParkState) -> Result[ParkState]:
        """Ask everybody in view, myself included, for a promise."""
        last = s.round if self.rules.number == "next" else max(s.round, s.stable.promised.round)
        trying = replace(s, round=last + 1, attempt=s.alive, accepted=frozenset())
        proposals = [Send(j, Propose(last + 1)) for j in sorted(s.alive)]
        return trying, [*proposals, self.set_timer(Wait.PATIENCE)]

    def _answer(self, s: ParkState, bid: Bid) -> Result[ParkState]:
        """Accept a proposal, reject it, or put it off until my view approves of it."""
        assert bid.by is not None
        others = tuple(other for other in s.waiting if other.by != bid.by)
        is_approved = self._approves(s, bid.by)
        if not self._is_above(bid, s.stable.promised) or not (
            is_approved or self.rules.store != "none"
        ):
            rejection = Reject(bid.round, s.stable.promised.round)
            return replace(s, waiting=others), [Send(bid.by, rejection)]
        if not is_approved:
            kept = others if self.rules.store == "each" else ()
            return replace(s, waiting=tuple(sorted((*kept, bid), key=attrgetter("by")))), []
        promised = replace(s, stable=ParkStable(bid), waiting=others)
        if self.rules.release == "promise":
            promised = replace(promised, leader=None)
        is_waiting = bid.by == s.me or self._is_settled(promised)
        waits = [] if is_waiting else [self.set_timer(Wait.PATIENCE)]
        return promised, [Send(bid.by, Accept(bid.round)), *waits]

    def _approves(self, s: ParkState, proposer: NodeId) -> bool:
        """Whether I see nobody stronger than the proposer."""
        # Unlike the paper, I have to see the proposer as well: otherwise a node that nobody sees
        # can end the leadership of those who agree on what they see.
        if proposer not in s.alive and self.rules.unseen == "wait":
            return False
        return not self.members.is_stronger(self._strongest(s), proposer)

    def _answer_waiting(self, s: ParkState) -> Result[ParkState]:
        """Look again at what was put off, the highest bid first."""
        effects: list[Effect] = []
        for bid in sorted(s.waiting, key=self._rank, reverse=True):
            s, more = self._answer(s, bid)
            effects += more
        return s, effects

    def _count(self, s: ParkState, view: frozenset[NodeId], j: NodeId) -> Result[ParkState]:
        """One more has promised; when all have, lead."""
        accepted = s.accepted | {j}
        if not view <= accepted:
            return replace(s, accepted=accepted), []
        elected = replace(s, attempt=None, accepted=frozenset())
        return elected, [Send(j, Commit(s.round, view)) for j in sorted(view)]

    def _withdraw(self, s: ParkState, view: frozenset[NodeId], above: int) -> Result[ParkState]:
        """Somebody has promised more to somebody else: try again later, with a higher round."""
        last = max(s.round, above) if self.rules.learn == "yes" else s.round
        closed = replace(s, round=last, attempt=None, accepted=frozenset())
        told = sorted(view - {s.me}) if self.rules.abort == "send" else []
        aborts = [Send(j, Abort(s.round)) for j in told]
        return closed, [*aborts, self.set_timer(Wait.PATIENCE, self.rules.retry)]

    def _believes(self, s: ParkState, bid: Bid, view: frozenset[NodeId]) -> bool:
        """Whether a commit makes me follow its sender."""
        promised = s.stable.promised
        is_mine = {"promised": bid == promised, "round": bid.round == promised.round, "any": True}
        is_seen = bid.by in s.alive or self.rules.absent == "follow"
        is_whole = s.alive <= view or self.rules.newcomer == "keep"
        return is_mine[self.rules.commit] and is_seen and is_whole

    def _follow(self, s: ParkState, j: NodeId, view: frozenset[NodeId]) -> Result[ParkState]:
        """Take j for the leader of this view."""
        following = replace(s, leader=j, group=view)
        # Who leads already and is elected once more waits as well, for its own attempt to end.
        is_waiting = j == s.me or not self._is_settled(s)
        ends = is_waiting and self._is_settled(following)
        return following, [CancelTimer(Wait.PATIENCE)] if ends else []

    def _plea(self, s: ParkState) -> list[Effect]:
        """Remind the strongest node that I see: it may think that I follow it."""
        return [Send(self._strongest(s), Wanted())] if self.rules.wanted == "ask" else []

    def _is_settled(self, s: ParkState) -> bool:
        return s.leader == self._strongest(s)

    def _strongest(self, s: ParkState) -> NodeId:
        return self.members.strongest_of(s.alive)

    def _is_above(self, bid: Bid, promised: Bid) -> bool:
        match self.rules.compare:
            case "bid":
                return self._rank(bid) > self._rank(promised)
            case "greater":
                return bid.round > promised.round
            case "at-least":
                return bid.round >= promised.round

    def _rank(self, bid: Bid) -> tuple[int, ...]:
        return (bid.round,) if bid.by is None else (bid.round, *self.members.rank(bid.by))
