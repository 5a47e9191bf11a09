"""What a run spends, and which of its faults are needed."""

from typing import Any

import pytest

from electorate.check import Bounds, Budget, Detector, Model, Result, check
from electorate.check.ablation import Ablation, needs, spent_by
from electorate.check.effort import LimitReached, Limits, Progress
from electorate.check.explain import trace_of
from electorate.check.model import BUDGETS, UNLIMITED
from electorate.check.plain import plain_search
from electorate.check.start import StartError
from electorate.claims import CLAIMS, Claim, Kind
from electorate.core import ProtocolError
from electorate.protocols.bully import Bully, Yes
from electorate.trace import Clock, Crashed, Lost, Saw, Setting, Step, Trace
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.drawn import drawn
from tests.check.probe import Probe

PARTS = 4
SEEDS = 320
STATES_MAX = 400
NOTHING = Claim("nothing", Kind.ALWAYS, "nothing is claimed", lambda row: None)


# --- what a run spends ---


@pytest.mark.parametrize("part", range(PARTS))
def test_every_run_of_a_drawn_machine_spends_what_its_budget_lacks(part: int) -> None:
    seen: set[str] = set()
    for seed in range(part, SEEDS, PARTS):
        machine, model = drawn(seed)
        search = plain_search(machine, model, [NOTHING], Limits(STATES_MAX))
        try:
            search.run(lambda progress: None)
        except LimitReached:
            pass
        except (ProtocolError, StartError):
            continue
        for place, row in enumerate(search.engine.rows):
            path = search.path(place)
            spent = spent_by(trace_of(search.moves, path), model, machine)
            left = search.space.budgets.cards[row[-1]]
            for kind in BUDGETS:
                given = getattr(model.first_budget(), kind)
                taken = given - getattr(left, kind)
                if given == UNLIMITED:
                    taken = sum(move.kind == "lie" for _, move in path)
                assert getattr(spent, kind) == taken, (seed, kind)
                seen |= {kind} if taken else set()
    assert len(seen) > len(BUDGETS) / 2


def test_a_message_that_nobody_could_take_is_no_loss() -> None:
    model = Model(Setting("bully", (1, 2)))
    lost = Step(0, Lost(1, 2, Yes()))
    assert spent_by(Trace(model.setting, (lost,)), model) == Budget(losses=1)
    assert spent_by(Trace(model.setting, (Step(0, Crashed(2)), lost)), model) == Budget(crashes=1)
    late = Step(0, Lost(1, 2, Yes(), "2 is down"))
    assert spent_by(Trace(model.setting, (late,)), model) == Budget()


def test_an_opinion_that_was_right_and_changes_is_a_lie() -> None:
    model = Model(Setting("bully", (1, 2)))
    suspects = Step(0, Saw(2, frozenset({2}), frozenset({1, 2})))
    trusts = Step(0, Saw(2, frozenset({1, 2}), frozenset({2})))
    crash = Step(0, Crashed(1))

    def lies(*steps: Step) -> int:
        return spent_by(Trace(model.setting, steps), model).lies

    assert lies(suspects) == lies(suspects, trusts) == 1
    assert lies(crash, suspects) == 0
    assert lies(crash, suspects, trusts) == lies(suspects, trusts, suspects, trusts) - 1 == 1


# --- what it needs ---


def asked(probe: Probe, claim: Claim, **given: Any) -> dict[str, Ablation]:
    """Check, and ask which faults the run needs that was found."""
    verdict = probe.check(claim)
    (violation,) = verdict.violations
    spent = spent_by(violation.trace, probe.model)
    found = needs(probe.machine, probe.model, claim, spent, verdict.states, **given)
    return {need.kind: need for need in found}


def test_a_fault_is_needed_if_the_claim_holds_without_it() -> None:
    probe = Probe({"1 again": "follow 1"}, crashes=1, recoveries=1, losses=1)
    found = asked(probe, nobody_follows(1))
    assert list(found) == ["crashes", "recoveries"], "the loss is not spent"
    assert all(need.needed for need in found.values())
    assert [need.text("never-1") for need in found.values()] == [
        "needed: with 0 crashes never-1 holds",
        "needed: with 0 recoveries never-1 holds",
    ]


def test_a_fault_is_not_needed_if_the_claim_breaks_without_it_in_more_moves() -> None:
    orders = {"2 boot": "send 1 a; set x 3", "2 fired x": "follow 2", "2 again": "follow 2"}
    found = asked(Probe(orders, crashes=1, recoveries=1), nobody_follows(2))
    assert found["crashes"].text("never-2") == (
        "not needed: never-2 also breaks with 0 crashes, in 5 moves"
    )
    assert (found["recoveries"].needed, found["recoveries"].moves) == (False, 5)


def test_one_fault_less_than_was_spent_not_than_was_allowed() -> None:
    found = asked(Probe({"1 again": "follow 1"}, crashes=3, recoveries=2), nobody_follows(1))
    assert [(need.kind, need.left) for need in found.values()] == [
        ("crashes", 0),
        ("recoveries", 0),
    ]


