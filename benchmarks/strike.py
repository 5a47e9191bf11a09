"""Rounds in which the leader of a cluster of real processes is struck down and comes back."""

import itertools
import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from statistics import mode
from typing import NamedTuple

from electorate.claims import CLAIMS, Claim, Following, Kind, Row
from electorate.cli.fleet import Fleet
from electorate.cli.protocol import find
from electorate.core import Members
from electorate.trace import Setting


class Goal(NamedTuple):
    """What a protocol promises to come to once nothing fails any more."""

    members: Members
    claims: tuple[Claim, ...]

    @classmethod
    def of(cls, name: str, nodes: int) -> "Goal":
        """The goals of this protocol in its form; without any, that all follow one leader."""
        protocol = find(name)
        ids = tuple(range(1, nodes + 1))
        machine = protocol.machine(Setting(protocol.spelled(), ids))
        protocol.verify_that_it_begins_by_itself(machine)
        promised = [CLAIMS[each] for each in protocol.kind.promised(protocol.form)]
        goals = tuple(claim for claim in promised if claim.kind is Kind.GOAL)
        return cls(machine.members, goals or (CLAIMS["A2"],))

    def missing(self, fleet: Fleet) -> str | None:
        """What the nodes at work lack to reach it, by their own words; None if it is reached."""
        standings = fleet.standings()
        if standings is None:
            return "a node has not said where it stands"
        row = Row(self.members, standings)
        found = [Following(claim).judge(row) for claim in self.claims]
        texts = [witness.text for witness in found if witness is not None]
        return "; ".join(texts) if texts else None

    def leader(self, fleet: Fleet) -> int:
        """Whom most nodes follow; the strongest member if nobody follows anybody."""
        told = [standing for standing in fleet.standings() or () if standing is not None]
        leaders = [standing.leader for standing in told if standing.leader is not None]
        return mode(leaders) if leaders else self.members.strongest_of(self.members.ids)


class Round(NamedTuple):
    """Milliseconds from the blow, and from the return, to agreement; None if there was none."""

    lost_ms: float | None
    returned_ms: float | None
    missing: str = ""
    """Where it got stuck, if it did."""

    @property
    def agreed(self) -> bool:
        """Whether there was agreement both times."""
        return None not in (self.lost_ms, self.returned_ms)


class Trial(NamedTuple):
    """A protocol, and how it is put to the test."""

    protocol: str
    nodes: int
    timing: list[str]
    """The durations, as `electorate node` takes them."""
    stop: bool = False
    """Whether the leader is paused, not killed."""
    patience_s: float = 20.0
    """How long agreement may take."""
    lasting_s: float = 0.4
    """How long it has to last to count."""

    def rounds(self, count: int, folder: Path, *, keep: bool) -> Generator[Round, None, None]:
        """Strike so often. A cluster that comes to no agreement is replaced by a new one.

        With `keep`, what the nodes of such a cluster recorded stays in the folder.
        """
        name = re.sub(r"\W+", "-", self.protocol)
        homes = (folder / f"{name}-{number}" for number in itertools.count(1))
        done = 0
        while done < count:
            home = next(home for home in homes if not home.exists())
            home.mkdir(parents=True)
            with Fleet([self.protocol, *self.timing], self.nodes, home, record=keep) as fleet:
                for each in self.strikes(fleet, count - done):
                    done += 1
                    yield each
            if each.agreed or not keep:
                shutil.rmtree(home)

    def strikes(self, fleet: Fleet, count: int) -> Iterator[Round]:
        """Strike one cluster so often, or until there is no agreement."""
        goal = Goal.of(self.protocol, self.nodes)
        if self._agreement_ms(fleet, goal, 0.0) is None:
            yield Round(None, None, f"from the very start: {goal.missing(fleet)}")
            return
        for _ in range(count):
            each = self._strike(fleet, goal)
            yield each
            if not each.agreed:
                return

    def _strike(self, fleet: Fleet, goal: Goal) -> Round:
        """Hurt the leader, wait for its successor, bring it back, wait for agreement again."""
        leader = goal.leader(fleet)
        hurt, mend = (fleet.pause, fleet.resume) if self.stop else (fleet.kill, fleet.start)
        struck_s = fleet.seconds
        hurt(leader)
        lost_ms = self._agreement_ms(fleet, goal, struck_s)
        if lost_ms is None:
            return Round(None, None, f"without node {leader}: {goal.missing(fleet)}")
        mended_s = fleet.seconds
        mend(leader)
        returned_ms = self._agreement_ms(fleet, goal, mended_s)
        if returned_ms is None:
            return Round(lost_ms, None, f"with node {leader} back: {goal.missing(fleet)}")
        return Round(lost_ms, returned_ms)

    def _agreement_ms(self, fleet: Fleet, goal: Goal, since_s: float) -> float | None:
        """Wait for agreement that lasts; how long after `since_s` it began."""
        at_s = fleet.await_that(
            lambda: goal.missing(fleet) is None, self.patience_s, self.lasting_s
        )
        return None if at_s is None else 1000 * (at_s - since_s)
