"""What can happen in a run: one class for each kind, and in it all that others read of the kind.

Scripts, texts, sentences, pictures and counts of faults use what a kind says of itself here: its
command, its fact and its sentence, the lane it is drawn on and its sign, the nodes and links that
it changes, the messages that it loses, and the budget that it spends. Kinds are named only where
they are made, and where one thing is followed through a run: a message, a timer, a detector's
opinion.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

from electorate.core import (
    Effect,
    Message,
    NodeId,
    Request,
    Send,
    Span,
    State,
    Timing,
    Value,
    text_of,
)
from electorate.trace.setting import Connections, Setting, Start
from electorate.trace.word import listed, nodes_text, said

Link = tuple[NodeId, NodeId]


# --- the words of a command ---


class Misread(Exception):
    """The words after a verb do not fit it."""


def placed(place: int) -> str:
    """The position in a row; written for all but the first."""
    return f" #{place}" if place else ""


def _state(h: Any) -> str:
    mail = "".join(f" ->{to}{f'@{age}' if age else ''}={text}" for to, age, text in h.sent)
    if not h.is_up:
        return f" down {h.json}{mail}"
    armed = "".join(f" {timer}={soonest}..{latest}" for timer, soonest, latest in h.timers)
    return f" up {h.json} view={','.join(map(str, sorted(h.alive)))}{armed}{mail}"


STATE = "up|down JSON [view=NODES] [TIMER=SOONEST..LATEST …] [->TO[@AGE]=JSON …]"
WORDS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "NODE": (r" (?P<node>\d+)", lambda h: f" {h.node}"),
    "TIMER": (r" (?P<timer>\S+)", lambda h: f" {h.timer}"),
    "FROM->TO": (r" (?P<sender>\d+)->(?P<to>\d+)", lambda h: f" {h.sender}->{h.to}"),
    "[#PLACE]": (r"(?: #(?P<place>\d+))?", lambda h: placed(h.place)),
    "LINK": (
        r" (?P<sender>\d+)(?P<both>->| )(?P<to>\d+)",
        lambda h: f" {h.sender}{' ' if h.both else '->'}{h.to}",
    ),
    "REQUEST": (r" ?(?P<request>.*)", lambda h: f" {text_of(h.request)}"),
    "ALIVE…": (r"(?P<alive>(?: \d+)*)", lambda h: "".join(f" {n}" for n in sorted(h.alive))),
    "[TIME]": (r"(?: (?P<by>\S+))?", lambda h: "" if h.by == 1 else f" {h.by}"),
    "LEFT": (r" (?P<left>\S+)", lambda h: f" {h.left}"),
    STATE: (
        r" (?P<is_up>up|down(?! \S+ (?!->))) (?P<json>\S+)(?: view=(?P<alive>[\d,]*))?"
        r"(?P<timers>(?: (?!->)[^ =]+=\d+\.\.\d+)*)(?P<sent>(?: ->\d+(?:@\d+)?=\S+)*)",
        _state,
    ),
}
"""What may stand after the verb of a command: how it is read, by fields, and how written."""
READ: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(("node", "sender", "to"), int),
    "place": lambda text: int(text or 0),
    "both": " ".__eq__,
    "alive": lambda text: frozenset(map(int, re.findall(r"\d+", text or ""))),
    "by": lambda text: Span.parse(text or "1"),
    "left": Span.parse,
    "is_up": "up".__eq__,
    "timers": lambda text: tuple(
        (timer, int(soonest), int(latest))
        for timer, soonest, latest in re.findall(r" (\S+)=(\d+)\.\.(\d+)", text)
    ),
    "sent": lambda text: tuple(
        (int(to), int(age or 0), json)
        for to, age, json in re.findall(r" ->(\d+)(?:@(\d+))?=(\S+)", text)
    ),
}
"""What the text of a field means, if it is not just that text."""


# --- signs ---


class Shape(NamedTuple):
    """A part of a sign, around its position: a path, or a disc if it has none."""

    path: str = ""
    x: float = 0
    y: float = 0
    """Where the path begins."""
    radius: float = 0
    fill: str = "none"
    stroke: str = "none"
    """The role of a colour in the palette."""
    width: float = 0


SIGNS = {
    "turn": (Shape(radius=3.4, fill="ink"),),
    "failure detector speaks": (
        Shape("q8 -10 16 0q-8 10 -16 0Z", -8, 0, fill="paper", stroke="ink", width=1.4),
        Shape(radius=2.4, fill="ink"),
    ),
    "application asks": (Shape("h10l-5 10Z", -5, -5, fill="ink"),),
    "crash": (
        Shape("l12 12m0 -12l-12 12", -6, -6, stroke="paper", width=6.5),
        Shape("l12 12m0 -12l-12 12", -6, -6, stroke="alarm", width=3.6),
    ),
    "boot or recovery": (Shape(radius=6.5, fill="paper", stroke="ink", width=2.2),),
}
"""Every sign by its meaning."""


# --- what every kind says ---


class ClusterChange(NamedTuple):
    """The nodes that are up or down from now on, and the links that are cut or healed."""

    up: tuple[NodeId, ...] = ()
    down: tuple[NodeId, ...] = ()
    cut: tuple[Link, ...] = ()
    healed: tuple[Link, ...] = ()


class Happening(Value, tag_field="what", tag=True):
    """Something that the world did: a delivery, a timer, a fault, the passing of time."""

    verb: ClassVar[str]
    words: ClassVar[tuple[str, ...]] = ("NODE",)
    """What stands after the verb, as a key of WORDS."""
    becomes: ClassVar[str]
    """What is said of the node or link, if there is nothing else to say."""
    tears: ClassVar[bool] = False
    """Whether it leads to a turn, in the middle of which the node may crash."""

    budget: ClassVar[tuple[str, str]] = ("", "")
    """The singular and plural of a fault of this kind, if they are counted."""
    fault: ClassVar[bool] = False
    """Whether something goes wrong, or right again."""
    reacts: ClassVar[bool | None] = None
    """Whether its node reacts from now on, if that changes."""

    sign: ClassVar[str] = ""
    """What its sign means."""
    flagged: ClassVar[bool] = False
    """Whether its fact is written beside its sign."""

    @property
    def where(self) -> NodeId | None:
        """The node to which it happens, if there is one."""
        return getattr(self, "node", None)

    @property
    def lane(self) -> NodeId | None:
        """The node on whose lane it takes room."""
        return self.where

    @property
    def change(self) -> ClusterChange:
        """The nodes and links that it changes."""
        return ClusterChange()

    @property
    def ways(self) -> tuple[Link, ...]:
        """The directions of the links that it is about."""
        return ()

    def loses(self, setting: Setting) -> Iterable[Link]:
        """The links on which nothing stays on its way, as when connections break."""
        if setting.connections is not Connections.DIE:
            return ()
        change = self.change
        out = ((node, other) for node in change.up for other in setting.ids)
        back = ((other, node) for node in change.down for other in setting.ids)
        return (*change.cut, *out, *back)

    @property
    def notices(self) -> frozenset[NodeId]:
        """The nodes that it shows to have been noticed."""
        return frozenset()

    @property
    def cause(self) -> str:
        """Why it happened by itself: then it needs no command."""
        return ""

    @classmethod
    def usage(cls) -> str:
        """The text of the words after the verb."""
        both = f"FROM->TO, or {cls.verb} NODE NODE for both ways"
        words = [both if word == "LINK" else word for word in cls.words]
        return " ".join([cls.verb, *words, *(["[torn …]"] if cls.tears else [])])

    @classmethod
    def read(cls, words: Iterable[str], timing: Timing) -> dict[str, Any]:
        """The fields that words after the verb stand for; a request stays text."""
        pattern = "".join(WORDS[word][0] for word in cls.words)
        found = re.fullmatch(pattern, "".join(f" {word}" for word in words))
        if found is None:
            raise Misread
        fields = {name: READ.get(name, str)(text) for name, text in found.groupdict().items()}
        return {n: v.of(timing) if isinstance(v, Span) else v for n, v in fields.items()}

    def command(self) -> str:
        """The command that makes it happen."""
        return self.verb + "".join(WORDS[word][1](self) for word in self.words)

    def fact(self, at: int, timing: Timing) -> str:
        """What has happened, as golden scripts have it."""
        return f"{self.where} {self.becomes}"

    def told(self, there: "Presence") -> tuple[str, str]:
        """Subject and first verb of a sentence about it."""
        return f"Node {self.where}", self.becomes


class Presence:
    """Which nodes are down and which links are cut, one happening after the other."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.down = set(setting.ids) if setting.start is Start.DOWN else set[NodeId]()
        self.cut: set[Link] = set()

    def follow(self, happening: Happening, torn: Iterable[NodeId] = ()) -> None:
        """Take in what has happened, and who crashed in the middle of a turn of it."""
        change = happening.change
        self.down.difference_update(change.up)
        self.down.update(change.down, torn)
        self.cut.difference_update(change.healed)
        self.cut.update(change.cut)

    def reaches(self, sender: NodeId, to: NodeId) -> bool:
        """Whether there is a way from one node to the other."""
        return (sender, to) not in self.cut and self.setting.linked(sender, to)

    def sees(self, watcher: NodeId, node: NodeId) -> bool:
        """Whether a node is up and linked to another one both ways."""
        return node not in self.down and self.reaches(watcher, node) and self.reaches(node, watcher)


