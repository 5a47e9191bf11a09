"""Of which kind an election is: by quorum or in groups."""

import logging
from typing import Literal, get_args

Safety = Literal["quorum", "group"]
"""One leader, which a majority has granted; or one in each group of nodes that reach each other."""

WORDS: dict[Safety, str] = {"quorum": "by quorum", "group": "in groups"}

log = logging.getLogger("electorate")


class Kinds:
    """Of which kind the elections are that the application of this node has named."""

    def __init__(self) -> None:
        self.in_groups: set[str] = set()
        """Those in groups; every letter about one by quorum asks for it."""
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
        if safety == "group":
            self.in_groups.add(election)

    def fits(self, election: str, safety: Safety) -> bool:
        """Whether an election may be of that kind, as far as this node knows."""
        return self._named.get(election, safety) == safety

    def say_odd(self, node: str, election: str, safety: Safety) -> None:
        """Another node has an election of a kind that does not fit: say so once."""
        if (node, election) not in self._odd:
            self._odd.add((node, election))
            log.error(
                "%s elects %s %s, and this node %s: neither takes part in the other's election",
                *(node, election, WORDS[safety], WORDS[self._named[election]]),
            )
