"""Bully by remote calls: who gets no answer from anybody stronger halts the rest one by one.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982, as told by
P. F. Souto, "Elections", 2021, slides "The Actual Bully Algorithm"; the task's state is handed
over as in "Coordinator Election", lecture notes of Carnegie Mellon University.
Needs: a call is answered within 2T (its request and its answer take at most T each), and an
answer is taken before the time-out that ends at that moment. Otherwise two nodes can lead:
tests/golden/bully_rpc/late_answer.txt.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from msgspec.structs import replace

from electorate.core import (
    Asked,
    Assumption,
    CancelTimer,
    Effect,
    Event,
    Growth,
    Machine,
    Message,
    NodeId,
    P,
    Received,
    Request,
    Result,
    Rules,
    Send,
    SetTimer,
    Span,
    Stable,
    Standing,
    State,
    Status,
    T,
    TimedOut,
    Timer,
)


class AreYouThere(Message):
    """Are you up?"""


class Here(Message):
    """I am up."""


class AreYouNormal(Message):
    """Is your work going on, and what is its state?"""


class Report(Message):
    """Whether it is; and if I lead, the state of the task."""

    normal: bool
    task: int | None = None


class Halt(Message):
    """Stop what you are doing: I am about to lead."""


class Halted(Message):
    """I have stopped."""


class NewLeader(Message):
    """I lead."""


class Noted(Message):
    """I have heard that you lead."""


class Ready(Message):
    """This is the state of the task: go to work."""

    task: int


class Begun(Message):
    """I have heard that I may work."""


class Work(Request):
    """The work has gone one step further; only the leader's word counts."""


class Wait(StrEnum):
    """The timers; exactly one of them is armed."""

    CALL = "call"  # who was called would have answered by now
    CHECK = "check"  # the leader looks again whether everybody is at work
    SILENCE = "silence"  # whoever leads, or is about to, would have been heard of by now


class Doing(StrEnum):
    """What a node is calling others for."""

    NOTHING = "nothing"
    FETCHING = "fetching"  # just started: asks everybody for the task, and outwaits its last life
    ASKING = "asking"  # asks the leader, of which it has not heard for long
    PROBING = "probing"  # looks for a stronger node that is up
    HALTING = "halting"  # nobody stronger is up: stops the weaker ones
    ANNOUNCING = "announcing"  # tells those that have stopped who leads
    HANDING = "handing"  # hands them the task
    CHECKING = "checking"  # leads, and looks whether everybody is at work


CALLS: dict[Doing, tuple[type[Message], type[Message]]] = {
    Doing.FETCHING: (AreYouNormal, Report),
    Doing.ASKING: (AreYouThere, Here),
    Doing.PROBING: (AreYouThere, Here),
    Doing.HALTING: (Halt, Halted),
    Doing.ANNOUNCING: (NewLeader, Noted),
    Doing.HANDING: (Ready, Begun),
    Doing.CHECKING: (AreYouNormal, Report),
}
"""What is asked, and what counts as an answer."""


class BullyRpcRules(Rules):
    """What may be varied. The defaults are the sound form."""

    halts: Literal["strongest-first", "weakest-first", "parallel"] = "strongest-first"
    """In what order the weaker nodes are halted; in parallel: all at once."""
    halt: Literal["strongest", "latest"] = "latest"
    """Which of two halters is remembered."""
    accept: Literal["halter", "anyone"] = "halter"
    """Whose announcement counts: that of the node that halted me, or anybody's."""
    begin: Literal["leader", "anyone"] = "leader"
    """Whose leave to work counts: that of the node that I follow, or anybody's."""
    ready: bool = True
    """Whether a node that knows its leader waits for the task before it goes to work."""
    start: Literal["fetch", "elect"] = "fetch"
    """What a node does first after a start: fetch the task, or call an election at once."""
    normal: Literal["mine", "any"] = "mine"
    """Whom a leader takes to be normal: those that follow it, or those that follow anybody."""
    call: Span = 2 * T + 2 * P
    check: Span = 2 * T
    """How long a leader rests between two checks; no time at all means that it never checks."""
    silence: Span = 5 * T + 3 * P


class BullyRpcState(State):
    """One node's part in the election, and what it is calling others for."""

    status: Status
    leader: NodeId | None = None
    halter: NodeId | None = None
    task: int = 0
    doing: Doing = Doing.NOTHING
    waiting: frozenset[NodeId] = frozenset()
    """Called, and neither answered nor given up."""
    queue: tuple[NodeId, ...] = ()
    """To be called next, one by one."""
    up: frozenset[NodeId] = frozenset()
    """Those that I have halted."""