# --- the kinds ---


class Ticked(Happening):
    """Time passed."""

    by: int = 1
    verb, words = "tick", ("[TIME]",)

    def fact(self, at: int, timing: Timing) -> str:
        return f"time {timing.text(at)}"

    def told(self, there: Presence) -> tuple[str, str]:
        return ("1 tick", "passes") if self.by == 1 else (f"{self.by} ticks", "pass")


class Passage(Happening):
    """A message leaves its channel, or a copy of it does."""

    sender: NodeId
    to: NodeId
    message: Message
    stays: ClassVar[bool] = False
    """Whether it is also still on its way."""
    words = ("FROM->TO", "[#PLACE]")

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.sender}->{self.to} {text_of(self.message)}"


class Heard(Passage):
    """A message was handed over; `place` is its position on its channel, the oldest first."""

    place: int = 0
    tears, sign = True, "turn"

    @property
    def where(self) -> NodeId:
        return self.to

    def told(self, there: Presence) -> tuple[str, str]:
        older = "an older message" if self.place == 1 else f"{self.place} older messages"
        ahead = f" ahead of {older}" if self.place else ""
        return f"Node {self.to}", f"hears {said(self.message)} from node {self.sender}{ahead}"


class Delivered(Heard):
    """A message was handed over, and no copy of it is left."""

    verb = "deliver"


