"""The setting of a run: everything that its steps do not say themselves.

It is the first line of a script: `cluster bully 1 2 3 T=2 min=1 rule:guard=T`.
"""

import shlex
from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise
from typing import Any

import msgspec

from electorate.core import Machine, Members, NodeId, Strongest, Timing, Value


class Clock(StrEnum):
    """What is known about time."""

    BOUNDED = "bounded"  # messages and timers keep their bounds
    CLOCKS = "clocks"  # timers keep their bounds, a message may take any time at all
    UNBOUNDED = "unbounded"  # a message or a timer may take any time at all


class Ties(StrEnum):
    """What happens first when a message and a timer are due at the same moment."""

    MESSAGES_FIRST = "messages-first"
    BOTH = "both"  # either


class Order(StrEnum):
    """In what order a network hands over its messages."""

    FIFO = "fifo"  # in the order of sending, on each channel
    GLOBAL = "global"  # in the order of sending, at each receiver
    BAG = "bag"  # in any order
    SET = "set"  # in any order and any number of times: nothing that was sent ever goes away


class Connections(StrEnum):
    """What becomes of messages that are on their way to a node that is down."""

    OUTLIVE = "outlive"  # one that is not due yet may reach the next life
    DIE = "die"  # they are lost, and so are those of the node's own last life


class Storage(StrEnum):
    """What a node that comes back remembers."""

    KEPT = "kept"  # all that it had saved
    LOST = "lost"  # nothing: to all that it knows it was never there, or another has its id now


class Start(StrEnum):
    """Where a run begins."""

    NORMAL = "normal"  # where the fault-free run ends up
    BOOT = "boot"  # all nodes have just booted for the first time
    DOWN = "down"  # nobody has been started yet
    ANY = "any"  # any combination of states that nodes have been in


