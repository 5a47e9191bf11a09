"""Where a check begins, if a file says so: a script, or the record of a real run.

The commands are run by the simulator. What the command line says takes the place of what the first
line of the script says, before anything is run.
"""

import argparse
from difflib import get_close_matches
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.check.interned import Armed, Item, Local, Pulse
from electorate.check.model import Given
from electorate.cli.error import UsageError
from electorate.cli.model import STARTS
from electorate.cli.protocol import Protocol, find
from electorate.cli.recorded import place_of
from electorate.cli.records import is_record
from electorate.cli.replay import found, read
from electorate.cli.retell import kind_and_form
from electorate.core import Timing
from electorate.runs import run_names
from electorate.simulate.script import ScriptError, run_script
from electorate.simulate.simulation import SimulatedNode, Simulation
from electorate.trace import Clock, Connections, Order, Placed, Setting, Start, Storage, Ties

WHO = ("nodes", "graph", "attribute", "equal", "strongest")
"""What the first line of a script fixes: who takes part."""
KINDS: dict[str, Any] = {
    "clock": Clock,
    "ties": Ties,
    "order": Order,
    "connections": Connections,
    "storage": Storage,
}
"""What the command line may replace, by the field of the setting."""
OPTIONS = {"clock": "timing"}
"""The options that have another name than their field."""


class Begun(NamedTuple):
    """What is checked, and from where."""

    protocol: Protocol
    setting: Setting
    given: Given


def begun(options: argparse.Namespace) -> Begun:
    """The beginning that `--from FILE` leads to."""
    file = found(options.start)
    if not file.exists():
        near = get_close_matches(options.start, [*Start, *run_names()], 1)
        hint = f"did you mean {near[0]}?" if near else f"it is {STARTS}, a file or a run"
        raise UsageError(f"--from {options.start} leads nowhere: {hint}")
    for name in WHO:
        if getattr(options, name):
            raise UsageError(f"{options.start} says who takes part: leave out --{name}")
    if is_record(file):
        script, about, names = place_of(options, file)
        try:
            there = _of_script(_without_times(options, script), file.name, script)
        except UsageError as error:
            ran = Setting.parse(script.splitlines()[0]).protocol
            if not options.protocol or find(options.protocol, options.form).spelled() == ran:
                raise
            raise UsageError(
                f"{options.start}: this ran {ran}, and cannot go on as {options.protocol}: {error}"
            ) from None
        return there._replace(given=replace(there.given, about=about, names=names))
    if options.instance or options.at:
        raise UsageError("--instance and --at are for the record of a real run")
    return _of_script(options, file.name, read(options.start, file))


def _without_times(options: argparse.Namespace, script: str) -> argparse.Namespace:
    """The arguments without those of time: the script of a record has taken these in."""
    T = Setting.parse(script.splitlines()[0]).timing.T
    delay = None if options.delay is None else (options.delay[0], T)
    return argparse.Namespace(**{**vars(options), "handling": None, "timing": None, "delay": delay})


def _of_script(options: argparse.Namespace, file: str, written: str) -> Begun:
    if written.startswith("{"):
        raise UsageError(f"{options.start} is a trace; replay --script makes a script of it")
    lines = written.splitlines()
    at = next((k for k, line in enumerate(lines) if line.startswith("cluster ")), None)
    if at is None:
        raise UsageError(f"{options.start}: a script begins with `cluster PROTOCOL ID…`")
    try:
        setting = changed(Setting.parse(lines[at]), options)
    except ValueError as error:
        raise UsageError(f"{options.start}:{at + 1}: {error}") from None
    lines[at] = setting.text()
    cluster = played("\n".join(lines), file)
    return Begun(find(setting.protocol), setting, given_of(cluster, options.start))


def changed(setting: Setting, options: argparse.Namespace) -> Setting:
    """The setting, changed by what the command line says."""
    if options.form and not options.protocol:
        raise UsageError("--form is of a protocol: name it, too")
    protocol = setting.protocol
    if options.protocol:
        protocol = find(options.protocol, options.form).spelled()
    rules = {rule.partition("=")[0]: rule for rule in (*setting.rules, *options.rule)}
    said = {name: getattr(options, OPTIONS.get(name, name)) for name in KINDS}
    fields = {name: KINDS[name](text) for name, text in said.items() if text is not None}
    low, T = options.delay or (setting.delay_min, setting.timing.T)
    P = setting.timing.P if options.handling is None else options.handling
    drift = setting.drift if options.drift is None else options.drift
    return replace(
        setting,
        protocol=protocol,
        rules=tuple(rules.values()),
        timing=Timing(T, P),
        delay_min=low,
        drift=drift,
        **fields,
    )


def played(text: str, name: str) -> Simulation:
    """The cluster after it has run a script."""
    seen: list[Simulation] = []
    try:
        run_script(
            text, kind_and_form, name, lambda cluster: seen.append(cluster) if not seen else None
        )
    except ScriptError as error:
        raise UsageError(str(error)) from None
    return seen[0]


def given_of(cluster: Simulation, name: str) -> Given:
    """The beginning that a cluster stands for."""
    setting = cluster.setting
    # Where nodes are only put into their states there is no past: half of them is no moment.
    is_placed = all(isinstance(step.happening, Placed) for step in cluster.steps)
    past = (cluster.row(),) if is_placed else tuple(cluster.past)
    waiting = sorted(cluster.in_flight(), key=lambda envelope: envelope.number)

    def age(sent_at: int) -> int:
        return min(cluster.now - sent_at, setting.delay_max) if setting.prompt else 0

    return Given(
        name,
        tuple(cluster.steps),
        tuple(_local(cluster, node) for node in cluster.nodes.values()),
        tuple((e.to, Item(e.sender, e.message, age(e.sent_at))) for e in waiting),
        frozenset(
            way for way, channel in cluster.channels.items() if channel.cut and setting.linked(*way)
        ),
        past,
    )


def _local(cluster: Simulation, node: SimulatedNode) -> Local:
    if node.local is None:
        return Local(None, node.stable, me=None if node.stable is None else node.id)
    is_timed, now = cluster.setting.timed, cluster.now
    timers = tuple(
        Armed(name, max(0, armed.earliest - now), max(0, armed.latest - now))
        if is_timed
        else Armed(name, 0, 0)
        for name, armed in sorted(node.timers.items())
    )
    pulse = Pulse.PAUSED if node.paused else Pulse.WOKEN if node.woken and is_timed else Pulse.AWAKE
    return Local(node.local.state, None, timers, pulse)
