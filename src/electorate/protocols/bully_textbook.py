"""Bully as textbooks tell it: ask everybody stronger, and if nobody answers, say that you lead.

Source: M. Albano, "Leader Election", lecture 7.2 of Distributed Systems, Aalborg University,
2022, slides and code "Bully Algorithm" (form `letter`; called again by a detector, `printed`);
the acknowledgements and the task's state as in "Coordinator Election", lecture notes of Carnegie
Mellon University.
Needs: a message is handled within T of being sent, and before a timer that ends at that very
moment. Otherwise two nodes can lead: run bully_textbook/late_answer.
"""

from enum import StrEnum
from typing import Literal

from msgspec.structs import replace

from electorate.core import *


class Election(Message):
    """I want to lead: is anybody stronger up?"""


class Answer(Message):
    """I am up and stronger than you: leave it to me."""


class Coordinator(Message):
    """I lead, or shall once you have acknowledged it."""


class Acknowledge(Message):
    """I have given up my old leader for you, and this is how far I know the task to be."""

    task: int


class Handover(Message):
    """I lead, and this is the state of the task: go to work."""

    task: int


class WhatTask(Message):
    """I have just started: if you lead, what is the state of the task?"""


class Task(Message):
    """I lead, and this is the state of the task."""

    task: int


class Work(Request):
    """The work has gone one step further; only the leader's word counts."""


class Phase(StrEnum):
    """Where a node is in an election; each phase but the first has a timer of the same name."""

    NORMAL = "normal"  # knows its leader
    FETCHING = "fetching"  # just started: asks for the task
    ASKING = "asking"  # asked the stronger nodes; none has answered yet
    SILENCED = "silenced"  # somebody stronger is up and will take over
    ANNOUNCING = "announcing"  # nobody stronger is up; the weaker ones have to acknowledge
    FOLLOWING = "following"  # has acknowledged a leader that is not yet in office


DOUBT = "doubt"
"""The timer of a node that has a stronger node in view than its leader."""


class BullyTextbookRules(Rules):
    """What may be varied. The defaults are the sound form."""

    office: Literal["acknowledged", "delayed", "at-once"] = "acknowledged"
    """When a leader counts: once all have acknowledged it, T after it says so, or at once."""
    eager: bool = False
    """Whether a leader takes office as soon as all have acknowledged, or waits in any case."""
    coordinator: Literal["strongest", "latest"] = "latest"
    """Which of two coordinators is remembered; an eager leader needs the strongest to be."""
    accept: Literal["coordinator", "anyone"] = "coordinator"
    """Whose hand-over counts: that of the coordinator that I acknowledged, or anybody's."""
    start: Literal["fetch", "elect"] = "fetch"
    """What a node does first after a start: fetch the task, or call an election at once."""
    resumes: Literal["freshest", "own"] = "freshest"
    """Where a new leader takes up the task: where the furthest of those that acknowledge it left
    it, or where it thinks itself that it is."""
    asked: Literal["stronger", "visible"] = "stronger"
    """Which nodes are asked: all stronger ones, or only those of them that are in view."""
    unrivalled: Literal["announce", "wait"] = "announce"
    """What the strongest member does, which has nobody to ask."""
    answer: Literal["plain", "decides"] = "plain"
    """Whether the answer of the strongest member says that it leads."""
    audience: Literal["weaker", "everybody"] = "weaker"
    hears: Literal["answers", "anything"] = "answers"
    """What puts off the time-outs of asking and silenced: nothing, or any message."""
    again: Literal["ask", "wait"] = "ask"
    """What follows if the one that answered falls silent: ask again, or just wait once more."""
    decided: Literal["listens", "returns"] = "listens"
    """Whether a node that knows its leader still takes part, or takes no message any more."""
    detector: Literal["used", "none"] = "used"
    """Whether a node hears of crashes; one that does not keeps a dead leader for ever."""
    asking: Span = 2 * T + 2 * P
    silenced: Span = 3 * T + 3 * P
    announcing: Span = 2 * T + 2 * P
    following: Span = 3 * T + 3 * P
    fetching: Span = 2 * T + 2 * P
    delay: Span = T + P
    """How long the office is delayed, if it is."""
    doubt: Span = 3 * T + 3 * P
    """How long a node follows a leader, or leads, with a stronger node in view before it asks that
    one; no time at all means that it never asks."""


