"""The contract of a protocol: a pure state machine with its declarations as data.

    boot(me, stable | None) -> (state, effects)
    step(state, event)      -> (state, effects)
    view(state)             -> what an application may see

Handlers see no clock, draw no lots and touch no disk, so (state, event) determines the result.
That is what lets one file be deployed, simulated, checked and memoised.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Any, Generic, TypeVar

from electorate.core.event import Effect, Event, SetTimer
from electorate.core.member import Members, Strongest
from electorate.core.rule import Rules
from electorate.core.standing import Standing
from electorate.core.timing import Span, Timing
from electorate.core.value import Message, NodeId, Request, Stable, State, Value

S = TypeVar("S", bound=State)
Result = tuple[S, list[Effect]]


class Timer(Value):
    """A timer that a machine may set."""

    name: str
    periodic: bool = False
    """Whether it is set again and again for as long as the node lives."""


class Assumption(StrEnum):
    """What a protocol may rely on. Its promises hold inside; dropping any one breaks a claim."""

    BOUNDED_DELAY = "bounded-delay"  # a message is handled within T
    BOUNDED_CLOCKS = "bounded-clocks"  # clocks differ by no more than is allowed for
    CLOSED_BOUNDS = "closed-bounds"  # a message due at x comes before a timer due at x
    FIFO = "fifo"  # each channel keeps the order of sending
    NO_LOSS = "no-loss"  # a message between live nodes arrives
    NO_PAUSE = "no-pause"  # a live node reacts at once
    NO_CRASH = "no-crash"  # nobody fails
    NO_RECOVERY = "no-recovery"  # a node that has failed stays away
    NO_PARTITION = "no-partition"  # live nodes are always linked
    ACCURATE_DETECTOR = "accurate-detector"  # nobody alive is suspected
    UNIQUE_IDS = "unique-ids"  # of any two nodes one is the stronger


class Topic(StrEnum):
    """What a machine tells of besides the leader that a node follows; claims are about these."""

    GROUPS = "groups"  # `group` is the number of the group that a node is in
    VIEWS = "views"  # `group` lists the nodes that a node sees
    TERMS = "terms"  # a term has a `token`, and ends with the timer `until`
    CANDIDATES = "candidates"  # `priority` says whether, and how much, a node wants to lead
    DECISIONS = "decisions"  # every standing is a Decision, and `stable.stage` is in the log
    NEWCOMERS = "newcomers"  # every standing is a GroupStanding
    CHOICES = "choices"  # every standing is a Choice
    FOUNDERS = (
        "founders"  # `stable.foundation` says which cluster a node has founded, and with whom
    )
    MEMORIES = "memories"  # `stable.known` says by which memory each member is known
    TASKS = "tasks"  # not the standing but `task` tells how far a node knows the work to be


class Machine(ABC, Generic[S]):
    """A protocol, configured for its members, its timing and its rules; shared by all nodes."""

    state_type: type[State]
    stable_type: type[Stable] = Stable
    rules_type: type[Rules] = Rules

    messages: tuple[type[Message], ...] = ()
    requests: tuple[type[Request], ...] = ()
    begins_by: tuple[type[Request], ...] = ()
    """Requests without which nothing ever happens; a machine that has none begins by itself. A
    machine whose rules decide that sets it in its constructor."""
    timers: tuple[Timer, ...] = ()
    uses_views: bool = False
    tells: frozenset[Topic] = frozenset()
    """What its standings tell of; a claim about anything else does not fit it."""
    forms: Mapping[str, Rules] = {}
    promises: tuple[str, ...] = ()
    form_promises: Mapping[str, tuple[str, ...]] = {}
    """What a form promises instead, if it keeps less."""
    assumptions: tuple[Assumption, ...] = ()
    form_assumptions: Mapping[str, tuple[Assumption, ...]] = {}
    """What a form other than the sound one has to assume besides."""
    growing: tuple[str, ...] = ()
    """Numbers in the state that never stop growing: a search is cut where they do (`--counter`).
    Those whose types say how they are compared (core/growing.py) need not be named here."""
    outputs: Mapping[str, str] = {}
    """What other machines at the same node may be told of this one: names of parts of `stable`, and
    where to find them in it."""
    extra_nodes: int = 0
    """Nodes besides those that `--nodes` counts: a coordinator that takes no part itself."""
    strongest: Strongest = "lowest"

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        promises: object = cls.promises
        if isinstance(promises, str):  # Its letters, one by one, would be taken for claims.
            raise TypeError(
                f"promises is the text {promises!r}; a tuple of one has a comma: "
                f'promises = ("{promises}",)'
            )

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        self.members = members
        self.timing = timing
        self.rules: Any = self.rules_type() if rules is None else rules

    @abstractmethod
    def boot(self, me: NodeId, stable: Any) -> Result[S]:
        """Start a node; `stable` is what its last life saved, None on the very first start."""

    @abstractmethod
    def step(self, state: S, event: Event) -> Result[S]:
        """Take one event to its end."""

    @abstractmethod
    def view(self, state: S) -> Standing:
        """What the application may see."""

    def set_timer(self, timer: str, span: Span | None = None) -> SetTimer:
        """The order to set a timer for this span, or for as long as the rule of its name says."""
        usual: Span = getattr(self.rules, timer) if span is None else span
        return SetTimer(timer, usual.of(self.timing))

    def task(self, state: S) -> Hashable:
        """How far this node knows the work to be that its leader coordinates.

        A number or a frozenset, or anything else that says with `<=` whether it is included in what
        is known later; zero or empty if nothing has been done. None if no such thing is handed
        over. It is no part of the standing, so that only claims about tasks tell states apart by
        it.
        """
        return None

    def offices(self, state: S, view: Standing) -> tuple[str, ...]:
        """The timers that end offices of this node: they wait for nothing else."""
        return () if view.until is None else (view.until,)

    def grown(self, state: S) -> tuple[int, ...]:
        """How far the numbers have grown that never stop growing."""
        return tuple(attrgetter(name)(state) for name in self.growing)

    def judged(self, stable: Any) -> Stable:
        """What claims see of what a node has saved."""
        return stable  # type: ignore[no-any-return]

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        """What the application may ask for now."""
        return ()

    def offers(self, state: S, view: Standing) -> tuple[Request, ...]:
        """The same, if the view does not show everything that it depends on."""
        return self.may_ask(view)

    def must_ask(self, view: Standing) -> tuple[Request, ...]:
        """What the application owes: it asks for one of these, with bounded clocks at once."""
        return ()

    def cautions(self) -> tuple[str, ...]:
        """What is easily overlooked about these rules for so many members, a sentence each.

        Not what is wrong: that is a ValueError of the constructor.
        """
        return ()

    def hears(self, node: NodeId) -> tuple[NodeId, ...] | None:
        """The nodes that `node` may ever get messages from; None if it may be any.

        On a ring it is the one before. A machine that declares this lets the checker explore fewer
        orders.
        """
        return None

    @classmethod
    def promised(cls, form: str) -> tuple[str, ...]:
        """Everything that a form promises."""
        return cls.form_promises.get(form, cls.promises)

    @classmethod
    def assumed(cls, form: str) -> tuple[Assumption, ...]:
        """Everything that a form assumes."""
        return (*cls.assumptions, *cls.form_assumptions.get(form, ()))

    @classmethod
    def form(cls, name: str) -> Rules:
        """The named set of rules; `sound` is the default set if a machine names no other."""
        if name in cls.forms:
            return cls.forms[name]
        if name == "sound":
            return cls.rules_type()
        known = ", ".join(sorted({"sound", *cls.forms}))
        raise ValueError(f"{cls.__name__} has no form {name!r}; its forms are: {known}")
