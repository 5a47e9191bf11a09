"""The ring that collects a list: everybody signs, and the strongest who signed leads.

Source: Carnegie Mellon University, lecture notes "Coordinator Election", section "Ring Election"
(form `printed`).
Needs: of two neighbours that a live node sits between, one does not suspect it. Otherwise the
ring closes without it, and two lead: run ring_list/two_wrong_suspicions.
"""

from typing import Annotated, Literal

from msgspec.structs import replace

from electorate.core import *


class Round(Value):
    """One election: who called it, and which of its elections it is."""

    caller: NodeId
    number: Annotated[int, Serial("caller")]


class Election(Message):
    """These nodes have signed: sign below, and pass the list on."""

    round: Round
    signed: tuple[NodeId, ...]


class Coordinator(Message):
    """The list went round, and this node is the strongest on it: pass it on."""

    round: Round
    leader: NodeId


class Elect(Request):
    """Hold an election."""


PATIENCE = "patience"
"""The list that I signed would have gone round by now, and so would its outcome."""


class RingListRules(Rules):
    """What may be varied. The defaults are the sound form."""

    rounds: Literal["strongest", "all"] = "strongest"
    """Which of several elections goes on: that of the strongest caller, or every one."""
    accept: Literal["signed", "anyone"] = "signed"
    """Which outcome counts: that of the list which I signed last, or any."""
    numbers: Literal["kept", "none"] = "kept"
    """Whether a node can tell its elections from one another."""
    sender: Literal["predecessor", "anyone"] = "predecessor"
    """Whose messages count: those of the node before me in my view, or anybody's."""
    orphans: Literal["drop", "pass"] = "drop"
    """What becomes of a list whose caller, or of an outcome whose leader, is not in view."""
    appearing: Literal["challenge", "ignore"] = "challenge"
    """What a leader does when it sees a stronger node, and a caller about one that did not sign."""
    patience: Span = T + P
    """How long a list may take, times the number of members; 0 means as long as it likes."""


class RingListStable(Stable):
    """What survives a crash."""

    number: Annotated[int, Serial()] = 0
    """How many elections I have called."""


class RingListState(State):
    """One node's part in the election."""

    stable: RingListStable
    round: Round | None = None
    """The election whose list I signed last; None if there is none."""
    leader: NodeId | None = None
    alive: frozenset[NodeId] = frozenset()