class Doubled(Heard):
    """A message was handed over, and a copy of it is still on its way."""

    verb, stays, fault = "double", True, True
    budget = "double", "doubles"

    def fact(self, at: int, timing: Timing) -> str:
        return f"{super().fact(at, timing)}, and a copy stays on its way"

    def told(self, there: Presence) -> tuple[str, str]:
        who, what = super().told(there)
        return who, f"{what} (a copy is still on its way)"


class Lost(Passage):
    """A message was lost."""

    why: str = "lost"
    place: int = 0
    verb, fault = "lose", True
    budget = "loss", "losses"

    @property
    def lane(self) -> NodeId | None:
        return None if self.why.endswith("is cut") else self.to

    @property
    def cause(self) -> str:
        return "" if self.why == "lost" else self.why

    def fact(self, at: int, timing: Timing) -> str:
        return f"{super().fact(at, timing)} lost{self.cause and f': {self.cause}'}"

    def told(self, there: Presence) -> tuple[str, str]:
        why = self.cause and f": {self.cause}"
        if (self.sender, self.to) in there.cut or self.why.endswith("is cut"):
            why = ": that link is cut"
        elif self.to in there.down:
            why = f": node {self.to} is down"
        return f"{said(self.message)} from node {self.sender}", f"to node {self.to} is lost{why}"


class Fired(Happening):
    """A timer ran out."""

    node: NodeId
    timer: str
    verb, words, tears = "fire", ("NODE", "TIMER"), True
    sign = "turn"

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.node} {self.timer} fires"

    def told(self, there: Presence) -> tuple[str, str]:
        return f"Node {self.node}'s timer {self.timer}", "runs out"


