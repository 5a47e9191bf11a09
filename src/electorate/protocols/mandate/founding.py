"""Founding: a cluster begins once all of its founders have said that these are its founders.

A founder gives its word for one list, and keeps it for as long as it has its memory: it says it for
no other one. Who has the word of all is founded, and shows the others that they are, too. Two lists
with a founder in common are not both founded, so they never have two leaders.

The id of a cluster is made of the memories of its founders: it is random, as they are, and the same
at each of them, without anybody who hands it out.

Source: this project's own design, told in docs/protocols/founding.md.
Needs: nothing for its promises; all founders within reach for a cluster at all.
"""

import hashlib
from typing import Any, Literal

from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.mandate.state import MEMBERS_MAX, MEMORY_MAX, Ids, Memories, Roster

REMIND = "remind"
Needs = Literal["all", "majority"]


class Word(Message):
    """With these I found a cluster, and with no others; I have this memory, and heard of yours."""

    founders: Ids
    needs: Needs
    memory: str
    heard: str = ""
    """The memory of the receiver: who sends it back has got what was sent to that address."""


class Founded(Message):
    """All have given their word for this list: these are their memories, yours among them."""

    founders: Ids
    memories: Memories


class Begin(Request):
    """Your node was started with this memory, and these are said to found a cluster."""

    founders: Ids
    memory: str
    needs: Needs = "all"


class Foundation(Value):
    """What a cluster is once it is founded."""

    cluster: str = ""
    """Its id; empty before."""
    memories: Memories = ()


class FoundingRules(Rules):
    """What may be varied. The defaults are the sound form."""

    remind: Span = 4 * T
    """How often a founder says its word again while others are missing."""
    needs: Needs = "all"
    """In a search: whose word there has to be. A node of an application is told."""
    word: Literal["once", "again"] = "once"
    """Whether a founder gives its word for one list only."""
    saved: Literal["yes", "no"] = "yes"
    """Whether it remembers after a crash that it has given its word."""
    id: Literal["memories", "names"] = "memories"
    """What the id of a cluster is made of."""
    first: int = 0
    """In a search: the list that nodes are started with, one digit each; 0: all of them."""
    other: int = 0
    """A second list; 0: there is none."""
    by: int = 0
    """The nodes that are started with the second list, one digit each."""
    named: int = 0
    """The names of the nodes, one digit each; 0: each is called by its id."""


class FoundingStable(Stable):
    """What survives a crash."""

    founders: Ids = ()
    """The list for which this node has given its word; empty before that."""
    needs: Needs = "all"
    memories: Memories = ()
    """The founders whose word it has, itself among them, and their memories."""
    roster: Roster = Roster()
    """The first list of members, once the cluster is founded."""
    foundation: Foundation = Foundation()

    @property
    def is_founded(self) -> bool:
        """Whether this node knows that its cluster is founded."""
        return not self.roster.is_fixed

    def memory(self, node: NodeId) -> str:
        """The memory of a founder whose word this node has; empty if it has not."""
        return dict(self.memories).get(node, "")


class FoundingState(State):
    """One node's part."""

    stable: FoundingStable
    heard: Memories = ()
    """The memories of founders that have said their word, whether or not they have heard mine."""
    differing: tuple[tuple[NodeId, Ids], ...] = ()
    """Founders that have given their word for another list."""
    alive: frozenset[NodeId] = frozenset()

    @property
    def missing(self) -> tuple[NodeId, ...]:
        """The founders for whose word this node waits."""
        if self.stable.is_founded:
            return ()
        return tuple(j for j in self.stable.founders if not self.stable.memory(j))


