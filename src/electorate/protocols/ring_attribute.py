"""The ring of attributes: a message goes round and takes the best attribute that it meets.

Source: I. Gupta, "Cloud Computing Concepts", lecture B, "Ring Leader Election": slides "The Ring
Election Protocol" and "Multiple Initiators?" (forms `letter` and, read kindly, `printed`), and
"Fixing for Failures" (the rules `watchers`, `orphans` and `patience`).
Needs: of two neighbours that a live node sits between, one does not suspect it. Otherwise the
ring closes without it, and two lead: run ring_attribute/two_wrong_suspicions.
"""

from typing import Annotated, Literal

from msgspec.structs import replace

from electorate.core import *


class Run(Value):
    """One election: who initiated it, and which of its runs it is."""

    initiator: NodeId
    number: Annotated[int, Serial("initiator")]


class Election(Message):
    """This node is the best so far: pass it on, or put yourself in its place if you are better."""

    run: Run
    candidate: NodeId


class Elected(Message):
    """This node is the best of all, so it leads: pass it on."""

    run: Run
    winner: NodeId


class Elect(Request):
    """Hold an election."""


PATIENCE = "patience"
"""The run that I am in would have come to an end by now."""


class RingAttributeRules(Rules):
    """What may be varied. The defaults are the sound form."""

    forwarded: Literal["run", "election", "ever"] = "run"
    """For how long a node that has forwarded a message does not put itself in another."""
    cache: Literal["election", "ever"] = "election"
    """For how long a node suppresses the runs of initiators that are weaker than one it heard."""
    initiators: Literal["rank", "id"] = "rank"
    """Which of two initiators is the weaker one: that of lower rank, or that of the lower id."""
    remembers: Literal["own", "received"] = "own"
    """Whether a node counts among the initiators once it begins a run, or once a message of that
    run has come back to it."""
    first: Literal["begun", "forwarded"] = "begun"
    """Whether the message with which a node begins a run counts as one that it has forwarded."""
    accept: Literal["passed", "anyone"] = "passed"
    """Which end of a run counts: that of the message which I passed on last, or any."""
    numbers: Literal["kept", "none"] = "kept"
    """Whether a node can tell its runs from one another."""
    sender: Literal["predecessor", "anyone"] = "predecessor"
    """Whose messages count: those of the node before me in my view, or anybody's."""
    orphans: Literal["drop", "pass"] = "drop"
    """What becomes of a run whose candidate is not in view."""
    watchers: Literal["all", "predecessor", "successor"] = "all"
    """Which node starts a new run when the leader, or next leader, is gone."""
    appearing: Literal["challenge", "ignore"] = "challenge"
    """What a leader or winner does when it sees a stronger node."""
    newcomers: Literal["initiate", "wait"] = "initiate"
    """What a node does when it is started for the first time."""
    patience: Span = T + P
    """How long a run may take, times the number of members; 0 means as long as it likes."""


class RingAttributeStable(Stable):
    """What survives a crash."""

    number: Annotated[int, Serial()] = 0
    """How many runs I have initiated."""


class RingAttributeState(State):
    """One node's part in the election."""

    stable: RingAttributeStable
    passed: Election | None = None
    """What I passed on last; None if no run is under way."""
    forwarded: bool = False
    """Whether I have passed on the message of another node, or my own where that counts."""
    cache: NodeId | None = None
    """The strongest initiator that I have heard of, or the highest if ids are compared."""
    leader: NodeId | None = None
    alive: frozenset[NodeId] = frozenset()


PRINTED = RingAttributeRules(
    forwarded="ever",
    cache="ever",
    accept="anyone",
    numbers="none",
    sender="anyone",
    orphans="pass",
    appearing="ignore",
    patience=0 * T,
)
"""The slides, with one order for everything: initiators are compared as candidates are."""


