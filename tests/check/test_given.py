"""Beginning where a script has led: the same place, the same search, whatever led there."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from electorate.check import Bounds, Budget, Model, Verdict, check
from electorate.check.ablation import spent_by
from electorate.check.column import ModelError
from electorate.check.model import BUDGETS
from electorate.claims import CLAIMS
from electorate.cli.beginning import given_of, played
from electorate.cli.protocol import find
from electorate.cli.retell import retold
from electorate.runs import run_file
from electorate.trace import Setting, Trace, is_consequence, script_of

ENGINES = ("python", "numba")
USUAL = Bounds()


def model_at(script: str, budget: Budget, bounds: Bounds = USUAL) -> Model:
    """The model of all that can follow a script."""
    cluster = played(script, "script")
    return Model(cluster.setting, budget, bounds, given=given_of(cluster, "script"))


def judged(
    model: Model, claims: str, engine: str = "numba", states_max: int | None = None
) -> Verdict:
    machine = find(model.setting.protocol).machine(model.setting)
    wanted = [CLAIMS[name] for name in claims.split()]
    return check(machine, model, wanted, states_max, engine=engine, tidy=False)


def numbers(verdict: Verdict) -> tuple[object, ...]:
    found = (verdict.result, verdict.claims, verdict.liveness, verdict.tau)
    counts = (verdict.states, verdict.transitions, verdict.stable_states, verdict.depth)
    return (*found, *counts, verdict.cuts, verdict.sometimes)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", ["normal", "boot"])
@pytest.mark.parametrize("protocol", ["bully", "park"])
def test_a_script_that_does_nothing_leads_to_where_its_first_line_begins(
    protocol: str, start: str, engine: str
) -> None:
    line = f"cluster {protocol} 1 2 3 start={start}"
    claims = " ".join(find(protocol).kind.promised("sound"))
    plain = Model(Setting.parse(line), Budget(crashes=1))
    begun = model_at(line, Budget(crashes=1))
    assert numbers(judged(begun, claims, engine)) == numbers(judged(plain, claims, engine))


def test_whoever_a_script_left_paused_is_resumed_when_the_faults_end() -> None:
    """Fails if an engine resumes only whom a budget lets it pause."""
    model = model_at("cluster bully 1 2 3\n\npause 3\n", Budget(crashes=1))
    python, numba = (numbers(judged(model, "A2", engine)) for engine in ENGINES)
    assert python == numba


@pytest.mark.parametrize("engine", ENGINES)
def test_nobody_is_up_where_nobody_was_started(engine: str) -> None:
    line, budget = "cluster bully 1 2 start=down", Budget(recoveries=2)
    plain = Model(Setting.parse(line), budget)
    assert numbers(judged(model_at(line, budget), "A1 A2", engine)) == numbers(
        judged(plain, "A1 A2", engine)
    )


# --- some moves along a shortest run ---


def parts(model: Model, verdict: Verdict, every: int) -> Iterator[tuple[int, Model]]:
    """The models that begin 0, `every`, … moves along the run, each with the budget left there."""
    (violation,) = verdict.violations
    machine = find(model.setting.protocol).machine(model.setting)
    trace, first = violation.trace, violation.begins_after
    places = [k for k, step in enumerate(trace.steps) if not is_consequence(step)]
    places.append(len(trace.steps))
    for moves in range(0, violation.length + 1, every):
        part = Trace(trace.setting, trace.steps[: places[first + moves]])
        spent = spent_by(part, model, machine, first)
        left = {name: getattr(model.budget, name) - getattr(spent, name) for name in BUDGETS}
        begun = model_at(script_of(part), Budget(**left), model.bounds)
        yield moves, replace(model, setting=begun.setting, budget=begun.budget, given=begun.given)


CUT_OFF = Budget(cuts=1, heals=1)
LYING = "cluster bully 1 2 3 rule:while_halting=silent"


def amid_a_change_of_members() -> str:
    """Node 1, which was overtaken, has added node 4 and asks the others to remove node 2."""
    file = run_file("mandate/without_refusing_an_older_list")
    assert file is not None
    lines = file.read_text().split("----")[0].splitlines()
    first, *commands = [line for line in lines if line and not line.startswith("#")]
    return "\n".join([first, "", *commands[:20]])


@pytest.mark.parametrize(
    ("start", "claim", "budget", "bounds", "every"),
    [
        ("cluster bully-as-printed 1 2 3", "A1", Budget(crashes=1, recoveries=1), Bounds(), 3),
        ("cluster bully 1 2 3", "A1", CUT_OFF, Bounds(), 1),
        ("cluster invitation 1 2 3", "A1", Budget(losses=2), Bounds(), 1),
        ("cluster invitation 1 2 3", "S2", Budget(crashes=1), Bounds(), 1),
        ("cluster bully 1 2 3", "A1", Budget(crashes=1, pauses=1), Bounds(), 1),
        (LYING, "A1", Budget(crashes=1, lies=1), Bounds(), 8),
        ("cluster bully 1 2 clock=unbounded order=bag", "A1", Budget(lies=1), Bounds(2), 1),
        (amid_a_change_of_members(), "M1", Budget(), Bounds(4, 3, 1), 3),
    ],
)
def test_some_moves_along_a_shortest_run_what_is_left_of_it_is_shortest(
    start: str, claim: str, budget: Budget, bounds: Bounds, every: int
) -> None:
    model = model_at(start, budget, bounds)
    verdict = judged(model, claim)
    (whole,) = verdict.violations
    for moves, part in parts(model, verdict, every):
        found = judged(part, claim)
        (violation,) = found.violations
        assert violation.length == whole.length - moves
        if found.states < 300:
            assert numbers(judged(part, claim, "python")) == numbers(found)
        assert retold(violation.trace, [], claim)


def test_some_moves_towards_a_loop_in_which_a_goal_is_missed_the_loop_is_as_far_away() -> None:
    setting = "cluster invitation-as-printed 1 2 start=boot"
    model = model_at(setting, Budget(crashes=1, recoveries=1))
    verdict = judged(model, "A4p")
    (whole,) = verdict.violations
    assert whole.loop_after is not None
    for moves, part in parts(model, verdict, 12):
        if moves <= whole.loop_after:
            (violation,) = judged(part, "A4p").violations
            assert violation.length == whole.length - moves


# --- places that cannot be held ---


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("cluster bully 1 2 3\n\ncut 1->2", "1->2 is cut and 2->1 is not: .*write cut 2->1 or"),
        (
            "cluster bully 1 2 3\n\ncrash 1\ntick 5",
            "has for 5 ticks trusted node 1, wrongly, and a",
        ),
        (
            "cluster bully 1 2 3 order=global start=boot",
            "2 messages are on one channel, which holds 1: give",
        ),
    ],
)
def test_a_place_that_a_search_cannot_begin_in_is_refused_with_what_to_change(
    script: str, problem: str
) -> None:
    with pytest.raises(ModelError, match=problem):
        judged(model_at(script, Budget(), Bounds(capacity=1)), "A1")
