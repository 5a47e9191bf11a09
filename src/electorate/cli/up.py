"""`electorate up`: a whole cluster of real processes on this machine, to watch and to hurt."""

import argparse
import contextlib
import json
import os
import select
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.fleet import Fleet, News, NodeProcess
from electorate.cli.node import add_timing_arguments, timing_words
from electorate.cli.protection import add_secret_arguments, secret_words
from electorate.cli.protocol import add_rule_arguments, attributes_of, find, node_count
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.core import Timing
from electorate.trace import Setting

NAME = "up"
SUMMARY = "Run a cluster of node processes on this machine, to watch and to hurt."
EXAMPLES = """examples:
  electorate up                        five nodes running bully, until q or Ctrl-C
  electorate up --nodes 3 --for 10 --json
  electorate up --protocol ring-attribute --attribute 2=9     node 2 leads
  electorate up --record runs/         keep what every node went through

With more than 14 nodes, --T, --beat and --timeout are longer unless they are given: every node
beats for every other.

Meanwhile, in another terminal: kill -9 any of the pids in the table.

exit code: 0 all nodes that are up agree at the end, 1 they do not, 2 bad usage or input"""

FIRST_WAIT_MS = 5000
"""All nodes are started at once here, so none needs to begin before the others can hear it."""
FIRST_WAIT_EACH_MS = 1000
"""Many processes take long to start on one machine."""

PACE_MS = {"T": 100, "beat": 50, "timeout": 400}
PAIRS_MAX = 200
"""So many pairs of nodes (14 nodes) keep that pace; each pair more makes all slower."""

JSON_HELP = "print one JSON object per change, and a last one with the outcome"

COLOURS = {
    "normal": "green",
    "reorganization": "cyan",
    "election": "yellow",
    "down": "red",
    "paused": "magenta",
}
KEYS = "←/→ choose · k kill · r restart · p pause · u resume · c cut off · h heal · q quit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `up`."""
    parser.add_argument("--protocol", default="bully", metavar="P")
    parser.add_argument("--nodes", type=node_count, default=5, metavar="N", help="default 5")
    add_rule_arguments(parser)
    parser.add_argument("--for", dest="seconds", type=_seconds, metavar="SECONDS")
    add_pace_arguments(parser)
    add_secret_arguments(parser)
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="keep records and data here")


def add_pace_arguments(parser: argparse.ArgumentParser) -> None:
    """The durations of a deployment, for a number of nodes that is not known yet."""
    add_timing_arguments(parser)
    parser.set_defaults(**dict.fromkeys(PACE_MS))


def keep_pace(options: argparse.Namespace) -> list[str]:
    """All durations, those that were not given filled in, to be handed on to each node.

    Every node beats for every other. If that is too fast, one machine is busy with nothing else;
    then its nodes stand still, and are suspected.
    """
    slower = max(1.0, options.nodes * (options.nodes - 1) / PAIRS_MAX)
    for name, usual_ms in PACE_MS.items():
        if getattr(options, name) is None:
            setattr(options, name, round(slower * usual_ms))
    if options.timeout <= options.beat:
        raise UsageError("--timeout must be longer than --beat")
    first_wait = max(FIRST_WAIT_MS, FIRST_WAIT_EACH_MS * options.nodes)
    return [*timing_words(options), "--first-wait", str(first_wait)]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds, not {text}")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Run the cluster until its time is over or somebody ends it."""
    protocol = find(options.protocol, options.form)
    ids = tuple(range(1, options.nodes + 1))
    attributes = attributes_of(options.attribute, ids)
    command = _command(options)  # It fills in the durations that were not given.
    setting = Setting(
        protocol.spelled(),
        ids,
        tuple(options.rule),
        options.strongest,
        timing=Timing(options.T),
        attributes=attributes,
    )
    machine = protocol.machine(setting)
    protocol.verify_that_it_begins_by_itself(machine)
    protocol.warn(machine)
    with any_end_is_ctrl_c(), tempfile.TemporaryDirectory(prefix="electorate-") as spare:
        folder = options.record or Path(spare)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot keep records in {folder}: {error.strerror}") from None
        record = options.record is not None
        with Fleet(command, options.nodes, folder, record=record) as fleet:
            show = _print_changes if options.json else _show_table
            with contextlib.suppress(KeyboardInterrupt):
                show(fleet, options.seconds or float("inf"))
            outcome = _outcome(fleet)
    if options.json:
        print(json.dumps(outcome), flush=True)
    else:
        if not sys.stdout.isatty():
            print()  # Off a terminal, the table ends without a line break.
        words = f"all follow node {outcome['leader']}" if outcome["agreed"] else "no agreement"
        print(f"After {outcome['seconds']} s: {words}; {outcome['changes']} changes.")
    return EXIT_DONE if outcome["agreed"] else EXIT_BROKEN


def _command(options: argparse.Namespace) -> list[str]:
    words = [options.protocol, *keep_pace(options), *secret_words(options)]
    for rule in options.rule:
        words += ["--rule", rule]
    if options.form:
        words += ["--form", options.form]
    if options.strongest:
        words += ["--strongest", options.strongest]
    for node, attribute in options.attribute:
        words += ["--attribute", f"{node}={attribute}"]
    return words