class Founding(Machine[FoundingState]):
    """The word of all founders."""

    state_type = FoundingState
    stable_type = FoundingStable
    rules_type = FoundingRules
    rules: FoundingRules
    messages = (Word, Founded)
    requests = (Begin,)
    timers = (Timer(REMIND, periodic=True),)
    uses_views = True
    forms = {"application": FoundingRules()}
    tells = frozenset({Topic.FOUNDERS})
    promises = ("D5", "D6")
    outputs = {"roster": "roster", "foundation": "foundation"}

    def boot(self, me: NodeId, stable: Any) -> Result[FoundingState]:
        keeps = stable is not None and self.rules.saved == "yes"
        s = FoundingState(me, stable if keeps else FoundingStable())
        if stable is None and not self.members.is_open:
            return self._begun(s, Begin(self._list(me), str(me), self.rules.needs))
        return s, [self.set_timer(REMIND)] if s.missing else []

    def step(self, s: FoundingState, event: Event) -> Result[FoundingState]:
        match event:
            case Received(j, _) if j not in self.members or j == s.me:
                return s, []
            case Received(j, Word() as word) if _is_sound(word):
                return self._heard(s, j, word)
            case Received(_, Founded() as founded):
                return self._shown(s, founded)
            case TimedOut(timer) if timer == REMIND and s.missing:
                return s, [self.set_timer(REMIND), *self._said(s, frozenset(s.missing))]
            case Viewed(alive):
                new = alive - s.alive
                return replace(s, alive=alive), self._said(s, new) if s.missing else []
            case Asked(Begin() as begin):
                return self._begun(s, begin)
        return s, []

    def view(self, s: FoundingState) -> Standing:
        """The founders whose word a node has are its group."""
        group = tuple(j for j, _ in s.stable.memories)
        return Standing(Status.NORMAL if s.stable.is_founded else Status.ELECTION, group=group)

    def offers(self, state: FoundingState, view: Standing) -> tuple[Request, ...]:
        """A node may be started again with either list, unless it is founded."""
        if state.stable.is_founded:
            return ()
        lists = {self._first, _digits(self.rules.other)} - {state.stable.founders, ()}
        needs = self.rules.needs
        return tuple(Begin(each, str(state.me), needs) for each in sorted(lists))

    # --- its own word ---

    def _begun(self, s: FoundingState, begin: Begin) -> Result[FoundingState]:
        """Give the word for this list, unless it was given for another one."""
        kept = s.stable
        is_bound = kept.founders not in ((), begin.founders) and self.rules.word == "once"
        if kept.is_founded or is_bound or s.me not in begin.founders:
            return s, []
        if begin.founders != kept.founders or begin.memory != kept.memory(s.me):
            kept = FoundingStable(begin.founders, memories=((s.me, begin.memory),))
        s = replace(s, stable=replace(kept, needs=begin.needs), heard=(), differing=())
        s, effects = self._founded(s)
        if s.stable.is_founded:
            return s, effects
        return s, [self.set_timer(REMIND), *self._said(s, s.alive)]

    def _said(self, s: FoundingState, to: frozenset[NodeId]) -> list[Effect]:
        others = [j for j in s.stable.founders if j in to and j != s.me and j in self.members]
        return [Send(j, self._word(s, j)) for j in others]

    def _word(self, s: FoundingState, j: NodeId) -> Word:
        kept = s.stable
        return Word(kept.founders, kept.needs, kept.memory(s.me), dict(s.heard).get(j, ""))

    # --- the word of the others ---

    def _heard(self, s: FoundingState, j: NodeId, word: Word) -> Result[FoundingState]:
        kept = s.stable
        if j not in kept.founders:
            return s, []
        if (word.founders, word.needs) != (kept.founders, kept.needs):
            return replace(s, differing=_pairs(dict(s.differing) | {j: word.founders})), []
        if kept.is_founded:
            if kept.needs == "all":
                return s, [Send(j, Founded(kept.founders, kept.memories))]
            return s, [Send(j, replace(self._word(s, j), heard=word.memory))]
        has_heard = word.heard == kept.memory(s.me)
        is_news = dict(s.heard).get(j) != word.memory
        differing = tuple(each for each in s.differing if each[0] != j)
        s = replace(s, heard=_pairs(dict(s.heard) | {j: word.memory}), differing=differing)
        if has_heard:
            memories = _pairs(dict(kept.memories) | {j: word.memory})
            s = replace(s, stable=replace(kept, memories=memories))
        answer = [Send(j, self._word(s, j))] if is_news or not has_heard else []
        s, effects = self._founded(s)
        return s, [*answer, *effects]

    def _founded(self, s: FoundingState) -> Result[FoundingState]:
        """With the word of all the cluster is founded: show it to the others."""
        kept = s.stable
        agreed, all_of_them = len(kept.memories), len(kept.founders)
        if agreed < all_of_them and (kept.needs == "all" or 2 * agreed <= all_of_them):
            return s, []
        others = [j for j in kept.founders if j != s.me and j in self.members]
        shown = [Send(j, Founded(kept.founders, kept.memories)) for j in others]
        return self._with(s, kept.memories), [CancelTimer(REMIND), *shown]

    def _shown(self, s: FoundingState, founded: Founded) -> Result[FoundingState]:
        """Another one has the word of all. It has mine only if it names my memory."""
        kept = s.stable
        is_mine = (s.me, kept.memory(s.me)) in founded.memories and kept.needs == "all"
        is_whole = tuple(j for j, _ in founded.memories) == kept.founders == founded.founders
        if kept.is_founded or not kept.founders or not (is_mine and is_whole):
            return s, []
        return self._with(s, founded.memories), [CancelTimer(REMIND)]

    def _with(self, s: FoundingState, memories: Memories) -> FoundingState:
        founders, needs = s.stable.founders, s.stable.needs
        foundation = Foundation(self._id(founders, memories, needs), memories)
        roster = Roster(old=founders, new=founders)
        stable = FoundingStable(founders, needs, memories, roster, foundation)
        return replace(s, stable=stable, heard=(), differing=())

    def _id(self, founders: Ids, memories: Memories, needs: Needs) -> str:
        """The same at all founders; of a majority alone each may know another one."""
        if needs == "majority" or self.rules.id == "names":
            parts = [self._name(j) for j in founders]
        else:
            parts = [f"{self._name(j)} {memory}" for j, memory in memories]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

    # --- how nodes are started in a search ---

    def _list(self, me: NodeId) -> Ids:
        """The list with which this node is started."""
        rules = self.rules
        return _digits(rules.other) if me in _digits(rules.by) else self._first

    @property
    def _first(self) -> Ids:
        return _digits(self.rules.first) or self.members.ids

    def _name(self, node: NodeId) -> str:
        if not self.rules.named:
            return str(node)
        return str(self.rules.named)[self.members.ids.index(node)]


def _digits(number: int) -> Ids:
    """The ids that are written as one number."""
    return tuple(sorted(map(int, str(number)))) if number else ()


def _is_sound(word: Word) -> bool:
    return len(word.founders) <= MEMBERS_MAX and 0 < len(word.memory) <= MEMORY_MAX


def _pairs(mapping: dict[NodeId, Any]) -> Any:
    """A mapping as a value that can be saved and compared."""
    return tuple(sorted(mapping.items()))
