"""The place that a recorded run came to, as a script that puts every node into its state."""

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from electorate.cli.error import UsageError
from electorate.cli.protocol import find
from electorate.cli.records import Merged, Records
from electorate.core import NodeId
from electorate.trace import Clock, Order, Setting, Start, Step, Trace, script_of
from electorate.trace.moment import Moment, in_ticks
from electorate.trace.word import listed


class Place(NamedTuple):
    """A script that leads there at once, and what a verdict has to say of it."""

    script: str
    about: str
    names: Mapping[NodeId, str]
    """What people call the nodes."""


def place_of(options: argparse.Namespace, file: Path) -> Place:
    """The place that `--from RECORD --at TIME` means."""
    name = options.start
    records = Records([file], options.instance)
    merged = records.merged()
    if records.differences:
        raise UsageError(f"{name}: this came out otherwise: {records.differences[0]}")
    if merged is None:
        raise UsageError(f"{name}: there are several instances: name one with --instance")
    everybody = merged.trace.setting.ids
    missing = [records.called(node) for node in everybody if node not in records.nodes]
    if missing:
        raise UsageError(f"{name}: there is no record of {listed(missing)}")
    if merged.doubts:
        raise UsageError(
            f"{name}: where {merged.instance} stood is not known: {listed(merged.doubts)}"
        )
    last = merged.trace.steps[-1].at if merged.trace.steps else 0
    until = last if options.at is None else _milliseconds(options.at)
    if until > records.end:
        raise UsageError(f"--at {options.at}: {name} ends at {records.end / 1000:.3f}s")
    moment = Moment(merged.trace, until, merged.first_views)
    setting = _setting(records, merged, moment)
    unit = 1.0
    about = [f"{merged.instance} at {until / 1000:.3f}s"]
    if options.timing in (Clock.BOUNDED, Clock.CLOCKS):
        T = 1 if options.delay is None else options.delay[1]
        unit = setting.timing.T / T
        rules = find(setting.protocol).machine(setting).rules
        setting = replace(
            in_ticks(setting, T, options.handling, rules), clock=Clock(options.timing)
        )
        about.append(f"what remained of timers and messages rounded to ticks of {unit:g} ms")
    mail = len(moment.mail)
    about.insert(1, f"{mail} message{'' if mail == 1 else 's'} on the way")
    if options.order == Order.GLOBAL and mail > 1:
        raise UsageError(f"{name} does not say in which order messages of several nodes arrive")
    steps = tuple(Step(0, placed) for placed in moment.places(unit, setting.ids))
    return Place(script_of(Trace(setting, steps)), ", ".join(about), records.names)


def _setting(records: Records, merged: Merged, moment: Moment) -> Setting:
    """The setting of the machine that all nodes run which are up."""
    at = f"at {moment.until / 1000:g}s"
    if not moment.up:
        raise UsageError(f"no node was up {at} in {merged.instance}: choose another --at")
    texts = {n: records.machine_at(merged.instance, n, moment.until) for n in sorted(moment.up)}
    first, *others = texts
    for other in others:
        if texts[other] != texts[first]:
            raise UsageError(
                f"{at} {records.called(first)} and {records.called(other)} did not run the same "
                f"machine of {merged.instance} (members, priorities or rules were not the same): "
                "choose another --at"
            )
    setting = Setting.parse(texts[first]).closed(merged.trace.setting.ids)
    return replace(setting, clock=Clock.UNBOUNDED, start=Start.ANY)


def _milliseconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)", text)
    if found is None:
        raise UsageError(f"--at is a time since the first boot, as in 3.2s or 800ms, not {text}")
    return float(found[1]) * {"ms": 1.0, "s": 1000.0}[found[2]]
