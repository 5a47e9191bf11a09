"""Bully by remote calls: a node that no stronger one answers halts the rest, one by one.

Source: H. Garcia-Molina, "Elections in a Distributed Computing System", 1982, as told by
P. F. Souto, "Elections", 2021, slides "The Actual Bully Algorithm"; fetching the task after a
start is from "Coordinator Election", lecture notes of Carnegie Mellon University.
Needs: a request and its answer take at most T each, and an answer comes before a time-out that
ends at that very moment. Otherwise two nodes can lead: run bully_rpc/late_answer.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from msgspec.structs import replace

from electorate.core import *


class AreYouThere(Message):
    """Are you up?"""


class Here(Message):
    """I am up."""


class AreYouNormal(Message):
    """Are you at work? And if you lead, what is the state of the task?"""


class Report(Message):
    """Whether I am, and what it is."""

    normal: bool
    task: int | None = None


class Halt(Message):
    """Stop what you are doing: I am about to lead."""


class Halted(Message):
    """I have stopped, and this is how far I know the task to be."""

    task: int


class NewLeader(Message):
    """I lead."""


class Noted(Message):
    """You have told me that you lead."""


class Ready(Message):
    """This is the state of the task: go to work."""

    task: int


class Begun(Message):
    """You have told me to go to work."""


class Work(Request):
    """The task is one step further; this counts at the leader only."""


class Wait(StrEnum):
    """The timers; one of them is armed."""

    CALL = "call"  # those that I called would have answered by now
    CHECK = "check"  # time to see whether everybody is at work
    SILENCE = "silence"  # the leader, or next leader, would have been heard of by now


class Doing(StrEnum):
    """What a node calls others for."""

    NOTHING = "nothing"
    FETCHING = "fetching"  # has just started: asks everybody for the task
    ASKING = "asking"  # asks its leader, of which it has not heard for long
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
"""A request and its answer."""


class BullyRpcRules(Rules):
    """What may be varied. The defaults are the sound form."""

    halts: Literal["strongest-first", "weakest-first", "parallel"] = "strongest-first"
    """In what order the weaker nodes are halted."""
    halt: Literal["strongest", "latest"] = "latest"
    """Which of two halters is remembered."""
    accept: Literal["halter", "anyone"] = "halter"
    """Whose announcement counts: that of the node that halted me, or anybody's."""
    ready: bool = True
    """Whether a node that knows its leader waits for the task before it goes to work."""
    begin: Literal["leader", "anyone"] = "leader"
    """Whose task counts: that of the leader that I wait for, or anybody's."""
    start: Literal["fetch", "elect"] = "fetch"
    """What a node does first after a start: fetch the task, or call an election at once."""
    resumes: Literal["freshest", "own"] = "freshest"
    """Where a new leader takes up the task: where the furthest of those that it halts left it, or
    where it thinks itself that it is."""
    normal: Literal["mine", "any"] = "mine"
    """The nodes that a leader takes to be at work: those that follow it, or those that follow
    anybody."""
    missed: Literal["nobody", "follower", "anyone"] = "nobody"
    """Whose silence at a check makes a leader call an election, to share out the work anew among
    those that are left."""
    call: Span = 2 * T + 2 * P
    check: Span = 2 * T
    """How long a leader rests between two checks; no time at all means that it never checks."""
    silence: Span = 5 * T + 3 * P


class BullyRpcState(State):
    """One node's part in the election, and what it calls others for."""

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
    """Those that I have halted; in office too where `missed` is `follower`."""