class RingAttribute(Machine[RingAttributeState]):
    """Ranks are attributes first, ids second; initiators are compared by rank too, or by id."""

    state_type = RingAttributeState
    stable_type = RingAttributeStable
    rules_type = RingAttributeRules
    messages = (Election, Elected)
    requests = (Elect,)
    timers = (Timer(PATIENCE),)
    uses_views = True
    forms = {
        "sound": RingAttributeRules(),
        "printed": PRINTED,
        "letter": replace(PRINTED, initiators="id", remembers="received", first="forwarded"),
    }
    promises = ("A1", "A2", "S2")
    # As printed only the first election is sure to end, and to the letter not even that.
    form_promises = {"printed": ("A1", "S2"), "letter": ("A1", "S2")}
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.FIFO,
        Assumption.NO_PARTITION,
        Assumption.ACCURATE_DETECTOR,
    )
    form_assumptions = dict.fromkeys(
        ("printed", "letter"), (Assumption.NO_CRASH, Assumption.NO_LOSS)
    )
    strongest = "highest"

    rules: RingAttributeRules

    def boot(self, me: NodeId, stable: RingAttributeStable | None) -> Result[RingAttributeState]:
        kept = stable or RingAttributeStable()
        booted = RingAttributeState(me, kept, alive=frozenset(self.members.ids))
        if stable is None and self.rules.newcomers == "wait":
            return booted, []
        return self._initiate(booted)

    def step(self, s: RingAttributeState, event: Event) -> Result[RingAttributeState]:
        match event:
            case Received(j, Election(run, i) | Elected(run, i)) if not self._heeds(s, j, run, i):
                return s, []
            case Viewed(alive):
                return self._look(replace(s, alive=alive), alive - s.alive)

            case Received(_, Election(_, i) as found) if i == s.me:
                return self._win(s, found)
            case Received(_, Election(run, i) as found) if self.members.is_stronger(i, s.me):
                return self._forward(s, found)
            case Received(_, Election(run)) if self._has_forwarded(s, run):
                return replace(s, cache=run.initiator), []
            case Received(_, Election(run)):
                return self._forward(s, Election(run, s.me))

            case Received(_, Elected(_, i) as word) if i != s.me and self._accepts(s, word):
                return self._follow(s, word)

            case TimedOut(timer) if timer == PATIENCE and s.passed is not None:
                return self._start_over(s, s.passed.candidate)
            case Asked(Elect()) if s.passed is None:
                return self._initiate(s)
        return s, []

    def view(self, s: RingAttributeState) -> Standing:
        if s.passed is not None or s.leader is None:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Elect(),)

    def _initiate(self, s: RingAttributeState) -> Result[RingAttributeState]:
        """Begin a run, with myself as the best so far."""
        if self.rules.numbers == "kept":
            s = replace(s, stable=RingAttributeStable(s.stable.number + 1))
        heard = s.cache if self.rules.cache == "ever" else None
        if self.rules.remembers == "own" and (heard is None or self._suppresses(s.me, heard)):
            heard = s.me
        forwarded = s.forwarded or self.rules.first == "forwarded"
        begun = replace(s, cache=heard, forwarded=forwarded)
        return self._pass(begun, Election(Run(s.me, s.stable.number), s.me))

    def _forward(self, s: RingAttributeState, found: Election) -> Result[RingAttributeState]:
        """Let another node's run go on."""
        return self._pass(replace(s, forwarded=True, cache=found.run.initiator), found)

    def _pass(self, s: RingAttributeState, found: Election) -> Result[RingAttributeState]:
        passing = replace(s, passed=found, leader=None)
        return passing, [*self._patience(), *self._to_next(s, found, found.candidate)]

    def _win(self, s: RingAttributeState, found: Election) -> Result[RingAttributeState]:
        """I have come back to myself: nobody is better."""
        if self.rules.accept == "passed" and s.passed != found:
            return s, []
        stronger = s.alive.intersection(self.members.stronger_than(s.me))
        if stronger and self.rules.appearing == "challenge":
            return s, []  # The run went past a stronger node: try again when patience ends.
        return self._follow(s, Elected(found.run, s.me))

    def _follow(self, s: RingAttributeState, word: Elected) -> Result[RingAttributeState]:
        """Take the winner for the leader, and tell the next node."""
        # Unlike the paper, the memory of an initiator ends with its election: otherwise weaker
        # ones could never start another.
        ever = self.rules.cache == "ever"
        following = replace(
            s,
            passed=None,
            forwarded=s.forwarded and self.rules.forwarded == "ever",
            cache=word.run.initiator if ever else None,
            leader=word.winner,
        )
        ended: list[Effect] = [CancelTimer(PATIENCE)] if self._patience() else []
        return following, [*ended, *self._to_next(s, word, word.winner)]

    def _look(self, s: RingAttributeState, new: frozenset[NodeId]) -> Result[RingAttributeState]:
        """Compare the leader, or the next leader, with the nodes in view now."""
        if s.passed is not None:
            gone = self._is_orphan(s, s.passed.candidate)
            return self._start_over(s, s.passed.candidate) if gone else (s, [])
        if s.leader is not None and s.leader not in s.alive:
            return self._start_over(s, s.leader)
        stronger = new.intersection(self.members.stronger_than(s.me))
        outranked = s.leader == s.me and stronger and self.rules.appearing == "challenge"
        return self._initiate(s) if outranked else (s, [])

    def _start_over(self, s: RingAttributeState, gone: NodeId) -> Result[RingAttributeState]:
        """Begin a new run, if it falls to me to notice that this node is gone."""
        watched = {
            "all": True,
            "predecessor": self.members.after(s.me) == gone,
            "successor": self.members.after(gone) == s.me,
        }
        if watched[self.rules.watchers] or (s.passed and s.passed.run.initiator == s.me):
            return self._initiate(s)
        # The run is void, and must not keep me from the one that somebody else will begin.
        return replace(s, cache=s.cache if self.rules.cache == "ever" else None), []

    def _heeds(self, s: RingAttributeState, j: NodeId, run: Run, i: NodeId) -> bool:
        """Whether a message from j about i may count at all."""
        if not {i, j, run.initiator} <= {*self.members.ids} or self._is_orphan(s, i):
            return False
        if s.cache is not None and self._suppresses(s.cache, run.initiator):
            return False
        # Unlike the paper, both ends of a hop must agree that nobody alive is between them.
        before_me = j in s.alive and self.members.after(j, s.alive) == s.me
        return before_me or self.rules.sender == "anyone"

    def _suppresses(self, one: NodeId, other: NodeId) -> bool:
        """Whether the messages of the initiator `other` give way to those of `one`."""
        if self.rules.initiators == "id":
            return one > other
        return self.members.is_stronger(one, other)

    def _is_orphan(self, s: RingAttributeState, i: NodeId) -> bool:
        return self.rules.orphans == "drop" and i not in s.alive

    def _has_forwarded(self, s: RingAttributeState, run: Run) -> bool:
        # Unlike the paper, it counts only within one run: a message that was suppressed elsewhere
        # must not keep me out of the one that goes on.
        if self.rules.forwarded == "run":
            return s.passed is not None and s.passed.run == run and s.forwarded
        return s.forwarded

    def _accepts(self, s: RingAttributeState, word: Elected) -> bool:
        # Unlike the paper, an end counts only for what I passed on last.
        return self.rules.accept == "anyone" or s.passed == Election(word.run, word.winner)

    def _to_next(self, s: RingAttributeState, message: Message, about: NodeId) -> list[Effect]:
        to = self.members.after(s.me, s.alive)
        # A node that is alone has nobody to tell; it would tell itself of others for ever.
        return [Send(to, message)] if to != s.me or about == s.me else []

    def _patience(self) -> list[Effect]:
        length = self.rules.patience.of(self.timing) * len(self.members.ids)
        return [SetTimer(PATIENCE, length)] if length else []
