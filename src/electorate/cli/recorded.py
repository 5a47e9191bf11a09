"""A moment of a recorded run, as a script that puts every node into its state."""

import argparse
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from electorate.cli.error import UsageError
from electorate.cli.protocol import Protocol, find
from electorate.cli.records import Merged, Records
from electorate.core import Ensemble, NodeId
from electorate.trace import Clock, Order, Setting, Start, Step, Trace, script_of
from electorate.trace.moment import Moment, in_ticks, joined
from electorate.trace.word import counted, listed


class RecordedStart(NamedTuple):
    """A script that puts the nodes there at once, and what a verdict says about that."""

    script: str
    about: str
    names: Mapping[NodeId, str]
    """What people call the nodes."""


class Stood(NamedTuple):
    """The states of the nodes in one instance, or in those that are the parts of an ensemble."""

    instance: str
    moment: Moment
    setting: Setting
    """The machine that all of them ran, with unbounded clocks, beginning in any state."""
    names: Mapping[NodeId, str]


def place_of(options: argparse.Namespace, file: Path) -> RecordedStart:
    """The moment that `--from RECORD --at TIME` means."""
    name = options.start
    whole = find(options.protocol, options.form) if options.protocol else None
    if whole is not None and issubclass(whole.kind, Ensemble):
        stood = _joined(options, file, whole)
    else:
        stood = _stood(options, file, options.instance)
    setting, moment, unit = stood.setting, stood.moment, 1.0
    about = [f"{stood.instance} at {moment.until / 1000:.3f}s"]
    if options.timing in (Clock.BOUNDED, Clock.CLOCKS):
        T = 1 if options.delay is None else options.delay[1]
        unit = setting.timing.T / T
        rules = find(setting.protocol).machine(setting).rules
        setting = replace(
            in_ticks(setting, T, options.handling, rules), clock=Clock(options.timing)
        )
        about.append(f"what remained of timers and messages rounded to ticks of {unit:g} ms")
    mail = len(moment.mail)
    about.insert(1, f"{counted(mail, 'messages')} on the way")
    if options.order == Order.GLOBAL and mail > 1:
        raise UsageError(f"{name} does not say in which order messages of several nodes arrive")
    steps = tuple(Step(0, placed) for placed in moment.placements(unit, setting.ids))
    return RecordedStart(script_of(Trace(setting, steps)), ", ".join(about), stood.names)


def _stood(options: argparse.Namespace, file: Path, instance: str | None) -> Stood:
    """The states of the nodes in one instance."""
    name = options.start
    records = Records([file], instance)
    merged = records.merged()
    if records.differences:
        raise UsageError(f"{name}: this came out differently: {records.differences[0]}")
    if merged is None:
        raise UsageError(f"{name}: name one with --instance: there are {records.few()}")
    if merged.doubts:
        why = [*_missing(records, merged.trace.setting.ids), *merged.doubts]
        raise UsageError(f"{name}: where {merged.instance} stood is not known: {listed(why)}")
    last = merged.trace.steps[-1].at if merged.trace.steps else 0
    until = last if options.at is None else _milliseconds(options.at)
    if until > records.end:
        raise UsageError(f"--at {options.at}: {name} ends at {records.end / 1000:.3f}s")
    moment = Moment(merged.trace, until, merged.first_views)
    for missing in _missing(records, moment.heard_of):
        raise UsageError(f"{name}: {missing}, and others had heard of them")
    return Stood(merged.instance, moment, _setting(records, merged, moment), records.names)


def _missing(records: Records, nodes: Collection[NodeId]) -> list[str]:
    """Say of which of these nodes there is no record, if there are such nodes."""
    missing = sorted({*nodes}.difference(records.nodes))
    return [f"there is no record of {listed(map(records.called, missing))}"] if missing else []


def _joined(options: argparse.Namespace, file: Path, whole: Protocol) -> Stood:
    """The states of the nodes in all parts of what they ran: named as these, but for one."""
    kind: Any = whole.kind
    parts, focus = tuple(kind.parts), str(kind.focus)
    if options.instance is None or options.at is None:
        raise UsageError(
            f"{options.start} holds the parts of {whole.name} as instances: say with --instance "
            f"which is its {focus}, and with --at when"
        )
    stood = {
        part: _stood(options, file, options.instance if part == focus else part) for part in parts
    }
    setting = _setting_of_all(whole, stood)
    ensemble = whole.machine(setting)
    assert isinstance(ensemble, Ensemble)
    moment = joined(ensemble, setting, {part: each.moment for part, each in stood.items()})
    instances = listed(each.instance for each in stood.values())
    return Stood(instances, moment, setting, stood[focus].names)


def _setting_of_all(whole: Protocol, stood: Mapping[str, Stood]) -> Setting:
    """The setting of the ensemble, with the rules that the nodes ran in each part."""
    kind: Any = whole.kind
    usual = kind.form(whole.form).texts()
    rules: list[str] = []
    ids: set[NodeId] = set()
    for part, each in stood.items():
        ids |= {*each.setting.ids}
        texts = find(each.setting.protocol).machine(each.setting).rules.texts()
        named = {f"{part}.{rule}": text for rule, text in texts.items()}
        if not named.keys() <= usual.keys():
            hint = ": name another with --instance" if part == str(kind.focus) else ""
            ran = f"{each.instance} ran {each.setting.protocol}"
            raise UsageError(f"{ran}, which is not the {part} of {whole.name}{hint}")
        rules += [f"{rule}={text}" for rule, text in named.items() if usual[rule] != text]
    setting = next(iter(stood.values())).setting
    return replace(setting, protocol=whole.spelled(), ids=tuple(sorted(ids)), rules=tuple(rules))


def _setting(records: Records, merged: Merged, moment: Moment) -> Setting:
    """The setting of the machine that all live nodes run."""
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
    setting = Setting.parse(texts[first]).closed(
        node for node in merged.trace.setting.ids if node in records.nodes
    )
    return replace(setting, clock=Clock.UNBOUNDED, start=Start.ANY)


def _milliseconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)", text)
    if found is None:
        raise UsageError(f"--at is a time since the first boot, as in 3.2s or 800ms, not {text}")
    return float(found[1]) * {"ms": 1.0, "s": 1000.0}[found[2]]
