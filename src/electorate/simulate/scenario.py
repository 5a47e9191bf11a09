"""Scenarios: the conditions of simulated runs, and the TOML files that describe them."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from electorate.core import NodeId, Strongest, Timing, Value
from electorate.simulate.delay import Delay, Uniform, parse_delay, parse_time
from electorate.simulate.fault import AnyFault, Plan
from electorate.trace import Clock, Connections, Order, Setting, Start
from electorate.trace.setting import Links, graph_of

T = 1000
"""The usual length of T: fine enough for time to seem continuous."""


class ScenarioError(ValueError):
    """A scenario that cannot be used: where, and what is wrong."""


class Faults(Value):
    """How many faults of each kind are drawn for a run."""

    crashes: int = 0
    recoveries: int = 0
    """How many of the crashes are followed by a recovery."""
    torn: float = 0.5
    """The share of the crashes that fall between two messages of one turn."""
    pauses: int = 0
    cuts: int = 0
    """Links that are cut for a while, half of them one way only."""
    resets: int = 0
    """Connections that break while something is on its way."""
    partitions: int = 0
    lies: int = 0
    asks: int = 0


class Scenario(Value):
    """The conditions of a run; all times are in units of which T has `timing.T`."""

    ids: tuple[NodeId, ...] = (1, 2, 3)
    graph: Links | None = None
    """The links; None if all nodes are linked to all others."""
    start: Start = Start.NORMAL
    timing: Timing = Timing(T=T)
    believed: float = 1.0
    """The protocol's own T and P, as a multiple of the true ones: its timers are so many times as
    long, while delays, detectors and faults stay as they are."""
    delay: Delay = Uniform(0, T)
    loss: float = 0.0
    duplication: float = 0.0
    order: Order = Order.FIFO
    connections: Connections = Connections.OUTLIVE
    detection: int = 2 * T
    """A failure detector is right again within this time."""
    complete: bool = True
    """Whether failure detectors notice every crash; if not, half of them go unnoticed."""
    faults: Faults = Faults(crashes=4, recoveries=4)
    listed: Plan = ()
    """Faults that happen in every run."""
    safety: int = 100 * T
    """How long faults may happen."""
    stable: int = 200 * T
    """How long the cluster has to reach its goals after that."""
    stay: int = 50 * T
    """How long it must keep to them before that counts as for good."""
    claims: tuple[str, ...] = ()
    """The claims to judge; none means those that the protocol promises."""

    @property
    def watched(self) -> int:
        """How long a goal has to be true at the end of a run."""
        return min(self.stay, self.stable)

    def setting(
        self, protocol: str, rules: tuple[str, ...], strongest: Strongest | None
    ) -> Setting:
        """The setting of the runs; bounds are claimed only if the delays keep to them."""
        longest = self.delay.longest()
        timing = msgspec.structs.replace(
            self.timing,
            T=max(1, round(self.believed * self.timing.T)),
            P=round(self.believed * self.timing.P),
        )
        setting = Setting(
            protocol,
            self.ids,
            rules,
            strongest,
            timing,
            order=self.order,
            connections=self.connections,
            start=self.start,
            graph=self.graph,
        )
        if longest is not None and longest <= setting.delay_max:
            return setting
        return msgspec.structs.replace(setting, clock=Clock.UNBOUNDED)


class _Network(Value):
    delay: str = "uniform:0..1T"
    loss: float = 0.0
    duplication: float = 0.0
    order: Order = Order.FIFO
    connections: Connections = Connections.OUTLIVE
    graph: str | None = None


class _Detector(Value):
    bound: str = "2T"
    complete: bool = True


class _Faults(Faults):
    list: tuple[dict[str, Any], ...] = ()


class _Phases(Value):
    safety: str = "100T"
    stable: str = "200T"
    stay: str = "50T"


class _Sheet(Value):
    """A scenario as its file has it."""

    nodes: int = 3
    start: Start = Start.NORMAL
    timing: Timing = Timing(T=T)
    network: _Network = _Network()
    detector: _Detector = _Detector()
    faults: _Faults = _Faults()
    phases: _Phases = _Phases()
    claims: tuple[str, ...] = ()


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a file; a ScenarioError names the file and the key that is wrong."""
    try:
        with Path(path).open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: not TOML: {error}") from None
    try:
        return _resolved(msgspec.convert(data, _Sheet))
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{path}: {_explained(str(error))}") from None
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None


