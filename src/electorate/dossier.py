"""The dossier of a protocol: what is known of it, as plain data beside its machine.

It is a TOML file with the name of the machine's: `bully.toml` beside `bully.py`. A protocol of your
own may have one too. Nothing in it is needed to run the machine.
"""

import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Machine, Value

Cases = list[dict[str, Any]]
"""As `electorate.costs` reads them."""

FIRST = ("--form", "--rule", "--nodes", "--timing", "--capacity", "--counter", "--from")
"""The options that a row begins with; the others follow by name."""


class Repair(Value):
    """A rule or timer of the sound form, and where it is missed."""

    without: str
    """What is put in its place: `accept=anyone`; several, if only together they are missed."""
    under: str
    breaks: str
    """The claim, how it breaks, and in how many moves: `A1 broken in 15`, `A2 stuck in 5`."""
    of: str = ""
    """The protocol, if it is not the sound form."""
    run: str = ""
    """The golden script that tells such a run."""

    def rows(self, sound: str) -> tuple[str, str]:
        """With it, and without it."""
        protocol = self.of or sound
        return row(protocol, self.under), row(protocol, _rules(self.without), self.under)


class Told(Value):
    """A rule that is missed in a run that the checker would take too long to find."""

    without: str
    breaks: str
    """The claim."""
    run: str
    """The golden script that has the run."""


class Alternative(Value):
    """A rule that could as well be another, as far as the promises go."""

    rule: str
    under: str

    def row(self, sound: str) -> str:
        return row(sound, _rules(self.rule), self.under)


class Dropped(Value):
    """An assumption, and what falls without it."""

    assumption: str
    by: str
    """The options that drop it."""
    breaks: str | tuple[str, ...] = ""
    """As of a repair; for each of the protocols, if it is not the same for all. Empty if no promise
    falls: the form takes for granted what it would not need."""
    under: str = ""
    of: tuple[str, ...] = ()
    """The protocols, if it is not only the sound form."""
    run: str = ""


class Highlight(Value):
    """Something worth showing to people, and the row that shows it."""

    says: str
    row: str
    claims: tuple[str, ...]


class Dossier(Value):
    """All that stands beside one machine, or beside the machines of one file.

    A row is what follows `electorate check` on a command line: a protocol and its options.
    """

    costs: Cases | dict[str, Cases] = {}
    """What runs cost: for every machine of the file, or for each class by its name."""
    costs_over: Cases = []
    """The same over another election than the one that the cases of `costs` are played over."""
    sound: str = ""
    """The protocol that repairs and choices are about, if it is not this one under its path."""
    claims: tuple[str, ...] = ()
    """What is judged in every row."""
    claims_over: tuple[str, ...] = ()
    """What is judged over a real election instead, for a protocol that goes over others."""
    situations: bool = True
    """Whether its protocols are put in the situations that every election is put in."""
    unfinished: Mapping[str, tuple[str, ...]] = {}
    """In which of these a protocol is not tried with the most nodes: it has too many states."""
    never_normal: tuple[str, ...] = ()
    """Forms whose fault-free runs miss their goals: from boot one sees how. Where these runs end,
    there is nothing left to break."""
    unmoved: Mapping[str, str] = {}
    """Where nobody would be elected anew, which shows nothing: this is tried from boot too."""
    more: tuple[str, ...] = ()
    """Further rows."""
    repairs: tuple[Repair, ...] = ()
    choices: tuple[Alternative, ...] = ()
    assumptions: tuple[Dropped, ...] = ()
    findings: tuple[Highlight, ...] = ()
    verdicts: tuple[str, ...] = ()
    """What else was found: `ROW => A1 broken in 15 | A2 live, 8T | 60,555 states`, or some of that.
    A row that begins with an option is about the sound form."""
    told: tuple[Told, ...] = ()
    untried: Mapping[str, str] = {}
    """Rules that nothing here is about, each with the reason why."""

    def tries(self, rule: str) -> bool:
        """Whether anything here is about a rule."""
        rows = [*self.more, *self.verdicts]
        rows += [finding.row for finding in self.findings]
        rows += [" ".join((*dropped.of, dropped.under)) for dropped in self.assumptions]
        rows += [_rules(repair.without) for repair in self.repairs]
        rows += [_rules(told.without) for told in self.told]
        rows += [_rules(choice.rule) for choice in self.choices]
        return any(f"--rule {rule}=" in text for text in rows)


EMPTY = Dossier()


def dossier_of(kind: type[Machine[Any]]) -> Dossier:
    """What stands beside the file of this class; nothing may."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return EMPTY if file is None else _read(Path(file).with_suffix(".toml"))


@cache
def _read(file: Path) -> Dossier:
    if not file.is_file():
        return EMPTY
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Dossier)
    except ValueError as error:
        raise ValueError(
            f"{file.name}, which is read as the dossier of {file.stem}.py: {error}"
        ) from None


def row(*words: str) -> str:
    """A row in its one spelling: options in one order, and three nodes go without saying."""
    protocol, *options = re.split(r" (?=--)", " ".join(word for word in words if word))
    said = [option for option in options if option != "--nodes 3"]
    return " ".join((protocol, *sorted(said, key=_sort_key)))


def _sort_key(option: str) -> tuple[int, str]:
    name, _, _ = option.partition(" ")
    return FIRST.index(name) if name in FIRST else len(FIRST), option


def _rules(text: str) -> str:
    return " ".join(f"--rule {rule}" for rule in text.split())
