"""Who stands where, with which priority and how safely: what nodes tell each other about that."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, get_args

from electorate.core import NodeId
from electorate.leadership.letter import Letter, Standing
from electorate.leadership.office import Office
from electorate.leadership.register import Membership
from electorate.pace import Pace

Safety = Literal["quorum", "group"]
"""One leader, which a majority has granted; or one in each group of nodes that reach each other."""

WORDS: dict[Safety, str] = {"quorum": "by quorum", "group": "in groups"}

log = logging.getLogger("electorate")


class Kinds:
    """Of which kind the elections are that the application of this node has named."""

    def __init__(self) -> None:
        self._named: dict[str, Safety] = {}
        self._odd: set[tuple[str, str]] = set()

    def name(self, election: str, safety: Safety) -> None:
        """The application names an election; ValueError if it is of another kind already."""
        if safety not in get_args(Safety):
            raise ValueError(f'safety is "quorum" or "group", not {safety!r}')
        known = self._named.setdefault(election, safety)
        if known != safety:
            raise ValueError(
                f"{election} was named with safety={known!r} at this node, not {safety!r}"
            )

    def hear(self, node: str, elections: Iterable[str], safety: Safety) -> None:
        """Another node has elections of that kind; say once what does not fit."""
        for election in elections:
            known = self._named.get(election, safety)
            if known != safety and (node, election) not in self._odd:
                self._odd.add((node, election))
                log.error(
                    "%s elects %s %s, and this node %s: neither takes part in the other's election",
                    *(node, election, WORDS[safety], WORDS[known]),
                )


class Hall(Protocol):
    """What is needed of the node."""

    me: NodeId
    pace: Pace
    alive: frozenset[NodeId]
    offices: dict[str, Office]

    membership: Membership

    def reconsider(self, names: Iterable[str]) -> None:
        """Somebody stands in these elections with another priority than before."""

    def others(self) -> Iterable[NodeId]:
        """Every other node."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""

    def enter_here(self, act: Callable[..., None], *given: Any) -> None:
        """Do it as the node does its own things."""


class Candidacies:
    """Knows with which priorities the others stand, and tells them the same of this node."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._known: dict[NodeId, dict[str, int]] = {}
        self._announcing = self._asking = False
        self._questions = self._awaited = 0
        self._candid: dict[Office, None] = {}
        """Where this node is about to stand, and first hears who else does."""
        self._unheard: frozenset[NodeId] = frozenset()

    def priority(self, node: NodeId, office: str) -> int:
        """The priority with which another node stands, as far as it is known here."""
        return self._known.get(node, {}).get(office, 0)

    def own(self, office: Office) -> int:
        """The priority with which this node stands by now."""
        return 0 if office in self._candid else office.stands_with

    def announce(self, *, ask: bool = False) -> None:
        """Tell everybody in a moment where this node stands, and ask the same of them."""
        self._asking |= ask
        if not self._announcing:
            self._announcing = True
            asyncio.get_running_loop().call_soon(self._hall.enter_here, self._tell_all)

    def changed(self, office: Office, *, is_new: bool) -> None:
        """This node stands otherwise than before; a new candidate first hears the others."""
        self.announce(ask=True)
        if is_new:
            hall = self._hall
            self._candid[office] = None
            self._unheard = hall.alive - {hall.me}
            self._awaited = self._questions + 1
            # As long as question and answer take: where two claim the same office at once, it may
            # be empty until one of them has stood back.
            answered_s = (2 * hall.pace.T_ms + hall.pace.P_ms) / 1000
            loop = asyncio.get_running_loop()
            loop.call_later(answered_s, hall.enter_here, self._stand_too)

    def hear(self, node: NodeId, said: Standing) -> None:
        """Another node tells where it stands."""
        self.note(node, said.priorities)
        self._hall.membership.compare(node, said.edition)
        if said.question:
            self._hall.send(node, self._standing(answer=said.question))
        # What was said before my question says nothing about who stands by now.
        if said.answer >= self._awaited:
            self._unheard -= {node}
        if self._candid and not self._unheard:
            self._stand_too()

    def note(self, node: NodeId, priorities: dict[str, int]) -> None:
        """Another node stands there, and nowhere else."""
        before = self._known.get(node, {})
        if priorities != before:
            self._known[node] = priorities
            names = sorted(before.keys() | priorities.keys())
            changed = [name for name in names if before.get(name) != priorities.get(name)]
            self._hall.reconsider(changed)

    def _tell_all(self) -> None:
        self._questions += self._asking
        standing = self._standing(question=self._questions if self._asking else 0)
        self._announcing = self._asking = False
        for node in self._hall.others():
            self._hall.send(node, standing)

    def _standing(self, question: int = 0, answer: int = 0) -> Standing:
        return Standing(self._stood(), question, answer, self._hall.membership.edition)

    def _stood(self) -> dict[str, int]:
        stood = {name: office.stands_with for name, office in self._hall.offices.items()}
        return {name: priority for name, priority in stood.items() if priority}

    def _stand_too(self) -> None:
        """Who else stands has been heard, or cannot be waited for."""
        candid, self._candid = self._candid, {}
        self._hall.reconsider([office.name for office in candid])
