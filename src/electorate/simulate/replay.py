"""Replaying: run what is written down again, and find the first difference.

Both golden scripts and traces in JSON lines can be replayed; the claims that the protocol promises
or the script names are judged after every step.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec

from electorate.claims import Claim, Following, Kind, Row, Witness
from electorate.core import Machine
from electorate.simulate.named import UnknownClaim, claims_of
from electorate.simulate.script import ScriptError, run_script
from electorate.simulate.simulation import Simulation
from electorate.simulate.start import Find
from electorate.trace import Trace, command_of, is_consequence, lines_of, to_json_lines


class Difference(NamedTuple):
    """The first line that differs."""

    line: int
    expected: str | None
    """None if nothing more was expected."""
    actual: str | None
    """None if nothing more came."""


class ReplayViolation(NamedTuple):
    """A claim that did not hold, and after which step it first did not."""

    step: int
    witness: Witness
    kind: Kind


class Replay(NamedTuple):
    """The result of a replay."""

    text: str
    """The file as it should be."""
    trace: Trace
    difference: Difference | None
    breaches: dict[str, ReplayViolation]
    """Of claims that hold always: the first violation; of goals: what they lack at the end."""
    kept: dict[str, Kind]
    """The other claims, without those that the run does not put to the test."""


class Watcher:
    """Judges after every step what a protocol promises, and any other claims that are asked for."""

    def __init__(self, named: Iterable[str] = (), claims: Iterable[Claim] | None = None) -> None:
        self.breaches: dict[str, ReplayViolation] = {}
        self._named = tuple(named)
        self._followed = None if claims is None else [*map(Following, claims)]
        self._met: set[str] = set()
        """The claims whose premise some row has met: about the others the run says nothing."""

    def __call__(self, cluster: Simulation) -> None:
        """Judge the cluster as it is now."""
        if self._followed is None:
            promised = claims_of(cluster.machine)
            named = self._found(cluster.machine)
            claims = {claim.name: claim for claim in (*promised, *named)}
            self._followed = [Following(claim) for claim in claims.values()]
        self.look(cluster.row(), len(cluster.steps))

    def look(self, row: Row, step: int) -> None:
        """Judge what is seen after that many steps."""
        for following in self._followed or ():
            claim, witness = following.claim, following.judge(row)
            if claim.premise is None or claim.premise(row):
                self._met.add(claim.name)
            if claim.kind is Kind.GOAL:
                self.breaches.pop(claim.name, None)
            if witness is not None:
                breach = ReplayViolation(step, witness, claim.kind)
                self.breaches.setdefault(claim.name, breach)

    def kept(self) -> dict[str, Kind]:
        """The claims that the run puts to the test and does not break, by name."""
        claims = sorted((following.claim for following in self._followed or ()), key=_name)
        kept = self._met - self.breaches.keys()
        return {claim.name: claim.kind for claim in claims if claim.name in kept}

    def _found(self, machine: Machine[Any]) -> Iterator[Claim]:
        """The named claims; the command that names one says what is wrong with it."""
        for name in self._named:
            with suppress(UnknownClaim):
                yield from claims_of(machine, (name,))


def _name(claim: Claim) -> str:
    return claim.name


def replay(text: str, find: Find, name: str) -> Replay:
    """Replay a script, or a trace in JSON lines; raises ScriptError if it cannot be run."""
    watcher = Watcher(_named(text))
    if text.startswith("{"):
        again, trace = _replay_json(text, find, name, watcher)
    else:
        again, trace = run_script(text, find, name, watcher)
    breaches = dict(sorted(watcher.breaches.items()))
    return Replay(again, trace, first_difference(text, again), breaches, watcher.kept())


def _named(text: str) -> list[str]:
    """The claims that a script names."""
    lines = (line.split() for line in text.splitlines())
    return [name for words in lines if words[:1] == ["claims"] for name in words[1:]]


def first_difference(expected: str, actual: str) -> Difference | None:
    """Where two texts first differ, apart from blank lines at the end."""
    pairs = zip_longest(expected.rstrip().splitlines(), actual.rstrip().splitlines())
    for number, (one, other) in enumerate(pairs, start=1):
        if one != other:
            return Difference(number, one, other)
    return None


class _Line(msgspec.Struct):
    """What a replay needs of a line: further fields say the same in other words."""

    command: str | None
    text: list[str]


def _replay_json(text: str, find: Find, name: str, watcher: Watcher) -> tuple[str, Trace]:
    """The lines again; those that say what happens by itself stay as they are."""
    written = text.splitlines()
    script, places = [_cluster_line(written[0], name)], [1]
    lines: list[_Line] = []
    for number, line in enumerate(written[1:], start=2):
        lines.append(_step_line(line, name, number))
        if lines[-1].command is not None:
            script += ["", lines[-1].command]
            places += [number] * 2
    try:
        trace = run_script("\n".join(script), find, name, watcher).trace
    except ScriptError as error:
        raise ScriptError(name, places[error.line - 1], error.problem) from None
    _, *again = to_json_lines(trace)
    for place, read in enumerate(lines[: len(again)]):
        step = trace.steps[place]
        command = None if is_consequence(step) else command_of(step)
        if (read.command, read.text) == (command, list(lines_of(step, trace.setting.timing))):
            again[place] = written[place + 1]
    return "\n".join([written[0], *again]) + "\n", trace


def _cluster_line(line: str, name: str) -> str:
    try:
        return str(msgspec.json.decode(line, type=dict[str, str])["cluster"])
    except (msgspec.MsgspecError, KeyError):
        raise ScriptError(name, 1, "a trace begins with its cluster") from None


def _step_line(line: str, name: str, number: int) -> _Line:
    try:
        return msgspec.json.decode(line, type=_Line)
    except msgspec.MsgspecError as error:
        raise ScriptError(name, number, f"not a step: {error}") from None
