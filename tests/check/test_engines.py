"""The table engine finds what the reference explorer finds: states, fates, shortest lengths, τ."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.check import Bounds, Budget, Model, Verdict, Violation, check
from electorate.check.effort import Limits
from electorate.check.start import StartError
from electorate.check.table.engine import table_search
from electorate.claims import CLAIMS, Claim, Fold, Kind, Row, Witness
from electorate.core import Machine, ProtocolError, Status, Timing
from electorate.protocols.bully import Bully
from electorate.protocols.bully_rpc import BullyRpc
from electorate.protocols.invitation import Invitation
from electorate.protocols.park import Park
from electorate.trace import (
    Clock,
    Connections,
    Order,
    Resumed,
    Setting,
    Start,
    Ties,
    is_consequence,
)
from tests.check.drawn import drawn
from tests.check.test_drawn import ALWAYS, GOAL

PARTS = 4
EXAMPLES = 45
"""So many machines and models are drawn for each part: 180 in all; `make drawn` draws thousands."""
STATES_MAX = 20_000


def busy(row: Row) -> frozenset[int]:
    """The nodes in ELECTION."""
    return frozenset(node for node, view in row.live() if view.status is Status.ELECTION)


def two_at_once(before: Row, row: Row) -> Witness | None:
    joined = busy(row) - busy(before)
    return Witness(tuple(joined), "somebody joins somebody") if joined and busy(before) else None


def never_all(row: Row, past: frozenset[int]) -> Witness | None:
    return Witness((), "all were busy once") if len(past) == len(row.members.ids) > 1 else None


def all_were(row: Row, past: frozenset[int]) -> Witness | None:
    idle = tuple(node for node, _ in row.live() if node not in past)
    return Witness(idle, "were never busy") if idle else None


PAST = Fold(frozenset(), lambda past, row: past | busy(row))
ALONE = Claim("alone", Kind.STEP, "nobody joins another in ELECTION", two_at_once)
SPARED = Claim("spared", Kind.ALWAYS, "somebody was never in ELECTION", never_all, PAST)
ACTIVE = Claim("active", Kind.GOAL, "in the end all were in ELECTION once", all_were, PAST)


def shortest(violation: Violation) -> int:
    """The length of the run, or of the way to where it goes round: there may be many such loops.

    That everybody paused is resumed when the faults end is not counted: equally near states may
    have more or fewer of them.
    """
    moves = [step for step in violation.trace.steps if not is_consequence(step)]
    counted = moves[: violation.loop_after]
    return sum(not isinstance(step.happening, Resumed) for step in counted)


def told(verdict: Verdict) -> dict[str, Any]:
    """Everything that must not depend on the engine."""
    return {
        "claims": verdict.claims,
        "liveness": verdict.liveness,
        "tau": verdict.tau,
        "states": verdict.states,
        "stable states": verdict.stable_states,
        "transitions": verdict.transitions,
        "depth": verdict.depth,
        "violations": [(v.claim, shortest(v)) for v in verdict.violations],
        "sometimes": verdict.sometimes,
        "cuts": verdict.cuts,
        "reason": verdict.reason,
        "ways": verdict.ways,
    }


def outcome(machine: Machine[Any], model: Model, claims: list[Claim], engine: str) -> object:
    try:
        return told(check(machine, model, claims, STATES_MAX, engine=engine))
    except (ProtocolError, StartError) as error:
        return str(error)


def is_given_up(found: object) -> bool:
    """Whether a search saw too many states to come to an end."""
    return isinstance(found, dict) and "more than" in str(found["reason"])


@pytest.mark.parametrize("part", range(PARTS))
def test_both_engines_agree_on_drawn_machines(part: int) -> None:
    finished = 0

    @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None)
    @given(st.integers(0, 100_000))
    def agree(number: int) -> None:
        nonlocal finished
        machine, model = drawn(PARTS * number + part)
        for claims in ([ALWAYS], [GOAL], [ALONE, SPARED], [ACTIVE]):
            # Where a search is given up depends on the engine; the quick one is there sooner.
            table = outcome(machine, model, claims, "numba")
            if is_given_up(table):
                continue
            plain = outcome(machine, model, claims, "python")
            if is_given_up(plain):
                continue
            assert plain == table, claims
            finished += 1

    agree()
    assert finished > 2 * EXAMPLES


BULLY = {
    "crash and recovery": (Setting("bully", (1, 2, 3)), Budget(crashes=1, recoveries=1)),
    "printed": (Setting("bully/printed", (1, 2, 3)), Budget(crashes=1, recoveries=1)),
    "ties": (Setting("bully", (1, 2, 3), ties=Ties.BOTH, start=Start.BOOT), Budget()),
    "losses": (Setting("bully", (1, 2, 3)), Budget(crashes=1, losses=2)),
    "copies": (Setting("bully", (1, 2, 3)), Budget(crashes=1, doubles=1)),
    "lie": (Setting("bully", (1, 2, 3)), Budget(lies=1)),
    "pause": (Setting("bully", (1, 2, 3)), Budget(crashes=1, pauses=1)),
    "four nodes": (Setting("bully", (1, 2, 3, 4)), Budget(crashes=1)),
    "one node": (Setting("bully", (1,)), Budget(crashes=1, recoveries=1)),
    "T": (Setting("bully", (1, 2, 3), timing=Timing(3), delay_min=1), Budget(crashes=2)),
    "dying": (
        Setting("bully", (1, 2, 3), connections=Connections.DIE, order=Order.GLOBAL),
        Budget(crashes=1, recoveries=1),
    ),
    "unbounded": (
        Setting("bully", (1, 2, 3), clock=Clock.UNBOUNDED, order=Order.BAG),
        Budget(crashes=1),
    ),
}


@pytest.mark.parametrize("name", BULLY)
@pytest.mark.parametrize("claim", ["A1", "A2"])
def test_both_engines_agree_on_bully(name: str, claim: str) -> None:
    setting, budget = BULLY[name]
    form = "printed" if name == "printed" else "sound"
    model = Model(setting, budget, Bounds(capacity=2 if setting.clock is Clock.UNBOUNDED else 8))
    claims = [CLAIMS[claim]]
    found = [
        told(check(setting.machine(Bully, form), model, claims, engine=engine))
        for engine in ("python", "numba")
    ]
    assert found[0] == found[1]


def test_both_engines_agree_where_every_way_on_is_cut() -> None:
    setting = Setting("bully-rpc", (1, 2), clock=Clock.CLOCKS, start=Start.BOOT)
    model = Model(setting, bounds=Bounds(capacity=1))
    machine = setting.machine(BullyRpc, "sound")
    found = [
        told(check(machine, model, [CLAIMS["A2"]], engine=engine)) for engine in ("python", "numba")
    ]
    assert found[0] == found[1]
    assert (found[0]["stable states"], found[0]["cuts"]) == (3, {"capacity": 16})
    assert found[0]["reason"] == "the search says nothing: not once did anybody lead"


def test_both_engines_agree_where_a_search_begins_beyond_a_bound() -> None:
    """Fails if an engine waits for ever for a tick that the bound cuts."""
    setting = Setting("park", (1, 2, 3), ("patience=3T-1", "release=promise"))
    model = Model(setting, Budget(lies=1), Bounds(counter=6))
    machine = setting.machine(Park, "sound")
    found = [
        told(check(machine, model, [CLAIMS["P2"]], engine=engine)) for engine in ("python", "numba")
    ]
    assert found[0] == found[1]
    assert found[0]["cuts"] == {"counter": 271}


def test_the_number_of_workers_changes_nothing() -> None:
    setting = Setting("bully", (1, 2, 3))
    model = Model(setting, Budget(crashes=2, lies=1))
    machine = setting.machine(Bully, "printed")
    claims = [CLAIMS["A1"], CLAIMS["A2"]]
    reference = check(machine, model, claims)
    for workers in (1, 2, 3):
        search = table_search(machine, model, claims, Limits(10**6, threads=workers))
        complete = search.run(lambda progress: None)
        counts = (search.states, search.transitions, search.depth)
        assert counts == (reference.states, reference.transitions, reference.depth), workers
        assert complete, workers
        (finding,) = search.findings(lambda progress: None)
        found = (finding.liveness, finding.tau)
        assert found == (reference.liveness, reference.tau), workers


def test_one_worker_finds_room_for_thousands_of_beginnings() -> None:
    """Checks at every phase: more rows to begin with than there are slots for at first."""
    setting = Setting("invitation", (1, 2, 3))
    machine = setting.machine(Invitation, "sound")
    verdict = check(machine, Model(setting), [CLAIMS["A3"]], engine="numba", threads=1)
    assert (verdict.states, verdict.transitions) == (43_385, 98_968)


def test_a_limit_stops_the_table_engine_with_a_reason() -> None:
    setting = Setting("bully", (1, 2, 3))
    model = Model(setting, Budget(crashes=1, recoveries=1))
    verdict = check(setting.machine(Bully, "sound"), model, [CLAIMS["A1"]], 1000, engine="numba")
    assert verdict.result == "unknown"
    assert "--states-max" in str(verdict.reason)