def _outcome(fleet: Fleet) -> dict[str, Any]:
    leader = fleet.agreed()
    return {
        "agreed": leader is not None,
        "leader": leader,
        "nodes": {
            str(member.node): {"status": member.status, "leader": member.leader}
            for member in fleet.members.values()
        },
        "changes": fleet.changes,
        "seconds": round(fleet.seconds, 1),
    }


def _print_changes(fleet: Fleet, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        news = fleet.hear(min(left, 1.0))
        if news is not None:
            print(json.dumps(_change(fleet, news)), flush=True)


def _change(fleet: Fleet, news: News) -> dict[str, Any]:
    member = fleet.members[news.node]
    return {
        "at": round(news.at_s, 3),
        "node": news.node,
        "pid": None if member.process is None else member.process.pid,
        "what": news.what,
        "status": member.status if news.what != "standing" else news.told.get("status"),
        "leader": news.told.get("leader") if news.what == "standing" else member.leader,
    }


def _show_table(fleet: Fleet, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    console = Console()
    chosen = 1
    with (
        Keyboard(sys.stdin) as keyboard,
        Live(console=console, auto_refresh=False, transient=False) as live,
    ):
        while time.monotonic() < deadline:
            live.update(_table(fleet, chosen), refresh=True)
            for news in _all_news(fleet):
                if news.what.startswith("down: electorate: "):
                    live.console.print(news.what.removeprefix("down: electorate: "))
            for key in keyboard.pressed():
                if key == "q":
                    return
                chosen = _act(fleet, chosen, key)


def _all_news(fleet: Fleet) -> Iterator[News]:
    """The news by now, or in a moment."""
    news = fleet.hear(0.1)
    while news is not None:
        yield news
        news = fleet.hear(0)


def _act(fleet: Fleet, chosen: int, key: str) -> int:
    """Do what a key stands for; returns the node that is chosen afterwards."""
    count = len(fleet.members)
    match key:
        case "left" | "up":
            return (chosen - 2) % count + 1
        case "right" | "down" | "\t":
            return chosen % count + 1
        case _ if key.isdecimal() and int(key) in fleet.members:
            return int(key)
        case "k":
            fleet.kill(chosen)
        case "r":
            fleet.start(chosen)
        case "p":
            fleet.pause(chosen)
        case "u":
            fleet.resume(chosen)
        case "c":
            fleet.cut(chosen, off=True)
        case "h":
            fleet.cut(chosen, off=False)
    return chosen


def _table(fleet: Fleet, chosen: int) -> Table:
    leader = fleet.agreed()
    head = f"all follow node {leader}" if leader is not None else "no agreement"
    table = Table(title=f"electorate · {head} · {fleet.seconds:.0f} s", caption=KEYS)
    for column in ("node", "pid", "status", "leader", "group", "in", "out", "since"):
        table.add_column(column, justify="left" if column == "status" else "right")
    for member in fleet.members.values():
        style = "reverse" if member.node == chosen else None
        table.add_row(*_cells(fleet, member), style=style)
    return table


def _cells(fleet: Fleet, member: NodeProcess) -> list[str]:
    counters = member.told.get("counters", {})
    shade = COLOURS.get(member.status, "white")
    group = member.told.get("group")
    cut = " (cut off)" if member.cut else ""
    return [
        str(member.node),
        str(member.process.pid) if member.process is not None and member.running else "-",
        f"[{shade}]{member.status}{cut}[/]",
        "-" if member.leader is None else str(member.leader),
        "-" if group is None else ".".join(map(str, group)),
        str(counters.get("in", 0)),
        str(counters.get("out", 0)),
        f"{fleet.seconds - member.since_s:.0f} s",
    ]


# --- single keys from a terminal, without waiting for Enter; silent where there is none ---

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}


class Keyboard:
    """Puts the terminal into a mode that hands over every key, and back again at the end."""

    def __init__(self, terminal: TextIO) -> None:
        self._before: list[Any] | None = None
        self._descriptor: int | None = None
        with contextlib.suppress(OSError, ValueError):
            if terminal.isatty():
                self._descriptor = terminal.fileno()

    def __enter__(self) -> Self:
        if self._descriptor is not None:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None and self._before is not None:
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def pressed(self) -> list[str]:
        """The keys pressed since the last call; arrows by name."""
        if self._descriptor is None:
            return []
        typed = b""
        while select.select([self._descriptor], [], [], 0)[0]:
            data = os.read(self._descriptor, 64)
            if not data:
                break
            typed += data
        return _keys(typed.decode(errors="ignore"))


def _keys(typed: str) -> list[str]:
    keys: list[str] = []
    while typed:
        if typed[:2] == "\x1b[" and typed[2:3] in ARROWS:
            keys.append(ARROWS[typed[2]])
            typed = typed[3:]
        else:
            keys.append(typed[0])
            typed = typed[1:]
    return keys
