"""Admission: which node is let in under a member's name, and by which memory a member is known.

Nodes are memories, and several may have one name. A node speaks to one of them by each name: the
one that the list of members has admitted. It lets in no other, and tells the others whom it knows,
so that all come to know who was replaced, by whom, and where that one is.

Source: this project's own design, told in docs/protocols/admission.md.
Needs: a founder's number does not show its memory. So before a founder loses its memory, somebody
must have met it that can tell the others: run admission/founder_met_by_nobody.
"""

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from electorate.core import *
from electorate.protocols.mandate.founding import Foundation
from electorate.protocols.mandate.message import Listed
from electorate.protocols.mandate.rule import ERA, LEAP
from electorate.protocols.mandate.state import MEMORY_MAX, TOKEN_MAX, Ids, Memories, Roster

# --- what a node knows of members ---

Numbers = Literal["plain", "digests"]
KNOWN_MAX, FORMER_MAX = 1_000, 10_000
PLACE_MAX = 400
"""How many members, and how much of each, a node lets itself be told of."""
NUMBERS_MAX = 10_000
"""This many numbers are remembered; anybody may ask for more."""


@lru_cache(NUMBERS_MAX)
def digest(text: str) -> NodeId:
    """A number from 1 to 2^31-1, the same at every node."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1 or 1


def number_of(name: str, store: str, numbers: Numbers) -> NodeId:
    """The number of a member: of its name if it is a founder, else of its name and its memory."""
    plain = store or name
    if numbers == "digests" or not (plain.isascii() and plain.isdecimal()):
        return digest(f"{name} {store}" if store else name)
    return int(plain[:9])


def name_at(place: str) -> str:
    """The name in `name@address`."""
    return place.rpartition("@")[0]


class Acquaintance(Value):
    """A member that this node knows."""

    place: str
    """`name@address`; other modules know what an address is."""
    store: str = ""
    """Its memory; empty until it was met."""
    since: int = 0
    """The token with which it was proposed; 0 if it was there from the beginning."""

    @property
    def name(self) -> str:
        """The name of the member."""
        return name_at(self.place)


UNKNOWN = Acquaintance("")
LATEST = TOKEN_MAX // ERA
"""The latest list that leaves room for tokens of elections."""
Acquaintances = tuple[tuple[NodeId, Acquaintance], ...]
Names = tuple[tuple[str, str], ...]
"""A place for each name."""


class Known(Message):
    """The members that I know: their addresses, their memories, and the latest list I heard of."""

    cluster: str
    nodes: Acquaintances
    roll: Roster
    former: Memories = ()
    """The memories of founders that are known no more: their numbers do not show them."""

    def is_sound(self, own: Roster) -> bool:
        """Whether a node that works can say this to one with this list: it will be kept."""
        latest = LATEST if own.is_fixed else own.version[0] + LEAP
        memories = [*(known.store for _, known in self.nodes), *(store for _, store in self.former)]
        return (
            self.roll.is_sound
            and self.roll.version[0] <= latest
            and len(self.nodes) <= KNOWN_MAX
            and len(self.former) <= FORMER_MAX
            and all(len(store) <= MEMORY_MAX for store in memories)
            and all(
                node > 0 and 0 <= known.since <= latest and len(known.place) <= PLACE_MAX
                for node, known in self.nodes
            )
        )

    def without_memories(self) -> "Known":
        """The same for a node that is refused: it could speak for a memory that it only knows."""
        nodes = tuple((node, replace(known, store="")) for node, known in self.nodes)
        return replace(self, nodes=nodes, former=())


def spoken(
    known: Mapping[NodeId, Acquaintance], roll: Roster, by: Literal["list", "token"] = "list"
) -> dict[str, NodeId]:
    """The member that is spoken to by each name: one name is one address, so one at a time.

    Of several that have a name, it is the one on the latest list; of several on it, or none, the
    one that was proposed last.
    """
    listed = roll.everybody if by == "list" else ()
    ranked = sorted(known, key=lambda node: (node in listed, known[node].since, node))
    return {known[node].name: node for node in ranked}


# --- what nodes say to each other, and are asked ---

REMIND, PART = "remind", "part"


class Edition(Message):
    """This is my list of members, and these are the memories by which I know them: and you?"""

    edition: int


class Knock(Message):
    """Let me in: I am this member, at this address, and take you for that one; 0: I do not know."""

    cluster: str
    member: NodeId
    place: str
    store: str
    meant: NodeId


class Refusal(Message):
    """I do not let you in; these are the members by now, if you have missed something."""

    known: Known


class Caller(Value):
    """What a node says that wants to be let in, and what is known of its address."""

    cluster: str
    name: str
    member: NodeId
    store: str
    meant: NodeId = 0
    is_found: bool = False
    """Whether it is what answers at the address of a newcomer of that name."""
    is_older: bool = False
    """Whether it had saved more when it was seen here last: it was restored from a copy."""
    is_tied: bool = True
    """Whether a member of the cluster that this node takes for its own answers at its address."""


class Start(Request):
    """Your node was started: at this address, with this memory, and these others were named."""

    place: str
    store: str
    listed: Names
    founders: Ids
    cluster: str = ""
    """What nodes that are told of these founders have in common; empty if others have to say."""
    joins: bool = False
    founded: bool = False
    """Whether the cluster is founded already, as it is in a search."""


class Met(Request):
    """A node has connected, and was let in."""

    caller: Caller


class Refused(Request):
    """The node with this memory has refused this one, and has told which members it knows.

    That it has this memory was proved. What somebody else says that answers there is no request.
    """

    known: Known
    by: str


class Await(Request):
    """A newcomer should be at this address, or a member that has moved: let in what answers."""

    place: str


class AwaitNoMore(Request):
    """It has become a member by now, or will not."""

    place: str


class Propose(Request):
    """All others have to know this newcomer, and its address: it is about to be put on the list."""

    node: NodeId
    token: int


class Settle(Request):
    """Something that others rely on is about to be saved: from now on this is our cluster."""


class Establish(Request):
    """The cluster is founded: this is its id, and these are the memories of its founders."""

    foundation: Foundation


class GoBy(Request):
    """This is the list of members now."""

    roster: Roster


class Objection(StrEnum):
    """Why a node is refused."""

    FOREIGN = "foreign"  # it is of another cluster
    MISTAKEN = "mistaken"  # it takes me for one with another memory
    CLASH = "clash"  # it has the number of a member of another name
    ANOTHER = "another"  # it is not the memory that is known under its name
    OLDER = "older"  # it has that memory, and has forgotten some of what it had saved in it
    LOST = "lost"  # the same, and it has the number of the one that is


class AdmissionRules(Rules):
    """What may be varied. The defaults are the sound form."""

    remind: Span = 8 * T
    """How often a node has the others compare their list with its own."""
    patience: Span = 12 * T
    """How long a node is still spoken to, at least, after it has left."""
    knocks: Literal["said", "carried"] = "said"
    """Whether a node says itself who it is, or every connection does that for it."""
    numbers: Numbers = "plain"
    """What the number of a member is made of: the text of its memory, a founder's of its name, or a
    digest of it."""
    base: int = 0
    """How many of the first ids are founders; 0: all."""
    named: int = 0
    """The names of the other ids, one digit each: the name of a founder; 0: each by its id."""
    given: Literal["joins", "takes"] = "joins"
    """Whether a node that was given the name of a founder was told to join, or takes itself for the
    founder, as one does that has lost its folder."""
    admits: Literal["memory", "name"] = "memory"
    """What a node shows to be let in."""
    speaks: Literal["list", "token"] = "list"
    """Of several with one name, the one to which a node speaks: the one on the list, or the one
    that was proposed last."""
    former: Literal["kept", "forgotten"] = "kept"
    """What becomes of a founder's memory once the founder is known no more."""
    since: Literal["heeded", "ignored"] = "heeded"
    """Whether what is told of a member replaces what was known before it was proposed again."""
    editions: Literal["compared", "ignored"] = "compared"
    """Whether a node tells which members it knows to one that has another list."""


