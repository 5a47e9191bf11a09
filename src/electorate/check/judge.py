"""Claims and facts, judged on what can be seen and remembered: millions of rows share a few."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from electorate.check.column import Row as Codes
from electorate.check.compiler import ACHIEVED_FACT, REACTED_FACT, SPENT_FACTS, TORN_FACT
from electorate.check.interned import ELECTED
from electorate.check.model import BUDGETS
from electorate.check.space import StateSpace
from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.core import Status
from electorate.trace import Start

SAYS_NOTHING = "the search says nothing"
"""How the reason begins for which a claim that was broken nowhere is not said to hold."""

OVERLAPPED = "two elections overlapped"
BOTH_LED = "two nodes led at once"
TORN = "a crash hit in the middle of a broadcast"

UNSPENT = {
    "crashes": "nobody who may crash was up",
    "recoveries": "nobody was down",
    "losses": "no message was on its way to a live node",
    "doubles": "no message was on its way to a live node",
    "lies": "there was no failure detector to lie",
    "pauses": "nobody was up",
    "cuts": "there was no link to cut",
    "heals": "no link was cut",
    "asks": "there was nothing to ask for",
}
"""Why no run could spend a budget."""

Failures = tuple[tuple[Claim, Witness], ...]


class Judgement(NamedTuple):
    """What is to be said of one observation."""

    broken: Failures
    lacking: Failures
    """The goals that are not reached, and what is missing."""
    overlaps: bool
    led: bool
    """Whether somebody leads."""
    met: frozenset[str]
    """The claims that say something of this observation."""


class Judge:
    """Judges rows by the claims that were asked for."""

    def __init__(self, space: StateSpace, claims: Sequence[Claim]) -> None:
        self._space = space
        self._claims = claims
        self._met: set[str] = {claim.name for claim in claims if claim.premise is None}
        self._always = [claim for claim in claims if claim.kind is Kind.ALWAYS]
        self._goals = [claim for claim in claims if claim.kind is Kind.GOAL]
        self.steps = [claim for claim in claims if claim.kind is Kind.STEP]
        self._known: dict[tuple[int, ...], Judgement] = {}
        self._pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], Failures] = {}
        self._for = space.achievement
        self.achievement = self._for.text
        self._overlap = OVERLAPPED if self._for is ELECTED else BOTH_LED
        torn = (TORN,) if space.model.first_budget().crashes else ()
        self.sometimes = dict.fromkeys((self.achievement, self._overlap, *torn), False)
        self.spent: set[str] = set()
        """The budgets of which some run spent something."""
        self.reacted = space.model.setting.start is Start.BOOT
        """Whether some node took an event."""
        self._led = False

    def of(self, codes: Codes) -> Judgement:
        """The judgement of a row of codes."""
        key = self._space.shown(codes)
        known = self._known.get(key)
        if known is None:
            observation = self._space.observations.key(codes)
            known = self._known[key] = self._judge(observation, self._space.columns.memory(codes))
        return known

    def _judge(self, observation: tuple[int, ...], memory: int | None) -> Judgement:
        row = self._space.observations.row(observation)

        def failing(claims: Iterable[Claim]) -> Failures:
            judged = ((c, c.judge(row, *self._remembered(c, memory))) for c in claims)
            return tuple((claim, witness) for claim, witness in judged if witness is not None)

        led = any(view.leader == node for node, view in row.live())
        met = frozenset(c.name for c in self._claims if c.premise is not None and c.premise(row))
        return Judgement(failing(self._always), failing(self._goals), self._overlaps(row), led, met)

    def _overlaps(self, row: Row) -> bool:
        """Whether two nodes are in an election at once; over an election, whether two lead."""
        if self._overlap == BOTH_LED:
            return sum(view.leader == node for node, view in row.live()) > 1
        return sum(view.status is Status.ELECTION for _, view in row.live()) > 1

    def _remembered(self, claim: Claim, memory: int | None) -> tuple[object, ...]:
        recall = self._space.recall
        if claim.fold is None or recall is None or memory is None:
            return ()
        return (recall.of(claim.name, memory),)

    def of_step(self, before: Codes, after: Codes) -> Failures:
        """The claims about two rows that this move breaks."""
        observations = self._space.observations
        key = (observations.key(before), observations.key(after))
        known = self._pairs.get(key)
        if known is None:
            rows = (observations.row(key[0]), observations.row(key[1]))
            judged = ((claim, claim.judge(*rows)) for claim in self.steps)
            known = tuple((claim, witness) for claim, witness in judged if witness is not None)
            self._pairs[key] = known
        return known

    def note_observation(self, judgement: Judgement) -> None:
        """Take down what an observation shows to be possible."""
        self.sometimes[self._overlap] |= judgement.overlaps
        self._led |= judgement.led
        self._met |= judgement.met

    def note(self, facts: int) -> None:
        """Take down what moves showed to be possible."""
        self.sometimes[self.achievement] |= bool(facts & ACHIEVED_FACT)
        if facts & TORN_FACT:
            self.sometimes[TORN] = True
        self.reacted |= bool(facts & REACTED_FACT)
        self.spent.update(kind for kind, fact in SPENT_FACTS.items() if facts & fact)

    def go_on_from(self, first: "Judge") -> None:
        """Take over what happened in the search that found where runs may begin."""
        self.spent |= first.spent
        self.reacted |= first.reacted

    def vacuous(self) -> str | None:
        """What should have happened somewhere in this search, and never did."""
        if not self.reacted:
            return "no node ever had anything to do (--from boot, or other faults)"
        if self._spendable() and not self.spent:
            return "none of the faults that a run may spend could happen"
        achieved = self._led if self._for is ELECTED else self.sometimes[self.achievement]
        return None if achieved else self._for.never

    def empty(self) -> dict[str, str]:
        """The claims of whose premise no row showed anything, and what none showed."""
        idle = (c for c in self._claims if c.premise is not None and c.name not in self._met)
        return {claim.name: claim.premise.text for claim in idle if claim.premise is not None}

    def unspent(self) -> tuple[str, ...]:
        """The budgets of which no run could spend anything, and why."""
        budget = self._space.model.first_budget()
        idle = (kind for kind in self._spendable() if kind not in self.spent)
        return tuple(f"{budget.text(kind)}: {UNSPENT[kind]}" for kind in idle)

    def _spendable(self) -> list[str]:
        """The budgets that a run may spend; where it may begin anywhere, they led to there."""
        model = self._space.model
        budget = model.last_budget() if model.begins_anywhere else model.first_budget()
        return [kind for kind in BUDGETS if getattr(budget, kind)]


def lack_of(space: StateSpace, row: Codes) -> str | None:
    """The first goal that a row lacks, of those asked for or promised for such a network."""
    promised = space.machine.promises if space.model.setting.is_complete else ()
    known = (CLAIMS[name] for name in promised if name in CLAIMS)
    # What a claim remembers is kept only for those that were asked for.
    goals = [claim for claim in known if claim.kind is Kind.GOAL and claim.fold is None]
    claims = {claim.name: claim for claim in (*goals, *space.claims)}
    lacking = Judge(space, list(claims.values())).of(row).lacking
    return lacking[0][0].name if lacking else None
