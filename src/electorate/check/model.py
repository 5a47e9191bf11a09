"""What is explored: a setting, where runs begin, which faults may happen, what cuts the search."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from electorate.check.interned import Item, Local
from electorate.claims import Row
from electorate.core import Machine, NodeId, Request, Value, text_of
from electorate.trace import Setting, Start, Step, Storage, is_consequence
from electorate.trace.word import counted

UNLIMITED = 1_000_000_000


class Detector(StrEnum):
    """What the failure detectors may do wrong."""

    EVENTUALLY_PERFECT = "eventually-perfect"  # lies from a budget, none once faults end
    UNRELIABLE = "unreliable"  # lies for ever
    INCOMPLETE = "incomplete"  # need never notice who has crashed; otherwise as the first


class Budget(Value):
    """How many faults of each kind a run may spend."""

    crashes: int = 0
    recoveries: int = 0
    losses: int = 0
    doubles: int = 0
    lies: int = 0
    pauses: int = 0
    cuts: int = 0
    """Links that are cut, both ways."""
    heals: int = 0
    asks: int = 0

    def spent(self, kind: str) -> "Budget | None":
        """The budget after one more fault of this kind, None if there is none left."""
        left: int = getattr(self, kind)
        if not left:
            return None
        if left >= UNLIMITED:
            return self
        return Budget(**{name: getattr(self, name) - (name == kind) for name in BUDGETS})

    def texts(self) -> list[str]:
        """`crashes ≤ 1` for every kind of fault that may happen at all."""
        return [self.text(name) for name in BUDGETS if getattr(self, name)]

    def text(self, kind: str) -> str:
        """`crashes ≤ 1`."""
        left: int = getattr(self, kind)
        return f"{kind} ≤ {left if left < UNLIMITED else '∞'}"


BUDGETS = Budget.__struct_fields__


class Bounds(Value):
    """Where the search is cut. A cut that happens is counted and named in the verdict."""

    capacity: int = 8
    """Messages on one channel."""
    counter: int = 8
    """The largest value of a number that the machine declares to be growing."""
    firings: int = 2
    """Firings of periodic timers per node, in unbounded timing."""
    normal: int = 100_000
    """States of all fault-free runs, where a search begins with their ends; beyond it, some of
    these runs are drawn."""
    blocks: bool = False
    """Whether a full channel blocks its sender, as Promela's do: that cuts nothing."""

    def named(self, cuts: Mapping[str, int]) -> list[tuple[str, int]]:
        """`capacity 8` for every bound that cut a search, with the number of cuts."""
        return [
            (f"{BOUND_OPTIONS[name]} {getattr(self, name):,}", count)
            for name, count in sorted(cuts.items())
        ]


BOUND_OPTIONS = {
    "capacity": "capacity",
    "counter": "counter",
    "firings": "firings",
    "normal": "normal-max",
}
"""The option that raises each bound."""


class Given(Value):
    """A global state where runs begin because a script, or the record of a real run, has led there.

    With it are the steps that led there from where its setting says that runs begin.
    """

    name: str
    """What the user calls it."""
    steps: tuple[Step, ...]
    nodes: tuple[Local, ...]
    """Each node, its timers with what remains of them."""
    mail: tuple[tuple[NodeId, Item], ...] = ()
    """What is on its way, and to whom, in the order of sending."""
    cut: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """The ways over which nothing gets through now, each in one direction."""
    past: tuple[Row, ...] = ()
    """All that claims could see until then, this place included."""
    about: str = ""
    """What else a verdict has to say of it."""
    names: Mapping[NodeId, str] = {}
    """What people call the nodes, if it is the place of a real run."""

    @property
    def moves(self) -> int:
        """How many steps somebody had to make."""
        return sum(not is_consequence(step) for step in self.steps)

    def text(self) -> str:
        """For the sentence of a verdict: `mine.txt (12 steps)`."""
        steps = counted(self.moves, "steps")
        return f"{self.name} ({self.about or steps})"


class Normal(Value):
    """What a search that begins in the normal state began with."""

    ends: int
    """In how many ways fault-free runs end, each periodic timer at any phase."""
    drawn: int = 0
    """How many runs were drawn to find them; 0 if all were explored."""
    missing: int = 0
    """How many of these ends lack a goal."""
    missed: tuple[str, ...] = ()
    """The goals that some of them lack."""
    endless: bool = False
    """Whether fault-free runs can go round for ever without getting to any of them."""

    def text(self) -> str:
        """For the sentence of a verdict: `(all 3 fault-free ends)`."""
        ends = counted(self.ends, "fault-free ends")
        if self.drawn:
            found = f"{ends} of {self.drawn} drawn runs"
        else:
            found = f"all {ends}" if self.ends > 1 else "the only fault-free end"
        if self.missing:
            which = "which" if self.ends == 1 else f"{self.missing} of which"
            verb = "misses" if self.missing == 1 else "miss"
            found += f", {which} {verb} {' and '.join(self.missed)}"
        return f"({found}; some runs may never get there)" if self.endless else f"({found})"


