"""The arguments that say what a check explores, and the model they make."""

import argparse
from typing import Any

from electorate.check import Bounds, Budget, Detector, Model
from electorate.check.checking import ENGINES
from electorate.check.effort import parse
from electorate.check.model import BUDGETS, Given
from electorate.cli.error import UsageError
from electorate.cli.protocol import (
    Protocol,
    add_equal_argument,
    add_graph_argument,
    add_storage_argument,
    attributes_of,
    graph_given,
    ids_given,
)
from electorate.core import Timing
from electorate.trace import Clock, Connections, Order, Setting, Start, Storage, Ties
from electorate.trace.setting import drift_of

THREADS_MAX = 8

USUAL = {
    "nodes": 3,
    "timing": Clock.BOUNDED,
    "delay": (0, 1),
    "handling": 0,
    "drift": 0.0,
    "ties": Ties.MESSAGES_FIRST,
    "order": Order.FIFO,
    "connections": Connections.OUTLIVE,
    "storage": Storage.KEPT,
}
"""The values of options that are not given."""
STARTS = ", ".join(Start)


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for time, network, faults, detectors, bounds and engine."""
    add_equal_argument(parser)
    _add_network_arguments(parser)
    _add_fault_arguments(parser)
    _add_bound_arguments(parser)
    # What is not given can come from a file that the search begins with.
    parser.set_defaults(**dict.fromkeys(USUAL))


def _add_network_arguments(parser: argparse.ArgumentParser) -> None:
    model = parser.add_argument_group("time and the network")
    model.add_argument("--timing", choices=list(Clock), help="default bounded")
    model.add_argument("--delay", type=_delay, metavar="MIN..T", help="default 0..1")
    model.add_argument(
        "--handling", type=_count, metavar="P", help="messages are handled within T+P"
    )
    model.add_argument(
        "--drift", type=_drift, metavar="ρ", help="clocks may be off by so much: 0.05"
    )
    add_graph_argument(model)
    model.add_argument("--ties", choices=list(Ties))
    model.add_argument("--order", choices=list(Order))
    model.add_argument("--connections", choices=list(Connections))
    model.add_argument(
        "--from",
        dest="start",
        default=Start.NORMAL,
        metavar="START",
        help=f"{STARTS} (down: nobody has started yet, and each first start is one of "
        "--recoveries), or where a file has led: a script, a run that comes with electorate, or "
        "the record of a real run",
    )
    model.add_argument(
        "--instance", metavar="NAME", help="of a record: which of its instances is explored"
    )
    model.add_argument(
        "--at", metavar="TIME", help="of a record: until when it is followed, 3.2s or 800ms"
    )
    add_storage_argument(model)


def _add_fault_arguments(parser: argparse.ArgumentParser) -> None:
    budgets = parser.add_argument_group("faults that a run may spend (each 0 by default)")
    for name in BUDGETS:
        budgets.add_argument(f"--{name}", type=_count, default=0, metavar="K")
    budgets.add_argument(
        "--asked",
        action="append",
        default=[],
        metavar="TEXT",
        help="of --asks, only requests with this in their text: StepDown, or 1:StepDown at node 1; "
        "may be repeated; default everything that is open",
    )
    budgets.add_argument(
        "--mortal",
        type=ids_given,
        metavar="IDS",
        help="only these may crash: 4, or 1,2,3; default all",
    )
    budgets.add_argument(
        "--atomic-turns",
        action="store_true",
        help="a crash leaves a turn whole, what it saves and what it sends, or undone",
    )
    budgets.add_argument(
        "--atomic-sends",
        action="store_true",
        help="a crash leaves all messages of a turn or none, but may come after it has saved",
    )
    detectors = parser.add_argument_group("failure detectors")
    detectors.add_argument(
        "--detector",
        choices=["perfect", *Detector],
        help="default: perfect, or eventually-perfect if there are lies; an unreliable one lies "
        "for ever, and an incomplete one need never notice that somebody has crashed",
    )
    detectors.add_argument("--detection", type=_count, metavar="TICKS", help="default 2T")
    detectors.add_argument("--notices-restarts", action="store_true")


def _add_bound_arguments(parser: argparse.ArgumentParser) -> None:
    bounds = parser.add_argument_group("where the search is cut")
    usual = Bounds()
    capacity = bounds.add_mutually_exclusive_group()
    capacity.add_argument(
        "--capacity",
        type=_positive,
        default=usual.capacity,
        metavar="K",
        help=f"messages on one channel; default {usual.capacity}",
    )
    capacity.add_argument(
        "--capacity-blocks",
        type=_positive,
        metavar="K",
        help="the same, but a full channel blocks its sender, as in Promela: that cuts nothing",
    )
    bounds.add_argument(
        "--counter",
        type=_count,
        default=usual.counter,
        metavar="K",
        help=f"how far numbers that grow are followed; default {usual.counter}",
    )
    bounds.add_argument(
        "--firings",
        type=_count,
        default=usual.firings,
        metavar="K",
        help=f"of periodic timers per node, without bounds on time; default {usual.firings}",
    )
    bounds.add_argument(
        "--normal-max",
        type=_count,
        default=usual.normal,
        metavar="M",
        help="from normal: if all fault-free runs have more states, 200 are drawn; "
        f"default {usual.normal:,}",
    )
    _add_limit_arguments(bounds)
    _add_engine_arguments(parser)


def _add_limit_arguments(bounds: argparse._ArgumentGroup) -> None:
    bounds.add_argument(
        "--states-max", type=_count, metavar="M", help="default 50,000,000; 5,000,000 in python"
    )
    bounds.add_argument(
        "--memory", type=_memory, metavar="M", help="e.g. 4G; default: most of what is free"
    )


def _add_engine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine", choices=ENGINES, help="default: numba where it is installed, else python"
    )
    parser.add_argument(
        "--threads", type=_threads, metavar="K", help="default: one per processor (numba)"
    )
    parser.add_argument(
        "--keep-going",
        action="store_true",
        help="explore everything, even when every claim that can break has",
    )
    parser.add_argument(
        "--no-reduction",
        action="store_true",
        help="explore every order of deliveries that commute, too",
    )
    parser.add_argument(
        "--no-dropping",
        action="store_true",
        help="keep messages that nobody can receive any more, as other checkers do",
    )
    parser.add_argument(
        "--no-renaming",
        action="store_true",
        help="leave numbers that grow for ever as they are, and cut the search at --counter",
    )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1_000_000_000:
        raise argparse.ArgumentTypeError(f"must be a whole number below 10⁹, not {text}")
    return int(text)


def _positive(text: str) -> int:
    count = _count(text)
    if not count:
        raise argparse.ArgumentTypeError("must be at least 1")
    return count


def _threads(text: str) -> int:
    count = _count(text)
    if not 1 <= count <= THREADS_MAX:
        raise argparse.ArgumentTypeError(f"must be from 1 to {THREADS_MAX}, not {text}")
    return count


def _memory(text: str) -> int:
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _drift(text: str) -> float:
    try:
        drift = drift_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not 0 <= drift < 1:
        raise argparse.ArgumentTypeError(f"must be at least 0 and below 1, not {text}")
    return drift


def _delay(text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    if not (dots and low.isdecimal() and high.isdecimal() and int(low) <= int(high) <= 100):
        raise argparse.ArgumentTypeError(f"must be MIN..T with MIN ≤ T ≤ 100, not {text}")
    if int(high) == 0:
        raise argparse.ArgumentTypeError("T must be at least 1")
    return int(low), int(high)


def model_of(options: argparse.Namespace, protocol: Protocol) -> Model:
    """The model that the arguments describe."""
    if options.start not in list(Start):
        raise UsageError(f"--from is one of {STARTS} here, not {options.start}")
    if options.instance or options.at:
        raise UsageError("--instance and --at are for the record of a real run: --from FOLDER")
    if options.start == Start.DOWN and not options.recoveries:
        raise UsageError("nobody would ever start: give --recoveries, one for each that may")
    return model_from(options, _setting(options, protocol))


def model_from(options: argparse.Namespace, setting: Setting, given: Given | None = None) -> Model:
    """The model of this setting with the budgets and bounds of the arguments."""
    budget = Budget(**{name: getattr(options, name) for name in BUDGETS})
    if options.detector == "perfect" and budget.lies:
        raise UsageError("a perfect detector tells no lies: leave out --lies, or --detector")
    if budget.heals and not budget.cuts and not (given and given.cut):
        raise UsageError("only links that are cut can heal: give --cuts too")
    if options.asked and not budget.asks:
        raise UsageError("--asked says what --asks may be spent on: give --asks too")
    strangers = sorted(set(options.mortal or ()) - set(setting.ids))
    if strangers:
        raise UsageError(f"--mortal names {strangers[0]}, which is not a node")
    perfect = options.detector in (None, "perfect")
    return Model(
        setting,
        budget,
        _bounds(options),
        Detector.EVENTUALLY_PERFECT if perfect else Detector(options.detector),
        options.detection,
        options.notices_restarts,
        options.atomic_turns,
        not options.no_reduction,
        options.mortal,
        options.atomic_sends,
        not options.no_dropping,
        not options.no_renaming,
        given,
        tuple(options.asked),
    )


def _bounds(options: argparse.Namespace) -> Bounds:
    blocks = options.capacity_blocks
    capacity = options.capacity if blocks is None else blocks
    limits = (options.counter, options.firings, options.normal_max)
    return Bounds(capacity, *limits, blocks is not None)


def _setting(options: argparse.Namespace, protocol: Protocol) -> Setting:
    said = {name: getattr(options, name) for name in USUAL if getattr(options, name) is not None}
    usual: dict[str, Any] = USUAL | said
    low, high = usual["delay"]
    nodes, graph = graph_given(options.graph, usual["nodes"])
    nodes += protocol.kind.extra_nodes
    ids = tuple(range(1, nodes + 1))
    try:
        return Setting(
            protocol=protocol.spelled(),
            ids=ids,
            rules=tuple(options.rule),
            strongest=options.strongest,
            timing=Timing(high, usual["handling"]),
            delay_min=low,
            clock=Clock(usual["timing"]),
            ties=Ties(usual["ties"]),
            order=Order(usual["order"]),
            connections=Connections(usual["connections"]),
            start=Start(options.start),
            attributes=attributes_of(options.attribute, ids),
            graph=graph,
            drift=usual["drift"],
            equal=options.equal,
            storage=Storage(usual["storage"]),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
