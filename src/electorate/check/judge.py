"""Claims and facts, judged on the row of views and remembered: millions of rows share a few."""

from collections.abc import Sequence
from typing import NamedTuple

from electorate.check.board import Row as Codes
from electorate.check.part import LocalCard
from electorate.check.world import Move, World
from electorate.claims import Claim, Kind, Row, Witness
from electorate.core import Standing, Status

ELECTED = "a leader was elected"
OVERLAPPED = "two elections overlapped"
TORN = "a crash hit in the middle of a broadcast"


class Judgement(NamedTuple):
    """What is to be said of one row of views."""

    broken: tuple[tuple[Claim, Witness], ...]
    lacking: tuple[tuple[Claim, Witness], ...]
    """The goals that are not reached, and what is missing."""
    overlaps: bool


class Judge:
    """Judges rows by the claims that were asked for."""

    def __init__(self, world: World, claims: Sequence[Claim]) -> None:
        self._world = world
        self._always = [claim for claim in claims if claim.kind is Kind.ALWAYS]
        self._goals = [claim for claim in claims if claim.kind is Kind.GOAL]
        self._known: dict[tuple[Standing | None, ...], Judgement] = {}
        self._quick: dict[Codes, Judgement] = {}
        self.sometimes = dict.fromkeys((ELECTED, OVERLAPPED, TORN), False)

    def of(self, codes: Codes) -> Judgement:
        """The judgement of a row of codes."""
        nodes = codes[: self._world.n]
        known = self._quick.get(nodes)
        if known is None:
            cards = self._world.locals.cards
            standings = tuple(cards[code].standing for code in nodes)
            known = self._known.get(standings)
            if known is None:
                known = self._known[standings] = self._judge(standings)
            self._quick[nodes] = known
        return known

    def _judge(self, standings: tuple[Standing | None, ...]) -> Judgement:
        row = Row(self._world.machine.members, standings)
        electing = sum(s is not None and s.status is Status.ELECTION for s in standings)
        return Judgement(_failing(self._always, row), _failing(self._goals, row), electing > 1)

    def sometimes_overlapped(self, judgement: Judgement) -> None:
        """Take down whether a row of views shows two elections at once."""
        self.sometimes[OVERLAPPED] |= judgement.overlaps

    def note(self, before: Codes, move: Move, after: Codes) -> None:
        """Take down what this move shows to be possible."""
        if not self.sometimes[TORN] and move.torn is not None:
            self.sometimes[TORN] = move.torn.partial
        if not self.sometimes[ELECTED]:
            cards = self._world.locals.cards
            ids = self._world.ids
            for place, node in enumerate(ids):
                old, new = cards[before[place]], cards[after[place]]
                if _leads(new, node) and not _leads(old, node):
                    self.sometimes[ELECTED] = True

    def vacuous(self) -> str | None:
        """What should have happened somewhere in this search, and never did."""
        model = self._world.model
        budget = model.first_budget()
        stirred = (
            model.setting.start == "boot"
            or (budget.crashes > 0 and self._world.machine.uses_views)
            or budget.recoveries * budget.crashes > 0
            or (budget.lies > 0 and self._world.machine.uses_views)
        )
        if self._world.n > 1 and stirred and not self.sometimes[ELECTED]:
            return "the search says nothing: not once was a leader elected"
        return None


def _failing(claims: Sequence[Claim], row: Row) -> tuple[tuple[Claim, Witness], ...]:
    judged = ((claim, claim.judge(row)) for claim in claims)
    return tuple((claim, witness) for claim, witness in judged if witness is not None)


def _leads(card: LocalCard, node: int) -> bool:
    return card.standing is not None and card.standing.leader == node
