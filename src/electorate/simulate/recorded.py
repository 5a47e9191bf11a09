"""Judges a recorded run as it is, by the times in it and without playing it again.

The simulator plays one machine with one list of members. A deployed election changes its ranks
while it runs, as when an application stands in it, so no simulator can play it. What nodes believed
after each step is in the run all the same, and some claims need no more.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from electorate.claims import Claim, Kind, Row
from electorate.core import (
    CancelTimer,
    Machine,
    Members,
    NodeId,
    SetTimer,
    Stable,
    State,
    Topic,
)
from electorate.simulate.named import claims_of
from electorate.simulate.replay import Replay, ReplayViolation, Watcher
from electorate.trace import Trace
from electorate.trace.happening import Fired, Placed, Step

Armed = tuple[NodeId, str, int]
"""A node, its timer, and the number of the step that set it."""


class RecordVerdict(NamedTuple):
    """What claims say of a run."""

    breaches: dict[str, ReplayViolation]
    kept: dict[str, Kind]
    """The other claims, without those that the run does not put to the test."""


def judged(trace: Trace, machine: Machine[Any]) -> RecordVerdict:
    """Judge claims that do not depend on members and ranks: on terms, groups and newcomers."""
    watcher = Watcher(claims=[c for c in claims_of(machine) if _reads_numbers_alone(c)])
    for number, row in _rows(trace, machine):
        watcher.look(row, number)
    return RecordVerdict(dict(sorted(watcher.breaches.items())), watcher.kept())


def by_the_clock(played: Replay, trace: Trace, machine: Machine[Any]) -> RecordVerdict:
    """What the simulator says of a record that it has played, and of terms and groups what the
    times in the record say.

    A record is played with clocks that take any time. To the simulator an office therefore lasts
    until its holder notices, which a process that was stopped does too late.
    """
    timed = judged(trace, machine)
    names = {claim.name for claim in claims_of(machine) if _reads_numbers_alone(claim)}
    breaches = {n: breach for n, breach in played.breaches.items() if n not in names}
    kept = {n: kind for n, kind in played.kept.items() if n not in names}
    both = sorted({**kept, **timed.kept}.items())
    return RecordVerdict(dict(sorted({**breaches, **timed.breaches}.items())), dict(both))


def _reads_numbers_alone(claim: Claim) -> bool:
    return claim.kind is Kind.ALWAYS and bool(
        claim.about & {Topic.TERMS, Topic.GROUPS, Topic.NEWCOMERS}
    )


def _rows(trace: Trace, machine: Machine[Any]) -> Iterator[tuple[int, Row]]:
    """The row after each step; one that shows the same as the one before is left out."""
    members = Members.of(trace.setting.ids)
    states: dict[NodeId, State] = {}
    stables: dict[NodeId, Stable | None] = {}
    armed: defaultdict[NodeId, dict[str, int]] = defaultdict(dict)
    lapses = _lapses(trace)
    last: Row | None = None
    for number, step in enumerate(trace.steps):
        for node in _fallen(step):
            states.pop(node, None)
        happening = step.happening
        if isinstance(happening, Placed) and not happening.is_up:
            kept = msgspec.json.decode(happening.json, type=machine.stable_type | None)
            stables[happening.node] = kept
        if isinstance(happening, Fired):
            armed[happening.node].pop(happening.timer, None)
        for turn in step.turns:
            if turn.before is None:
                armed[turn.node] = {}
            states[turn.node], stables[turn.node] = turn.after, turn.after.stable
            for effect in turn.effects:
                if isinstance(effect, SetTimer):
                    armed[turn.node][effect.timer] = number
                elif isinstance(effect, CancelTimer):
                    armed[turn.node].pop(effect.timer, None)
            if turn.sent is not None:
                del states[turn.node]  # It crashed in the middle of this turn.
        standings = []
        for node in members.ids:
            state = states.get(node)
            timers = armed[node].items()
            left = frozenset(
                t for t, n in timers if step.at < lapses.get((node, t, n), step.at + 1)
            )
            standings.append(None if state is None else machine.view(state).expired(left))
        row = Row(
            members,
            tuple(standings),
            stables=tuple(_judged(machine, stables.get(node)) for node in members.ids),
        )
        if row != last:
            yield number + 1, row
        last = row


def _judged(machine: Machine[Any], stable: Stable | None) -> Stable | None:
    """What claims see of the data that a node has saved."""
    return None if stable is None else machine.judged(stable)


def _lapses(trace: Trace) -> dict[Armed, int]:
    """When timers ran out by the clock; not those that were set anew or cancelled in time.

    A node may notice late that its office is over. It was over all the same.
    """
    lapses: dict[Armed, int] = {}
    running: dict[tuple[NodeId, str], Armed] = {}
    for number, step in enumerate(trace.steps):
        if isinstance(step.happening, Fired):
            running.pop((step.happening.node, step.happening.timer), None)
        fallen = _fallen(step)
        running = {key: each for key, each in running.items() if key[0] not in fallen}
        for turn in step.turns:
            for effect in turn.effects:
                if not isinstance(effect, SetTimer | CancelTimer):
                    continue
                before = running.pop((turn.node, effect.timer), None)
                if before is not None:
                    del lapses[before]
                if isinstance(effect, SetTimer):
                    setting = turn.node, effect.timer, number
                    running[turn.node, effect.timer] = setting
                    lapses[setting] = step.at + effect.after + effect.jitter
    return lapses


def _fallen(step: Step) -> tuple[NodeId, ...]:
    """The nodes that begin anew, or are down from here on."""
    what = step.happening
    return () if isinstance(what, Placed) else (*what.change.down, *what.change.up)
