"""Golden scripts: commands with the outcome that is expected of them.

    # The leader dies and the weakest node notices.
    cluster bully 1 2 3

    crash 1
    suspect 3
    ----
    1 crashes
    3 suspects 1
      ...

Blocks are separated by blank lines; the outcome of a block's commands follows `----`. A block
without `----` is run and not shown. The first command names the cluster.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from electorate.core import ProtocolError
from electorate.simulate.command import run_command
from electorate.simulate.law import IllegalStep
from electorate.simulate.simulation import Simulation
from electorate.simulate.start import Find, SimulationStartError, started
from electorate.trace import Setting, Trace, lines_of

RULE = "----"


class ScriptError(ValueError):
    """A script that cannot be run: the text says where, and what is wrong."""

    def __init__(self, name: str, line: int, problem: object) -> None:
        super().__init__(f"{name}:{line}: {problem}")
        self.name = name
        self.line = line
        self.problem = problem


class Replayed(NamedTuple):
    """The result of a script."""

    text: str
    """The script with the outcomes that its commands really had."""
    trace: Trace


class Block(NamedTuple):
    """Some commands and their expected outcome."""

    first_line: int
    lines: list[str]
    """Comments and commands, as they are written."""
    expected: list[str] | None
    """None if the block is not to be shown."""


def parse(text: str, name: str = "script") -> list[Block]:
    """The blocks of a script."""
    blocks: list[Block] = []
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            first, at = number - len(lines), None
            if RULE in lines:
                at = lines.index(RULE)
                if not any(_is_command(above) for above in lines[:at]):
                    raise ScriptError(name, first + at, f"{RULE} follows a command")
            expected = None if at is None else lines[at + 1 :]
            blocks.append(Block(first, lines[:at], expected))
            lines = []
    return blocks


def _is_command(line: str) -> bool:
    return not line.startswith("#")


class Player:
    """Plays a script, command by command; `watch` sees the simulation after every step."""

    def __init__(self, find: Find, watch: Callable[[Simulation], None] | None = None) -> None:
        self._find = find
        self._watch = watch
        self.cluster: Simulation | None = None

    def obey(self, line: str) -> list[str]:
        """Run one command; returns the lines of its outcome."""
        if self.cluster is None:
            return self._begin(line)
        if line.split()[0] == "cluster":
            raise ValueError("a script has one cluster")
        return run_command(self.cluster, line)

    def _begin(self, line: str) -> list[str]:
        setting = Setting.parse(line)
        if setting.is_open:
            raise ValueError("a run has nodes: name them in place of ids=open")
        machine = setting.machine(*self._find(setting.protocol))
        self.cluster, boots = started(setting, machine)
        self.cluster.watch = self._watch
        if self._watch:
            self._watch(self.cluster)
        return [text for boot in boots for text in lines_of(boot, setting.timing)]


def run_script(
    text: str,
    find: Find,
    name: str = "script",
    watch: Callable[[Simulation], None] | None = None,
) -> Replayed:
    """Run a script; ScriptError if a command cannot be run."""
    player = Player(find, watch)
    shown: list[str] = []
    for block in parse(text, name):
        said: list[str] = []
        for number, line in enumerate(block.lines, start=block.first_line):
            if _is_command(line):
                try:
                    said += player.obey(line)
                except (IllegalStep, SimulationStartError, ProtocolError, ValueError) as error:
                    raise ScriptError(name, number, error) from error
        outcome = [] if block.expected is None else [RULE, *said]
        shown.append("\n".join([*block.lines, *outcome]))
    if player.cluster is None:
        raise ScriptError(name, 1, "a script begins with `cluster PROTOCOL ID…`")
    return Replayed("\n\n".join(shown) + "\n", player.cluster.trace())


def with_rules(text: str, rules: Sequence[str]) -> str:
    """A script for a cluster with some other rules."""
    lines = text.splitlines()
    at = next((k for k, line in enumerate(lines) if line.startswith("cluster ")), None)
    if at is None:
        return text
    changed = [f"rule:{rule.partition('=')[0]}=" for rule in rules]
    kept = [word for word in shlex.split(lines[at]) if not word.startswith(tuple(changed))]
    lines[at] = shlex.join([*kept, *(f"rule:{rule}" for rule in rules)])
    return "\n".join(lines) + "\n"
