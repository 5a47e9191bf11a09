"""What a "holds" hangs on: which defaults can be moved, and what becomes of the claims then."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from electorate.check import Bounds, Budget, Detector, Model, Result, check
from electorate.check.effort import Progress, Report
from electorate.check.robust import Build, Change, Recheck, changes, rechecks
from electorate.check.start import StartError
from electorate.claims import CLAIMS, Claim
from electorate.core import Machine, ProtocolError, Status, Timing
from electorate.protocols.registry import REGISTRY
from electorate.trace import Clock, Connections, Order, Setting, Start, Ties, Trace
from tests.check.claim import claim_that, everybody_follows, nobody_follows
from tests.check.diary import Diary, Orders
from tests.check.drawn import drawn
from tests.check.probe import Probe

SEEDS = 1000
PARTS = 4
STATES_MAX = 1000

Rechecks = dict[str, Recheck]


# --- which changes there are ---


def bully(**given: Any) -> tuple[Machine[Any], Model]:
    fields = {name: given.pop(name) for name in Setting.__struct_fields__ if name in given}
    setting = Setting("bully", (1, 2, 3), **fields)
    return setting.machine(*REGISTRY["bully"]), Model(setting, **given)


def options(*about: Any, **cuts: int) -> list[str]:
    machine, model = about
    return [change.option for change in changes(machine, model, cuts)]


def test_every_default_that_a_crash_can_make_matter_is_moved() -> None:
    found = changes(*bully(budget=Budget(crashes=1)), {})
    assert [(change.text, change.option) for change in found] == [
        ("detection 2 → 3", "--detection 3"),
        ("detection 2 → 1", "--detection 1"),
        ("T 1 → 2", "--delay 0..2"),
        ("delay 0..1 → 1..1", "--delay 1..1"),
        ("ties messages-first → both", "--ties both"),
        ("order fifo → bag", "--order bag"),
        ("order fifo → global", "--order global"),
        ("connections outlive → die", "--connections die"),
        ("from normal → boot", "--from boot"),
        ("turns torn → atomic", "--atomic-turns"),
    ]


def test_a_change_moves_that_one_thing() -> None:
    machine, model = bully(budget=Budget(crashes=1))
    models = {change.option: change.model for change in changes(machine, model, {})}
    assert models["--detection 3"] == Model(model.setting, model.budget, detection=3)
    longer = Setting("bully", (1, 2, 3), timing=Timing(2))
    assert models["--delay 0..2"] == Model(longer, model.budget), "the detector has 2T as before"
    assert models["--order bag"].setting == Setting("bully", (1, 2, 3), order=Order.BAG)
    assert models["--from boot"].setting == Setting("bully", (1, 2, 3), start=Start.BOOT)
    assert models["--atomic-turns"] == Model(model.setting, model.budget, atomic_turns=True)


def test_what_nothing_could_notice_is_not_moved() -> None:
    without_faults = options(*bully(start=Start.BOOT))
    assert without_faults == [
        "--delay 0..2",
        "--delay 1..1",
        "--ties both",
        "--order bag",
        "--order global",
    ]
    assert "--detection 3" in options(*bully(budget=Budget(cuts=1)))
    assert "--detection 3" in options(*bully(budget=Budget(lies=1)))
    assert "--detection 3" in options(*bully(detector=Detector.UNRELIABLE))
    probe = Probe({}, crashes=1)
    assert not [o for o in options(probe.machine, probe.model) if o[:6] in ("--dete", "--ties")]


def test_a_bound_of_detection_is_never_below_zero() -> None:
    found = options(*bully(budget=Budget(crashes=1), detection=0))
    assert [option for option in found if "detection" in option] == ["--detection 1"]


def test_a_fixed_delay_stays_fixed_and_is_also_set_free() -> None:
    found = options(*bully(timing=Timing(2), delay_min=2))
    assert [option for option in found if "delay" in option] == ["--delay 3..3", "--delay 0..2"]


def test_without_bounds_on_time_nothing_of_time_is_moved() -> None:
    found = options(*bully(clock=Clock.UNBOUNDED, budget=Budget(crashes=1)))
    assert found == [
        "--order bag",
        "--order global",
        "--connections die",
        "--from boot",
        "--atomic-turns",
    ]


def test_what_is_not_usual_is_moved_back() -> None:
    found = options(
        *bully(
            budget=Budget(crashes=1),
            ties=Ties.BOTH,
            order=Order.BAG,
            connections=Connections.DIE,
            start=Start.BOOT,
            atomic_turns=True,
        )
    )
    assert found[4:] == [
        "--order global",
        "--order fifo",
        "--connections outlive",
        "without --atomic-turns",
    ]
    kept = bully(clock=Clock.UNBOUNDED, order=Order.SET, start=Start.BOOT)
    assert options(*kept) == []


def test_no_order_is_tried_that_the_model_cannot_have() -> None:
    found = options(*bully(budget=Budget(cuts=1)))
    assert [option for option in found if "order" in option] == ["--order bag"]


def test_a_bound_is_moved_where_it_cut_something() -> None:
    found = options(*bully(clock=Clock.UNBOUNDED), counter=3, capacity=1)
    assert found[-2:] == ["--capacity 9", "--counter 9"]
    assert "--firings 3" in options(*bully(clock=Clock.UNBOUNDED), firings=1)


def test_a_channel_that_blocks_is_moved_both_ways() -> None:
    two = options(*bully(bounds=Bounds(capacity=2, blocks=True)))
    assert two[-2:] == ["--capacity-blocks 3", "--capacity-blocks 1"]
    one = options(*bully(bounds=Bounds(capacity=1, blocks=True)))
    assert one[-1:] == ["--capacity-blocks 2"]


# --- what becomes of the claims ---

LATE = {
    "1 boot": "follow 2; send 2 a",
    "2 boot": "set x 1",
    "2 heard a": "cancel x; follow 2",
    "2 fired x": "follow 1",
}
"""Node 2 waits for a message for as long as it may take, and no longer."""


def moved(orders: Orders, *claims: Claim, states_max: int = 10_000, **given: Any) -> Rechecks:
    """What becomes of a diary machine's claims, by option; they hold before."""
    probe = Probe(orders, **given)
    verdict = probe.check(*claims)
    assert set(verdict.claims.values()) <= {Result.HOLDS, Result.WITHIN_BOUNDS}
    found = changes(probe.machine, probe.model, verdict.cuts)
    again = rechecks(built(orders), found, claims, states_max)
    return {each.option: each for each in again}


