"""What the promises hang on: every protocol in its situations, with each default moved by one."""

import re
import shlex
from typing import NamedTuple, Self

from electorate.check import Result, Verdict, check
from electorate.check.robust import Recheck, changes, rechecks
from electorate.claims import CLAIMS
from electorate.cli.dossier import is_kept
from electorate.cli.main import parser
from electorate.cli.model import model_of
from electorate.cli.protocol import find
from electorate.protocols.registry import REGISTRY
from tests.verdicts import plan
from tests.verdicts.plan import FOLDER, Situation

FILE = FOLDER / "robust.txt"
STATES = 10_000_000
NODES = 3
"""As many as there are in these rows; two where three who vote have too many states."""
ARROW, BAR, COMMA = " => ", " | ", ", "

HEAD = """\
# What the promises hang on. Before the arrow are a protocol and its options, after it what becomes
# of its promises; then the options that break some of them, with the moves of the shortest run,
# those of which it is not known, and those that change nothing. A line is repeated by
#   electorate check LINE --robust --states-max {states}
# `make robust` writes this file anew.
"""


class Answer(NamedTuple):
    """What becomes of the promises in one row, and what they hang on."""

    result: str
    broken: dict[str, str] = {}
    """What breaks after a change, by its option: `A1 13, A2 18`; `A2?` where that is not known."""
    unknown: dict[str, str] = {}
    """Why that is not known, by option."""
    kept: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the promises are kept before anything is moved."""
        return is_kept(self.result)

    def __str__(self) -> str:
        parts = [self.result, *(f"{option}: {text}" for option, text in self.broken.items())]
        parts += [f"{option}? {reason}" for option, reason in self.unknown.items()]
        return BAR.join([*parts, *([f"kept: {COMMA.join(self.kept)}"] if self.kept else [])])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes."""
        result, *parts = text.split(BAR)
        kept = [part.removeprefix("kept: ") for part in parts if part.startswith("kept: ")]
        said = [re.match(r"(--[^:?]+)([:?]) (.*)", part) for part in parts]
        found = {sign: {m[1]: m[3] for m in said if m and m[2] == sign} for sign in ":?"}
        return cls(result, found[":"], found["?"], tuple(kept[0].split(COMMA)) if kept else ())


Answers = dict[str, Answer]


# --- what is asked ---


def situations() -> list[Situation]:
    """Every protocol in every situation, with three nodes or else two."""
    largest: dict[tuple[str, str], Situation] = {}
    for protocol in plan.protocols():
        for each in plan.situations(protocol):
            if each.timing == "bounded" and each.nodes <= NODES and promised(each):
                largest[protocol, each.faults] = each
    return list(largest.values())


def promised(situation: Situation) -> tuple[str, ...]:
    """What a protocol promises, and what can be judged in this situation."""
    machine, form = REGISTRY[situation.protocol]
    return situation.suite.claims(situation.faults, machine.promised(form))


def rows() -> dict[str, tuple[str, ...]]:
    """Everything that is asked, with the claims that are judged."""
    return {each.row: promised(each) for each in situations()}


def answer(question: tuple[str, tuple[str, ...]], states: int, engine: str = "numba") -> Answer:
    """Check one row, then each change of it, on one processor."""
    row, names = question
    options = parser().parse_args(["check", *shlex.split(row)])
    protocol = find(options.protocol, options.form)
    model = model_of(options, protocol)
    claims = [CLAIMS[name] for name in names]
    machine = protocol.machine(model.setting)
    verdict = check(machine, model, claims, states, engine=engine, threads=1, tidy=False, lean=True)
    if verdict.result not in (Result.HOLDS, Result.WITHIN_BOUNDS):
        return Answer(_result(verdict))
    found = changes(machine, model, verdict.cuts)
    again = rechecks(protocol.machine, found, claims, states, engine, threads=1)
    return _answer(verdict, list(again))


def _result(verdict: Verdict) -> str:
    return str(verdict.result) + (f" ({verdict.reason})" if verdict.reason else "")


def _answer(verdict: Verdict, found: list[Recheck]) -> Answer:
    broken = {each.option: _broken(each) for each in found if each.broken}
    left = [each for each in found if each.option not in broken]
    unknown = {each.option: each.reason or "" for each in left if not each.finished}
    kept = tuple(each.option for each in left if each.finished)
    return Answer(_result(verdict), broken, unknown, kept)


def _broken(found: Recheck) -> str:
    """`A1 8, A2?` where A1 breaks in 8 moves, and what becomes of A2 was not seen."""
    broken = [f"{claim} {found.moves[claim]}" for claim in found.broken]
    unknown = [f"{name}?" for name, result in found.claims.items() if result is Result.UNKNOWN]
    return COMMA.join([*broken, *unknown])


# --- the file ---


def read() -> Answers:
    """What was found last time; nothing if there was none."""
    return parse(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def states_of(text: str) -> int:
    """How many states each check of a file might see."""
    found = re.search(r"--states-max (\d+)", text)
    return int(found[1]) if found else STATES


def parse(text: str) -> Answers:
    """Read what `line` writes."""
    pairs = (line.split(ARROW) for line in text.splitlines() if ARROW in line)
    return {row: Answer.parse(found) for row, found in pairs}


def line(row: str, found: Answer) -> str:
    """One line of the file."""
    return f"{row}{ARROW}{found}\n"


def text(found: Answers, states: int) -> str:
    """The whole file."""
    lines = (line(row, each) for row, each in sorted(found.items()))
    return HEAD.format(states=states) + "\n" + "".join(lines)
