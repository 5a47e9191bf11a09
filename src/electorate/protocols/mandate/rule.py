"""The rules of a mandate, and what follows from them for given members and timing."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from msgspec.structs import replace

from electorate.core import Members, Message, NodeId, OverRules, P, Send, SetTimer, Span, T, Timing
from electorate.protocols.mandate.state import TOKEN_MAX, AnyState, Roster, Wait


class MandateRules(OverRules):
    """What may be varied. The defaults are the sound form."""

    lease: Span = 8 * T + 6 * P
    """How long a term lasts from when it was last asked for."""
    granted: Span = 9 * T + 6 * P
    """How long a node is bound from when it granted."""
    period: Span = 3 * T + 2 * P
    """How often a holder asks for more time."""
    answer: Span = 3 * T + 2 * P
    """How long a node waits for answers."""
    retry: Span = Span(ticks=1)
    """How long a node waits before it asks again."""
    stagger: Span = 7 * T + 6 * P
    """How much longer a node waits after a failed claim for every node that is stronger."""
    jitter: Span = 0 * T
    """How much longer still, by lot. In place of a stagger it is not enough."""
    grace: Span = 4 * T
    """How long the work may take to end."""
    preempt_delay: Span = 20 * T
    """How long a node follows a holder of a lower priority before it asks for the office."""
    candidates: Literal["fixed", "told"] = "fixed"
    """Which priority nodes stand with: each its attribute for ever, or what its application asks
    for by `Stand`, which nodes tell each other. Then the attribute is what it asks for at each
    boot."""
    first: int = 0
    """The priority with which every node stands when it boots, if none has an attribute."""
    hear: Span = 2 * T + 2 * P
    """How long a new candidate waits for the others to tell whether they stand."""
    awaited: Literal["asked", "believed"] = "asked"
    """Whether a node that waits for another to claim asks whether that one still stands."""
    wished: Literal["told", "known"] = "told"
    """Which priority a holder compares with its own when another wishes for the office: the one in
    the wish, or what it knew before."""
    refusal: Literal["told", "untold"] = "told"
    """Whether a holder that refuses a wish says with which priority it stands."""
    orders: Literal["none", "members", "late"] = "none"
    """Whether any member may be asked to have the one in office step down or hand over: no; yes,
    and such an order ends only the term that it means; yes, and it ends the term that it meets."""
    confirms: Literal["taken", "offered"] = "taken"
    """Whether searches ask a holder to confirm its term. Whenever it is asked to, it renews it."""
    claimed: Literal["told", "untold"] = "told"
    """Whether voters note the priority with which a claim is made or renewed: they may have missed
    that its sender has lowered it, and one that should take over would never ask."""
    constants: Literal["sound", "any"] = "sound"
    """Whether leases and periods that cannot work are refused."""
    rounds: int = 0
    """How many numbers rounds have before they begin again; 0: they never do."""
    durable: Literal["yes", "no"] = "yes"
    """Whether a promise survives a crash."""
    epoch: Literal["raise", "keep"] = "raise"
    """Whether a node that has claimed before claims a new epoch."""
    boot: Literal["bound", "free"] = "bound"
    """Whether a node that boots with a promise to another holds itself bound."""
    yields: Literal["held", "blindly", "never", "any"] = "held"
    """The nodes to which a free node grants an epoch that it has promised to another, or a higher
    one: to the one in office with it; the same, even to change the members and by a claim from
    before its present term; to nobody; that one to anybody. With `held`, a node that has claimed in
    vain, and its voters, come to know the one in office."""
    grants: Literal["free", "always"] = "free"
    """Whether a node that is bound refuses others."""
    release: Literal["ended", "asked"] = "ended"
    """When a holder that steps down says that its term is over: once it is, or at once."""
    count: Literal["request", "reply"] = "request"
    """From when a lease counts: from the asking, or from the answer."""
    poll: Literal["ask", "skip"] = "ask"
    """Whether a node asks which nodes are free before it claims."""
    silence: Literal["told", "untold", "never"] = "told"
    """Whether a node without a majority leaves the election inside, and says so."""
    base: int = 0
    """How many of the first ids are members to begin with; 0: all are, and nothing changes that. A
    node that boots with a list uses that one, however many are in it."""
    begins: Literal["founded", "unfounded"] = "founded"
    """Whether a node that boots for the first time has a list of members, if any has: without one
    it neither votes nor stands until it is told by `Found`."""
    next_change: Literal["decided", "any"] = "decided"
    """When the next change of members may be proposed: once the last one is decided, or before."""
    pending: Literal["both", "new"] = "both"
    """Which lists must give a majority while a change is undecided."""
    changes: Literal["own", "told"] = "own"
    """Who changes the list: the holder of this office, or somebody else, who tells by `Adopt`."""
    per_term: int = 0
    """How many changes a holder may propose, one that it has to finish included; 0: any number."""
    settle: Span = 0 * T
    """How long a holder has been in office before it proposes a change; 0: it need not wait."""
    leap: int = 0
    """How many tokens of the register a node may have missed at once; 0: any number. What is
    further ahead no working node has said: if it were believed, numbers would be used up."""
    era: int = 0
    """Claims are above the token of the node that proposed the list, times this."""


BRIEF = MandateRules(
    lease=Span(ticks=2),
    granted=Span(ticks=2),
    period=Span(ticks=1),
    answer=Span(ticks=1),
    retry=Span(ticks=1),
    stagger=Span(ticks=0),
    grace=Span(ticks=1),
    constants="any",
    poll="skip",
)
"""As short as terms can be, and a node that is named claims at once: all that is safe is so with
these. Where messages may take any time nothing else depends on T. An office is not to be expected
of them."""

ERA, LEAP = 10**9, 1_000_000

APPLICATION = MandateRules(
    candidates="told", orders="members", base=64, changes="told", leap=LEAP, era=ERA
)
"""What the nodes of applications run, over `StrongestAlive`. Of those that stand one of the highest
priority is named, and a holder of the office keeps it. The members are those of another office, the
register of the node."""

REGISTER = replace(
    APPLICATION, orders="none", changes="own", per_term=1, settle=APPLICATION.granted, era=0
)
"""The office whose holder changes the members of all others, once in a term. It waits first until
every lease has run out that was granted under a list that the last change has replaced."""


LENGTHS = {
    Wait.ANSWER: "answer",
    Wait.RETRY: "retry",
    Wait.RENEW: "period",
    Wait.EVEN: "lease",
    Wait.ODD: "lease",
    Wait.GRANTED: "granted",
    Wait.GRACE: "grace",
    Wait.PREEMPT: "preempt_delay",
    Wait.SETTLE: "settle",
    Wait.SHOW: "granted",
    Wait.HEAR: "hear",
}
"""The rule that gives each timer its length."""


class Parameters(NamedTuple):
    """The parameters of the offices that are granted here."""

    members: Members
    timing: Timing
    rules: MandateRules
    settings: Mapping[Wait, SetTimer]
    """Each timer, set to the length that its rule gives it."""

    @classmethod
    def of(cls, members: Members, timing: Timing, rules: MandateRules) -> "Parameters":
        """The parameters that follow from rules."""
        spans: dict[Wait, Span] = {wait: getattr(rules, name) for wait, name in LENGTHS.items()}
        settings = {wait: SetTimer(wait, span.of(timing)) for wait, span in spans.items()}
        return cls(members, timing, rules, settings)

    def first_roster(self) -> Roster:
        """The list of members to begin with."""
        first = self.members.ids[: self.rules.base] if self.rules.begins == "founded" else ()
        return Roster(old=first, new=first)

    @property
    def binds(self) -> int:
        """How long a promise binds that is made now."""
        return self.rules.granted.of(self.timing)

    def voters(self, s: AnyState) -> tuple[NodeId, ...]:
        """The members, as far as this node knows."""
        roster = s.stable.roster
        if roster.is_fixed and not self.rules.base:
            return self.members.ids
        return tuple(j for j in roster.everybody if j in self.members)

    def majority(self, s: AnyState, nodes: frozenset[NodeId]) -> bool:
        """Whether these are more than half of the members, and of those before if need be."""
        roster = s.stable.roster
        if roster.is_fixed and not self.rules.base:
            return 2 * len(nodes) > len(self.members.ids) > 0
        return roster.agreed(nodes, self.rules.pending)

    def has_members(self, s: AnyState) -> bool:
        """Whether this node knows of any list of members: before that it votes for nobody."""
        return not (self.rules.base and s.stable.roster.is_fixed)

    def is_credible(self, s: AnyState, message: Message) -> bool:
        """Whether a node that works can have sent this, as far as its numbers show."""
        leap = self.rules.leap
        if not leap:
            return True
        roster, epoch = getattr(message, "roster", UNLISTED), getattr(message, "epoch", 0)
        highest, latest = s.stable.promise.highest, s.stable.roster.version[0]
        if s.stable.roster.is_fixed:
            latest = TOKEN_MAX // ERA - leap  # It is to join, and knows of no list yet.
        elif not self.rules.era:
            latest = max(latest, highest)
        if not roster.is_sound or roster.version[0] > latest + leap:
            return False
        newest = max(latest, roster.version[0]) + leap
        return bool(epoch <= max(highest, newest * (self.rules.era or 1)))

    def waits_to_change(self) -> bool:
        """Whether a holder changes the members only after it has been in office for a while."""
        return self.rules.changes == "own" and self.rules.settle.of(self.timing) > 0

    def to_others(self, s: AnyState, message: Message) -> list[Send]:
        """The message to every other member."""
        return [Send(j, message) for j in self.voters(s) if j != s.me]

    def set(self, wait: Wait) -> SetTimer:
        """Set a timer to the length that its rule gives it."""
        return self.settings[wait]

    def settle(self, s: AnyState) -> SetTimer:
        """Wait until no lease of the list before is left, also of those granted for longer.

        Nodes that have begun to use shorter leases may know nothing of one that another node has
        under the old ones. But more than half of the members of then have restarted since it was
        granted, and one of those is among the voters of this office.
        """
        longer = s.stable.granted if s.stable.granted > self.binds else 0
        return SetTimer(Wait.SETTLE, max(self.rules.settle.of(self.timing), longer))

    def outlasted(self, s: AnyState) -> AnyState:
        """What was granted before this node used its present leases has run out."""
        if s.stable.granted == self.binds:
            return s
        return replace(s, stable=replace(s.stable, granted=self.binds))

    def back_off(self, s: AnyState) -> SetTimer:
        """Ask again later: the weaker, the later, so that two that collide do so only once."""
        lowest = self.members.strongest == "lowest"
        stronger = sum(j < s.me if lowest else j > s.me for j in self.voters(s))
        span = self.rules.retry + stronger * self.rules.stagger
        return SetTimer(Wait.RETRY, span.of(self.timing), self.rules.jitter.of(self.timing))

    @property
    def tells(self) -> bool:
        """Whether nodes tell each other that they stand."""
        return self.rules.candidates == "told"

    def priority(self, s: AnyState, node: NodeId) -> int:
        """The higher, the more it should lead; all are equal if none has an attribute."""
        if self.tells:
            return next((priority for j, priority in s.ranks if j == node), 0)
        return self.members.attribute(node)

    def is_witness(self, s: AnyState, node: NodeId) -> bool:
        """Whether a node only votes: it does not stand, or has priority 0 where others have one."""
        ranked = self.tells or any(self.members.attributes)
        return ranked and not self.priority(s, node)

    def preempts(self, s: AnyState, me: NodeId, holder: NodeId) -> bool:
        """Whether a node should lead rather than this holder."""
        return self.priority(s, me) > self.priority(s, holder)

    def expect_sound(self) -> None:
        """Raise a ValueError if these lengths could cost the safety of offices, or every office."""
        rules, timing = self.rules, self.timing
        lasts = {name: timing.lasts(getattr(rules, name).of(timing)) for name in CLOCKED}
        way = 2 * (timing.T + timing.P)
        drift = f" with drift {timing.drift:g}" if timing.drift else ""
        if lasts["lease"][1] > lasts["granted"][0]:
            raise ValueError(
                f"two nodes could be in office at once: lease={rules.lease} may take "
                f"{lasts['lease'][1]}{drift}, but granted={rules.granted} may end after "
                f"{lasts['granted'][0]}"
            )
        if self.waits_to_change() and lasts["lease"][1] > lasts["settle"][0]:
            raise ValueError(
                f"members could change while a lease of the list before the last still runs: "
                f"lease={rules.lease} may take {lasts['lease'][1]}{drift}, but "
                f"settle={rules.settle} may end after {lasts['settle'][0]}"
            )
        for name in ("period", "answer"):
            if lasts[name][0] < way:
                raise ValueError(
                    f"answers could come too late: they take up to 2T+2P = {way}, but "
                    f"{name}={getattr(rules, name)} may end after {lasts[name][0]}{drift}"
                )
        apart = 3 * (timing.T + timing.P) + lasts["answer"][1]
        if lasts["stagger"][0] < apart:
            raise ValueError(
                f"two claims could fail again and again: they must be 3T+3P+answer = {apart}"
                f"{drift} apart, but stagger={rules.stagger} may be {lasts['stagger'][0]}"
            )
        needed = 2 * way + lasts["period"][1]
        if lasts["lease"][0] <= needed:
            raise ValueError(
                f"a term could end before it is renewed: that takes up to 2(2T+2P)+period = "
                f"{needed}{drift}, but lease={rules.lease} may end after {lasts['lease'][0]}"
            )


UNLISTED = Roster()
CLOCKED = ("lease", "granted", "period", "answer", "stagger", "settle")