class AdmissionStable(Stable):
    """What survives a crash."""

    cluster: str
    founders: Ids = ()
    known: Acquaintances = ()
    roll: Roster = Roster()
    """The newest list that any node has told of."""
    former: Memories = ()
    listed: Names = ()
    """The addresses that the others were said to have when this node was started last."""
    settled: bool = False
    """Whether this node has a part in its cluster: before that it may join another one."""


class AdmissionState(State):
    """One node's part."""

    stable: AdmissionStable
    number: NodeId = 0
    """The member that it takes itself for."""
    awaited: Names = ()
    """The addresses at which newcomers are expected."""
    newcomers: tuple[tuple[str, NodeId], ...] = ()
    """The members that have answered there."""
    own: Roster = Roster()
    """The list that this node itself has saved."""
    enrolled: Roster = Roster()
    """The last list that was decided, as far as this node has noticed."""
    belongs: bool = False
    """Whether it has been a member in this life: one that is to join may know of earlier ones."""
    over: bool = False
    """Whether the others go on without this node."""
    alive: frozenset[NodeId] = frozenset()
    leaving: frozenset[tuple[NodeId, int]] = frozenset()
    """Known nodes that were no members, as they were proposed last, when `part` was set."""
    admitted: frozenset[NodeId] = frozenset()
    """Members that have knocked in this life, and were let in."""
    refusing: frozenset[NodeId] = frozenset()
    """Nodes that have refused this one."""
    speakers: tuple[tuple[str, NodeId], ...] = ()
    """The member that this node speaks to by each name, its own included."""

    @property
    def known(self) -> dict[NodeId, Acquaintance]:
        """Every member that this node knows, itself included."""
        return dict(self.stable.known)

    @property
    def others(self) -> tuple[NodeId, ...]:
        """The other members that this node speaks to."""
        return tuple(sorted(node for _, node in self.speakers if node != self.number))

    def memory(self, node: NodeId) -> str:
        """The memory of a member; empty if this node never heard of it."""
        known = self.known.get(node, UNKNOWN)
        return known.store or dict(self.stable.former).get(node, "")

    @property
    def places(self) -> dict[str, str]:
        """Where this node looks for each name, its own included."""
        known = self.known
        return {name: known[node].place for name, node in self.speakers} | dict(self.awaited)