class BullyRpc(Machine[BullyRpcState]):
    """A call is a request, an answer and a time-out; it is served at once."""

    state_type = BullyRpcState
    rules_type = BullyRpcRules
    messages = tuple(dict.fromkeys(message for call in CALLS.values() for message in call))
    requests = (Work,)
    timers = (Timer(Wait.CALL), Timer(Wait.CHECK, True), Timer(Wait.SILENCE, True))
    forms = {
        "sound": BullyRpcRules(),
        "paper": BullyRpcRules(start="elect", resumes="own", normal="any"),
        "printed": BullyRpcRules(
            accept="anyone", ready=False, start="elect", resumes="own", normal="any"
        ),
    }
    tells = frozenset({Topic.TASKS})
    promises = ("A1", "A2")
    assumptions = (
        Assumption.UNIQUE_IDS,
        Assumption.BOUNDED_DELAY,
        Assumption.CLOSED_BOUNDS,
        Assumption.NO_LOSS,
        Assumption.NO_PAUSE,
        Assumption.NO_PARTITION,
    )
    form_assumptions = {"printed": (Assumption.NO_RECOVERY,)}
    growing = ("task",)
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

            case Received(j, AreYouThere()):
                return s, [Send(j, Here())]
            case Received(j, AreYouNormal()):
                return s, [Send(j, self._report(s, j)), *self._heard(s, j)]
            case Received(j, Halt()):
                stopped = replace(s, status=Status.ELECTION, leader=None, halter=j)
                return self._serve(s, j, Halted(s.task), stopped if self._yields_to(s, j) else s)
            case Received(j, NewLeader()):
                status = Status.REORGANIZATION if self.rules.ready else Status.NORMAL
                following = replace(s, status=status, leader=j, halter=None)
                return self._serve(s, j, Noted(), following if self._accepts(s, j) else s)
            case Received(j, Ready(task)):
                begun = replace(s, status=Status.NORMAL, task=task)
                return self._serve(s, j, Begun(), begun if self._begins(s, j) else s)

            case Received(j, answer) if j in s.waiting and _is_answer(s, answer):
                state, effects = self._answered(s, j, answer)
                ended = state.doing is Doing.NOTHING
                return state, [CancelTimer(Wait.CALL), *effects] if ended else effects
            case TimedOut(Wait.CALL) if s.doing in (Doing.ANNOUNCING, Doing.HANDING):
                return self._elect(s)
            case TimedOut(Wait.CALL) if s.doing is Doing.CHECKING and self._is_short_of(s):
                return self._elect(s)
            case TimedOut(Wait.CALL) if s.doing is not Doing.NOTHING:
                return self._go_on(replace(s, waiting=frozenset()))

            case TimedOut(Wait.SILENCE) if _armed(s) is Wait.SILENCE:
                return self._miss_leader(s)
            case TimedOut(Wait.CHECK) if _armed(s) is Wait.CHECK:
                return self._call(s, Doing.CHECKING, self.members.others(s.me))
            case Asked(Work()) if _leads(s):
                return replace(s, task=s.task + 1), []
        return s, []

    def view(self, s: BullyRpcState) -> Standing:
        return Standing(s.status, s.leader)

    def task(self, s: BullyRpcState) -> int:
        return s.task

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Work(),) if view.status is Status.NORMAL else ()

    def _miss_leader(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Nothing was heard for too long."""
        if s.status is Status.NORMAL and s.leader is not None:
            return self._call(s, Doing.ASKING, (s.leader,))
        return self._elect(s)

    def _elect(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Look for a stronger node, beginning with the next one."""
        stronger = self._ranked(self.members.stronger_than(s.me))[::-1]
        return self._call(s, Doing.PROBING, stronger, one_by_one=True)

    def _halt_weaker(self, s: BullyRpcState) -> Result[BullyRpcState]:
        """Nobody stronger is up: stop, and make everybody weaker stop."""
        stopped = replace(s, status=Status.ELECTION, leader=None, halter=s.me, up=frozenset())
        weaker = self._ranked(self.members.weaker_than(s.me))
        order = weaker[::-1] if self.rules.halts == "weakest-first" else weaker
        one_by_one = self.rules.halts != "parallel"
        return self._call(stopped, Doing.HALTING, order, one_by_one=one_by_one)

    def _call_halted(self, s: BullyRpcState, doing: Doing) -> Result[BullyRpcState]:
        return self._call(s, doing, self._ranked(s.up), one_by_one=True)

    def _call(
        self, s: BullyRpcState, doing: Doing, nodes: tuple[NodeId, ...], *, one_by_one: bool = False
    ) -> Result[BullyRpcState]:
        """Call these nodes, all at once or one by one."""
        now = nodes[:1] if one_by_one else nodes
        calling = replace(s, doing=doing, waiting=frozenset(now), queue=nodes[len(now) :])
        if not now:
            return self._finish(calling)
        request = Ready(s.task) if doing is Doing.HANDING else CALLS[doing][0]()
        return calling, [*(Send(j, request) for j in now), self.set_timer(Wait.CALL)]

    def _answered(self, s: BullyRpcState, j: NodeId, answer: Message) -> Result[BullyRpcState]:
        """Take an answer to a call."""
        heard = replace(s, waiting=s.waiting - {j})
        match s.doing, answer:
            case Doing.FETCHING, Report(_, int() as task):
                heard = replace(heard, task=task)
            case Doing.ASKING | Doing.PROBING, _:
                return self._rest(s)
            case Doing.CHECKING, Report(normal=False):
                return self._elect(s)
            case Doing.HALTING, Halted(task):
                # Unlike the paper, who has worked until now hands its work over as it stops: what
                # a node fetched when it started may be out of date by the time that it leads.
                known = max(task, s.task) if self.rules.resumes == "freshest" else s.task
                heard = replace(heard, up=s.up | {j}, task=known)
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
        up = s.up if _leads(s) and self.rules.missed == "follower" else frozenset[NodeId]()
        resting = replace(s, doing=Doing.NOTHING, waiting=frozenset(), queue=(), up=up)
        never = _leads(s) and not self.rules.check.of(self.timing)
        return resting, [] if never else [self.set_timer(_armed(resting))]

    def _serve(
        self, s: BullyRpcState, j: NodeId, answer: Message, after: BullyRpcState
    ) -> Result[BullyRpcState]:
        """Answer a call; if it moves me, I drop what I am calling others for."""
        if after is s:
            return s, [Send(j, answer)]
        state, effects = self._rest(after)
        dropped = [CancelTimer(_armed(s))] if _armed(s) is not _armed(state) else []
        return state, [Send(j, answer), *dropped, *effects]

    def _report(self, s: BullyRpcState, j: NodeId) -> Report:
        """How I am. Unlike in the paper, the asking node wants to know if I am at work for it."""
        normal = s.status is Status.NORMAL and (s.leader == j or self.rules.normal == "any")
        return Report(normal, s.task if _leads(s) else None)

    def _heard(self, s: BullyRpcState, j: NodeId) -> list[Effect]:
        """A sign of life from the node that leads me, or is about to."""
        near = j in (s.leader, s.halter)
        return [self.set_timer(Wait.SILENCE)] if near and _armed(s) is Wait.SILENCE else []

    def _yields_to(self, s: BullyRpcState, j: NodeId) -> bool:
        if self.rules.halt == "latest" or s.halter is None:
            return True
        return not self.members.is_stronger(s.halter, j)

    def _accepts(self, s: BullyRpcState, j: NodeId) -> bool:
        return self.rules.accept == "anyone" or (s.status is Status.ELECTION and s.halter == j)

    def _begins(self, s: BullyRpcState, j: NodeId) -> bool:
        awaited = s.status is Status.REORGANIZATION and s.leader == j
        return awaited or self.rules.begin == "anyone"

    def _is_short_of(self, s: BullyRpcState) -> bool:
        """Whether a node that has not answered my check makes me call an election."""
        missed = {"nobody": frozenset[NodeId](), "follower": s.up, "anyone": s.waiting}
        return bool(s.waiting & missed[self.rules.missed])

    def _ranked(self, nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """The strongest first."""
        return tuple(sorted(nodes, key=self.members.rank, reverse=True))


def _leads(s: BullyRpcState) -> bool:
    return s.status is Status.NORMAL and s.leader == s.me


def _armed(s: BullyRpcState) -> Wait:
    """The timer that runs."""
    if s.doing is not Doing.NOTHING:
        return Wait.CALL
    return Wait.CHECK if _leads(s) else Wait.SILENCE


def _is_answer(s: BullyRpcState, message: Message) -> bool:
    return s.doing is not Doing.NOTHING and isinstance(message, CALLS[s.doing][1])