PRINTED = BullyTextbookRules(
    office="at-once",
    accept="anyone",
    start="elect",
    resumes="own",
    unrivalled="wait",
    answer="decides",
    audience="everybody",
    hears="anything",
    again="wait",
    decided="returns",
    asking=T,
    silenced=T,
    doubt=0 * T,
)
"""The code of the slides, and a detector that calls it again when the leader is gone."""


class BullyTextbookState(State):
    """One node's part in the election."""

    phase: Phase
    leader: NodeId | None = None
    """In phase following: the coordinator that is not yet in office."""
    task: int = 0
    waiting: frozenset[NodeId] = frozenset()
    """Those that have not acknowledged me yet."""
    alive: frozenset[NodeId] = frozenset()


class BullyTextbook(Machine[BullyTextbookState]):
    """There is no halt: the coordinator's first word or its second one has to do its work."""

    state_type = BullyTextbookState
    rules_type = BullyTextbookRules
    messages = (Election, Answer, Coordinator, Acknowledge, Handover, WhatTask, Task)
    requests = (Work,)
    timers = (*(Timer(phase) for phase in Phase if phase is not Phase.NORMAL), Timer(DOUBT))
    uses_views = True
    forms = {
        "sound": BullyTextbookRules(),
        "printed": PRINTED,
        # The code and nothing else: once it has returned, nothing calls it again.
        "letter": replace(PRINTED, detector="none"),
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
    # The code of the slides keeps neither, not even without a fault.
    form_promises = {"printed": (), "letter": ()}
    growing = ("task",)
    strongest = "highest"

    rules: BullyTextbookRules

    def __init__(
        self, members: Members, timing: Timing, rules: BullyTextbookRules | None = None
    ) -> None:
        super().__init__(members, timing, rules)
        self.uses_views = self.rules.detector == "used"

    def boot(self, me: NodeId, stable: Stable | None) -> Result[BullyTextbookState]:
        alive = frozenset(self.members.ids)
        if self.rules.start == "elect":
            return self._start(BullyTextbookState(me, Stable(), Phase.NORMAL, alive=alive))
        booted = BullyTextbookState(me, Stable(), Phase.FETCHING, alive=alive)
        asks = [Send(j, WhatTask()) for j in self.members.others(me)]
        return booted, [*asks, self._deadline(Phase.FETCHING)]

    def step(self, s: BullyTextbookState, event: Event) -> Result[BullyTextbookState]:
        if isinstance(event, Received) and event.sender not in self.members.others(s.me):
            return s, []
        state, effects = self._react(s, event)
        effects = [*effects, *self._doubt(s, state, event)]
        match event:
            case TimedOut(timer):
                return state, [effect for effect in effects if effect != CancelTimer(timer)]
            case Received() if self.rules.hears == "anything" and s.phase is state.phase:
                waits = s.phase in (Phase.ASKING, Phase.SILENCED)
                return state, [*effects, self._deadline(s.phase)] if waits else effects
        return state, effects

    def _react(self, s: BullyTextbookState, event: Event) -> Result[BullyTextbookState]:
        match event, s.phase:
            case Received(), Phase.NORMAL if self.rules.decided == "returns":
                return s, []
            case Viewed(alive), _ if self.rules.detector == "used":
                return self._watch(replace(s, alive=alive))

            case Received(j, Election() | Coordinator()), _ if self.members.is_stronger(s.me, j):
                return self._answer(s, j)
            case Received(_, Answer()), Phase.ASKING:
                return self._enter(s, Phase.SILENCED)
            case TimedOut(Phase.ASKING), Phase.ASKING:
                return self._announce(s)
            case TimedOut(Phase.SILENCED), Phase.SILENCED if self.rules.again == "wait":
                # The code that is printed sets no flag back: it does not ask a second time.
                return self._enter(s, Phase.ASKING)
            case TimedOut(Phase.SILENCED), Phase.SILENCED:
                return self._start(s)

            case Received(j, Coordinator()), _ if self._yields_to(s, j):
                return self._obey(s, j)
            case Received(j, Acknowledge(task)), Phase.ANNOUNCING if j in s.waiting:
                # Unlike the sources, who has worked until now hands its work over as it stops.
                known = max(task, s.task) if self.rules.resumes == "freshest" else s.task
                acknowledged = replace(s, waiting=s.waiting - {j}, task=known)
                if acknowledged.waiting or not self.rules.eager:
                    return acknowledged, []
                return self._lead(acknowledged)
            case TimedOut(Phase.ANNOUNCING), Phase.ANNOUNCING:
                return self._lead(s)
            case Received(j, Handover(task)), _ if self._accepts(s, j):
                return self._follow(replace(s, task=task), j)
            case TimedOut(Phase.FOLLOWING), Phase.FOLLOWING if self.rules.office == "delayed":
                return self._follow(s, s.leader)
            case TimedOut(Phase.FOLLOWING), Phase.FOLLOWING:
                return self._start(s)

            case Received(j, WhatTask()), Phase.NORMAL if s.leader == s.me:
                return s, [Send(j, Task(s.task))]
            case Received(_, Task(task)), Phase.FETCHING:
                return replace(s, task=task), []
            case TimedOut(Phase.FETCHING), Phase.FETCHING:
                return self._start(s)
            case Asked(Work()), Phase.NORMAL if s.leader == s.me:
                return replace(s, task=s.task + 1), []
        return s, []

    def view(self, s: BullyTextbookState) -> Standing:
        if s.phase is Phase.NORMAL:
            return Standing(Status.NORMAL, s.leader)
        if s.phase is Phase.FOLLOWING:
            return Standing(Status.REORGANIZATION, s.leader)
        return Standing(Status.ELECTION)

    def task(self, s: BullyTextbookState) -> int:
        return s.task

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Work(),) if view.status is Status.NORMAL else ()

    def _start(self, s: BullyTextbookState) -> Result[BullyTextbookState]:
        """Ask whether anybody stronger is up."""
        stronger = self.members.stronger_than(s.me)
        if self.rules.asked == "visible":
            stronger = tuple(j for j in stronger if j in s.alive)
        if not stronger and self.rules.unrivalled == "announce":
            return self._announce(s)
        state, effects = self._enter(replace(s, leader=None), Phase.ASKING)
        return state, [*(Send(j, Election()) for j in stronger), *effects]

    def _answer(self, s: BullyTextbookState, j: NodeId) -> Result[BullyTextbookState]:
        """Tell a weaker node that I am up, and see to it that there will be a leader."""
        decides = self.rules.answer == "decides" and not self.members.stronger_than(s.me)
        answer = Send(j, Coordinator() if decides else Answer())
        if s.phase is not Phase.NORMAL:
            return s, [answer]
        state, effects = self._start(s)
        return state, [answer, *effects]

    def _announce(self, s: BullyTextbookState) -> Result[BullyTextbookState]:
        """Nobody stronger is up: say that I lead."""
        weaker = self.members.weaker_than(s.me)
        told = weaker if self.rules.audience == "weaker" else self.members.others(s.me)
        news: list[Effect] = [Send(j, Coordinator()) for j in told]
        acknowledged = self.rules.office == "acknowledged"
        if self.rules.office == "at-once" or (acknowledged and not weaker):
            state, effects = self._lead(s)
        else:
            waiting = frozenset(weaker if acknowledged else ())
            announced = replace(s, leader=None, waiting=waiting)
            state, effects = self._enter(announced, Phase.ANNOUNCING)
        return state, [*news, *effects]

    def _lead(self, s: BullyTextbookState) -> Result[BullyTextbookState]:
        """Take office, and hand the task to those that have acknowledged it."""
        state, effects = self._enter(replace(s, leader=s.me, waiting=frozenset()), Phase.NORMAL)
        if self.rules.office != "acknowledged":
            return state, effects
        followers = (j for j in self.members.weaker_than(s.me) if j not in s.waiting)
        return state, [*effects, *(Send(j, Handover(s.task)) for j in followers)]

    def _obey(self, s: BullyTextbookState, j: NodeId) -> Result[BullyTextbookState]:
        """Give up my old leader, or my own attempt, for j."""
        if self.rules.office == "at-once":
            return self._follow(s, j)
        state, effects = self._enter(replace(s, leader=j, waiting=frozenset()), Phase.FOLLOWING)
        if self.rules.office == "delayed":
            return state, effects
        return state, [Send(j, Acknowledge(s.task)), *effects]

    def _follow(self, s: BullyTextbookState, j: NodeId | None) -> Result[BullyTextbookState]:
        """Take j for the leader, unless it is known to be dead already."""
        following, ended = self._enter(replace(s, leader=j), Phase.NORMAL)
        state, effects = self._watch(following)
        return state, [*ended, *effects]

    def _watch(self, s: BullyTextbookState) -> Result[BullyTextbookState]:
        """A leader that is not in view is a leader lost."""
        if s.phase is Phase.NORMAL and s.leader not in s.alive:
            return self._start(s)
        return s, []

    def _doubt(
        self, s: BullyTextbookState, after: BullyTextbookState, event: Event
    ) -> list[Effect]:
        """Arm the timer for as long as my view speaks against my leader; ask whenever it fires."""
        # Unlike the sources, no node is at rest in such a state. With views that are right in the
        # end that makes one leader from any state: all at rest follow the strongest they see.
        rival = self._rival(after)
        fired = event == TimedOut(DOUBT)
        doubted = self._rival(s) is not None and not fired
        if rival is None:
            return [CancelTimer(DOUBT)] if doubted else []
        asks: list[Effect] = [Send(rival, Election())] if fired else []
        return asks if doubted else [*asks, self.set_timer(DOUBT)]

    def _rival(self, s: BullyTextbookState) -> NodeId | None:
        """The strongest node in view, if it is stronger than my leader."""
        if s.phase is not Phase.NORMAL or s.leader is None or not self.rules.doubt.of(self.timing):
            return None
        stronger = s.alive.intersection(self.members.stronger_than(s.leader))
        return max(stronger, key=self.members.rank, default=None)

    def _yields_to(self, s: BullyTextbookState, j: NodeId) -> bool:
        if s.phase is not Phase.FOLLOWING or self.rules.coordinator == "latest":
            return True
        # Unlike the sources, a weaker coordinator does not displace a stronger one: the weaker
        # one has itself heard of the stronger by now, or will.
        return s.leader is None or not self.members.is_stronger(s.leader, j)

    def _accepts(self, s: BullyTextbookState, j: NodeId) -> bool:
        # Unlike the sources, a hand-over counts only from the coordinator that I acknowledged.
        acknowledged = s.phase is Phase.FOLLOWING and s.leader == j
        return acknowledged or self.rules.accept == "anyone"

    def _enter(self, s: BullyTextbookState, phase: Phase) -> Result[BullyTextbookState]:
        """Go over to another phase: its timer runs, and that of the old one does not."""
        timed = s.phase not in (Phase.NORMAL, phase)
        ended: list[Effect] = [CancelTimer(s.phase)] if timed else []
        begun = [] if phase is Phase.NORMAL else [self._deadline(phase)]
        return replace(s, phase=phase), [*ended, *begun]

    def _deadline(self, phase: Phase) -> SetTimer:
        delayed = self.rules.office == "delayed" and phase in (Phase.ANNOUNCING, Phase.FOLLOWING)
        return self.set_timer(phase, self.rules.delay if delayed else None)