class Saw(Happening):
    """A node's failure detector changed its mind."""

    node: NodeId
    alive: frozenset[NodeId]
    before: frozenset[NodeId]
    verb, words, tears = "view", ("NODE", "ALIVE…"), True
    sign, flagged = "failure detector speaks", True
    budget = "lie", "lies"

    @property
    def notices(self) -> frozenset[NodeId]:
        return self.alive ^ self.before

    def fact(self, at: int, timing: Timing) -> str:
        changes = [("suspects", self.before - self.alive), ("trusts", self.alive - self.before)]
        texts = [f"{verb} {' '.join(map(str, sorted(who)))}" for verb, who in changes if who]
        sees = f"sees {' '.join(map(str, sorted(self.alive)))}"
        return f"{self.node} {' and '.join(texts) or sees}"

    def told(self, there: Presence) -> tuple[str, str]:
        news = {node: there.sees(self.node, node) for node in sorted(self.notices)}
        opinions = [
            ("suspects {}", [n for n in news if n in self.before and not news[n]]),
            ("wrongly suspects {}", [n for n in news if n in self.before and news[n]]),
            ("trusts {} again", [n for n in news if n in self.alive and news[n]]),
            (
                "wrongly trusts {} again",
                [n for n, up in news.items() if n in self.alive and not up],
            ),
        ]
        texts = [text.format(nodes_text(who)) for text, who in opinions if who]
        sees = f"still sees {nodes_text(sorted(self.alive))}"
        return f"Node {self.node}", listed(texts or [sees])


class Requested(Happening):
    """The application asked for something."""

    node: NodeId
    request: Request
    verb, words, tears = "ask", ("NODE", "REQUEST"), True
    sign, flagged = "application asks", True
    budget = "ask", "asks"

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.node} is asked for {text_of(self.request)}"

    def told(self, there: Presence) -> tuple[str, str]:
        return f"Node {self.node}", f"is asked for {said(self.request)}"


class Crashed(Happening):
    """A node stopped, between two turns."""

    node: NodeId
    verb, becomes, fault = "crash", "crashes", True
    sign = "crash"
    budget = "crash", "crashes"

    @property
    def change(self) -> ClusterChange:
        return ClusterChange(down=(self.node,))


class Recovered(Happening):
    """A node booted; `first` if it had never lived before."""

    node: NodeId
    first: bool = False
    verb, tears, fault = "recover", True, True
    sign = "boot or recovery"
    budget = "recovery", "recoveries"

    @property
    def change(self) -> ClusterChange:
        return ClusterChange(up=(self.node,))

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.node} {'boots' if self.first else 'recovers'}"

    def told(self, there: Presence) -> tuple[str, str]:
        return f"Node {self.node}", "starts" if self.first else "recovers"


class Paused(Happening):
    """A node stopped reacting; its timers run on."""

    node: NodeId
    verb, becomes, fault, reacts = "pause", "is paused", True, False
    budget = "pause", "pauses"


class Resumed(Happening):
    """A paused node reacts again."""

    node: NodeId
    verb, becomes, fault, reacts = "resume", "is resumed", True, True


class Linked(Happening):
    """Something is done to a link from one node to the other, or `both` ways."""

    sender: NodeId
    to: NodeId
    both: bool = False
    words = ("LINK",)
    fault = True

    @property
    def lane(self) -> NodeId:
        return self.sender

    @property
    def ways(self) -> tuple[Link, ...]:
        one, other = (self.sender, self.to), (self.to, self.sender)
        return (one, other) if self.both else (one,)

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.sender}{'<->' if self.both else '->'}{self.to} {self.becomes}"

    def told(self, there: Presence) -> tuple[str, str]:
        way = f"from node {self.sender} to node {self.to}"
        pair = f"between {nodes_text((self.sender, self.to))}"
        return f"The link {pair if self.both else way}", self.becomes


class Cut(Linked):
    """Messages from one node to the other, or `both` ways, are lost from now on."""

    verb, becomes = "cut", "is cut"
    budget = "cut", "cuts"

    @property
    def change(self) -> ClusterChange:
        return ClusterChange(cut=self.ways)


class Healed(Linked):
    """Messages get through again."""

    verb, becomes = "heal", "is healed"
    budget = "heal", "heals"

    @property
    def change(self) -> ClusterChange:
        return ClusterChange(healed=self.ways)