class Setting(Value):
    """Protocol, members and model of one run."""

    protocol: str
    ids: tuple[NodeId, ...]
    rules: tuple[str, ...] = ()
    """Changes to the form that the protocol's name means, as `name=value`."""
    strongest: Strongest | None = None
    """Which end of the ranking is strong; None: as the protocol declares."""
    timing: Timing = Timing()
    delay_min: int = 0
    clock: Clock = Clock.BOUNDED
    ties: Ties = Ties.MESSAGES_FIRST
    order: Order = Order.FIFO
    connections: Connections = Connections.OUTLIVE
    start: Start = Start.NORMAL
    attributes: tuple[int, ...] = ()
    """The attribute of each id, which ranks before the id itself; if empty, all are 0."""
    graph: tuple[tuple[NodeId, NodeId], ...] | None = None
    """The links, each both ways; None if all nodes are linked to all others."""
    drift: float = 0.0
    """How far a clock may be off: a timer of k takes k(1-drift) to k(1+drift)."""
    equal: tuple[NodeId, ...] = ()
    """Nodes that a comparison cannot tell apart: ids are not unique then."""
    storage: Storage = Storage.KEPT
    is_open: bool = False
    """Whether any node may take part: then there are no ids, and this is the setting of a machine
    in operation, not of a run (`Members.open`)."""

    def __post_init__(self) -> None:
        self.members()  # It says what is wrong with the ids.
        if not 0 <= self.delay_min <= self.delay_max:
            raise ValueError(f"min={self.delay_min} is not within 0..{self.delay_max}")
        if not 0 <= self.drift < 1:
            raise ValueError(f"drift={self.drift:g} is not within 0..1")
        for a, b in self.graph or ():
            if a == b or not {a, b} <= set(self.ids):
                raise ValueError(f"graph: {a}-{b} is no link between two members")
        if self.order is Order.SET and self.prompt:
            raise ValueError(
                "order=set keeps messages for ever: it needs timing clocks or unbounded"
            )
        if self.order is Order.SET and self.connections is Connections.DIE:
            raise ValueError("order=set keeps messages for ever: connections cannot die")

    @property
    def timed(self) -> bool:
        """Whether timers keep their bounds."""
        return self.clock is not Clock.UNBOUNDED

    @property
    def prompt(self) -> bool:
        """Whether messages keep their bounds."""
        return self.clock is Clock.BOUNDED

    @property
    def promised(self) -> Timing:
        """The timing that machines are built with: it says how far clocks drift."""
        return msgspec.structs.replace(self.timing, drift=self.drift)

    @property
    def delay_max(self) -> int:
        """The longest time from sending to handling."""
        return self.timing.T + self.timing.P

    def members(self, declared: Strongest = "lowest") -> Members:
        """The members, ranked as the protocol declares it, unless this setting says otherwise."""
        strongest = self.strongest or declared
        if self.is_open:
            if self.ids or self.attributes or self.equal or self.graph:
                raise ValueError("ids=open means that any node may take part: name none")
            return Members.open(strongest)
        if self.attributes and len(self.attributes) != len(self.ids):
            raise ValueError(f"{len(self.attributes)} attributes for {len(self.ids)} nodes")
        attributes = dict(zip(self.ids, self.attributes, strict=False))
        return Members.of(self.ids, strongest, attributes, self.equal)

    def linked(self, one: NodeId, other: NodeId) -> bool:
        """Whether there is a link between two nodes."""
        if self.graph is None or one == other:
            return True
        return (one, other) in self.graph or (other, one) in self.graph

    @property
    def is_complete(self) -> bool:
        """Whether all nodes are linked to all others."""
        return all(self.linked(one, other) for one in self.ids for other in self.ids)

    def graph_text(self) -> str:
        """The links as a `cluster` line has them, `1-2,2-3`; nothing if that is not fixed."""
        return ",".join(f"{a}-{b}" for a, b in self.graph or ())

    def neighbours(self, node: NodeId) -> frozenset[NodeId]:
        """The nodes that a node is linked to, itself included."""
        return frozenset(other for other in self.ids if self.linked(node, other))

    def closed(self, ids: Iterable[NodeId]) -> "Setting":
        """The same setting for a run of these nodes, if it was for any."""
        if not self.is_open:
            return self
        return msgspec.structs.replace(self, ids=tuple(sorted(ids)), is_open=False)

    def without(self, node: NodeId) -> "Setting":
        """The same setting with one node less."""
        kept = [place for place, other in enumerate(self.ids) if other != node]
        graph = self.graph and tuple(link for link in self.graph if node not in link)
        equal = tuple(other for other in self.equal if other != node)
        return msgspec.structs.replace(
            self,
            ids=tuple(self.ids[place] for place in kept),
            attributes=tuple(self.attributes[place] for place in kept if self.attributes),
            graph=graph,
            equal=equal if len(equal) > 1 else (),
        )

    def lasts(self, after: int, jitter: int) -> tuple[int, int]:
        """The shortest and the longest that a timer may take on a clock that drifts."""
        return self.promised.lasts(after, jitter) if self.drift else (after, after + jitter)

    def machine(self, kind: type[Machine[Any]], form: str) -> Machine[Any]:
        """The machine that all nodes of this run share."""
        rules = kind.form(form).with_texts(self.rules)
        machine = kind(self.members(kind.strongest), self.promised, rules)
        if form in kind.form_promises:
            machine.promises = kind.promised(form)
        return machine

    @classmethod
    def of(cls, machine: Machine[Any], protocol: str, form: str) -> "Setting":
        """The setting that builds this machine; `protocol` names its class in that form."""
        usual, members = type(machine).form(form).texts(), machine.members
        rules = machine.rules.texts().items()
        return cls(
            protocol,
            members.ids,
            tuple(f"{name}={text}" for name, text in rules if usual[name] != text),
            None if members.strongest == machine.strongest else members.strongest,
            msgspec.structs.replace(machine.timing, drift=0.0),
            attributes=members.attributes if any(members.attributes) else (),
            drift=machine.timing.drift,
            equal=members.equal,
            is_open=members.is_open,
        )

    def text(self) -> str:
        """The `cluster` line; what has its usual value is left out."""
        usual = Setting(self.protocol, self.ids, is_open=self.is_open)
        nodes = [OPEN] if self.is_open else map(str, self.ids)
        words = ["cluster", self.protocol, *nodes]
        if self.timing.T != 1:
            words.append(f"T={self.timing.T}")
        if self.timing.P:
            words.append(f"P={self.timing.P}")
        if self.delay_min:
            words.append(f"min={self.delay_min}")
        for name in WORDS:
            if getattr(self, name) != getattr(usual, name):
                words.append(f"{name}={getattr(self, name)}")
        if self.attributes:
            words.append("attributes=" + ",".join(map(str, self.attributes)))
        if self.graph is not None:
            words.append(f"graph={self.graph_text()}")
        if self.drift:
            short = f"{self.drift:g}"
            words.append(f"drift={short if float(short) == self.drift else repr(self.drift)}")
        if self.equal:
            words.append("equal=" + ",".join(map(str, self.equal)))
        return shlex.join([*words, *(f"rule:{rule}" for rule in self.rules)])

    @classmethod
    def parse(cls, line: str) -> "Setting":
        """Read a `cluster` line; raises ValueError with what is wrong in it."""
        verb, *words = shlex.split(line) or [""]
        if verb != "cluster" or not words:
            raise ValueError(f"a run begins with `cluster PROTOCOL ID…`, not {line!r}")
        fields: dict[str, Any] = {"protocol": words.pop(0), "ids": [], "rules": []}
        timing: dict[str, int] = {}
        for word in words:
            name, equals, text = word.partition("=")
            if name.startswith("rule:"):
                fields["rules"].append(word.removeprefix("rule:"))
            elif word == OPEN:
                fields["is_open"] = True
            elif not equals:
                fields["ids"].append(_number(word, "a node id"))
            elif name in ("T", "P"):
                timing[name] = _number(text, name)
            elif name == "min":
                fields["delay_min"] = _number(text, name)
            elif name in WORDS:
                fields[name] = text
            elif name == "attributes":
                fields[name] = [_integer(each, "an attribute") for each in text.split(",")]
            elif name == "equal":
                fields[name] = [_number(each, "a node id") for each in text.split(",")]
            elif name == "graph":
                fields[name] = links_of(text)
            elif name == "drift":
                fields[name] = drift_of(text)
            else:
                raise ValueError(f"unknown key {name!r} in {line!r}")
        try:
            return msgspec.convert({**fields, "timing": timing}, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"{line!r}: {str(error).split(' - at')[0]}") from None


