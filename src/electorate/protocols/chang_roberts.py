"""Chang and Roberts: votes travel round a ring, and only the strongest one comes home.

Source: M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University,
2022: slide "Chang Roberts" (form `slide`) and slide "Chang-Roberts - Code" (form `code`).
Needs: of two neighbours that a live node sits between, one does not suspect it. Otherwise the
ring closes without it, and two lead: run chang_roberts/two_wrong_suspicions.
"""

from typing import Annotated, Literal

from msgspec.structs import replace

from electorate.core import *


class Election(Message):
    """This node votes for itself: pass the vote on, unless you have a better one."""

    candidate: NodeId
    ballot: Annotated[int, Serial("candidate")]
    """Which of its votes this is."""


class Elected(Message):
    """The vote of this node has come home, so it leads: pass it on."""

    winner: NodeId
    ballot: Annotated[int, Serial("winner")]


class Elect(Request):
    """Hold an election."""


PATIENCE = "patience"
"""The vote that I passed on would have come home by now, and its owner would have said so."""


class ChangRobertsRules(Rules):
    """What may be varied. The defaults are the sound form."""

    lower: Literal["swallow", "replace"] = "swallow"
    """What a participant does with the vote of a weaker node: nothing, or it sends its own."""
    successor: Literal["alive", "next"] = "alive"
    """Which node comes next: the next one in view, or the next member whether up or not."""
    sender: Literal["predecessor", "anyone"] = "predecessor"
    """Whose messages count: those of the node before me in my view, or anybody's."""
    accept: Literal["passed", "anyone"] = "passed"
    """Which victory counts: that of the vote which I passed on last, or any."""
    ballots: Literal["numbered", "alike"] = "numbered"
    """Whether a node can tell its votes from one another."""
    orphans: Literal["drop", "pass"] = "drop"
    """What becomes of the vote of a node that is not in view."""
    appearing: Literal["challenge", "ignore"] = "challenge"
    """What a leader or winner does when it sees a stronger node."""
    patience: Span = T + P
    """How long a vote may take, times the number of members; 0 means as long as it likes."""
    office: Literal["vote", "word"] = "vote"
    """When the winner takes office: when its vote has come home, or its word as well."""
    home: Literal["own", "equal"] = "own"
    """Which vote is mine when it comes home: that for this very node, or any whose id is no
    stronger and no weaker than mine, as nodes would see it that know each other by rank alone."""


class ChangRobertsStable(Stable):
    """What survives a crash."""

    ballot: Annotated[int, Serial()] = 0
    """The number of my latest vote."""


class ChangRobertsState(State):
    """One node's part in the election."""

    stable: ChangRobertsStable
    passed: Election | None = None
    """The vote that I passed on last, my own among them; None if I am not participating."""
    leader: NodeId | None = None
    alive: frozenset[NodeId] = frozenset()