def built(orders: Orders) -> Build:
    return lambda setting: Diary(setting.members(), setting.timing, orders)


def test_a_default_carries_what_breaks_where_it_is_moved() -> None:
    found = moved(LATE, nobody_follows(1))
    assert {option: each.broken for option, each in found.items()} == {
        "--delay 0..2": ["never-1"],
        "--delay 1..1": [],
        "--ties both": ["never-1"],
        "--order bag": [],
        "--order global": [],
    }
    assert found["--ties both"].moves == {"never-1": 2}
    assert (found["--ties both"].default, found["--ties both"].reason) == (
        "ties messages-first",
        None,
    )


def test_a_goal_is_judged_where_safety_is_broken_too() -> None:
    tied = moved(LATE, nobody_follows(1), everybody_follows(2))["--ties both"]
    assert tied.claims == {"never-1": Result.VIOLATED, "follow-2": Result.HOLDS}
    assert tied.finished


def test_a_goal_may_hang_on_a_default() -> None:
    orders = {"1 boot": "follow 2; send 2 a; send 2 b", "2 heard a": "follow 1"}
    found = moved(orders | {"2 heard b": "follow 2"}, everybody_follows(2))
    assert [option for option, each in found.items() if each.broken] == ["--order bag"]


def test_what_holds_within_bounds_may_break_beyond_them() -> None:
    orders = {"1 boot": "set x 1", "1 fired x": "send 2 a; send 2 b", "2 heard b": "follow 1"}
    found = moved(orders | {"2 boot": "follow 2"}, nobody_follows(1), capacity=1)
    assert found["--capacity 2"].broken == ["never-1"]
    assert found["--delay 1..1"].within == " up to capacity 1"


def test_a_longer_delay_makes_another_machine() -> None:
    timings: list[Timing] = []

    def build(setting: Setting) -> Machine[Any]:
        timings.append(setting.timing)
        return built(LATE)(setting)

    probe = Probe(LATE)
    list(rechecks(build, changes(probe.machine, probe.model, {}), [nobody_follows(1)]))
    assert timings[0] == Timing(2)
    assert set(timings[1:]) == {Timing(1)}


@pytest.mark.parametrize("part", range(PARTS))
def test_what_only_takes_runs_away_breaks_nothing(part: int) -> None:
    compared = sum(len(taken_away(seed)) for seed in range(part, SEEDS, PARTS))
    assert compared > 10


