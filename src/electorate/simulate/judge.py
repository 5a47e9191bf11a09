"""Judging: which claims a run is held against, and when each of them broke."""

from collections.abc import Callable, Iterable
from typing import Any

from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.core import Machine, Members

ROWS_MAX = 1_000_000
"""A memo that has grown this large is started afresh."""


class UnknownClaim(ValueError):
    """A claim that nobody has defined."""


def claims_of(machine: Machine[Any], names: Iterable[str] = ()) -> tuple[Claim, ...]:
    """The named claims, or those that the machine promises if none is named."""
    wanted = tuple(names) or machine.promises
    for name in wanted:
        if name not in CLAIMS:
            raise UnknownClaim(f"unknown claim {name!r}; the claims are: {', '.join(CLAIMS)}")
    return tuple(CLAIMS[name] for name in wanted)


class Judge:
    """Judges rows, each distinct one only once."""

    def __init__(self, members: Members, claims: Iterable[Claim]) -> None:
        self.members = members
        self.claims = tuple(claims)
        self.goals = tuple(claim for claim in self.claims if claim.kind is Kind.GOAL)
        self._known: dict[tuple[int, ...], dict[str, Witness]] = {}

    def broken(self, codes: tuple[int, ...], row: Callable[[], Row]) -> dict[str, Witness]:
        """Every claim that a row breaks, with its witness; `codes` stand for its standings."""
        known = self._known.get(codes)
        if known is None:
            shown = row()
            judged = ((claim.name, claim.judge(shown)) for claim in self.claims)
            known = {name: witness for name, witness in judged if witness is not None}
            if len(self._known) >= ROWS_MAX:
                self._known.clear()
            self._known[codes] = known
        return known