class Admission(Machine[AdmissionState]):
    """Names, memories and admission."""

    state_type = AdmissionState
    stable_type = AdmissionStable
    rules_type = AdmissionRules
    rules: AdmissionRules
    messages = (Edition, Known, Knock, Refusal)
    requests = (Start, Met, Refused, Await, AwaitNoMore, Propose, Settle, GoBy, Establish)
    timers = (Timer(REMIND, periodic=True), Timer(PART))
    uses_views = True
    forms = {"application": AdmissionRules(Span(ticks=1000), knocks="carried", numbers="digests")}
    tells = frozenset({Topic.MEMORIES})
    promises = ("D1", "D2", "D3", "D4")

    def boot(self, me: NodeId, stable: Any) -> Result[AdmissionState]:
        s = AdmissionState(me, AdmissionStable("") if stable is None else stable, me)
        if not self.members.is_open:
            s = self._started(s, self._first(me))
        s = replace(s, speakers=self._spoken(s))
        return s, [self.set_timer(REMIND)]

    def step(self, s: AdmissionState, event: Event) -> Result[AdmissionState]:
        match event:
            case Received(j, _) if j not in self.members:
                return s, []
            case Received(j, Knock() as knock):
                taken = self._answer(s, j, knock)
            case Received(j, Refusal(known)):
                taken = self._turned_away(replace(s, refusing=s.refusing | {j}), known, str(j)), []
            case Received(j, _) if not self._hears(s, j):
                taken = s, self._refused(s, j)
            case Received(_, Known() as known):
                taken = self._learnt(s, known), []
            case Received(j, Edition(edition)):
                taken = self._compared(s, j, edition)
            case TimedOut(timer) if timer == REMIND:
                again = self.set_timer(REMIND)
                knocks = [knock for j in sorted(s.refusing) for knock in self._knock(s, j)]
                taken = replace(s, refusing=frozenset()), [again, *knocks, *self._told(s)]
            case TimedOut(timer) if timer == PART:
                taken = self._parted(s), []
            case Viewed(alive):
                told = self._told(s) if alive - s.alive else []
                knocks = [knock for j in sorted(alive - s.alive) for knock in self._knock(s, j)]
                taken = replace(s, alive=alive), [*knocks, *told]
            case Asked(request) if isinstance(request, self.requests):
                taken = self._obeyed(s, request)
            case _:
                return s, []
        return self._followed(s, *taken)

    def _obeyed(self, s: AdmissionState, request: Request) -> Result[AdmissionState]:
        known = s.known
        match request:
            case Start():
                return self._started(s, request), []
            case Met(caller) if self.objection(s, caller) is None:
                return self._met(s, caller), []
            case Refused(told, by):
                return self._turned_away(s, told, by), []
            case Await(place) if name_at(place) != known[s.number].name:
                awaited = dict(s.awaited) | {name_at(place): place}
                newcomers = (each for each in s.newcomers if each[0] != name_at(place))
                return replace(s, awaited=_pairs(awaited), newcomers=tuple(newcomers)), []
            case AwaitNoMore(place):
                return self._awaited_no_more(s, name_at(place)), []
            case Propose(node, token) if node in known:
                s = _with(s, known | {node: replace(known[node], since=token)})
                return s, [Send(j, self.told(s)) for j in s.others if j in self.members]
            case Settle() if s.stable.cluster and s.number not in s.stable.founders:
                return replace(s, stable=replace(s.stable, settled=True)), []
            case Establish(foundation) if s.number in s.stable.founders:
                return self._established(s, foundation), []
            case GoBy(roster):
                return self._gone_by(s, roster), []
        return s, []

    def view(self, s: AdmissionState) -> Standing:
        """The members that a node has met are its group, itself among them."""
        met = tuple(sorted(j for _, j in s.speakers if s.known.get(j, UNKNOWN).store))
        return Standing(Status.ELECTION if s.over else Status.NORMAL, group=met)

    def offers(self, state: AdmissionState, view: Standing) -> tuple[Request, ...]:
        """What a member is asked for to have another node admitted."""
        roster, known, newcomers = state.own, state.known, dict(state.newcomers)
        if state.number not in roster.new:
            return ()
        others = (node for node in self.members.ids if node not in roster.everybody)
        unmet = {*newcomers, known[state.number].name}
        new = [place for place in map(self._place, others) if name_at(place) not in unmet]
        token = roster.version[0] + 1
        proposed = (node for node in newcomers.values() if known[node].since < token)
        return (
            *(Await(place) for place in new if place not in dict(state.awaited).values()),
            *(Propose(node, token) for node in sorted(proposed)),
            *(AwaitNoMore(place) for _, place in state.awaited),
        )

    # --- what the driver of a deployed node asks ---

    def number(self, name: str, store: str = "") -> NodeId:
        """The number of a founder, or of one that has joined."""
        return number_of(name, store, self.rules.numbers)

    def introduction(self, s: AdmissionState, name: str) -> tuple[NodeId, NodeId]:
        """The member that this node is, and the one for which it takes another; 0 if not met."""
        other = dict(s.speakers).get(name)
        return s.number, other if other is not None and s.known.get(other, UNKNOWN).store else 0

    def objection(self, s: AdmissionState, caller: Caller) -> Objection | None:
        """Why a node is refused; None if it is let in."""
        name, member, speaker = caller.name, caller.member, dict(s.speakers).get(caller.name)
        if caller.is_older:
            return Objection.OLDER
        if caller.cluster and not self.is_ours(s, caller.cluster, tied=caller.is_tied):
            return Objection.FOREIGN
        if caller.meant not in (0, s.number):
            return Objection.MISTAKEN
        known = s.known.get(member)
        if known is not None and known.name != name:
            return Objection.CLASH
        if self.rules.admits == "name" and name in s.places:
            return None
        if name in dict(s.awaited) and speaker is None:
            return self._doubted(s, caller) if caller.is_found else Objection.ANOTHER
        if speaker == member:
            return self._doubted(s, caller)
        # One newcomer at a time: while one is dealt with, another has to wait.
        is_anybody = name in s.places and name not in dict(s.awaited)
        return None if is_anybody and not self._is_sure_of(s, speaker) else Objection.ANOTHER

    def is_ours(self, s: AdmissionState, cluster: str, *, tied: bool = True) -> bool:
        """Whether a node that says that it is of this cluster may be of the same as this one.

        Before a cluster is founded its nodes know only what they have in common, which its full id
        begins with. One that is to join goes where it is let in first; but as long as nothing is
        relied on, and nobody answers there, it is free to go elsewhere.
        """
        mine = s.stable.cluster
        if cluster == mine or not mine:
            return True
        if s.number not in s.stable.founders and not s.stable.settled:
            return not tied
        first, other = sorted((mine, cluster), key=len)
        return other.startswith(f"{first}.")

    def told(self, s: AdmissionState) -> Known:
        """All that another node may want to know."""
        unsure = {node for _, node in s.newcomers}
        nodes = tuple(
            (node, known) for node, known in s.stable.known if known.since or node not in unsure
        )
        return Known(s.stable.cluster, nodes, s.stable.roll, s.stable.former)

    def edition(self, s: AdmissionState) -> int:
        """This node's list of members, and the memory by which each is known."""
        known = s.known
        members = [(m, s.memory(m), known.get(m, UNKNOWN).since) for m in s.own.new]
        return zlib.crc32(msgspec.msgpack.encode((s.own, members)))

    def _doubted(self, s: AdmissionState, caller: Caller) -> Objection | None:
        """Whether it has the memory that is known. The number of one that has joined shows it."""
        is_founder = caller.member == self.number(caller.name)
        if not is_founder and caller.member != self.number(caller.name, caller.store):
            return Objection.ANOTHER
        # Until something is relied on it does not matter who says that it is a founder.
        is_known = s.memory(caller.member) in ("", caller.store) or not s.stable.settled
        return None if is_known else Objection.LOST

    def _is_sure_of(self, s: AdmissionState, speaker: NodeId | None) -> bool:
        """Whether no other node can be the one that speaks by that name.

        Of those that were only listed no more than the name is known, and one that is no member
        itself may have missed that others were replaced. Nobody gets a vote by that.
        """
        roll = s.stable.roll.everybody
        return s.number in roll and (speaker in roll or bool(s.memory(speaker or 0)))

    # --- how it began ---

    def _first(self, me: NodeId) -> Start:
        """How each node is started in a search."""
        founders = self.members.ids[: self.rules.base or None]
        place = self._place(me)
        named = me not in founders
        listed = {str(j): self._place(j) for j in founders if str(j) != name_at(place) or not named}
        start = Start(place, str(me), _pairs(listed), founders, "founders", founded=True)
        return replace(start, joins=named and self.rules.given == "joins")

    def _place(self, node: NodeId) -> str:
        """The address of a node in a search."""
        founders, names = self.members.ids[: self.rules.base or None], str(self.rules.named)
        later = [j for j in self.members.ids if j not in founders]
        is_named = node in later and self.rules.named
        return f"{names[later.index(node)] if is_named else node}@{node}"

    def _started(self, s: AdmissionState, start: Start) -> AdmissionState:
        """Go by what was saved; how the node was started counts only the first time.

        But a node that is said to be at another address than at the last start has moved.
        """
        kept, me = s.stable, name_at(start.place)
        if self.rules.given == "takes":
            s = replace(s, number=self.number(me))
        listed = dict(start.listed) | {me: start.place}
        founders = kept.founders if kept.settled else start.founders
        known = {self.number(name): Acquaintance(place) for name, place in listed.items()}
        if kept.settled:
            before, names = dict(kept.listed), {each.name for _, each in kept.known}
            known = {j: each for j, each in known.items() if each.name not in names}
            for node, each in kept.known:
                place = listed.get(each.name, each.place)
                has_moved = before.get(each.name, each.place) != place
                known[node] = replace(each, place=place) if has_moved else each
        else:
            roll = Roster() if start.joins else Roster(old=start.founders, new=start.founders)
            cluster = "" if start.joins else start.cluster
            settled = start.founded and not (kept.founders or start.joins)
            kept = AdmissionStable(cluster, founders, roll=roll, settled=settled)
            if s.number not in founders:
                # It has made no promise under its name, whatever else was called that has.
                known.pop(self.number(me), None)
        since = known.get(s.number, UNKNOWN).since
        known[s.number] = Acquaintance(start.place, start.store, since)
        kept = replace(kept, known=_pairs(known), founders=founders, listed=_pairs(listed))
        return replace(s, stable=kept, belongs=not start.joins)

    # --- who is let in ---

    def _answer(self, s: AdmissionState, j: NodeId, knock: Knock) -> Result[AdmissionState]:
        """Let in a node that knocks, or tell it what it may have missed."""
        name = name_at(knock.place)
        is_found = dict(s.awaited).get(name) == knock.place
        caller = Caller(knock.cluster, name, knock.member, knock.store, knock.meant, is_found)
        if self.objection(s, caller) is not None:
            return s, self._refused(s, j)
        s = replace(s, admitted=s.admitted | {knock.member})
        return self._met(s, caller), []

    def _hears(self, s: AdmissionState, j: NodeId) -> bool:
        """Whether a node is one that this one speaks to, and has let in."""
        return j in s.others and (self.rules.knocks == "carried" or j in s.admitted)

    def _refused(self, s: AdmissionState, j: NodeId) -> list[Effect]:
        if self.rules.knocks == "carried":
            return []
        return [Send(j, Refusal(self.told(s).without_memories()))]

    def _met(self, s: AdmissionState, caller: Caller) -> AdmissionState:
        """This is the member that is spoken to by that name from now on."""
        name, member, known = caller.name, caller.member, s.known
        speaker, place = dict(s.speakers).get(name), dict(s.awaited).get(name)
        before = known.get(member if speaker is None else speaker, UNKNOWN)
        if speaker not in (None, member):
            s = self._forgotten(s, (j for j, each in s.stable.known if each.name == name))
        if place is not None:
            s = replace(s, newcomers=_pairs(dict(s.newcomers) | {name: member}))
        if s.number not in s.stable.founders and not s.stable.settled:
            if caller.cluster and s.stable.cluster not in ("", caller.cluster):
                s = self._anew(s)
            s = replace(s, stable=replace(s.stable, cluster=caller.cluster or s.stable.cluster))
        met = replace(before, place=place or before.place, store=caller.store)
        return _with(s, s.known | {member: met})

    def _anew(self, s: AdmissionState) -> AdmissionState:
        """Forget the members of another cluster, which this node was about to join."""
        me = s.known[s.number]
        places = {self.number(name): Acquaintance(place) for name, place in s.stable.listed}
        others = {j: each for j, each in places.items() if each.name != me.name}
        s = replace(s, stable=replace(s.stable, roll=Roster(), former=()))
        return _with(s, others | {s.number: me})

    def _established(self, s: AdmissionState, foundation: Foundation) -> AdmissionState:
        """From now on founders are known by the memories that have given their word."""
        cluster = f"{s.stable.cluster}.{foundation.cluster}"
        if not foundation.cluster or s.stable.cluster.endswith(f".{foundation.cluster}"):
            return s
        memories = dict(foundation.memories)
        known = {j: replace(each, store=memories.get(j, each.store)) for j, each in s.stable.known}
        return _with(replace(s, stable=replace(s.stable, cluster=cluster, settled=True)), known)

    def _awaited_no_more(self, s: AdmissionState, name: str) -> AdmissionState:
        """It has become a member, or not: it is expected no more."""
        node = dict(s.newcomers).get(name)
        s = replace(
            s,
            awaited=tuple(each for each in s.awaited if each[0] != name),
            newcomers=tuple(each for each in s.newcomers if each[0] != name),
        )
        if node is None or node in s.own.everybody:
            return s
        return _with(s, {j: known for j, known in s.known.items() if j != node})

    def _forgotten(self, s: AdmissionState, nodes: Iterable[NodeId]) -> AdmissionState:
        """But not the memory of a founder: under its number no other memory may come back."""
        known, former = s.known, dict(s.stable.former)
        for node in {*nodes} & known.keys() - {s.number}:
            gone = known.pop(node)
            if gone.store and self.number(gone.name) == node and self.rules.former == "kept":
                former.setdefault(node, gone.store)
        return _with(replace(s, stable=replace(s.stable, former=_pairs(former))), known)

    # --- what others know ---

    def _is_ours(self, s: AdmissionState, told: Known) -> bool:
        """Whether a member of this node's cluster may say this."""
        newest = max(s.own, s.stable.roll, key=lambda roll: roll.version)
        return told.cluster == s.stable.cluster and told.is_sound(newest)

    def _turned_away(self, s: AdmissionState, told: Known, by: str) -> AdmissionState:
        """Another node has refused this one: something may have been missed.

        Only a memory that this node knows as that of a member is believed, and by which memories to
        know the others is not for it to say, for it has let in nobody. If both know that this node
        was removed in an earlier life, and it was not told to join again, that is why.
        """
        if by not in {each.store for node, each in s.stable.known if node != s.number} - {""}:
            return s
        told = told.without_memories()
        s = self._learnt(s, told)
        is_listed = s.number in {*s.own.everybody, *told.roll.everybody}
        if not (s.own.is_fixed or is_listed) and self._is_ours(s, told):
            return replace(s, over=s.over or (s.belongs and not s.own.is_newer(told.roll)))
        return s

    def _learnt(self, s: AdmissionState, told: Known) -> AdmissionState:
        """Another node tells which members it knows."""
        if not self._is_ours(s, told):
            return s
        roll = told.roll if told.roll.replaces(s.stable.roll) else s.stable.roll
        former = _pairs(dict(told.former) | dict(s.stable.former))
        s = replace(s, stable=replace(s.stable, roll=roll, former=former))
        for node, known in told.nodes:
            s = self._learnt_of(s, node, known)
        return s if s.own.is_fixed else self._enrolled(s)

    def _learnt_of(self, s: AdmissionState, node: NodeId, told: Acquaintance) -> AdmissionState:
        known, mine = s.known, s.known.get(node)
        if mine is None:
            # What is on no list any more, and about to be on none, is better forgotten.
            listed = {*s.stable.roll.everybody, *s.own.everybody}
            if node not in listed and told.since <= s.own.version[0]:
                return s
            known[node] = replace(told, store=s.memory(node) or told.store)
        elif told.since > mine.since and self.rules.since == "heeded":
            place = mine.place if node == s.number else told.place
            known[node] = Acquaintance(place, mine.store or told.store, told.since)
        elif told.since == mine.since and not mine.store:
            known[node] = replace(mine, store=s.memory(node) or told.store)
        return _with(s, known)

    def _compared(self, s: AdmissionState, j: NodeId, edition: int) -> Result[AdmissionState]:
        """Tell a node that has another list which members I know: news may have been lost."""
        if edition != self.edition(s):
            return s, [Send(j, self.told(s))] if self.rules.editions == "compared" else []
        return replace(s, belongs=s.belongs or s.number in s.own.new), []

    def _told(self, s: AdmissionState) -> list[Effect]:
        """Have all others compare their list of members with mine."""
        if s.own.is_fixed:
            return []
        edition = Edition(self.edition(s))
        return [Send(j, edition) for j in s.others if j in self.members]

    # --- the list ---

    def _gone_by(self, s: AdmissionState, roster: Roster) -> AdmissionState:
        """Go by the list that this node itself has saved."""
        stable = s.stable
        if stable.cluster and s.number in roster.everybody:
            stable = replace(stable, settled=True)
        if roster.replaces(stable.roll):
            stable = replace(stable, roll=roster)
        return self._enrolled(replace(s, own=roster, stable=stable))

    def _enrolled(self, s: AdmissionState) -> AdmissionState:
        """See whether the members have changed, and whether they go on without me."""
        was_member, roster, roll = s.number in {*s.own.new, *s.enrolled.new}, s.own, s.stable.roll
        if roll.is_newer(roster) and not roll.is_pending and s.number not in roll.new:
            roster = roll  # It was decided while this node was away, so it is let in nowhere.
        if roster.is_pending or roster.new == s.enrolled.new:
            return s
        is_member, is_first = s.number in roster.new, not s.enrolled.new
        over = not is_member and (s.over or (s.belongs and was_member))
        belongs = s.belongs or (is_member and not is_first)
        return replace(s, enrolled=roster, over=over, belongs=belongs)

    def _leavers(self, s: AdmissionState) -> frozenset[tuple[NodeId, int]]:
        """Known nodes that are no members, as they were proposed last."""
        if s.number not in s.own.everybody:
            return frozenset()
        staying = {s.number, *s.own.everybody, *(node for _, node in s.newcomers)}
        return frozenset((j, each.since) for j, each in s.stable.known if j not in staying)

    def _parted(self, s: AdmissionState) -> AdmissionState:
        """Forget those that have left.

        Before that one may still want to say that its work has ended.
        """
        gone = s.leaving & self._leavers(s)
        return replace(self._forgotten(s, (node for node, _ in gone)), leaving=frozenset())

    # --- what follows ---

    def _spoken(self, s: AdmissionState) -> tuple[tuple[str, NodeId], ...]:
        """The member that is spoken to by each name: the one that is listed, or a newcomer."""
        known, newcomers = s.known, dict(s.newcomers)
        found = spoken(known, s.stable.roll, self.rules.speaks) | newcomers
        if s.number in known:
            found[known[s.number].name] = s.number
        awaited = dict(s.awaited).keys() - newcomers.keys()
        return _pairs({name: node for name, node in found.items() if name not in awaited})

    def _followed(
        self, before: AdmissionState, s: AdmissionState, effects: list[Effect]
    ) -> Result[AdmissionState]:
        """After every event: see which members to speak to, and which have left."""
        s = replace(s, speakers=self._spoken(s))
        leaving = self._leavers(s)
        if leaving and not s.leaving:
            s = replace(s, leaving=leaving)
            effects = [*effects, self.set_timer(PART, self.rules.patience)]
        elif s.leaving and not leaving:
            s = replace(s, leaving=leaving)
            effects = [*effects, CancelTimer(PART)]
        places = before.places
        moved = (
            place
            for name, place in s.places.items()
            if places.get(name) != place
            or self.introduction(before, name)[1] not in (0, self.introduction(s, name)[1])
        )
        knocks = [knock for place in moved for knock in self._knock_at(s, place)]
        return s, [*effects, *knocks]

    def _knock(self, s: AdmissionState, j: NodeId) -> list[Effect]:
        """Ask a node to let me in, if I look for a member at its address."""
        places = s.places.values() if self.rules.knocks == "said" else ()
        return [each for place in places for each in self._knock_at(s, place) if each.to == j]

    def _knock_at(self, s: AdmissionState, place: str) -> list[Send]:
        if self.rules.knocks == "carried" or s.number not in s.known:
            return []
        name, _, address = place.rpartition("@")
        there = number_of(address, "", "plain")
        if there == s.me or there not in self.members:
            return []
        me, meant = self.introduction(s, name)
        mine = s.known[me]
        return [Send(there, Knock(s.stable.cluster, me, mine.place, mine.store, meant))]


