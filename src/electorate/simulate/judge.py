"""Judging: which claims a run is held against, and when each of them broke."""

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from electorate.claims import CLAIMS, Claim, Following, Kind, Row, Witness
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
        self._momentary = tuple(claim for claim in self.claims if _is_momentary(claim))
        self._known: dict[Hashable, dict[str, Witness]] = {}

    def followed(self) -> list[Following]:
        """The claims about more than one row of standings, to follow one run with."""
        return [Following(claim) for claim in self.claims if not _is_momentary(claim)]

    def broken(self, codes: Hashable, row: Callable[[], Row]) -> dict[str, Witness]:
        """Every momentary claim that a row breaks; `codes` stand for its standings and links."""
        known = self._known.get(codes)
        if known is None:
            shown = row()
            judged = ((claim.name, claim.judge(shown)) for claim in self._momentary)
            known = {name: witness for name, witness in judged if witness is not None}
            if len(self._known) >= ROWS_MAX:
                self._known.clear()
            self._known[codes] = known
        return known


def _is_momentary(claim: Claim) -> bool:
    """Whether one row of standings and links tells all."""
    return claim.kind is not Kind.STEP and claim.fold is None and not claim.sights