OPEN = "ids=open"
"""In place of ids: any node may take part."""
NODES_MAX = 64
"""The numbers of nodes with which a command can work."""
SHAPES = ("path", "cycle", "star", "complete")
"""The networks that have a name."""
Links = tuple[tuple[NodeId, NodeId], ...]
WORDS = ("strongest", "clock", "ties", "order", "connections", "start", "storage")
"""The fields of a setting whose value is one word."""


def links_of(text: str) -> list[tuple[NodeId, NodeId]]:
    """Read a list of links, `1-2,2-3`; no text means no links."""
    pairs = [each.partition("-") for each in text.split(",") if each]
    return [(_number(a, "a node id"), _number(b, "a node id")) for a, _, b in pairs]


def graph_of(text: str) -> tuple[int | None, Links | None]:
    """Read `path:4`, or a list of links: `1-2,2-3`; raises ValueError.

    Returns how many nodes there are, None if the text does not say; and the links between them,
    None if all nodes are linked to all others.
    """
    shape, colon, size = text.partition(":")
    if not colon:
        return None, tuple(links_of(text))
    if shape not in SHAPES:
        raise ValueError(f"no graph {shape!r}: it is {', '.join(SHAPES)}, or a list of links")
    if not size.isdecimal() or not 1 <= int(size) <= NODES_MAX:
        raise ValueError(f"must be a whole number from 1 to {NODES_MAX}, not {size}")
    return int(size), _shaped(shape, int(size))


def _shaped(shape: str, count: int) -> Links | None:
    ids = range(1, count + 1)
    match shape:
        case "path":
            return tuple(pairwise(ids))
        case "cycle":
            return (*pairwise(ids), (1, count)) if count > 2 else tuple(pairwise(ids))
        case "star":
            return tuple((1, other) for other in ids[1:])
        case _:
            return None


def drift_of(text: str) -> float:
    """Read how far a clock may be off, as in 0.05."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"drift is a number like 0.05, not {text!r}") from None


def _integer(text: str, what: str) -> int:
    sign = -1 if text.startswith("-") else 1
    return sign * _number(text.removeprefix("-"), what)


def _number(text: str, what: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{what} is a whole number, not {text!r}")
    return int(text)