class Change(Request):
    """Have this node be a member from now on, or not."""

    node: NodeId
    belongs: bool


class ToldListStable(Stable):
    """The list."""

    roster: Roster


class ToldListState(State):
    """One node's part."""

    stable: ToldListStable


class ToldListRules(Rules):
    """The members of the list."""

    base: int = 0
    """How many of the first ids are members to begin with; 0: all."""


class ToldList(Machine[ToldListState]):
    """A list of members that one node changes when it is asked to, and shows to all others.

    It stands for any register: to others at a node it matters only that all see one list after the
    other, each at its own time.
    """

    state_type = ToldListState
    stable_type = ToldListStable
    rules_type = ToldListRules
    rules: ToldListRules
    messages = (Listed,)
    requests = (Change,)
    outputs = {"roster": "roster"}

    def boot(self, me: NodeId, stable: Any) -> Result[ToldListState]:
        first = self.members.ids[: self.rules.base or None]
        return ToldListState(me, stable or ToldListStable(Roster(old=first, new=first))), []

    def step(self, s: ToldListState, event: Event) -> Result[ToldListState]:
        roster = s.stable.roster
        match event:
            case Received(_, Listed(newer)) if newer.is_newer(roster):
                return replace(s, stable=ToldListStable(newer)), []
            case Asked(Change(node, belongs)) if (node in roster.new) is not belongs:
                new = {*roster.new, node} if belongs else {*roster.new} - {node}
                roster = roster.changed((roster.version[0] + 1, 1), new).decided()
                told = [Send(j, Listed(roster)) for j in self.members.ids if j != s.me]
                return replace(s, stable=ToldListStable(roster)), [*told]
        return s, []

    def view(self, s: ToldListState) -> Standing:
        return Standing(Status.NORMAL)

    def offers(self, state: ToldListState, view: Standing) -> tuple[Request, ...]:
        members, (first, *others) = state.stable.roster.new, self.members.ids
        return tuple(Change(j, j not in members) for j in others) if state.me == first else ()