def _resolved(sheet: _Sheet) -> Scenario:
    timing, network = sheet.timing, sheet.network
    if sheet.nodes < 1 or timing.T < 1:
        raise ValueError("nodes and timing.T are at least 1")
    count, links = (None, None) if network.graph is None else graph_of(network.graph)
    counts = {name: getattr(sheet.faults, name) for name in Faults.__struct_fields__}
    scenario = Scenario(
        ids=tuple(range(1, (count or sheet.nodes) + 1)),
        graph=links,
        start=sheet.start,
        timing=timing,
        delay=parse_delay(network.delay, timing),
        loss=network.loss,
        duplication=network.duplication,
        order=network.order,
        connections=network.connections,
        detection=parse_time(sheet.detector.bound, timing),
        complete=sheet.detector.complete,
        faults=Faults(**counts),
        listed=_listed(sheet.faults.list, timing),
        safety=parse_time(sheet.phases.safety, timing),
        stable=parse_time(sheet.phases.stable, timing),
        stay=parse_time(sheet.phases.stay, timing),
        claims=sheet.claims,
    )
    verify(scenario)
    return scenario


def verify(scenario: Scenario) -> None:
    """Raise ValueError if the scenario makes no sense."""
    if scenario.start is Start.DOWN:
        raise ValueError("a simulation starts from normal or boot")
    for name in ("loss", "duplication"):
        if not 0 <= getattr(scenario, name) < 1:
            raise ValueError(f"{name} is a share from 0 up to, but not including, 1")
    for name in Faults.__struct_fields__:
        if getattr(scenario.faults, name) < 0:
            raise ValueError(f"{name} cannot be negative")
    pairs = ("cuts", "resets", "partitions", "lies")
    if any(getattr(scenario.faults, kind) for kind in pairs) and len(scenario.ids) < 2:
        raise ValueError("cuts, resets, partitions and lies need two nodes")
    for fault in scenario.listed:
        strangers = sorted(fault.nodes() - set(scenario.ids))
        if strangers:
            raise ValueError(f"a fault names {strangers[0]}, which is not a node")
        if getattr(fault, "until", fault.at) < fault.at:
            raise ValueError(f"a fault at {fault.at} ends before it begins")


def _listed(faults: tuple[dict[str, Any], ...], timing: Timing) -> Plan:
    kinds = [kind.__struct_config__.tag for kind in get_args(AnyFault)]
    listed: list[AnyFault] = []
    for number, fault in enumerate(faults, start=1):
        times = {key: fault[key] for key in ("at", "until") if key in fault}
        read = {key: parse_time(str(time), timing) for key, time in times.items()}
        if fault.get("kind") not in kinds:
            raise ValueError(f"faults.list #{number}: the kinds are: {', '.join(map(str, kinds))}")
        try:
            listed.append(msgspec.convert(fault | read, AnyFault))
        except msgspec.ValidationError as error:
            raise ValueError(f"faults.list #{number}: {error}") from None
    return tuple(sorted(listed, key=lambda fault: fault.at))


def _explained(problem: str) -> str:
    """Say which key is wrong, and which ones exist."""
    found = re.fullmatch(r"Object contains unknown field `([^`]*)`(?: - at `\$\.?(.*)`)?", problem)
    if not found:
        return problem.replace("`$.", "`")
    kind: Any = _Sheet
    for name in (found[2] or "").split("."):
        kind = get_type_hints(kind)[name] if name else kind
    key = f"{found[2]}.{found[1]}" if found[2] else found[1]
    where = f"[{found[2]}]" if found[2] else "a scenario"
    return f"unknown key {key!r}; the keys of {where} are: {', '.join(kind.__struct_fields__)}"
