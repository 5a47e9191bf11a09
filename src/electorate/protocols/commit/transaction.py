"""What all commit protocols share: votes, the decision, acknowledgements, and the call for help.

One machine is one transaction. The coordinator is a node of its own, which takes no part itself: it
asks the participants for their votes and tells them the decision. What it does once all have voted
yes (`agree`), and what the elected node does if the coordinator is gone (`find_out`), is what tells
one commit protocol from another.

A node that is in doubt and hears nothing for too long waits for the election. The elected node
finds out the decision, once it has waited long enough itself, or is called by a node that has.

Once all have applied the decision, all forget the transaction, the coordinator first. A coordinator
that has forgotten presumes nothing: it lets those forget that say they have applied the decision,
and leaves everything else unanswered, for no node can be in doubt any more.
"""

from abc import abstractmethod
from typing import Any

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.commit.state import (
    Abort,
    Again,
    Applied,
    Begin,
    Commit,
    Done,
    Forget,
    Help,
    No,
    Prepare,
    Settled,
    TransactionRules,
    TransactionStable,
    TransactionState,
    Vote,
    Wait,
    Yes,
    word_of,
)


class Transaction(Over[Any]):
    """A machine that decides one transaction."""

    state_type: Any = TransactionState
    stable_type: Any = TransactionStable
    rules_type = TransactionRules
    extra_nodes = 1
    new: Any = TransactionState
    """Makes a state of id, log and inner state."""
    log: Any = TransactionStable
    """Makes an empty log of the inner stable part."""
    requests = (Begin, Vote, Applied, Again)
    begins_by = (Begin,)
    tells = frozenset({Topic.DECISIONS})
    timers = (
        Timer(Wait.VOTES),
        Timer(Wait.PATIENCE),
        Timer(Wait.RETRY, periodic=True),
        Timer(Wait.RESEND, periodic=True),
    )
    promises: tuple[str, ...] = ("C1", "C2", "C3", "C7")

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        self.tells |= self.lift.tells
        self.coordinator: NodeId = self.rules.coordinator or members.ids[-1]
        if self.coordinator not in members.ids:
            raise ValueError(f"the coordinator {self.coordinator} is not a member")
        self.participants = members.others(self.coordinator)
        self.majority = len(self.participants) // 2 + 1
        self.is_rash = self.rules.unvoted == "commit"
        self.lets_forget = self.rules.forget in ("told", "each")

    @abstractmethod
    def agree(self, s: Any) -> Result[Any]:
        """What the coordinator does once everybody has voted yes."""

    @abstractmethod
    def find_out(self, s: Any) -> Result[Any]:
        """What an elected node does that has not decided."""

    def step(self, s: Any, event: Event) -> Result[Any]:
        coordinates = s.me == self.coordinator
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []
            case Received(j, Settled()) if coordinates and s.stable.forgotten:
                # The word of that was lost, or it has refused what it had forgotten.
                return s, [Send(j, Forget()) for _ in range(self.lets_forget)]
            case Received(_, Commit() | Abort() | Help()) | Asked(Begin()) if (
                coordinates and s.stable.forgotten
            ):
                return s, []
            case Asked(Begin()) if coordinates and s.stage is Stage.WORKING:
                prepare: list[Effect] = [Send(j, Prepare()) for j in self.participants]
                return at(s, Stage.UNCERTAIN), [*prepare, self.set_timer(Wait.VOTES)]
            case Asked(Vote(yes)) if not coordinates and s.stage is Stage.WORKING:
                return self._vote(s, yes)
            case Asked(Applied()) if self._wants(s) in (Wants.COMMIT, Wants.ABORT):
                return self._apply(s)
            case Asked(Again()):
                return s, self._again(s)

            case Received(self.coordinator, Prepare()) if not coordinates:
                return self._prepare(s)
            case Received(j, Yes()) if coordinates and s.stage is Stage.UNCERTAIN:
                return self._count(s, j)
            case Received(_, No()) if coordinates and s.stage is Stage.UNCERTAIN:
                return self.decide(s, Stage.ABORTED)
            case TimedOut(Wait.VOTES) if coordinates and s.stage is Stage.UNCERTAIN:
                return self.decide(s, Stage.ABORTED)

            # Who has not prepared, or has forgotten, has nothing to commit.
            case Received(j, Commit()) if s.stage is not Stage.WORKING or self.is_rash:
                return self._hear(s, j, Stage.COMMITTED)
            case Received(j, Abort()):
                return self._hear(s, j, Stage.ABORTED)
            case Received(j, Done()) if coordinates and s.stage.is_final:
                return self._note_done(s, j)
            case Received(j, Settled(stage)) if coordinates and stage is s.stage:
                return self._note_done(s, j)
            case TimedOut(Wait.RESEND) if coordinates and s.stage.is_final:
                return s, self.tell(s)
            case Received(self.coordinator, Forget()) if s.stage.is_final:
                return self._forgotten(s), []

            case TimedOut(Wait.PATIENCE | Wait.RETRY) if s.stage.is_in_doubt:
                return self._despair(s)
            case Received(j, Help()):
                return self._help(s, j)
        return self._elect(s, event)

    def view(self, s: Any) -> Decision:
        return Decision.above(
            self.lift.view(s),
            state=s.stage,
            wants=self._wants(s),
            coordinates=s.me == self.coordinator,
            over=s.stable.forgotten,
        )

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        own: tuple[Request, ...] = ()
        match view:
            case Decision(state=Stage.WORKING, over=True):
                own = ()
            case Decision(state=Stage.WORKING, coordinates=True):
                own = (Begin(),)
            case Decision(state=Stage.WORKING, wants=Wants.NOTHING):
                own = (Vote(yes=False),)
            case Decision(state=Stage.UNCERTAIN, coordinates=True):
                own = (Again(),)
            case Decision(coordinates=False, wants=Wants.NOTHING) if view.state.is_final:
                own = (Again(),)
        return (*own, *self.lift.may_ask(view))

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        match view:
            case Decision(wants=Wants.PREPARE, over=True):
                return (Vote(yes=False),)  # Its work is gone.
            case Decision(wants=Wants.PREPARE):
                return (Vote(yes=True), Vote(yes=False))
            case Decision(wants=Wants.COMMIT | Wants.ABORT):
                return (Applied(),)
        return self.lift.must_ask(view)

    def _wants(self, s: Any) -> Wants:
        if s.me == self.coordinator or s.applied:
            return Wants.NOTHING
        match s.stage:
            case Stage.WORKING if s.asked:
                return Wants.PREPARE
            case Stage.COMMITTED:
                return Wants.COMMIT
            case Stage.ABORTED:
                return Wants.ABORT
        return Wants.NOTHING

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        inner, effects = self.lift.boot(me, stable)
        log = replace(stable or self.log(inner.stable), inner=inner.stable)
        after, more = self.resume(self.new(me, log, inner))
        return after, [*effects, *more]

    def unknown(self, me: NodeId) -> Any:
        """The log of a node that boots to hear of a transaction which its log does not have."""
        if me != self.coordinator:
            return None
        state, _ = self.boot(me, None)
        return self._forgotten(state).stable

    def holding(self, me: NodeId, stage: Stage) -> Any:
        """The log of a participant whose application holds what its log does not know.

        That log is lost, or older than the work, or it crashed before the vote. What was committed
        has been decided. What is prepared may have been voted for, and is in doubt. It may also
        have been refused since: so the node must not vote again, and its driver loses every
        `Prepare` on the way to it.
        """
        state, _ = self.boot(me, None)
        return at(state, stage).stable

    def _forgotten(self, s: Any) -> Any:
        """Nothing is left but that it is over."""
        return self.new(s.me, replace(self.log(s.stable.inner), forgotten=True), s.inner)

    def resume(self, s: Any) -> Result[Any]:
        """Go on from what is in the log: a node in doubt has waited long enough."""
        if s.stage.is_final and s.me == self.coordinator:
            return s, self.tell(s)
        if s.stage.is_in_doubt:
            return replace(s, waiting=True), [self.set_timer(Wait.RETRY)]
        return s, []

    # --- the coordinator ---

    def _count(self, s: Any, j: NodeId) -> Result[Any]:
        heard = s.heard | {j}
        if not heard.issuperset(self.participants):
            return replace(s, heard=heard), []
        after, effects = self.agree(replace(s, heard=frozenset()))
        return after, [CancelTimer(Wait.VOTES), *effects]

    def decide(self, s: Any, stage: Stage) -> Result[Any]:
        """The point of no return: from here on the coordinator tells all until they know."""
        decided, effects = self.learn(s, stage)
        return decided, [*effects, *self.tell(decided)]

    def tell(self, s: Any) -> list[Effect]:
        """Tell the decision to all that have not acknowledged it."""
        told = [Send(j, word_of(s.stage)) for j in self.participants if j not in s.heard]
        again = [] if self.rules.acknowledge == "never" else [self.set_timer(Wait.RESEND)]
        return [*told, *again]

    def _note_done(self, s: Any, j: NodeId) -> Result[Any]:
        noted = replace(s, heard=s.heard | {j})
        if not noted.heard.issuperset(self.participants):
            return noted, [Send(j, Forget()) for _ in range(self.rules.forget == "each")]
        words = [Send(j, Forget()) for j in self.participants if self.lets_forget]
        return self._forgotten(noted), [CancelTimer(Wait.RESEND), *words]

    def _again(self, s: Any) -> list[Effect]:
        """What may have been lost: the question of the coordinator, or its word to forget."""
        if s.me == self.coordinator and s.stage is Stage.UNCERTAIN:
            return [Send(j, Prepare()) for j in self.participants if j not in s.heard]
        settled = s.applied and self.rules.acknowledge != "never"
        return [Send(self.coordinator, Settled(s.stage)) for _ in range(settled)]

    # --- the participants ---

    def _prepare(self, s: Any) -> Result[Any]:
        """Let the application vote, or repeat its vote."""
        match s.stage:
            case Stage.WORKING:
                return replace(s, asked=True), []
            case Stage.UNCERTAIN:
                return s, [Send(self.coordinator, Yes())]
            case Stage.ABORTED:
                return s, [Send(self.coordinator, No())]
        return s, []

    def _vote(self, s: Any, yes: bool) -> Result[Any]:
        """Before its vote a node may abort alone; after a yes it may not decide at all."""
        if not yes:
            return at(s, Stage.ABORTED, asked=False), [Send(self.coordinator, No())]
        if not s.asked:
            return s, []
        voted = at(s, Stage.UNCERTAIN, self.rules.unforced != "vote", asked=False)
        return voted, [Send(self.coordinator, Yes()), self.set_timer(Wait.PATIENCE)]

    def refused(self, s: Any) -> Any:
        """A node that has not voted when the decision is being found out must not vote any more."""
        return at(s, Stage.ABORTED, self.rules.unforced != "refusal", asked=False)

    def _hear(self, s: Any, j: NodeId, stage: Stage) -> Result[Any]:
        """Do what was decided, and acknowledge it to the coordinator."""
        effects: list[Effect] = []
        if not s.stage.is_final:
            if s.me == self.coordinator:
                return self.decide(s, stage)
            s, effects = self.learn(s, stage)
        if j != self.coordinator or s.me == j or stage is not s.stage:
            return s, effects
        now = (
            s.applied if self.rules.acknowledge == "applied" else self.rules.acknowledge != "never"
        )
        return replace(s, told=True), [*effects, *(Send(j, Done()) for _ in range(now))]

    def learn(self, s: Any, stage: Stage) -> Result[Any]:
        """Decide."""
        forced = self.rules.unforced != "decision"
        learnt = at(s, stage, forced, asked=False, waiting=False, finding=False, heard=frozenset())
        waits = Wait.VOTES if s.me == self.coordinator else Wait.PATIENCE
        return learnt, [CancelTimer(waits), CancelTimer(Wait.RETRY)]

    def _apply(self, s: Any) -> Result[Any]:
        """The application has done what was decided."""
        now = s.told and self.rules.acknowledge == "applied"
        done: list[Effect] = [Send(self.coordinator, Done()) for _ in range(now)]
        if self.rules.forget == "applied":
            return at(s, Stage.WORKING), done
        return replace(s, applied=True), done

    # --- recovery ---

    def _despair(self, s: Any) -> Result[Any]:
        """Nothing was heard for too long: the elected node has to find out."""
        if self.rules.impatient != "wait":
            rash = self.rules.impatient == "commit"
            return self.learn(s, Stage.COMMITTED if rash else Stage.ABORTED)
        leader = self.lift.view(s).leader
        if leader == s.me:
            return self._lead(s)
        # The first time the elected node is as impatient as everybody, and needs no call.
        calls: list[Effect] = [Send(leader, Help())] if leader and s.waiting else []
        return replace(s, waiting=True), [*calls, self.set_timer(Wait.RETRY)]

    def _lead(self, s: Any) -> Result[Any]:
        """Find out the decision, and try again until it is known."""
        if s.stage is Stage.WORKING and s.me != self.coordinator:
            s = self.refused(s)
        if s.stage.is_final:
            return s, self.spread(s)
        finding = replace(s, waiting=True, finding=True, heard=frozenset())
        after, effects = self.find_out(finding)
        return after, [CancelTimer(Wait.PATIENCE), *effects, self.set_timer(Wait.RETRY)]

    def spread(self, s: Any) -> list[Effect]:
        """Tell all other participants what was found out."""
        return [Send(j, word_of(s.stage)) for j in self.participants if j != s.me]

    def found(self, s: Any, stage: Stage) -> Result[Any]:
        """The elected node knows the decision now, and tells everybody."""
        if s.me == self.coordinator:
            return self.decide(s, stage)
        learnt, effects = self.learn(s, stage)
        return learnt, [*effects, *self.spread(learnt)]

    def heed(self, s: Any) -> list[Effect]:
        """Another node is finding out the decision: be patient once more."""
        if s.finding or not s.stage.is_in_doubt:
            return []
        return [CancelTimer(Wait.PATIENCE), self.set_timer(Wait.RETRY, self.rules.patience)]

    def _help(self, s: Any, j: NodeId) -> Result[Any]:
        """Answer, or find out."""
        if s.stage.is_final:
            return s, [Send(j, word_of(s.stage))]
        if s.finding or self.lift.view(s).leader != s.me:
            return s, []
        return self._lead(s)

    def _elect(self, s: Any, event: Event) -> Result[Any]:
        """All else is for the election. A node elected after long waiting finds out at once."""
        after, effects = self.lift.step(s, event)
        led, leads = self.lift.view(s).leader == s.me, self.lift.view(after).leader == s.me
        if led and not leads:
            return replace(after, finding=False), effects
        if leads and not led and after.waiting:
            after, more = self._lead(after)
            effects = [*effects, *more]
        return after, effects


def at(s: Any, stage: Stage, forced: bool = True, **changes: Any) -> Any:
    """The node at another stage; that is in its log, unless it is not forced."""
    if not forced:
        return replace(s, unlogged=stage, **changes)
    return replace(s, unlogged=None, stable=replace(s.stable, stage=stage), **changes)
