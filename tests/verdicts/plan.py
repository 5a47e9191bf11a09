"""What is asked: every protocol in the same situations, and what is special to each.

What is special is in the dossiers of the protocols. A protocol is asked about if its dossier says
which form is sound.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from electorate.cli.dossier import judged, rows_of
from electorate.dossier import Dossier, dossier_of, row
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


class Suite(NamedTuple):
    """The situations that protocols of one kind are put in."""

    situations: dict[str, str]
    """Options by name; `{coordinator}` and `{voters}` stand for ids."""
    timings: dict[str, str]
    nodes: dict[str, tuple[int, ...]]
    """How many, for each timing."""
    heading: str
    """What a page says of how many nodes there are."""
    glance: str = ""
    """What comes before the name of a timing where all protocols of the kind are compared."""
    besides: tuple[str, ...] = ()
    """Claims that are compared there though nobody promises them."""
    unasked: dict[str, tuple[str, ...]] = {}
    """Claims that say nothing in a situation."""
    special: dict[str, dict[str, tuple[int, ...]]] = {}
    """How many nodes, for each timing, in a situation that is not tried with as many as others."""

    def claims(self, faults: str, claims: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the claims of a page that are judged in a situation."""
        asked = judged(self.situations[faults], claims)
        return tuple(claim for claim in asked if claim not in self.unasked.get(faults, ()))

    def sizes(self, timing: str, faults: str) -> tuple[int, ...]:
        """With how many nodes a situation is tried; none where it is not."""
        return self.special.get(faults, self.nodes).get(timing, ())


ELECTIONS = Suite(
    {
        "no fault": "--from boot",
        "a crash": "--crashes 1",
        "a crash and a recovery": "--crashes 1 --recoveries 1",
        "a wrong suspicion": "--lies 1",
        "a loss": "--from boot --losses 1",
        "any state": "--from any --crashes 1 --recoveries 1 --states-max 3000000",
    },
    {"bounded": "", "unbounded": "--timing unbounded --capacity 2 --counter 3"},
    {"bounded": (2, 3, 4), "unbounded": (2, 3)},
    "With 2 · 3 · 4 nodes",
    special={"any state": {"bounded": (2, 3)}},
)

LED = "--asks 1 --rule inner.first=1"
"""Somebody begins the transaction, and all follow node 1 where nobody says otherwise."""
FAULTS = {
    "the coordinator crashes": "--crashes 1 --mortal {coordinator}",
    "one who votes crashes": "--crashes 1 --mortal {voters}",
    "a crash and a recovery": "--crashes 1 --recoveries 1",
    "a loss": "--losses 1",
    "a cut link": "--cuts 1",
    "two cuts and a heal": "--cuts 2 --heals 1",
    "a pause": "--pauses 1",
}
COMMITS = Suite(
    {
        "no fault": LED,
        **{name: f"{LED} {options}" for name, options in FAULTS.items()},
        "two lead": "--asks 3",
    },
    {"bounded": "", "rounds": "--delay 1..1"},
    {"bounded": (2, 3), "rounds": (2, 3)},
    "With 2 · 3 who vote",
    "Commit protocols, ",
    ("C4", "C5"),
    # C6 is about runs in which nothing fails; three requests do not make everybody follow one.
    {**dict.fromkeys(FAULTS, ("C6",)), "two lead": ("C4", "C5")},
)


def claims_of(page: Dossier, row: str) -> tuple[str, ...]:
    """What is judged in a row."""
    is_over = "-over-" in row.split()[0]
    return judged(row, page.claims_over if is_over and page.claims_over else page.claims)


def special_rows(page: Dossier) -> Iterator[str]:
    """What is asked for one page besides the situations that every protocol is put in."""
    yield from (row(finding.row) for finding in page.findings)
    yield from (row(more) for more in page.more)
    yield from (choice.row(page.sound) for choice in page.choices)
    for repair in page.repairs:
        yield from repair.rows(page.sound)
    for dropped in page.assumptions:
        for protocol in dropped.of or (page.sound,):
            yield from rows_of(dropped, protocol)


class Situation(NamedTuple):
    """One protocol with some nodes, faults and timing."""

    protocol: str
    timing: str
    faults: str
    nodes: int

    @property
    def suite(self) -> Suite:
        """What protocols of its kind are put through."""
        return suite_of(self.protocol)

    @property
    def is_largest(self) -> bool:
        """Whether there are as many nodes as anywhere."""
        return self.timing == "bounded" and self.nodes == max(
            self.suite.sizes(self.timing, self.faults)
        )

    @property
    def is_moved_to_boot(self) -> bool:
        """Whether it begins at boot though the others do not."""
        page = pages()[page_of(self.protocol)]
        moved = self.protocol in page.never_normal or page.unmoved.get(self.protocol) == self.faults
        return moved and "--from" not in self.suite.situations[self.faults]

    @property
    def row(self) -> str:
        start = "--from boot" if self.is_moved_to_boot else ""
        voters = ",".join(map(str, range(1, self.nodes + 1)))
        faults = self.suite.situations[self.faults]
        faults = faults.format(coordinator=self.nodes + 1, voters=voters)
        timing = self.suite.timings[self.timing]
        return row(self.protocol, f"--nodes {self.nodes}", timing, start, faults)


@cache
def pages() -> dict[str, Dossier]:
    """The questions of every page."""
    dossiers = {page_of(name): dossier_of(entry.machine) for name, entry in REGISTRY.items()}
    return {page: each for page, each in sorted(dossiers.items()) if each.sound}


def page_of(protocol: str) -> str:
    """The page that a protocol is on."""
    return REGISTRY[protocol].machine.__module__.removesuffix(".machine").rpartition(".")[2]


def protocols(page: str | None = None) -> list[str]:
    """The protocols that are put in every situation: all, or those of one page."""
    asked = {name for name, each in pages().items() if each.situations and page in (None, name)}
    return [name for name in REGISTRY if page_of(name) in asked]


def suite_of(protocol: str) -> Suite:
    """An election begins by itself; what has to be asked to begin is a commit protocol."""
    return COMMITS if REGISTRY[protocol].machine.begins_by else ELECTIONS


def uses_views(protocol: str) -> bool:
    """Whether a protocol listens to a detector: one of its forms may, and another not."""
    return bool(Setting(protocol, (1, 2, 3)).machine(*REGISTRY[protocol]).uses_views)


def situations(protocol: str) -> Iterator[Situation]:
    """Everything that a protocol is put through."""
    suite, page = suite_of(protocol), pages()[page_of(protocol)]
    for timing in suite.nodes:
        for faults in suite.situations:
            if faults == "a wrong suspicion" and not uses_views(protocol):
                continue
            for nodes in suite.sizes(timing, faults):
                each = Situation(protocol, timing, faults, nodes)
                if not (each.is_largest and faults in page.unfinished.get(protocol, ())):
                    yield each


def rows() -> dict[str, tuple[str, ...]]:
    """Everything that is asked, in order and once, with the claims that are judged."""
    asked: dict[str, tuple[str, ...]] = {}
    for name, page in pages().items():
        asked |= {row: claims_of(page, row) for row in special_rows(page)}
        for protocol in protocols(name):
            for each in situations(protocol):
                asked[each.row] = each.suite.claims(each.faults, page.claims)
    return dict(sorted(asked.items()))