def test_the_search_with_one_fault_less_keeps_all_other_budgets() -> None:
    # Both messages have to be lost, or one paused node has to sleep over them.
    orders = {
        "1 boot": "send 2 a; send 2 b; set x 2",
        "1 heard c": "cancel x",
        "2 heard a": "send 1 c",
        "2 heard b": "send 1 c",
        "1 fired x": "follow 1",
    }
    assert asked(Probe(orders, losses=2), nobody_follows(1))["losses"].text("A1") == (
        "needed: with 1 loss A1 holds"
    )
    both = asked(Probe(orders, losses=2, pauses=1), nobody_follows(1))
    assert list(both) == ["pauses"], "the shorter way"
    assert both["pauses"].needed is False


def test_a_goal_is_treated_alike() -> None:
    orders = {"1 boot": "send 2 a", "2 heard a": "follow 2", "any again": "follow 2"}
    orders |= {"1 heard x": "", "2 boot": "send 1 y", "1 heard y": "follow 2"}
    found = asked(Probe(orders, losses=1), everybody_follows(2))
    assert found["losses"].text("follow-2") == "needed: with 0 losses follow-2 holds"


def test_a_claim_that_nobody_could_break_is_not_broken() -> None:
    probe = Probe({"1 asked x": "follow 1"}, wishes=("x",), asks=1)
    found = asked(probe, nobody_follows(1))
    less = Model(probe.model.setting)
    assert check(probe.machine, less, [nobody_follows(1)]).result is Result.UNKNOWN, "vacuous"
    assert found["asks"].text("never-1") == "needed: with 0 asks never-1 holds"


def test_what_holds_within_bounds_is_said_to() -> None:
    orders = {"1 boot": "send 2 a; set x 0", "1 fired x": "send 2 b", "1 asked y": "follow 1"}
    probe = Probe(orders, wishes=("y",), asks=1, capacity=1)
    assert asked(probe, nobody_follows(1))["asks"].text("A1") == (
        "needed: with 0 asks A1 holds up to capacity 1"
    )


def test_lies_of_unreliable_detectors_are_counted_too() -> None:
    setting = Setting("bully", (1, 2), clock=Clock.UNBOUNDED)
    model = Model(setting, bounds=Bounds(capacity=2), detector=Detector.UNRELIABLE)
    machine, claim = setting.machine(Bully, "sound"), CLAIMS["A1"]
    verdict = check(machine, model, [claim])
    spent = spent_by(verdict.violations[0].trace, model)
    assert spent == Budget(lies=1)
    (need,) = needs(machine, model, claim, spent, verdict.states)
    assert need.text("A1") == "needed: with 0 lies A1 holds"


# --- where it ends ---


def bully() -> tuple[Bully, Model]:
    setting = Setting("bully-as-printed", (1, 2, 3))
    machine = setting.machine(Bully, "printed")
    assert isinstance(machine, Bully)
    return machine, Model(setting, Budget(crashes=1, recoveries=1))


def test_the_progress_says_what_is_asked() -> None:
    machine, model = bully()
    phases: list[str] = []

    def report(progress: Progress) -> None:
        phases.append(progress.phase)

    spent = Budget(crashes=1, recoveries=1)
    list(needs(machine, model, CLAIMS["A2"], spent, 10, report=report))
    assert list(dict.fromkeys(phases)) == [
        "A2 with 0 crashes: search",
        "A2 with 0 crashes: stable phase",
        "A2 with 0 recoveries: search",
        "A2 with 0 recoveries: stable phase",
    ]


def test_an_interruption_leaves_the_rest_undecided() -> None:
    machine, model = bully()

    def report(progress: Progress) -> None:
        raise KeyboardInterrupt

    spent = Budget(crashes=1, recoveries=1)
    found = list(needs(machine, model, CLAIMS["A1"], spent, 10, report=report))
    assert [need.text("A1") for need in found] == ["not decided (interrupted)"] * 2
    assert [need.needed for need in found] == [None, None]


def test_an_interruption_between_two_phases_does_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, model = bully()

    def interrupted(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("electorate.check.ablation.check", interrupted)
    (need,) = needs(machine, model, CLAIMS["A1"], Budget(crashes=1), 10)
    assert need.text("A1") == "not decided (interrupted)"


def test_a_search_that_grows_too_large_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, _ = bully()
    model = Model(Setting("bully-as-printed", (1, 2, 3)), Budget(crashes=2, lies=2))
    monkeypatch.setattr("electorate.check.ablation.STATES_MIN", 100)
    (need,) = needs(machine, model, CLAIMS["A2"], Budget(crashes=2), 30)
    assert need.text("A2") == "not decided within 150 states"
    (need,) = needs(machine, model, CLAIMS["A2"], Budget(crashes=2), 10)
    assert need.text("A2") == "not decided within 100 states"
