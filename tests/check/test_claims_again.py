"""Drawn claims, judged by the plain explorer too, and by whoever follows the told run."""

from typing import Any

import pytest

from electorate.check import check
from electorate.check.start import StartError
from electorate.claims import Claim, Fold, Following, Kind, Row, Witness
from electorate.core import Machine, NodeId, ProtocolError, Stable, Status
from electorate.simulate.script import run_script
from electorate.simulate.simulation import Simulation
from electorate.trace import Trace, is_consequence, script_of
from tests.check.claiming import MESSAGES, STABLES, STATES, TIMERS, fold_claim, step_claim
from tests.check.drawn import Kept, drawn, drawn_watchers, same
from tests.check.plain import EndlessTalk
from tests.check.plain_moves import PlainMoves
from tests.check.probe import NOTHING
from tests.check.test_drawn import grade

PLACES_MAX = 400


# --- the same by others ---


def elects(row: Row) -> frozenset[NodeId]:
    return frozenset(node for node, view in row.live() if view.status is Status.ELECTION)


def saved_mode(stable: Stable | None) -> int | None:
    return stable.mode if isinstance(stable, Kept) else None


def changes_unseen(before: Row, after: Row) -> bool:
    """Whether a state changes that looks the same to the application."""
    nodes = zip(before.standings, after.standings, before.states, after.states, strict=True)
    return any(old != new for seen, sees, old, new in nodes if seen == sees and seen and sees)


def crowded(row: Row) -> list[object]:
    """The messages in the first channel that holds two, in their order."""
    for channel in sorted({sent[:2] for sent in row.messages}):
        words = [message for *way, message in row.messages if tuple(way) == channel]
        if len(words) > 1:
            return [channel, *words]
    return []


DRAWN = [
    step_claim("elections-end-one-by-one", lambda a, b: len(elects(a) - elects(b)) > 1),
    step_claim("nobody-gives-up", lambda a, b: bool(elects(b) - elects(a))),
    step_claim("links-stay-in-elections", lambda a, b: bool(elects(a)) and a.absent != b.absent),
    step_claim(
        "saved-modes-never-fall",
        lambda a, b: any(
            (saved_mode(old) or 0) > (saved_mode(new) or 0)
            for old, new in zip(a.stables, b.stables, strict=True)
        ),
        STABLES,
    ),
    fold_claim(
        "nobody-elects-twice",
        Fold(
            (frozenset(), frozenset(), frozenset()),
            lambda m, row: (
                m[0] | elects(row),
                m[1] | (m[0] - elects(row)),
                m[2] | (m[1] & elects(row)),
            ),
        ),
        lambda row, m: bool(m[2]),
    ),
    fold_claim(
        "both-timers-take-turns",
        Fold((), lambda m, row: tuple(sorted({*m, *(tuple(sorted(t)) for t in row.timers)}))[-3:]),
        lambda row, m: len(m) > 2,
        sights=TIMERS,
    ),
    step_claim("nobody-changes-unseen", lambda a, b: changes_unseen(a, b), STATES),
    step_claim(
        "words-are-taken-from-one-channel",
        lambda a, b: len({sent[:2] for sent in set(a.messages) - set(b.messages)}) > 1,
        MESSAGES,
    ),
    fold_claim(
        "few-words-are-ever-said",
        Fold(frozenset(), lambda m, row: m | set(row.messages)),
        lambda row, m: len(m) > 2,
        sights=MESSAGES,
    ),
    Claim(
        "no-two-words-wait-in-one-channel",
        Kind.ALWAYS,
        "a channel holds one message at most",
        lambda row: Witness((), str(crowded(row))) if crowded(row) else None,
        sights=MESSAGES,
    ),
    Claim(
        "timers-apart",
        Kind.ALWAYS,
        "never are two timers armed at one node",
        lambda row: Witness((), "two") if max(map(len, row.timers)) > 1 else None,
        sights=TIMERS,
    ),
]
GOAL = fold_claim(
    "each-elected-rests",
    Fold(frozenset(), lambda m, row: m | elects(row)),
    lambda row, m: bool(elects(row)) or not m,
    Kind.GOAL,
)


@pytest.mark.parametrize("part", range(4))
def test_drawn_claims_break_where_the_plain_explorer_says(part: int) -> None:
    """Fails if checker and plain explorer differ on steps, memories, sights or their states."""
    compared = sum(compare(seed) for seed in range(part, 120, 4))
    assert compared > 10


def compare(seed: int) -> bool:
    machine, model = drawn_watchers(seed) if seed % 3 == 0 else drawn(seed)
    claims = [claim for number, claim in enumerate(DRAWN) if (seed + number) % 2]
    plain = PlainMoves(machine, model, [*claims, GOAL])
    try:
        reached = plain.reached([plain.start()], PLACES_MAX)
    except EndlessTalk:
        return False
    if reached is None or not reached.places:
        return False
    calm = plain.reached([plain.calmed(place) for place in reached.places], PLACES_MAX)
    if calm is None:
        return False
    verdict = check(machine, model, [*claims, GOAL], keep_going=True)
    counts = (verdict.states, verdict.transitions, verdict.stable_states)
    assert counts == (len(reached.places), reached.transitions, len(calm.places)), seed
    assert (verdict.liveness, verdict.tau) == grade(plain, GOAL, reached, calm), seed
    lengths = {v.claim: v.length for v in verdict.violations if v.claim != GOAL.name}
    nearest = {claim.name: plain.first_violation(reached, claim) for claim in claims}
    assert lengths == {name: found[0] for name, found in nearest.items() if found}, seed
    return True


def test_who_follows_the_told_run_finds_the_claim_broken_at_its_end_and_not_before() -> None:
    """Fails if a driver that follows the run judges it otherwise than the checker did."""
    followed = dict.fromkeys((claim.name for claim in DRAWN), 0)
    for seed in range(110):
        machine, model = drawn_watchers(seed) if seed % 2 else drawn(seed)
        try:
            verdict = check(machine, model, [*DRAWN, NOTHING], 600, engine="python")
        except (ProtocolError, StartError):
            continue
        for violation in verdict.violations:
            claim = next(claim for claim in DRAWN if claim.name == violation.claim)
            following = Following(claim)
            *before, last = [following.judge(row) for row in rows_of(machine, violation.trace)]
            assert not any(before), (seed, claim.name)
            assert last == violation.witness, (seed, claim.name)
            followed[claim.name] += 1
    # One move concerns one node.
    assert followed.pop("elections-end-one-by-one") == 0
    assert min(followed.values()) > 2, followed


def rows_of(machine: Machine[Any], trace: Trace) -> list[Row]:
    """What the simulator shows of the run, at its start and after every move."""
    rows: list[Row] = []

    def watch(cluster: Simulation) -> None:
        moves = sum(not is_consequence(step) for step in cluster.steps)
        rows[moves:] = [cluster.row()]

    run_script(script_of(trace), lambda name: (same(machine), "sound"), watch=watch)
    return rows
