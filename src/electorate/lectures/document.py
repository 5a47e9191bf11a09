"""Documents and their items, as they are written down in the TOML files of this folder.

    [[item]]
    id = 13                          # souto/13; the order is that of the slides
    name = "order"                   # souto/order means the same (optional)
    where = "Assumptions, 7"         # the slide or the section
    says = "…"                       # in our own words
    asks = "Does Bully need it?"     # a question that the document asks or leaves open (optional)
    verdict = "not needed by Bully"  # or: needed, needs …, holds, refuted, shown
    answer = "…"                     # a sentence
    differs = "…"                    # where we do something else on purpose, and why (optional)

    [[item.run]]
    command = "check bully --order bag --crashes 1 --recoveries 1"
    shows = ["A1 holds"]             # parts of lines that it prints, in this order
    code = 0                         # the exit code
    seconds = 3                      # how long it takes, if more than one (CPU of one core)
    [item.run.change]                # one rule changed, and the answer is another
    by = "--rule settle=T-1"         # added or replaced; `without --lies`; or another protocol
    shows = ["A1 violated"]
    code = 1

An item with a question has a change: an answer that comes out the same whatever one does is none.
"""

import shlex
import tomllib
from difflib import get_close_matches
from functools import cache
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent
ORDER = ("souto", "albano", "park", "cmu", "gupta")
VERDICTS = ("holds", "refuted", "shown", "needs ", "needed", "not needed")


class LectureError(ValueError):
    """What is wrong with an item, or with the name of one."""


class RuleChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule changed, and what is printed then."""

    by: str
    shows: tuple[str, ...]
    code: int = 0
    seconds: int = 0

    def applied(self, command: str) -> str:
        """The command with the change."""
        words, by = shlex.split(command), shlex.split(self.by)
        if by[0] == "without":
            return shlex.join(_without(words, by[1:]))
        if not by[0].startswith("--"):
            return shlex.join([words[0], *by, *words[2:]])
        if by[0] in REPEATED:
            name = by[1].partition("=")[0]
            at = [k for k, word in enumerate(words[1:], start=1) if words[k - 1] == by[0]]
            same = [k for k in at if words[k].partition("=")[0] == name]
            kept = [word for k, word in enumerate(words) if k not in same and k + 1 not in same]
            return shlex.join([*kept, *by])
        return shlex.join([*_without(words, by[:1]), *by])


REPEATED = ("--rule", "--attribute")
"""Options that may be given several times, for different names."""


def _without(words: list[str], option: list[str]) -> list[str]:
    """A command without an option, wherever it is given, and without its value."""
    kept: list[str] = []
    at = 0
    while at < len(words):
        if words[at] == option[0]:
            at += 1 + (at + 1 < len(words) and not words[at + 1].startswith("--"))
        else:
            kept.append(words[at])
            at += 1
    return kept


class LectureRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command, and what it prints."""

    command: str
    shows: tuple[str, ...]
    code: int = 0
    seconds: int = 0
    change: RuleChange | None = None


class LectureItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that a document says or asks, and our answer."""

    id: int
    where: str
    says: str
    verdict: str
    answer: str
    run: tuple[LectureRun, ...]
    asks: str = ""
    name: str = ""
    differs: str = ""

    @property
    def verdict_word(self) -> str:
        """The verdict without the words around it."""
        return "not needed" if self.verdict.startswith("not needed") else self.verdict.split()[0]


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A lecture, a paper or notes."""

    key: str
    author: str
    title: str
    year: str
    kind: str
    """Slides, paper or notes: the word for a part of it."""
    item: tuple[LectureItem, ...]

    @property
    def cited(self) -> str:
        """Author, title and year."""
        year = f", {self.year}" if self.year else ""
        return f'{self.author}, "{self.title}"{year}'


@cache
def documents() -> dict[str, Document]:
    """All documents, by their short names."""
    return {key: _read(key) for key in ORDER}


def _read(key: str) -> Document:
    with (FOLDER / f"{key}.toml").open("rb") as file:
        try:
            document = msgspec.convert({"key": key, **tomllib.load(file)}, Document)
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            raise LectureError(f"{key}.toml: {error}") from None
    for place, item in enumerate(document.item, start=1):
        if problem := _problem(item, place):
            raise LectureError(f"{key}.toml, item {item.id}: {problem}")
    return document


def _problem(item: LectureItem, place: int) -> str | None:
    """What is wrong with an item, if anything."""
    if item.id != place:
        return f"it is number {place} in the file"
    if not item.run:
        return "it has no run"
    if not item.verdict.startswith(VERDICTS):
        return f"its verdict {item.verdict!r} begins with none of {', '.join(VERDICTS)}"
    if item.asks and not any(run.change for run in item.run):
        return "it asks a question, and no change of a rule changes the answer"
    shows = [shown for run in item.run for shown in (run, run.change) if shown]
    if not all(shown.shows and all(shown.shows) for shown in shows):
        return "a run shows nothing"
    return None


def item_of(name: str) -> tuple[Document, LectureItem]:
    """The item that is called `souto/13` or `souto/stoller`; a LectureError says what is wrong."""
    key, _, which = name.partition("/")
    document = documents().get(key)
    if document is None:
        raise LectureError(f"no document {key!r}; there are {', '.join(documents())}")
    for item in document.item:
        if which and which in (str(item.id), item.name):
            return document, item
    names = [item.name for item in document.item if item.name]
    close = get_close_matches(which, names, n=1)
    hint = f"did you mean {key}/{close[0]}?" if close else f"electorate lecture {key} lists them"
    raise LectureError(f"no item {which!r} among the {len(document.item)} of {key}; {hint}")


def run_of(name: str) -> str | None:
    """The name of the first run that the item replays, if it replays one."""
    try:
        _, item = item_of(name)
    except LectureError:
        return None
    commands = (shlex.split(run.command) for run in item.run)
    return next((words[1] for words in commands if words[0] == "replay"), None)