class ChangRoberts(Machine[ChangRobertsState]):
    """The two printed forms know neither crashes nor detectors; the sound form adds six rules."""

    state_type = ChangRobertsState
    stable_type = ChangRobertsStable
    rules_type = ChangRobertsRules
    messages = (Election, Elected)
    requests = (Elect,)
    timers = (Timer(PATIENCE),)
    uses_views = True
    forms = {
        "sound": ChangRobertsRules(),
        "slide": ChangRobertsRules(
            "replace", "next", "anyone", "anyone", "alike", "pass", "ignore", 0 * T
        ),
        "code": ChangRobertsRules(
            "swallow", "next", "anyone", "anyone", "alike", "pass", "ignore", 0 * T, "word"
        ),
    }
    promises = ("A1", "A2", "S2")
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_PARTITION,
        Assumption.ACCURATE_DETECTOR,
    )
    form_assumptions = {
        "slide": (Assumption.NO_CRASH, Assumption.NO_LOSS),
        "code": (Assumption.NO_CRASH, Assumption.NO_LOSS, Assumption.FIFO),
    }
    strongest = "highest"

    rules: ChangRobertsRules

    def boot(self, me: NodeId, stable: ChangRobertsStable | None) -> Result[ChangRobertsState]:
        everybody = frozenset(self.members.ids)
        return self._start(ChangRobertsState(me, stable or ChangRobertsStable(), alive=everybody))

    def step(self, s: ChangRobertsState, event: Event) -> Result[ChangRobertsState]:
        match event:
            case Received(j, Election(i) | Elected(i)) if not self._heeds(s, j, i):
                return s, []
            case Viewed(alive):
                return self._look(replace(s, alive=alive), alive - s.alive)

            case Received(_, Election() as vote) if self._is_home(s, vote):
                return self._win(s)
            case Received(_, Election(i)) if i == s.me and self.rules.lower == "swallow":
                return s, []
            case Received(_, Election(i) as vote) if self.members.is_stronger(i, s.me):
                return self._pass(s, vote)
            case Received(_, Election()) if s.passed is None:
                return self._start(s)
            case Received(_, Election()) if self.rules.lower == "replace":
                return self._pass(s, Election(s.me, s.stable.ballot))

            case Received(_, Elected(i) as word) if i != s.me and self._accepts(s, word):
                return self._follow(s, word)
            case Received(_, Elected() as word) if self._word_is_home(s, word):
                return self._rest(s, s.me)

            case TimedOut(timer) if timer == PATIENCE and s.passed is not None:
                return self._start(s)
            case Asked(Elect()) if s.passed is None:
                return self._start(s)
        return s, []

    def view(self, s: ChangRobertsState) -> Standing:
        if s.passed is not None or s.leader is None:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Elect(),)

    def _start(self, s: ChangRobertsState) -> Result[ChangRobertsState]:
        """Vote for myself."""
        if self.rules.ballots == "numbered":
            # Unlike the paper, votes have numbers: one that I sent before may still come home
            # when others have long passed on another.
            s = replace(s, stable=ChangRobertsStable(s.stable.ballot + 1))
        return self._pass(s, Election(s.me, s.stable.ballot))

    def _pass(self, s: ChangRobertsState, vote: Election) -> Result[ChangRobertsState]:
        """Hand a vote on."""
        passing = replace(s, passed=vote, leader=None)
        # Counted from any node of the ring, the vote and then the word of its owner go round
        # once between them.
        return passing, [*self._patience(), *self._to_next(s, vote, vote.candidate)]

    def _is_home(self, s: ChangRobertsState, vote: Election) -> bool:
        """Whether this is the vote that I have sent, or looks like it."""
        mine = s.passed is not None and s.passed.candidate == s.me
        rank = self.members.rank
        if self.rules.home == "equal" and rank(vote.candidate) == rank(s.me):
            return mine
        return mine and vote == s.passed

    def _win(self, s: ChangRobertsState) -> Result[ChangRobertsState]:
        """My vote has come home."""
        stronger = s.alive.intersection(self.members.stronger_than(s.me))
        if stronger and self.rules.appearing == "challenge":
            return s, []  # The vote went past a stronger node: try again when patience ends.
        word = Elected(s.me, s.stable.ballot)
        if self.rules.office == "word":
            return s, [*self._patience(), *self._to_next(s, word, s.me)]
        return self._follow(s, word)

    def _follow(self, s: ChangRobertsState, word: Elected) -> Result[ChangRobertsState]:
        """Take the winner for the leader, and tell the next node."""
        following, ended = self._rest(s, word.winner)
        return following, [*ended, *self._to_next(s, word, word.winner)]

    def _rest(self, s: ChangRobertsState, leader: NodeId) -> Result[ChangRobertsState]:
        """The election is over for me."""
        ended: list[Effect] = [CancelTimer(PATIENCE)] if self._patience() else []
        return replace(s, passed=None, leader=leader), ended

    def _look(self, s: ChangRobertsState, new: frozenset[NodeId]) -> Result[ChangRobertsState]:
        """Compare the leader, or the next leader, with the nodes in view now."""
        if s.passed is not None:
            return self._start(s) if self._is_orphan(s, s.passed.candidate) else (s, [])
        lost = s.leader is not None and s.leader not in s.alive
        stronger = new.intersection(self.members.stronger_than(s.me))
        outranked = s.leader == s.me and stronger and self.rules.appearing == "challenge"
        return self._start(s) if lost or outranked else (s, [])

    def _heeds(self, s: ChangRobertsState, j: NodeId, i: NodeId) -> bool:
        """Whether a message from j about i may count at all."""
        if not {i, j} <= {*self.members.ids} or self._is_orphan(s, i):
            return False
        # Unlike the paper, both ends of a hop must agree that nobody alive is between them.
        before_me = j in s.alive and self.members.after(j, s.alive) == s.me
        return before_me or self.rules.sender == "anyone"

    def _is_orphan(self, s: ChangRobertsState, i: NodeId) -> bool:
        return self.rules.orphans == "drop" and i not in s.alive

    def _accepts(self, s: ChangRobertsState, word: Elected) -> bool:
        # Unlike the paper, a victory counts only if its vote was the last that I passed on: who
        # has voted anew since then, or was not there, waits for the next one.
        return self.rules.accept == "anyone" or s.passed == Election(word.winner, word.ballot)

    def _word_is_home(self, s: ChangRobertsState, word: Elected) -> bool:
        """Whether this is my own word, for which I have waited."""
        mine = word.winner == s.me and s.passed == Election(s.me, word.ballot)
        return mine and self.rules.office == "word"

    def _to_next(self, s: ChangRobertsState, message: Message, about: NodeId) -> list[Effect]:
        to = self.members.after(s.me, s.alive if self.rules.successor == "alive" else None)
        # A node that is alone has nobody to tell; it would tell itself of others for ever.
        return [Send(to, message)] if to != s.me or about == s.me else []

    def _patience(self) -> list[Effect]:
        length = self.rules.patience.of(self.timing) * len(self.members.ids)
        return [SetTimer(PATIENCE, length)] if length else []