class Reset(Linked):
    """A connection broke, and all that was on its way there was lost; the next one works."""

    verb, becomes = "reset", "is reset"
    budget = "reset", "resets"

    def loses(self, setting: Setting) -> Iterable[Link]:
        return self.ways

    def told(self, there: Presence) -> tuple[str, str]:
        link, what = super().told(there)
        return link, f"{what}, and all that was on its way there is lost"


class Phased(Happening):
    """The start was shifted: this timer has so much left (for periodic timers)."""

    node: NodeId
    timer: str
    left: int
    verb, words = "phase", ("NODE", "TIMER", "LEFT")

    def fact(self, at: int, timing: Timing) -> str:
        return f"{self.node} {self.timer} has {timing.text(self.left)} left"

    def told(self, there: Presence) -> tuple[str, str]:
        left = there.setting.timing.text(self.left)
        return f"Node {self.node}'s timer {self.timer}", f"has {left} left at the start"


class Placed(Happening):
    """The start put a node into a state, or left it down with what it had saved."""

    node: NodeId
    json: str
    """The state; for a node that is down, what it saved (null if it never lived)."""
    is_up: bool = True
    alive: frozenset[NodeId] = frozenset()
    """The nodes that its failure detector trusts."""
    timers: tuple[tuple[str, int, int], ...] = ()
    """Each timer that is armed, with the shortest and the longest time that it may still take."""
    sent: tuple[tuple[NodeId, int, str], ...] = ()
    """What it has on its way: the receiver, how long it has been on its way, and the message as
    JSON."""
    verb, words = "place", ("NODE", STATE)

    @property
    def where(self) -> None:
        return None

    @property
    def change(self) -> ClusterChange:
        return ClusterChange(up=(self.node,)) if self.is_up else ClusterChange(down=(self.node,))

    def fact(self, at: int, timing: Timing) -> str:
        mail = " and ".join(f"{json} to {to}" for to, _, json in self.sent)
        told = f", and has sent {mail}" if mail else ""
        return f"{self.node} is {'up' if self.is_up else 'down'} with {self.json}{told}"

    def told(self, there: Presence) -> tuple[str, str]:
        how = "is up, in the state" if self.is_up else "is down, and has saved"
        mail = "".join(f" and has sent {text} to node {to}" for to, _, text in self.sent)
        return f"At the start node {self.node}", f"{how} {self.json}{mail}"


KINDS: Mapping[str, type[Happening]] = {
    kind.verb: kind
    for kind in (
        Delivered,
        Doubled,
        Lost,
        Fired,
        Saw,
        Requested,
        Crashed,
        Recovered,
        Paused,
        Resumed,
        Cut,
        Healed,
        Reset,
        Ticked,
        Phased,
        Placed,
    )
}
"""Every kind by its verb."""


# --- a run ---


class TurnRecord(Value):
    """One turn: its node, from what state to what state, with which effects."""

    node: NodeId
    before: State | None
    after: State
    effects: tuple[Effect, ...]
    sent: tuple[tuple[NodeId, int], ...] | None = None
    """Only if the node crashed in the middle of this turn: how many messages to each node left."""

    def mail(self) -> Iterator[tuple[Send, bool]]:
        """What it sends to others, in order, and whether that has left."""
        left = Counter(dict(self.sent or ()))
        for effect in self.effects:
            if isinstance(effect, Send) and effect.to != self.node:
                yield effect, self.sent is None or left[effect.to] > 0
                left[effect.to] -= 1


class Step(Value):
    """One happening, its time, and the turns that it led to (self-addressed messages included)."""

    at: int
    happening: Happening
    turns: tuple[TurnRecord, ...] = ()

    @property
    def torn(self) -> list[NodeId]:
        """The node that crashed in the middle of a turn, if one did."""
        return [turn.node for turn in self.turns if turn.sent is not None]

    @property
    def signs(self) -> set[str]:
        """The signs that stand for it."""
        return {self.happening.sign, *(Crashed.sign for _ in self.torn)} - {""}


class Trace(Value):
    """A whole run."""

    setting: Setting
    steps: tuple[Step, ...] = ()