class Model(Value):
    """Everything a verdict depends on."""

    setting: Setting
    budget: Budget = Budget()
    bounds: Bounds = Bounds()
    detector: Detector = Detector.EVENTUALLY_PERFECT
    detection: int | None = None
    """A wrong suspicion is corrected within so many ticks, and so is a wrong trust unless the
    detector is incomplete; None means 2T."""
    notices_restarts: bool = False
    atomic_turns: bool = False
    """Whether a crash keeps all of a turn, what it saves and what it sends, or nothing of it."""
    reduced: bool = False
    """Whether only one order is explored of deliveries that commute (check/reduction.py)."""
    mortal: tuple[NodeId, ...] | None = None
    """The nodes that may crash; None if all may."""
    atomic_sends: bool = False
    """Whether a crash keeps all or none of a turn's messages, instead of any prefixes; it may still
    come between saving and sending."""
    drops: bool = True
    """Whether what can never matter again is dropped at once (`StateSpace.drop_lost`)."""
    renames: bool = True
    """Whether numbers that never stop growing are renamed (check/renaming.py)."""
    given: Given | None = None
    """Where a script has led, if runs begin there; budgets and bounds are counted from there."""
    asked: tuple[str, ...] = ()
    """What alone may be asked for, each a part of a request's text: `Change(4, yes)`, or
    `1:Change(4, yes)` at node 1 only; empty if everything may."""

    @property
    def bounded(self) -> bool:
        """Whether time passes at all: timers have bounds."""
        return self.setting.timed

    @property
    def detection_ticks(self) -> int:
        """The detection bound in ticks."""
        return 2 * self.setting.timing.T if self.detection is None else self.detection

    @property
    def has_cuts(self) -> bool:
        """Whether a link may be cut, now or from the start."""
        return bool(self.budget.cuts or (self.given and self.given.cut))

    @property
    def begins_anywhere(self) -> bool:
        """Whether runs begin in any combination of states."""
        return self.given is None and self.setting.start is Start.ANY

    def may_crash(self, node: NodeId) -> bool:
        """Whether a crash of this node is among the faults that may be spent."""
        return self.mortal is None or node in self.mortal

    def may_ask(self, node: NodeId, request: Request) -> bool:
        """Whether asking a node for this is among what the budget may be spent on."""
        text = f"{node}:{text_of(request)}"
        return not self.asked or any(_is_part(each, text) for each in self.asked)

    def first_budget(self) -> Budget:
        """The budget at the start of a run."""
        if self.detector is Detector.UNRELIABLE:
            return self._lying(self.budget)
        return self.budget

    def last_budget(self) -> Budget:
        """The budget of the stable phase: nothing fails any more."""
        return self._lying(Budget()) if self.detector is Detector.UNRELIABLE else Budget()

    @staticmethod
    def _lying(budget: Budget) -> Budget:
        fields = {name: getattr(budget, name) for name in BUDGETS}
        return Budget(**{**fields, "lies": UNLIMITED})

    def constants(self, machine: Machine[Any], normal: Normal | None = None) -> list[str]:
        """Every constant that the verdict is about, for its sentence."""
        setting = self.setting
        extra = f"+{machine.extra_nodes}" if machine.extra_nodes else ""
        count = len(setting.ids) - machine.extra_nodes
        texts = [f"N={count}{extra}", f"{setting.clock} timing"]
        if self.bounded:
            texts.append(f"T={setting.timing.T}")
            texts += [f"P={setting.timing.P}"] if setting.timing.P else []
            texts += [f"drift {setting.drift:g}"] if setting.drift else []
        if setting.prompt:
            texts += [f"delay {setting.delay_min}..{setting.delay_max}", f"ties {setting.ties}"]
        texts += [f"order {setting.order}", f"connections {setting.connections}"]
        if self.bounds.blocks:
            texts.append(f"channels of {self.bounds.capacity} that block")
        if setting.graph is not None:
            texts.append(f"links {setting.graph_text() or 'none'}")
        start = setting.start if self.given is None else self.given.text()
        texts += [f"from {start}" + (f" {normal.text()}" if normal else "")]
        if machine.members.strongest != machine.strongest:
            texts.append(f"{machine.members.strongest} rank wins")
        if setting.attributes:
            texts.append("attributes " + " ".join(map(str, setting.attributes)))
        if setting.storage is not Storage.KEPT:
            texts.append(f"storage {setting.storage}")
        if setting.equal:
            texts.append(f"{' and '.join(map(str, setting.equal))} of equal rank")
        if machine.uses_views:
            honest = not self.first_budget().lies and self.detector is not Detector.INCOMPLETE
            kind = "perfect" if honest else self.detector
            within = f" within {self.detection_ticks}" if self.bounded else ""
            restarts = ", notices restarts" if self.notices_restarts else ""
            texts.append(f"detector {kind}{within}{restarts}")
        if self.atomic_turns:
            texts.append("atomic turns")
        elif self.atomic_sends:
            texts.append("atomic sends")
        if self.asked:
            texts.append(f"asked only for {' or '.join(self.asked)}")
        if self.mortal is not None:
            texts.append(f"only {', '.join(map(str, self.mortal)) or 'nobody'} may crash")
        return texts + (self.budget.texts() or ["no faults"])


def _is_part(wanted: str, text: str) -> bool:
    """Whether a request is one that is wanted, at this node if one is named."""
    node, colon, rest = wanted.partition(":")
    at, _, request = text.partition(":")
    if colon and node.isdecimal():
        return node == at and rest in request
    return wanted in request
