"""What the plain explorer says of a drawn machine, held against what the checker says."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from electorate.check import Liveness, Model, Result, Verdict, check
from electorate.check.column import ModelError
from electorate.check.judge import SAYS_NOTHING
from electorate.check.witness_run import STANDSTILL
from electorate.claims import Claim, Kind, Row, Witness
from electorate.core import Machine, ProtocolError, Status
from tests.check.place import Place
from tests.check.plain import EndlessTalk, TooMuchAtOnce
from tests.check.plain_goal import Grade, PlainGoal
from tests.check.plain_moves import PlainMoves

PLACES_MAX = 200


# --- claims ---


def all_elect(row: Row) -> Witness | None:
    electing = [node for node, view in row.live() if view.status is Status.ELECTION]
    return Witness(tuple(electing), "all elect") if len(electing) == len(row.standings) else None


def somebody_elects(row: Row) -> Witness | None:
    electing = [node for node, view in row.live() if view.status is Status.ELECTION]
    return Witness(tuple(electing), "an election") if electing else None


def share_a_round(row: Row) -> Witness | None:
    groups = [view.group for _, view in row.live() if view.group is not None]
    return Witness((), "the same round") if len(set(groups)) < len(groups) else None


def out_of_step(row: Row) -> Witness | None:
    tokens = [view.token for _, view in row.live() if view.token is not None]
    return Witness((), "a later token first") if sorted(tokens, reverse=True) != tokens else None


ALWAYS = Claim("not-all-elect", Kind.ALWAYS, "never are all in an election", all_elect)
ROUNDS = Claim("own-rounds", Kind.ALWAYS, "no two are in the same round", share_a_round)
TOKENS = Claim("tokens-fall", Kind.ALWAYS, "nobody has a later token than before", out_of_step)
GOAL = Claim("rest", Kind.GOAL, "in the end nobody is in an election", somebody_elects)
# They compare tokens and groups at the most, so numbers may be renamed.
ALWAYS, ROUNDS, TOKENS, GOAL = (
    claim._replace(compares=True) for claim in (ALWAYS, ROUNDS, TOKENS, GOAL)
)
SAFETY = (ALWAYS, ROUNDS, TOKENS)


# --- what is said ---


class Said(NamedTuple):
    """What is said of one claim."""

    result: Result
    why: str | None = None
    """Why it is unknown: nothing happened, a bound, or a standstill of time."""
    liveness: Liveness | None = None
    tau: int | None = None
    length: int | None = None
    """The moves of the shortest run that breaks a safety claim."""


class Seen(NamedTuple):
    """How much of a search there was."""

    states: int
    transitions: int
    stable_states: int
    depth: int
    cuts: dict[str, int]


class Opinion(NamedTuple):
    """What one side says of all claims, and what it has seen."""

    said: dict[str, Said]
    seen: Seen
    refused: bool = False
    """Whether the machine cannot be explored at all, and both sides say so."""


REFUSED = Opinion({}, Seen(0, 0, 0, 0, {}), refused=True)


class Disagreement(AssertionError):
    """Two that should say the same do not."""

    def __init__(self, about: str, one: object, other: object) -> None:
        super().__init__(f"{about}\n  {one}\n  {other}")


# --- the plain explorer's ---


class Oracle:
    """A machine explored plainly."""

    def __init__(
        self, machine: Machine[Any], model: Model, *, renames: bool = False, drops: bool = True
    ) -> None:
        self.plain = PlainMoves(machine, model, drops=drops, renames=renames)

    def opinion(
        self, places_max: int = PLACES_MAX, beginnings: list[Place] | None = None
    ) -> Opinion | None:
        """What it says; None if there is too much to see. It begins with the first boots."""
        plain = self.plain
        try:
            reached = plain.reached(beginnings or [plain.start()], places_max)
            if reached is None or not reached.places:
                return None
            self.reached = reached
            self.cuts, self.spent = Counter(plain.cuts), set(plain.spent)
            calm = plain.reached([plain.calmed(place) for place in reached.places], places_max)
        except (EndlessTalk, TooMuchAtOnce):
            return REFUSED
        if calm is None:
            return None
        self.calm = calm
        said = {claim.name: self.of_safety(claim) for claim in SAFETY}
        cuts = {name: count for name, count in plain.cuts.items() if count}
        counts = (len(reached.places), reached.transitions, len(calm.places), max(reached.depths))
        return Opinion(said | {GOAL.name: self.of_goal(GOAL)}, Seen(*counts, cuts))

    def of_safety(self, claim: Claim) -> Said:
        """A claim holds of what was seen, if that was anything, and if time went on."""
        plain = self.plain
        for length in plain.first_violation(self.reached, claim):
            return Said(Result.VIOLATED, length=length)
        plain.spent, spent = self.spent, plain.spent
        nothing = plain.says_nothing(self.reached)
        plain.spent = spent
        if nothing:
            return Said(Result.UNKNOWN, "nothing")
        if self.grade([False] * len(self.calm.places)).liveness is Liveness.STUCK:
            return Said(Result.UNKNOWN, "standstill")
        return Said(Result.WITHIN_BOUNDS if self.cuts.total() else Result.HOLDS)

    def of_goal(self, claim: Claim) -> Said:
        found = self.grade(self.plain.lacking(self.calm, claim))
        if found.liveness in (Liveness.STUCK, Liveness.PREVENTABLE):
            return Said(Result.VIOLATED, None, *found)
        if self.plain.says_nothing(self.reached, self.calm):
            return Said(Result.UNKNOWN, "nothing")
        if found.liveness is Liveness.UNDECIDED:
            return Said(Result.UNKNOWN, "bound", *found)
        return Said(Result.HOLDS, None, *found)

    def grade(self, lacking: list[bool]) -> Grade:
        hidden = self.plain.cuts.total() > 0
        return PlainGoal(self.calm, lacking, self.plain.bounded, hidden).grade()


# --- the checker's ---


def why(verdict: Verdict) -> str | None:
    """The kind of the reason for which a verdict is unknown."""
    reason = verdict.reason or ""
    kinds = {"nothing": SAYS_NOTHING, "standstill": STANDSTILL, "bound": "some runs go beyond"}
    return next((kind for kind, text in kinds.items() if reason.startswith(text)), verdict.reason)


def of_checker(machine: Machine[Any], model: Model, engine: str) -> tuple[Opinion, bool]:
    """What the checker says, and whether it renamed numbers.

    One engine is asked for all claims at once, the other for safety and for the goal apart.
    """
    at_once: Sequence[Sequence[Claim]] = ([*SAFETY, GOAL],)
    asked = at_once if engine == "numba" else (SAFETY, [GOAL])
    said: dict[str, Said] = {}
    try:
        verdicts = [
            check(machine, model, claims, engine=engine, keep_going=True) for claims in asked
        ]
    except (ProtocolError, ModelError) as error:
        if re.search("never stops talking to itself|wait for ever for room", str(error)) is None:
            raise
        return REFUSED, False
    for verdict in verdicts:
        lengths = {violation.claim: violation.length for violation in verdict.violations}
        for name, result in verdict.claims.items():
            reason = why(verdict) if result is Result.UNKNOWN else None
            if name == GOAL.name:
                said[name] = Said(result, reason, verdict.liveness, verdict.tau)
            else:
                said[name] = Said(result, reason, length=lengths.get(name))
    last = verdicts[-1]
    seen = Seen(last.states, last.transitions, last.stable_states, last.depth, last.cuts)
    return Opinion(said, seen), last.renamed


# --- both ---


class Compared(NamedTuple):
    """What was compared of one machine."""

    raw: bool = False
    """Whether it was explored with its numbers as they are."""
    renamed: bool = False
    fell_back: bool = False
    """Whether numbers that are declared were not renamed after all."""
    refused: bool = False
    """Whether both said that it cannot be explored at all."""


def expect_same(about: str, one: Opinion, other: Opinion) -> None:
    """Both say the same of every claim, and have seen as much."""
    for name in one.said:
        if other.said.get(name) != one.said[name]:
            raise Disagreement(f"{about}: {name}", one.said[name], other.said.get(name))
    if one != other:
        raise Disagreement(about, one, other)


def compare(
    machine: Machine[Any],
    model: Model,
    engines: Sequence[str] = ("python",),
    *,
    counts: bool = False,
) -> Compared:
    """Hold what the engines say against the plain explorer; `counts`: the machine has numbers."""
    plainly = msgspec.structs.replace(model, renames=False)
    raw = Oracle(machine, plainly).opinion()
    compared = Compared()
    for engine in engines if raw is not None else ():
        assert raw is not None
        expect_same(f"plain and {engine}", raw, of_checker(machine, plainly, engine)[0])
        compared = Compared(raw=not raw.refused, refused=raw.refused)
    if not counts or compared.refused:
        return compared
    renamed = Oracle(machine, model, renames=True).opinion()
    for engine in engines if renamed is not None or raw is not None else ():
        found, is_renamed = of_checker(machine, model, engine)
        if not is_renamed:
            if raw is not None:
                expect_same(f"plain and {engine} that fell back", raw, found)
                compared = compared._replace(fell_back=True)
            continue
        if renamed is not None:
            expect_same(f"plain with renaming and {engine}", renamed, found)
            compared = compared._replace(renamed=True)
        if raw is not None:
            expect_covered(f"plain without renaming and {engine} with it", raw, found)
    return compared


GRAVITY = (None, Liveness.LIVE, Liveness.UNDECIDED, Liveness.PREVENTABLE, Liveness.STUCK)


def expect_covered(about: str, raw: Opinion, found: Opinion) -> None:
    """Nothing that was seen with the real numbers contradicts what is said with others.

    Where no number passed its bound both are the same; otherwise the renamed search sees more.
    """
    if "counter" not in raw.seen.cuts:
        if raw.said != found.said:
            raise Disagreement(f"{about}, no counter cut", raw, found)
        return
    for name, real in raw.said.items():
        other = found.said[name]
        missed = real.result is Result.VIOLATED and other.result is not Result.VIOLATED
        if real.length is not None and not missed:
            missed = other.length is None or other.length > real.length
        if name == GOAL.name:
            bad = (Liveness.PREVENTABLE, Liveness.STUCK)
            if real.liveness in bad:
                missed |= GRAVITY.index(other.liveness) < GRAVITY.index(real.liveness)
            if other.liveness is Liveness.LIVE:
                missed |= (real.tau or 0) > (other.tau or 0)
        if missed:
            raise Disagreement(f"{about}: {name}", real, other)