class RingList(Machine[RingListState]):
    """The printed form skips dead nodes already; the sound form adds that one election counts."""

    state_type = RingListState
    stable_type = RingListStable
    rules_type = RingListRules
    messages = (Election, Coordinator)
    requests = (Elect,)
    timers = (Timer(PATIENCE),)
    uses_views = True
    forms = {
        "sound": RingListRules(),
        "printed": RingListRules("all", "anyone", "none", "anyone", "pass", "ignore", 0 * T),
    }
    promises = ("A1", "A2", "S2")
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.FIFO,
        Assumption.NO_PARTITION,
        Assumption.ACCURATE_DETECTOR,
    )
    form_assumptions = {"printed": (Assumption.NO_CRASH, Assumption.NO_LOSS)}
    strongest = "highest"

    rules: RingListRules

    def boot(self, me: NodeId, stable: RingListStable | None) -> Result[RingListState]:
        everybody = frozenset(self.members.ids)
        return self._call(RingListState(me, stable or RingListStable(), alive=everybody))

    def step(self, s: RingListState, event: Event) -> Result[RingListState]:
        match event:
            case Received(j, message) if not self._heeds(s, j, message):
                return s, []
            case Viewed(alive):
                return self._look(replace(s, alive=alive), alive - s.alive)

            case Received(_, Election(round, signed)) if s.me in signed:
                return self._count(s, round, signed) if self._is_home(s, round) else (s, [])
            case Received(_, Election(round, signed)) if self._goes_on(s, round):
                return self._sign(s, round, signed)

            case Received(_, Coordinator(round)) if round.caller == s.me:
                return s, []
            case Received(_, Coordinator() as word) if self._accepts(s, word.round):
                return self._follow(s, word)

            case TimedOut(timer) if timer == PATIENCE and s.round is not None:
                return self._call(s)
            case Asked(Elect()) if s.round is None:
                return self._call(s)
        return s, []

    def view(self, s: RingListState) -> Standing:
        if s.round is not None or s.leader is None:
            return Standing(Status.ELECTION)
        return Standing(Status.NORMAL, s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Elect(),)

    def _call(self, s: RingListState) -> Result[RingListState]:
        """Begin a list."""
        if self.rules.numbers == "kept":
            s = replace(s, stable=RingListStable(s.stable.number + 1))
        return self._sign(s, Round(s.me, s.stable.number), ())

    def _sign(
        self, s: RingListState, round: Round, signed: tuple[NodeId, ...]
    ) -> Result[RingListState]:
        """Put my name on a list and hand it on."""
        signing = replace(s, round=round, leader=None)
        return signing, [*self._patience(), Send(self._next(s), Election(round, (*signed, s.me)))]

    def _count(
        self, s: RingListState, round: Round, signed: tuple[NodeId, ...]
    ) -> Result[RingListState]:
        """The list is complete: the strongest on it leads."""
        leader = self.members.strongest_of(signed)
        missing = s.alive.intersection(self.members.stronger_than(leader))
        if missing and self.rules.appearing == "challenge":
            return s, []  # The list went past a stronger node: try again when patience ends.
        if self.rules.orphans == "drop" and leader not in s.alive:
            return self._call(s)
        return self._follow(s, Coordinator(Round(s.me, round.number), leader))

    def _follow(self, s: RingListState, word: Coordinator) -> Result[RingListState]:
        """Take the strongest for the leader, and tell the next node."""
        following = replace(s, round=None, leader=word.leader)
        ended: list[Effect] = [CancelTimer(PATIENCE)] if self._patience() else []
        if self._next(s) == s.me != word.round.caller:
            return following, ended  # Alone, I would tell myself for ever of a dead caller.
        return following, [*ended, Send(self._next(s), word)]

    def _look(self, s: RingListState, new: frozenset[NodeId]) -> Result[RingListState]:
        """Compare the leader, or the caller, with the nodes in view now."""
        if s.round is not None:
            return self._call(s) if self._is_orphan(s, s.round.caller) else (s, [])
        lost = s.leader is not None and s.leader not in s.alive
        stronger = new.intersection(self.members.stronger_than(s.me))
        outranked = s.leader == s.me and stronger and self.rules.appearing == "challenge"
        return self._call(s) if lost or outranked else (s, [])

    def _heeds(self, s: RingListState, j: NodeId, message: Message) -> bool:
        """Whether a message from j may count at all."""
        match message:
            case Election(round, signed):
                named = {j, round.caller, *signed}
                orphan = self._is_orphan(s, round.caller)
            case Coordinator(round, leader):
                named = {j, round.caller, leader}
                orphan = self._is_orphan(s, leader)
        if orphan or not named <= {*self.members.ids}:
            return False
        # Unlike the paper, both ends of a hop must agree that nobody alive is between them.
        before_me = j in s.alive and self.members.after(j, s.alive) == s.me
        return before_me or self.rules.sender == "anyone"

    def _is_home(self, s: RingListState, round: Round) -> bool:
        """Whether a list with my name on it is mine to count; in the paper it always is."""
        return self.rules.accept == "anyone" or (round.caller == s.me and round == s.round)

    def _goes_on(self, s: RingListState, round: Round) -> bool:
        """Whether an election may go on beside the one that I am in."""
        # Unlike the paper, only that of the strongest caller does: two lists of which a node has
        # died in between would name two leaders.
        if s.round is None or self.rules.rounds == "all":
            return True
        return not self.members.is_stronger(s.round.caller, round.caller)

    def _is_orphan(self, s: RingListState, i: NodeId) -> bool:
        return self.rules.orphans == "drop" and i not in s.alive

    def _accepts(self, s: RingListState, round: Round) -> bool:
        # Unlike the paper, an outcome counts only for the list that I signed last.
        return self.rules.accept == "anyone" or s.round == round

    def _next(self, s: RingListState) -> NodeId:
        return self.members.after(s.me, s.alive)

    def _patience(self) -> list[Effect]:
        length = self.rules.patience.of(self.timing) * len(self.members.ids)
        return [SetTimer(PATIENCE, length)] if length else []