def taken_away(seed: int) -> list[Recheck]:
    """What became of the claims of a drawn machine, where they hold, with fewer runs."""
    machine, model = drawn(seed)
    calm = claim_that(lambda row: any(v.status is not Status.ELECTION for _, v in row.live()))
    claims = [calm, CLAIMS["A2"]]
    try:
        verdict = check(machine, model, claims, STATES_MAX)
    except (ProtocolError, StartError):
        return []
    kept = [claim for claim in claims if verdict.claims[claim.name] is Result.HOLDS]
    fewer = [change for change in changes(machine, model, {}) if takes_away(change)]
    found = list(rechecks(lambda setting: machine, fewer if kept else [], kept, STATES_MAX))
    assert not [each for each in found if each.broken], seed
    return [each for each in found if each.finished]


def takes_away(change: Change) -> bool:
    match change.name, change.before, change.after:
        case "detection", before, after:
            return int(after) < int(before)
        case "delay", _, after:
            return not after.startswith("0..")
        case "order", before, after:
            ranks = ["global", "fifo", "bag"]
            return ranks.index(after) < ranks.index(before)
        case "turns", _, after:
            return after == "atomic"
    return False


def test_a_detector_that_is_slower_by_one_breaks_a_bully_of_the_textbook() -> None:
    setting = Setting("bully-textbook", (1, 2, 3, 4), ("office=delayed",), strongest="highest")
    machine = setting.machine(*REGISTRY["bully-textbook"])
    model = Model(setting, Budget(crashes=2))
    claims = [CLAIMS["A1"]]
    verdict = check(machine, model, claims, engine="numba", lean=True)
    assert (verdict.result, verdict.cuts) == (Result.WITHIN_BOUNDS, {"normal": 1})
    found = [change for change in changes(machine, model, verdict.cuts) if "3" in change.option]
    (slower,) = rechecks(lambda setting: machine, found, claims, engine="numba")
    assert (slower.default, slower.option) == ("detection 2", "--detection 3")
    assert slower.moves == {"A1": 8}
    assert slower.claims == {"A1": Result.VIOLATED}


# --- where it ends ---


def asked(*given: Any, **options: Any) -> list[Recheck]:
    probe = Probe(LATE)
    found = changes(probe.machine, probe.model, {})
    return list(rechecks(built(LATE), found, [nobody_follows(1)], *given, **options))


def test_a_search_that_grows_too_large_is_not_finished() -> None:
    for each in asked(2):
        assert not each.finished
        assert each.tried
        assert each.reason == "more than 2 states (--states-max)"


def test_an_interruption_leaves_the_rest_untried() -> None:
    @contextmanager
    def interrupting() -> Iterator[Report]:
        def report(progress: Progress) -> None:
            raise KeyboardInterrupt

        yield report

    found = asked(watch=interrupting)
    assert [each.tried for each in found] == [True, False, False, False, False]
    assert {each.reason for each in found} == {"interrupted"}
    assert not any(each.finished for each in found)


def test_an_interruption_between_two_phases_does_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("electorate.check.robust.check", interrupted)
    assert [each.tried for each in asked()] == [True, False, False, False, False]


def test_every_check_has_a_report_of_its_own_that_says_what_is_moved() -> None:
    phases: list[list[str]] = []

    @contextmanager
    def watched() -> Iterator[Report]:
        told: list[str] = []
        yield lambda progress: told.append(progress.phase)
        phases.append(list(dict.fromkeys(told)))

    asked(watch=watched)
    assert phases[:2] == [["--delay 0..2: search"], ["--delay 1..1: search"]]


def test_what_cannot_begin_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*given: Any, **options: Any) -> Any:
        raise StartError("the fault-free run never repeats itself", Trace(Probe({}).model.setting))

    monkeypatch.setattr("electorate.check.robust.check", lost)
    assert {each.reason for each in asked()} == {"the fault-free run never repeats itself"}


def test_a_machine_that_cannot_be_built_says_why() -> None:
    def build(setting: Setting) -> Machine[Any]:
        if setting.timing.T > 1:
            raise ValueError("x is less than no time")
        return built(LATE)(setting)

    probe = Probe(LATE)
    found = changes(probe.machine, probe.model, {})
    longer, *others = rechecks(build, found, [nobody_follows(1)])
    assert (longer.option, longer.reason) == ("--delay 0..2", "x is less than no time")
    assert all(each.finished for each in others)
