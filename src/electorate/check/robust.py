"""What a "holds" hangs on: the check again, with each default that it rests on moved by one.

Some changes only take runs away (a detector that is faster, delays that are fixed, atomic turns):
they can break nothing, and are checked all the same, because that is cheap.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import msgspec

from electorate.check.ablation import INTERRUPTED
from electorate.check.checking import KEPT, check
from electorate.check.column import ModelError
from electorate.check.effort import Progress, Report
from electorate.check.model import Model
from electorate.check.start import StartError
from electorate.check.verdict import Result, Verdict
from electorate.claims import Claim
from electorate.core import Machine, ProtocolError, Timing, Value
from electorate.trace import Connections, Order, Setting, Start, Ties

STATES_MAX = 10_000_000
"""How many states the check of one change may see unless it is told otherwise."""

CUTTING = ("capacity", "counter", "firings")
"""The bounds that can be moved by one, each with an option of its name."""

Build = Callable[[Setting], Machine[Any]]
"""Makes the machine for a setting: where T is another, timers are too."""
Watch = Callable[[], AbstractContextManager[Report]]
"""Opens a report on one check, and closes it before the next."""


class Change(NamedTuple):
    """One default that is moved, and the option that moves it."""

    name: str
    before: str
    after: str
    option: str
    """What the user adds to the command to see it."""
    model: Model

    @property
    def default(self) -> str:
        """What the verdict may hang on: `detection 2`."""
        return f"{self.name} {self.before}"

    @property
    def text(self) -> str:
        """`detection 2 → 3`."""
        return f"{self.default} → {self.after}"


class Recheck(Value):
    """What becomes of the claims after a change."""

    default: str
    change: str
    option: str
    claims: dict[str, Result]
    moves: dict[str, int] = {}
    """How many moves the shortest run takes that breaks a claim."""
    within: str = ""
    """Which bounds cut the search."""
    reason: str | None = None
    """Why something is unknown."""
    tried: bool = True

    @property
    def broken(self) -> list[str]:
        """The claims that hang on this default."""
        return [name for name, result in self.claims.items() if result is Result.VIOLATED]

    @property
    def finished(self) -> bool:
        """Whether it is known what becomes of every claim."""
        return Result.UNKNOWN not in self.claims.values()


# --- which changes there are ---


def changes(machine: Machine[Any], model: Model, cuts: Mapping[str, int]) -> list[Change]:
    """Everything that can be moved and that runs of this model could notice."""
    return [
        *_of_detection(machine, model),
        *_of_delay(machine, model),
        *_of_network(model),
        *_of_runs(model),
        *_of_bounds(model, cuts),
    ]


def _of_detection(machine: Machine[Any], model: Model) -> Iterator[Change]:
    budget = model.first_budget()
    stirs = budget.crashes or budget.cuts or budget.lies or model.begins_anywhere
    if not (machine.uses_views and model.bounded and stirs):
        return
    ticks = model.detection_ticks
    for other in (ticks + 1, ticks - 1):
        if other >= 0:
            moved = msgspec.structs.replace(model, detection=other)
            yield Change("detection", str(ticks), str(other), f"--detection {other}", moved)


def _of_delay(machine: Machine[Any], model: Model) -> Iterator[Change]:
    """Longer delays and timers, delays that are fixed or not, and ties; if messages have bounds."""
    setting = model.setting
    if not setting.prompt:
        return
    low, high = setting.delay_min, setting.timing.T
    longer = (high + 1 if low == high else low, high + 1)
    yield _delayed(model, "T", f"{high}", f"{high + 1}", longer)
    for other in (high, 0):
        if low != other:
            yield _delayed(model, "delay", f"{low}..{high}", f"{other}..{high}", (other, high))
    if setting.ties is Ties.MESSAGES_FIRST and machine.timers:
        yield _set(model, "ties", Ties.BOTH)


def _delayed(model: Model, name: str, before: str, after: str, delay: tuple[int, int]) -> Change:
    low, high = delay
    setting = msgspec.structs.replace(
        model.setting, timing=Timing(high, model.setting.timing.P), delay_min=low
    )
    moved = msgspec.structs.replace(model, setting=setting)
    return Change(name, before, after, f"--delay {low}..{high}", moved)


def _of_network(model: Model) -> Iterator[Change]:
    setting = model.setting
    # A network that keeps everything is no neighbour of one that delivers everything once; and
    # where links are cut there is a channel for each of them.
    orders = (Order.BAG, Order.FIFO) if model.budget.cuts else (Order.BAG, Order.GLOBAL, Order.FIFO)
    for order in orders if setting.order is not Order.SET else ():
        if order is not setting.order:
            yield _set(model, "order", order)
    falls = model.budget.crashes or model.begins_anywhere
    if falls and setting.order is not Order.SET:
        other = {Connections.OUTLIVE: Connections.DIE, Connections.DIE: Connections.OUTLIVE}
        yield _set(model, "connections", other[setting.connections])


def _of_runs(model: Model) -> Iterator[Change]:
    """Where runs begin, and what a crash leaves of a turn."""
    if model.setting.start is Start.NORMAL:
        yield _set(model, "start", Start.BOOT)
    if model.budget.crashes:
        option, words = "--atomic-turns", ("torn", "atomic")
        if model.atomic_turns:
            option, words = f"without {option}", ("atomic", "torn")
        moved = msgspec.structs.replace(model, atomic_turns=not model.atomic_turns)
        yield Change("turns", *words, option, moved)


def _set(model: Model, field: str, value: str) -> Change:
    """A field of the setting with another of its words."""
    name = "from" if field == "start" else field
    setting = msgspec.structs.replace(model.setting, **{field: value})
    moved = msgspec.structs.replace(model, setting=setting)
    return Change(name, getattr(model.setting, field), value, f"--{name} {value}", moved)


def _of_bounds(model: Model, cuts: Mapping[str, int]) -> Iterator[Change]:
    """Bounds that cut something, one further; a bound that cut nothing could be anywhere.

    A channel that blocks its sender is no such bound: its capacity is part of the network.
    """
    for name in CUTTING:
        if name in cuts:
            yield _bound(model, name, name, 1)
    if model.bounds.blocks:
        yield _bound(model, "capacity", "capacity-blocks", 1)
        if model.bounds.capacity > 1:
            yield _bound(model, "capacity", "capacity-blocks", -1)


def _bound(model: Model, field: str, name: str, by: int) -> Change:
    value: int = getattr(model.bounds, field)
    bounds = msgspec.structs.replace(model.bounds, **{field: value + by})
    moved = msgspec.structs.replace(model, bounds=bounds)
    return Change(name, str(value), str(value + by), f"--{name} {value + by}", moved)


# --- what becomes of the claims ---


def rechecks(
    build: Build,
    found: Sequence[Change],
    claims: Sequence[Claim],
    states_max: int = STATES_MAX,
    engine: str = "python",
    watch: Watch = lambda: nullcontext(lambda progress: None),
    memory: int | None = None,
    threads: int | None = None,
) -> Iterator[Recheck]:
    """Check the claims after each change, one by one.

    An interruption ends the check that it comes into; those after it are not tried.
    """
    again = partial(
        check,
        states_max=states_max,
        engine=engine,
        memory=memory,
        threads=threads,
        tidy=False,
        lean=True,
    )
    interrupted = False
    for change in found:
        recheck = _untried(change, claims)
        if not interrupted:
            with watch() as report:
                recheck = _tried(change, claims, build, again, report)
            interrupted = recheck.reason == INTERRUPTED
        yield recheck


def _untried(change: Change, claims: Sequence[Claim]) -> Recheck:
    unknown = {claim.name: Result.UNKNOWN for claim in claims}
    what = (change.default, change.text, change.option)
    return Recheck(*what, unknown, reason=INTERRUPTED, tried=False)


def _tried(
    change: Change,
    claims: Sequence[Claim],
    build: Build,
    again: Callable[..., Verdict],
    report: Report,
) -> Recheck:
    """One change, whatever comes of it."""
    recheck = msgspec.structs.replace(_untried(change, claims), tried=True)

    def tell(progress: Progress) -> None:
        report(progress._replace(phase=f"{change.option}: {progress.phase}"))

    try:
        machine = build(change.model.setting)
    except ValueError as error:
        return msgspec.structs.replace(recheck, reason=str(error))
    try:
        judge = partial(again, machine, change.model, report=tell)
        return _judged(recheck, change.model, claims, judge)
    except KeyboardInterrupt:
        return recheck  # It came between two phases of the check, and means the same.
    except (StartError, ModelError, ProtocolError) as error:
        return msgspec.structs.replace(recheck, reason=str(error))


def _judged(
    recheck: Recheck,
    model: Model,
    claims: Sequence[Claim],
    judge: Callable[[Sequence[Claim]], Verdict],
) -> Recheck:
    """What a search says of the claims, and another one of those that it did not come to."""
    verdict = judge(claims)
    results, lengths, cuts = dict(verdict.claims), _lengths(verdict), dict(verdict.cuts)
    left = [claim for claim in claims if results[claim.name] is Result.UNKNOWN]
    if lengths and left and verdict.reason is None:
        # Where every safety claim is broken the search ends, and goals are not judged.
        verdict = judge(left)
        results |= verdict.claims
        lengths |= _lengths(verdict)
        cuts |= verdict.cuts
    kept = any(result in KEPT for result in results.values())
    bounds = [bound for bound, _ in model.bounds.named(cuts)]
    return msgspec.structs.replace(
        recheck,
        claims=results,
        moves=lengths,
        within=f" up to {', '.join(bounds)}" if bounds and kept else "",
        reason=verdict.reason,
    )


def _lengths(verdict: Verdict) -> dict[str, int]:
    return {violation.claim: violation.length for violation in verdict.violations}
