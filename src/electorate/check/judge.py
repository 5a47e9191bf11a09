"""Claims and facts, judged on what can be seen and remembered: millions of rows share a few."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from electorate.check.column import Row as Codes
from electorate.check.world import Move, World
from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.core import Status
from electorate.core.transaction import Transaction

ELECTED = "a leader was elected"
DECIDED = "a transaction was decided"
OVERLAPPED = "two elections overlapped"
BOTH_LED = "two nodes led at once"
TORN = "a crash hit in the middle of a broadcast"

Failures = tuple[tuple[Claim, Witness], ...]


class Judgement(NamedTuple):
    """What is to be said of one scene."""

    broken: Failures
    lacking: Failures
    """The goals that are not reached, and what is missing."""
    overlaps: bool


class Judge:
    """Judges rows by the claims that were asked for."""

    def __init__(self, world: World, claims: Sequence[Claim]) -> None:
        self._world = world
        self._always = [claim for claim in claims if claim.kind is Kind.ALWAYS]
        self._goals = [claim for claim in claims if claim.kind is Kind.GOAL]
        self.steps = [claim for claim in claims if claim.kind is Kind.STEP]
        self._known: dict[tuple[int, ...], Judgement] = {}
        self._pairs: dict[tuple[tuple[int, ...], tuple[int, ...]], Failures] = {}
        decides = isinstance(world.machine, Transaction)
        self.achievement = DECIDED if decides else ELECTED
        self._overlap = BOTH_LED if decides else OVERLAPPED
        self.sometimes = dict.fromkeys((self.achievement, self._overlap, TORN), False)

    def of(self, codes: Codes) -> Judgement:
        """The judgement of a row of codes."""
        scene = self._world.scenes.key(codes)
        memory = self._world.memory(codes)
        key = scene if memory is None else (*scene, memory)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._judge(scene, memory)
        return known

    def _judge(self, scene: tuple[int, ...], memory: int | None) -> Judgement:
        row = self._world.scenes.row(scene)

        def failing(claims: Iterable[Claim]) -> Failures:
            judged = ((c, c.judge(row, *self._remembered(c, memory))) for c in claims)
            return tuple((claim, witness) for claim, witness in judged if witness is not None)

        return Judgement(failing(self._always), failing(self._goals), self._overlaps(row))

    def _overlaps(self, row: Row) -> bool:
        """Whether two nodes are in an election at once; with transactions, whether two lead."""
        if self._overlap == BOTH_LED:
            return sum(view.leader == node for node, view in row.live()) > 1
        return sum(view.status is Status.ELECTION for _, view in row.live()) > 1

    def _remembered(self, claim: Claim, memory: int | None) -> tuple[object, ...]:
        recall = self._world.recall
        if claim.fold is None or recall is None or memory is None:
            return ()
        return (recall.of(claim.name, memory),)

    def of_step(self, before: Codes, after: Codes) -> Failures:
        """The claims about two rows that this move breaks."""
        scenes = self._world.scenes
        key = (scenes.key(before), scenes.key(after))
        known = self._pairs.get(key)
        if known is None:
            rows = (scenes.row(key[0]), scenes.row(key[1]))
            judged = ((claim, claim.judge(*rows)) for claim in self.steps)
            known = tuple((claim, witness) for claim, witness in judged if witness is not None)
            self._pairs[key] = known
        return known

    def sometimes_overlapped(self, judgement: Judgement) -> None:
        """Take down whether a scene shows two elections at once."""
        self.sometimes[self._overlap] |= judgement.overlaps

    def note(self, before: Codes, move: Move, after: Codes) -> None:
        """Take down what this move shows to be possible."""
        if not self.sometimes[TORN] and move.torn is not None:
            self.sometimes[TORN] = move.torn.partial
        if not self.sometimes[self.achievement]:
            cards = self._world.locals.cards
            ids = self._world.ids
            for place, node in enumerate(ids):
                old, new = cards[before[place]], cards[after[place]]
                if new.achieves(node) and not old.achieves(node):
                    self.sometimes[self.achievement] = True

    def vacuous(self) -> str | None:
        """What should have happened somewhere in this search, and never did."""
        model = self._world.model
        budget = model.first_budget()
        if self.achievement == DECIDED:
            idle = budget.asks > 0 and not self.sometimes[DECIDED]
            return "the search says nothing: not once was a transaction decided" if idle else None
        stirred = (
            model.setting.start == "boot"
            or (budget.crashes > 0 and self._world.machine.uses_views)
            or budget.recoveries * budget.crashes > 0
            or (budget.lies > 0 and self._world.machine.uses_views)
        )
        if self._world.n > 1 and stirred and not self.sometimes[ELECTED]:
            return "the search says nothing: not once was a leader elected"
        return None


def lack_of(world: World, row: Codes) -> str | None:
    """The first goal that a row lacks, of those asked for or promised for such a network."""
    promised = world.machine.promises if world.model.setting.is_complete else ()
    known = (CLAIMS[name] for name in promised if name in CLAIMS)
    # What a claim remembers is kept only for those that were asked for.
    goals = [claim for claim in known if claim.kind is Kind.GOAL and claim.fold is None]
    claims = {claim.name: claim for claim in (*goals, *world.claims)}
    lacking = Judge(world, list(claims.values())).of(row).lacking
    return lacking[0][0].name if lacking else None
