"""What runs have shown: a verdict says no more than that."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from electorate.claims import Claim
from electorate.claims.admission import MET
from electorate.claims.claim import LED, Premise
from electorate.claims.commit import DECIDED
from electorate.claims.consensus import DECIDED as CHOSEN
from electorate.claims.founding import FOUNDED
from electorate.core import Machine, Topic
from electorate.simulate.fault import (
    Ask,
    Crash,
    CutLink,
    Lie,
    Partition,
    Pause,
    Recover,
    ResetConnection,
    Tear,
)
from electorate.simulate.judge import ACHIEVED
from electorate.simulate.scenario import Scenario

TURNS = Counter(recoveries=1, lies=1, asks=1)
"""Faults in which a node takes a turn."""

LISTED = {
    "crashes": (Crash, Tear),
    "recoveries": (Recover,),
    "pauses": (Pause,),
    "cuts": (CutLink,),
    "resets": (ResetConnection,),
    "partitions": (Partition,),
    "lies": (Lie,),
    "asks": (Ask,),
}
"""The faults of a scenario's list, by their kinds."""


class Seen(NamedTuple):
    """What some run has shown."""

    met: frozenset[str] = frozenset()
    """The claims whose premise was met; ACHIEVED if the protocol did what it is for."""
    turns: bool = False
    """Whether any node took a turn."""
    happened: dict[str, int] = {}
    """How many faults of each kind found something to do."""
    fleeting: frozenset[str] = frozenset()
    """The goals that were true at the end, but not for as long as they have to be."""
    stands_still: bool = False
    """Whether so much happened in one moment that the rest was cut."""

    @classmethod
    def joined(cls, all_seen: "Iterable[Seen]") -> "Seen":
        """What all of them have shown together."""
        met, fleeting, happened = frozenset[str](), frozenset[str](), Counter[str]()
        turns = stands_still = False
        for seen in all_seen:
            met |= seen.met
            turns = turns or seen.turns
            happened.update(seen.happened)
            fleeting |= seen.fleeting
            stands_still = stands_still or seen.stands_still
        return cls(met, turns, dict(sorted(happened.items())), fleeting, stands_still)

    def silence(self, machine: Machine[Any], deliveries: int) -> str | None:
        """Why the runs show nothing at all; None if they show something."""
        if self.stands_still:
            return "time stands still in some run: what would come later was never seen"
        if not self.turns:
            return "nothing happened: not one node took a turn"
        if ACHIEVED not in self.met:
            return achievement_of(machine).text
        if machine.messages and len(machine.members.ids) > 1 and not deliveries:
            return "not one message was delivered"
        return None

    def unmet(self, claims: Iterable[Claim]) -> dict[str, str]:
        """The claims that no run could have broken, and what was never seen."""
        return {
            claim.name: claim.premise.text
            for claim in claims
            if claim.premise is not None and claim.name not in self.met
        }

    def unsettled(self, scenario: Scenario, T: int) -> dict[str, str]:
        """The goals that may have been lost again after the end, and why that is not known."""
        text = f"in some run it was true at the end for less than {scenario.watched / T:g}T"
        return dict.fromkeys(sorted(self.fleeting), text)

    def idle(self, scenario: Scenario, machine: Machine[Any]) -> dict[str, str]:
        """The faults that were asked for and never happened, and why not, if that is known."""
        wanted = list(_wanted(scenario))
        return {
            kind: _why_idle(kind, machine, self) for kind in wanted if not self.happened.get(kind)
        }


def achievement_of(machine: Machine[Any]) -> Premise:
    """A protocol's purpose: a leader, members that meet, or a decision."""
    if Topic.DECISIONS in machine.tells:
        return DECIDED._replace(text="not once did anybody decide a transaction")
    if Topic.FOUNDERS in machine.tells and Topic.TERMS not in machine.tells:
        return FOUNDED
    if Topic.MEMORIES in machine.tells:
        return MET
    return CHOSEN if Topic.CHOICES in machine.tells else LED


def _wanted(scenario: Scenario) -> Iterator[str]:
    drawn, usual = scenario.faults, Scenario().faults
    for kind, kinds in LISTED.items():
        listed = any(isinstance(fault, kinds) for fault in scenario.listed)
        # Whoever wants no crashes need not say so of the recoveries.
        given = kind != "recoveries" or drawn.crashes or drawn.recoveries != usual.recoveries
        if listed or (given and getattr(drawn, kind)):
            yield kind
    for kind in ("loss", "duplication"):
        if getattr(scenario, kind):
            yield kind


def _why_idle(kind: str, machine: Machine[Any], seen: Seen) -> str:
    if kind == "lies" and not machine.uses_views:
        return "it uses no failure detector"
    if kind == "asks" and not machine.requests:
        return "there is nothing to ask it for"
    if kind == "recoveries" and not seen.happened.get("crashes"):
        return "nobody was down"
    if kind in ("loss", "duplication") and not machine.messages:
        return "it sends no messages"
    return "none came about"
