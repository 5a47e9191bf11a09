"""Known verdicts of Bully, with their numbers. A changed number must be explained."""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.bully import Bully
from electorate.simulate.script import run_script
from electorate.trace import Clock, Connections, Setting, Start, Ties, script_of
from tests.check.plain_moves import PlainMoves


class Pinned(NamedTuple):
    """The numbers of a check; `length` is that of the shortest run to a violation."""

    states: int
    transitions: int
    length: int | None = None


def judged(form: str, *claims: str, nodes: int = 3, **given: Any) -> Verdict:
    machine, model = posed(form, nodes=nodes, **given)
    return check(machine, model, [CLAIMS[claim] for claim in claims])


def posed(
    form: str, *, nodes: int = 3, T: int = 1, capacity: int = 8, **given: Any
) -> tuple[Bully, Model]:
    budget = Budget(**{k: given.pop(k) for k in ("crashes", "recoveries", "lies") if k in given})
    name = "bully" if form == "sound" else "bully-as-printed"
    setting = Setting(name, tuple(range(1, nodes + 1)), timing=Timing(T), **given)
    machine = setting.machine(Bully, form)
    assert isinstance(machine, Bully)
    return machine, Model(setting, budget, Bounds(capacity=capacity))


def pinned(verdict: Verdict) -> Pinned:
    lengths = [violation.length for violation in verdict.violations]
    return Pinned(verdict.states, verdict.transitions, *lengths)


def test_as_printed_it_is_safe_if_nodes_only_crash() -> None:
    verdict = judged("printed", "A1", crashes=2)
    assert verdict.result is Result.HOLDS
    assert pinned(verdict) == Pinned(372, 1060)
    assert all(verdict.sometimes.values())


def test_as_printed_one_crash_and_one_recovery_break_it() -> None:
    verdict = judged("printed", "A1", crashes=1, recoveries=1)
    assert verdict.result is Result.VIOLATED
    assert pinned(verdict) == Pinned(14151, 47226, 15)


def test_the_sound_form_is_safe_and_live_with_one_crash_and_one_recovery() -> None:
    verdict = judged("sound", "A1", "A2", crashes=1, recoveries=1)
    assert verdict.claims == {"A1": Result.HOLDS, "A2": Result.HOLDS}
    assert pinned(verdict) == Pinned(60555, 231784)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 8)
    # The one crash starts the election, so none is left for the middle of a broadcast.
    assert [*verdict.sometimes.values()] == [True, True, False]


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [("accept=anyone", Pinned(15371, 49949, 15)), ("halt=latest", Pinned(22246, 71160, 17))],
)
def test_a_repair_switched_off_breaks_it_with_one_crash_and_one_recovery(
    rule: str, numbers: Pinned
) -> None:
    verdict = judged("sound", "A1", crashes=1, recoveries=1, rules=(rule,))
    assert verdict.result is Result.VIOLATED
    assert pinned(verdict) == numbers


def test_the_guard_is_not_needed_with_one_crash_and_one_recovery() -> None:
    verdict = judged("sound", "A1", crashes=1, recoveries=1, rules=("guard=0",))
    assert verdict.result is Result.HOLDS
    assert pinned(verdict) == Pinned(44530, 166818)


def test_without_bounds_two_nodes_disagree_from_boot_without_any_fault() -> None:
    verdict = judged("sound", "A1", nodes=2, clock=Clock.UNBOUNDED, start=Start.BOOT)
    assert verdict.result is Result.VIOLATED
    assert pinned(verdict) == Pinned(26, 47, 3)


def test_without_bounds_two_nodes_disagree_from_normal_after_one_wrong_suspicion() -> None:
    given: dict[str, Any] = {"nodes": 2, "clock": Clock.UNBOUNDED}
    verdict = judged("sound", "A1", lies=1, **given)
    assert verdict.result is Result.VIOLATED
    trusting = judged("sound", "A1", **given)
    assert (trusting.result, trusting.states) == (Result.UNKNOWN, 1)
    assert trusting.reason is not None
    assert "no node ever had anything to do" in trusting.reason


def test_with_both_orders_of_a_tie_one_crash_breaks_it() -> None:
    verdict = judged("sound", "A1", crashes=1, ties=Ties.BOTH)
    assert verdict.result is Result.VIOLATED
    assert pinned(verdict) == Pinned(179, 303, 12)
    assert judged("sound", "A1", crashes=1).result is Result.HOLDS


def test_from_boot_it_elects_with_connections_that_die_too() -> None:
    outlive = judged("sound", "A1", "A2", start=Start.BOOT)
    die = judged("sound", "A1", "A2", start=Start.BOOT, connections=Connections.DIE)
    assert outlive.claims == die.claims == {"A1": Result.HOLDS, "A2": Result.HOLDS}
    # Nobody is ever down, so there is no difference at all.
    assert pinned(outlive) == pinned(die)
    assert outlive.tau == die.tau


@pytest.mark.parametrize("T", [1, 2])
def test_the_worst_time_to_elect_grows_with_T(T: int) -> None:
    verdict = judged("sound", "A2", crashes=1, T=T)
    assert verdict.tau == 6 * T


def test_one_node_alone_leads_after_T() -> None:
    verdict = judged("sound", "A1", "A2", nodes=1, start=Start.BOOT)
    assert (verdict.claims["A2"], verdict.tau) == (Result.HOLDS, 1)
    assert verdict.reason == "the search says nothing of A1: not once were two nodes normal"


@pytest.mark.parametrize(
    ("form", "nodes", "given"),
    [
        ("sound", 2, {"crashes": 1, "recoveries": 1}),
        ("printed", 2, {"crashes": 1, "recoveries": 1, "ties": Ties.BOTH}),
        ("sound", 2, {"clock": Clock.UNBOUNDED, "capacity": 3}),
    ],
)
def test_the_plain_explorer_finds_as_many_states_and_no_shorter_violation(
    form: str, nodes: int, given: dict[str, Any]
) -> None:
    machine, model = posed(form, nodes=nodes, start=Start.BOOT, **given)
    plain = PlainMoves(machine, model)
    reached = plain.reached([plain.start()], 20_000)
    assert reached is not None
    whole = check(machine, model, [CLAIMS["A2"]])
    assert (whole.states, whole.transitions) == (len(reached.places), reached.transitions)
    first = plain.first_violation(reached, CLAIMS["A1"])
    found = check(machine, model, [CLAIMS["A1"]]).violations
    assert [violation.length for violation in found] == first


def test_the_simulator_retells_the_run_that_breaks_the_printed_form() -> None:
    verdict = judged("printed", "A1", crashes=1, recoveries=1)
    text = script_of(verdict.violations[0].trace)
    assert run_script(text, lambda name: (Bully, "printed")).text == text
