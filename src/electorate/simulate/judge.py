"""Judging: which claims a run is judged by, and when each of them broke."""

from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from electorate.claims import Claim, Following, Kind, Premise, Row, Witness
from electorate.claims.claim import LED
from electorate.core import Members

ROWS_MAX = 1_000_000
"""A memo that has grown this large is emptied."""


ACHIEVED = ""
"""Stands for a protocol's purpose, among the names of claims."""


class RowJudgement(NamedTuple):
    """What claims say of one row."""

    broken: dict[str, Witness]
    """The claims that it breaks."""
    met: frozenset[str]
    """The claims whose premise it meets; ACHIEVED if the protocol does what it is for."""


class RunJudge:
    """Judges rows, each distinct one only once."""

    def __init__(
        self, members: Members, claims: Iterable[Claim], achievement: Premise = LED
    ) -> None:
        self.members = members
        self.claims = tuple(claims)
        self.goals = tuple(claim for claim in self.claims if claim.kind is Kind.GOAL)
        self._momentary = tuple(claim for claim in self.claims if _is_momentary(claim))
        self.sights = frozenset(sight for claim in self.claims for sight in claim.sights)
        premises = {claim.name: claim.premise for claim in self.claims if claim.premise}
        self.premises: dict[str, Premise] = {ACHIEVED: achievement, **premises}
        self._followed = {claim.name for claim in self.claims if not _is_momentary(claim)}
        self._known: dict[Hashable, RowJudgement] = {}

    def followed(self) -> list[Following]:
        """The claims about more than one row of standings, to be followed through one run."""
        return [Following(claim) for claim in self.claims if not _is_momentary(claim)]

    def of(self, codes: Hashable, row: Callable[[], Row]) -> RowJudgement:
        """What a row shows of the momentary claims; `codes` stand for its standings and links."""
        known = self._known.get(codes)
        if known is None:
            shown = row()
            judged = ((claim.name, claim.judge(shown)) for claim in self._momentary)
            broken = {name: witness for name, witness in judged if witness is not None}
            known = RowJudgement(broken, self.met(shown, self.premises.keys() - self._followed))
            if len(self._known) >= ROWS_MAX:
                self._known.clear()
            self._known[codes] = known
        return known

    def met(self, row: Row, names: Iterable[str]) -> frozenset[str]:
        """Those of the named claims whose premise this row meets."""
        return frozenset(name for name in names if self.premises[name](row))


def _is_momentary(claim: Claim) -> bool:
    """Whether one row of standings and links is enough to judge by."""
    return claim.kind is not Kind.STEP and claim.fold is None and not claim.sights