TO_ADMISSION = Wire("founding", "foundation", "directory", Establish)
"""What it is told once the cluster is founded."""
TO_DIRECTORY = Wire("members", "roster", "directory", GoBy)
"""What admission relies on: the list of members."""


class Replacement(Ensemble):
    """Admission at nodes that are told the list of members."""

    parts = {"members": Part(ToldList), "directory": Part(Admission)}
    wires = (TO_DIRECTORY,)
    focus = "directory"
    promises = Admission.promises
    assumptions = Admission.assumptions

    def offers(self, state: Any, view: Standing) -> tuple[Request, ...]:
        """Applications put no node on the list that they have not proposed, and no name twice."""
        known, roster = state.directory.known, state.members.stable.roster
        token, names = roster.version[0] + 1, {known[j].name for j in roster.new if j in known}
        may_join = {
            j for j, each in known.items() if each.since == token and each.name not in names
        }
        return tuple(each for each in super().offers(state, view) if _joining(each) <= may_join)


def _joining(request: Any) -> frozenset[NodeId]:
    """The node that becomes a member by this request, if any does."""
    change = getattr(request, "request", None)
    if isinstance(change, Change) and change.belongs:
        return frozenset({change.node})
    return frozenset()


def _pairs(mapping: Any) -> tuple[Any, ...]:
    """A mapping as a value that can be saved and compared."""
    return tuple(sorted(mapping.items()))


def _with(s: AdmissionState, known: dict[NodeId, Acquaintance]) -> AdmissionState:
    """The same with these acquaintances."""
    return replace(s, stable=replace(s.stable, known=_pairs(known)))
