"""What is asked: every protocol in the same situations, and for each page what is special to it.

The pages' own questions are in the .toml files beside this one, named like the pages under
docs/protocols.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from electorate.core import Value
from electorate.protocols.registry import REGISTRY
from tests.verdicts.ask import command

FOLDER = Path(__file__).parent

SITUATIONS = {
    "no fault, from boot": "--from boot",
    "a crash": "--crashes 1",
    "a crash and a recovery": "--crashes 1 --recoveries 1",
    "a wrong suspicion": "--lies 1",
    "a loss, from boot": "--from boot --losses 1",
    "a crash and a loss": "--crashes 1 --losses 1",
}
TIMINGS = {
    "bounded": "",
    "unbounded": "--timing unbounded --capacity 2 --counter 3",
}
NODES = (2, 3)
MORE_NODES = {"bounded": (4,)}
"""Where four nodes are tried too."""

NEVER_NORMAL = ("bully-textbook-as-printed", "park-literal")
"""Forms whose fault-free run does not reach what they promise: they can only be tried from boot."""
UNMOVED = {"park": "a wrong suspicion"}
"""Where nobody else would be elected, which shows nothing: these are tried from boot too."""

ELECTION = ("A1", "A2", "S1", "S2")
BESIDES = {"invitation": ("A3",), "park": ("P1", "P2"), "park_printed": ("P1", "P2")}
"""Claims about groups and views, on the pages of protocols that have any."""


class More(Value):
    """A question that only this protocol raises."""

    ask: str
    """The protocol, and the options."""
    claims: tuple[str, ...]

    @property
    def command(self) -> str:
        return command(self.ask, claims=self.claims)


class Repair(Value):
    """A rule or timer of the sound form, and where it is missed."""

    without: str
    """What is put in its place: `accept=anyone`; several, if only together they are missed."""
    under: str
    breaks: str
    of: str = ""
    """The protocol, if it is not that of the page."""
    run: str = ""
    """The golden script that tells such a run."""

    def commands(self, sound: str) -> tuple[str, str]:
        """With it, and without it."""
        rules = " ".join(f"--rule {rule}" for rule in self.without.split())
        protocol, claims = self.of or sound, (self.breaks,)
        kept = command(protocol, self.under, claims=claims)
        return kept, command(protocol, rules, self.under, claims=claims)


class Choice(Value):
    """A rule that could as well be another, as far as claims can tell."""

    rule: str
    under: str
    claims: tuple[str, ...]

    def command(self, sound: str) -> str:
        rules = " ".join(f"--rule {rule}" for rule in self.rule.split())
        return command(sound, rules, self.under, claims=self.claims)


class Dropped(Value):
    """An assumption, and what falls without it."""

    assumption: str
    by: str
    """The options that drop it."""
    breaks: str
    under: str = ""
    of: tuple[str, ...] = ()
    """The forms, if it is not only the sound one."""
    run: str = ""

    def commands(self, protocol: str) -> tuple[str, str]:
        """With it, and without it."""
        kept = command(protocol, self.under, claims=(self.breaks,))
        return kept, command(protocol, self.under, self.by, claims=(self.breaks,))


class Page(Value):
    """What is asked for one page besides the situations that all protocols are put in."""

    sound: str
    """The protocol that repairs and choices are about."""
    more: tuple[More, ...] = ()
    repairs: tuple[Repair, ...] = ()
    choices: tuple[Choice, ...] = ()
    assumptions: tuple[Dropped, ...] = ()

    def commands(self) -> Iterator[str]:
        yield from (more.command for more in self.more)
        yield from (choice.command(self.sound) for choice in self.choices)
        for repair in self.repairs:
            yield from repair.commands(self.sound)
        for dropped in self.assumptions:
            for protocol in dropped.of or (self.sound,):
                yield from dropped.commands(protocol)


class Situation(NamedTuple):
    """One protocol with some nodes, faults and timing."""

    protocol: str
    faults: str
    timing: str
    nodes: int

    def commands(self) -> list[str]:
        """Several if there are several goals, for a check gives the time of one."""
        options = SITUATIONS[self.faults]
        from_boot = self.protocol in NEVER_NORMAL or UNMOVED.get(self.protocol) == self.faults
        if from_boot and "--from boot" not in options:
            options = f"--from boot {options}"
        claims = claims_of(self.protocol)
        goals = [claim for claim in claims if claim in ("A2", "P2")]
        first = tuple(claim for claim in claims if claim not in goals[1:])
        words = (self.protocol, f"--nodes {self.nodes}", TIMINGS[self.timing], options)
        return [command(*words, claims=asked) for asked in (first, *((g,) for g in goals[1:]))]


def page_of(protocol: str) -> str:
    """The page that a protocol is on."""
    return REGISTRY[protocol].machine.__module__.rpartition(".")[2]


def claims_of(protocol: str) -> tuple[str, ...]:
    """The claims that make sense for a protocol."""
    return (*ELECTION, *BESIDES.get(page_of(protocol), ()))


def situations(protocol: str) -> Iterator[Situation]:
    """Everything that a protocol is put through."""
    for timing in TIMINGS:
        for faults in SITUATIONS:
            if faults == "a wrong suspicion" and not REGISTRY[protocol].machine.uses_views:
                continue
            for nodes in (*NODES, *MORE_NODES.get(timing, ())):
                yield Situation(protocol, faults, timing, nodes)


@cache
def pages() -> dict[str, Page]:
    """The questions of every page."""
    found = sorted(FOLDER.glob("*.toml"))
    return {
        file.stem: msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Page)
        for file in found
    }


def commands() -> list[str]:
    """Everything that is asked, in order and once."""
    asked = {line for page in pages().values() for line in page.commands()}
    for protocol in REGISTRY:
        for situation in situations(protocol):
            asked.update(situation.commands())
    return sorted(asked)