class BullyRpc(Machine[BullyRpcState]):
    """Every call is a request, an answer and a time-out; it is served at once."""

    state_type = BullyRpcState
    rules_type = BullyRpcRules
    messages = (
        *(AreYouThere, Here, AreYouNormal, Report, Halt, Halted),
        *(NewLeader, Noted, Ready, Begun),
    )
    requests = (Work,)
    timers = (Timer(Wait.CALL), Timer(Wait.CHECK, True), Timer(Wait.SILENCE, True))
    forms = {
        "sound": BullyRpcRules(),
        "printed": BullyRpcRules(accept="anyone", ready=False, start="elect", normal="any"),
    }
    promises = ("A1", "A2")
    assumptions = (
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_LOSS,
        Assumption.NO_PAUSE,
        Assumption.NO_PARTITION,
    )
    growing = {"task": Growth.EQUALITY}
    strongest = "lowest"

    rules: BullyRpcRules

    def boot(self, me: NodeId, stable: Stable | None) -> Result[BullyRpcState]:
        booted = BullyRpcState(me, Stable(), Status.ELECTION)
        if self.rules.start == "elect":
            return self._elect(booted)
        return self._call(booted, Doing.FETCHING, self.members.others(me))

    def step(self, s: BullyRpcState, event: Event) -> Result[BullyRpcState]:
        match event:
            case Received(j, _) if j not in self.members.ids:
                return s, []

            # Calls are served at once, whatever this node is doing.
            case Received(j, AreYouThere()):
                return s, [Send(j, Here())]
            case Received(j, AreYouNormal()):
                return s, [Send(j, self._report(s, j)), *self._heard(s, j)]
            case Received(j, Halt()):
                state, effects = self._stop(s, j) if self._yields_to(s, j) else (s, [])
                return state, [Send(j, Halted()), *effects]
            case Received(j, NewLeader()):
                state, effects = self._follow(s, j) if self._accepts(s, j) else (s, [])
                return state, [Send(j, Noted()), *effects]
            case Received(j, Ready(task)):
                state, effects = self._begin(s, task) if self._awaits(s, j) else (s, [])
                return state, [Send(j, Begun()), *effects]

            case Received(j, answer) if j in s.waiting and _answers(s, answer):
                state, effects = self._answered(s, j, answer)
                ended = s.doing is not state.doing and state.doing is Doing.NOTHING
                return state, [CancelTimer(Wait.CALL), *effects] if ended else effects
            case TimedOut(Wait.CALL) if s.doing in (Doing.ANNOUNCING, Doing.HANDING):
                return self._elect(s)
            case TimedOut(Wait.CALL) if s.doing is not Doing.NOTHING:
                return self._go_on(replace(s, waiting=frozenset()))

            case TimedOut(Wait.SILENCE) if _armed(s) is Wait.SILENCE:
                return self._miss_leader(s)
            case TimedOut(Wait.CHECK) if _armed(s) is Wait.CHECK:
                return self._call(s, Doing.CHECKING, self.members.others(s.me))
            case Asked(Work()) if s.status is Status.NORMAL and s.leader == s.me:
                return replace(s, task=s.task + 1), []
        return s, []

    def view(self, s: BullyRpcState) -> Standing:
        return Standing(s.status, None if s.status is Status.ELECTION else s.leader)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Work(),) if view.status is Status.NORMAL else ()

    # --- calling ---

    def _call(
        self, s: BullyRpcState, doing: Doing, nodes: tuple[NodeId, ...], *, one_by_one: bool = False
    ) -> Result[BullyRpcState]:
        """Call these nodes, all at once or one by one."""
        now = nodes[:1] if one_by_one else nodes
        calling = replace(s, doing=doing, waiting=frozenset(now), queue=nodes[len(now) :])
        if not now:
            return self._finish(calling)
        kind = CALLS[doing][0]
        call = Ready(s.task) if kind is Ready else kind()
        return calling, [*(Send(j, call) for j in now), self._set(Wait.CALL)]

    def _answered(self, s: BullyRpcState, j: NodeId, answer: Message) -> Result[BullyRpcState]:
        """Take an answer to a call."""
        heard = replace(s, waiting=s.waiting - {j})
        match s.doing, answer:
            case Doing.FETCHING, Report(_, task):
                # The time-out is always awaited: until then my last life's calls may be answered.
                return (heard if task is None else replace(heard, task=task)), []
            case Doing.ASKING | Doing.PROBING, _:
                return self._rest(s)
            case Doing.CHECKING, Report(normal=False):
                return self._elect(s)
            case Doing.HALTING, _:
                heard = replace(heard, up=s.up | {j})
        return (heard, []) if heard.waiting else self._go_on(heard)

    def _go_on(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Call the next node in the queue."""
        if s.queue:
            return self._call(s, s.doing, s.queue, one_by_one=True)
        return self._finish(s)

    def _finish(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Everybody has answered or been given up."""
        match s.doing:
            case Doing.FETCHING | Doing.ASKING:
                return self._elect(s)
            case Doing.PROBING:
                return self._halt_weaker(s)
            case Doing.HALTING:
                leading = replace(s, status=Status.REORGANIZATION, leader=s.me, halter=None)
                return self._call_halted(leading, Doing.ANNOUNCING)
            case Doing.ANNOUNCING if self.rules.ready:
                return self._call_halted(s, Doing.HANDING)
            case Doing.ANNOUNCING | Doing.HANDING:
                return self._rest(replace(s, status=Status.NORMAL))
        return self._rest(s)

    def _rest(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Call nobody, and wait for what comes."""
        resting = replace(s, doing=Doing.NOTHING, waiting=frozenset(), queue=(), up=frozenset())
        timer = _armed(resting)
        never = timer is Wait.CHECK and not self._for(self.rules.check)
        return resting, [] if never else [self._set(timer)]

    # --- the procedures ---

    def _miss_leader(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Nothing was heard for too long."""
        if s.status is Status.NORMAL and s.leader is not None:
            return self._call(s, Doing.ASKING, (s.leader,))
        return self._elect(s)

    def _elect(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Look for a stronger node, the weakest of them first."""
        stronger = self._ranked(self.members.stronger_than(s.me))[::-1]
        return self._call(s, Doing.PROBING, stronger, one_by_one=True)

    def _halt_weaker(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Nobody stronger is up: stop, and make everybody weaker stop."""
        weaker = self._ranked(self.members.weaker_than(s.me))
        if self.rules.halts == "weakest-first":
            weaker = weaker[::-1]
        stopped = replace(s, status=Status.ELECTION, leader=None, halter=s.me, up=frozenset())
        one_by_one = self.rules.halts != "parallel"
        return self._call(stopped, Doing.HALTING, weaker, one_by_one=one_by_one)

    def _call_halted(self, s: BullyRpcState, doing: Doing) -> Result[BullyRpcState]:
        return self._call(s, doing, self._ranked(s.up), one_by_one=True)

    # --- being called ---

    def _report(self, s: BullyRpcState, j: NodeId) -> Report:
        """How I am; a leader that asks wants to know whether I follow it."""
        normal = s.status is Status.NORMAL
        if self.rules.normal == "mine" and s.leader != j:
            normal = False
        leads = s.status is Status.NORMAL and s.leader == s.me
        return Report(normal, s.task if leads else None)

    def _heard(self, s: BullyRpcState, j: NodeId) -> list[Effect]:
        """A sign of life from whoever leads me, or is about to."""
        if _armed(s) is Wait.SILENCE and j in (s.leader, s.halter):
            return [self._set(Wait.SILENCE)]
        return []

    def _yields_to(self, s: BullyRpcState, j: NodeId) -> bool:
        if s.status is not Status.ELECTION or s.halter is None or self.rules.halt == "latest":
            return True
        return not self.members.is_stronger(s.halter, j)

    def _accepts(self, s: BullyRpcState, j: NodeId) -> bool:
        return self.rules.accept == "anyone" or (s.status is Status.ELECTION and s.halter == j)

    def _awaits(self, s: BullyRpcState, j: NodeId) -> bool:
        guarded = s.status is Status.REORGANIZATION and s.leader == j
        return guarded or self.rules.begin == "anyone"

    def _stop(self, s: BullyRpcState, j: NodeId) -> Result[BullyRpcState]:
        """Give up my leader and whatever I am doing."""
        return self._interrupt(s, replace(s, status=Status.ELECTION, leader=None, halter=j))

    def _follow(self, s: BullyRpcState, j: NodeId) -> Result[BullyRpcState]:
        """Take j for the leader."""
        status = Status.REORGANIZATION if self.rules.ready else Status.NORMAL
        return self._interrupt(s, replace(s, status=status, leader=j, halter=None))

    def _begin(self, s: BullyRpcState, task: int) -> Result[BullyRpcState]:
        """Go to work where the leader says that it stands."""
        return self._interrupt(s, replace(s, status=Status.NORMAL, task=task))

    def _interrupt(self, before: BullyRpcState, after: BullyRpcState) -> Result[BullyRpcState]:
        """Call nobody any more."""
        state, effects = self._rest(after)
        armed = _armed(before)
        return state, effects if armed is _armed(state) else [CancelTimer(armed), *effects]

    def _ranked(self, nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """The strongest first."""
        return tuple(sorted(nodes, key=self.members.rank, reverse=True))

    def _for(self, span: Span) -> int:
        return span.of(self.timing)

    def _set(self, wait: Wait) -> SetTimer:
        span: Span = getattr(self.rules, wait)
        return SetTimer(wait, self._for(span))


def _armed(s: BullyRpcState) -> Wait:
    """The timer that is running."""
    if s.doing is not Doing.NOTHING:
        return Wait.CALL
    leads = s.status is Status.NORMAL and s.leader == s.me
    return Wait.CHECK if leads else Wait.SILENCE


def _answers(s: BullyRpcState, answer: Message) -> bool:
    return s.doing is not Doing.NOTHING and isinstance(answer, CALLS[s.doing][1])
