"""Known verdicts on the three forms of Park's election. A changed number must be explained."""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, Verdict, check
from electorate.check.interned import ELECTED
from electorate.check.model import Detector
from electorate.claims import CLAIMS, Kind
from electorate.core import Strongest, Timing
from electorate.protocols.registry import REGISTRY
from electorate.trace import Clock, Order, Setting, Start

CRASH = {"crashes": 1}
RETURN = {"crashes": 1, "recoveries": 1}
LOSS = {"losses": 1, "start": Start.BOOT}
BOOT = {"start": Start.BOOT}
UNRELIABLE = {"detector": Detector.UNRELIABLE}
UNBOUNDED = {"clock": Clock.UNBOUNDED, "capacity": 2, "counter": 3}


class Fate(NamedTuple):
    """What became of a claim: its grade if it is a goal, and how many moves break it."""

    result: Result
    liveness: Liveness | None = None
    number: int | None = None
    """The worst time to a goal that is reached, or the length of the shortest run that breaks."""


HOLDS = Fate(Result.HOLDS)


def live(tau: int) -> Fate:
    return Fate(Result.HOLDS, Liveness.LIVE, tau)


def broken(moves: int) -> Fate:
    return Fate(Result.VIOLATED, None, moves)


def stuck(moves: int) -> Fate:
    return Fate(Result.VIOLATED, Liveness.STUCK, moves)


def judged(name: str, claim: str, nodes: int, **given: Any) -> Verdict:
    budgets = {kind: given.pop(kind) for kind in Budget.__struct_fields__ if kind in given}
    bounds = {kind: given.pop(kind) for kind in Bounds.__struct_fields__ if kind in given}
    detector = given.pop("detector", Detector.EVENTUALLY_PERFECT)
    detection, engine = given.pop("detection", None), given.pop("engine", "python")
    setting = Setting(name, tuple(range(1, nodes + 1)), **given)
    model = Model(setting, Budget(**budgets), Bounds(**bounds), detector, detection)
    machine = setting.machine(*REGISTRY[name])
    return check(machine, model, [CLAIMS[claim]], engine=engine)


def fate(name: str, claim: str, nodes: int, **given: Any) -> Fate:
    verdict = judged(name, claim, nodes, **given)
    assert not verdict.cuts
    lengths = [violation.length for violation in verdict.violations]
    return Fate(verdict.claims[claim], verdict.liveness, verdict.tau or next(iter(lengths), None))


@pytest.mark.parametrize(
    ("nodes", "given", "tau"),
    [
        (2, BOOT, 3),
        (2, CRASH, 2),
        (2, RETURN, 9),
        (2, LOSS, 9),
        (2, {"lies": 1}, 11),
        (2, {"lies": 2}, 14),
        (2, {"lies": 1, **RETURN}, 11),
        (3, BOOT, 3),
        (3, CRASH, 5),
        (3, RETURN, 9),
        (3, LOSS, 9),
        (3, {"lies": 1, **BOOT}, 11),
        (3, {"lies": 1, **CRASH}, 14),
        (3, {"lies": 2}, 14),
        (3, {"losses": 1, **CRASH}, 9),
        (3, {"doubles": 1, **CRASH}, 5),
        (3, {"order": Order.BAG, **RETURN}, 9),
    ],
)
def test_the_sound_form_is_safe_and_live(nodes: int, given: dict[str, Any], tau: int) -> None:
    assert fate("park", "P1", nodes, **given) == HOLDS
    for goal in ("P2", "A2"):
        assert fate("park", goal, nodes, **given) == live(tau)


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 2, "counter": 4, **UNRELIABLE},
        {"nodes": 2, **UNRELIABLE, **UNBOUNDED, **RETURN},
        {"nodes": 2, **UNRELIABLE, **UNBOUNDED, "losses": 1, "doubles": 1, "order": Order.BAG},
        {"nodes": 3, **UNBOUNDED, **RETURN, "counter": 2},
        {"nodes": 3, **UNBOUNDED, "lies": 2, "counter": 2},
    ],
)
def test_the_sound_form_is_safe_whatever_detectors_and_networks_do(given: dict[str, Any]) -> None:
    verdict = judged("park", "P1", **given)
    assert verdict.result is Result.WITHIN_BOUNDS
    assert set(verdict.cuts) <= {"counter", "capacity"}


def test_an_unreliable_detector_can_keep_the_sound_form_from_electing() -> None:
    verdict = judged("park", "P2", 2, counter=4, **UNRELIABLE)
    assert (verdict.result, verdict.liveness) == (Result.VIOLATED, Liveness.PREVENTABLE)


def test_late_messages_can_keep_the_sound_form_from_electing() -> None:
    verdict = judged("park", "P2", 2, **BOOT, **UNBOUNDED)
    assert (verdict.result, verdict.liveness) == (Result.VIOLATED, Liveness.PREVENTABLE)


def test_the_sound_form_needs_no_accurate_detector_for_p1_but_for_a1() -> None:
    """A node that sees nobody else leads itself: it disagrees with those that it does not see."""
    assert fate("park", "P1", 2, lies=1) == HOLDS
    assert fate("park", "A1", 2, lies=1) == broken(1)
    assert fate("park", "A1", 3, **RETURN) == HOLDS


def test_to_end_the_old_leadership_with_a_promise_does_not_replace_two_of_the_repairs() -> None:
    """With a detector that is never wrong, only slow to see that a node is back."""
    rules = ("newcomer=keep", "unseen=accept", "release=promise")
    assert fate("park", "P1", 3, rules=rules, **CRASH) == HOLDS
    assert fate("park", "P1", 3, rules=rules, **RETURN) == broken(16)


@pytest.mark.parametrize("strongest", ["lowest", "highest"])
def test_both_ends_of_the_ranking_fare_the_same(strongest: Strongest) -> None:
    assert fate("park", "P2", 3, strongest=strongest, **RETURN) == live(9)


@pytest.mark.parametrize("T", [1, 2])
@pytest.mark.parametrize(
    ("nodes", "given", "spell"),
    [
        (3, BOOT, 3),  # three delays
        (3, CRASH, 3),
        (2, {"lies": 1}, 9),  # patience, the plea, three delays
        (3, {"lies": 1, **BOOT}, 9),
        (3, RETURN, 9),
        (2, {"lies": 2}, 12),  # and before that one rejection: there, back, retry
        (2, {"lies": 3}, 12),
        (3, {"lies": 2}, 12),
        (3, {"lies": 1, **CRASH}, 12),
    ],
)
def test_how_long_views_must_agree_for_a_commit(
    nodes: int, given: dict[str, Any], spell: int, T: int
) -> None:
    """Detectors that are right at once: from the last fault on all live nodes see the same."""
    timing = Timing(T)
    assert fate("park", "P2", nodes, detection=0, timing=timing, **given) == live(spell * T)


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("budget", [{}, CRASH, RETURN, {"lies": 1}, {"losses": 1}])
def test_to_the_letter_nobody_is_ever_elected(nodes: int, budget: dict[str, int]) -> None:
    for claim in ("P1", "P2", "A2"):
        verdict = judged("park-literal", claim, nodes, **BOOT, **budget)
        assert not verdict.sometimes[ELECTED.text]
        is_goal = CLAIMS[claim].kind is Kind.GOAL
        nothing = "the search says nothing: not once did anybody lead"
        assert verdict.reason == (None if is_goal else nothing)
    assert verdict.liveness is Liveness.STUCK


@pytest.mark.parametrize("rule", ["answer=RoundIn", "refresh=after", "otherwise=inner"])
def test_to_the_letter_the_guard_and_the_name_have_to_be_put_right(rule: str) -> None:
    verdict = judged("park-literal", "P2", 2, **BOOT, rules=(rule,))
    assert verdict.liveness is Liveness.STUCK
    assert not verdict.sometimes[ELECTED.text]


def test_with_the_name_and_the_guard_put_right_there_is_a_leader() -> None:
    rules = ("answer=RoundIn", "refresh=after")
    assert fate("park-literal", "P2", 3, **BOOT, rules=rules) == live(3)


@pytest.mark.parametrize(
    ("nodes", "given", "agreement", "progress"),
    [
        (2, BOOT, HOLDS, live(3)),
        (3, BOOT, HOLDS, live(3)),
        (2, CRASH, HOLDS, live(2)),
        (3, CRASH, HOLDS, stuck(5)),
        (2, RETURN, broken(6), stuck(3)),
        (3, RETURN, broken(12), stuck(3)),
        (2, LOSS, HOLDS, stuck(2)),
        (3, LOSS, HOLDS, stuck(4)),
        (2, {"lies": 1}, broken(2), stuck(3)),
        (3, {"lies": 1, **CRASH}, broken(4), stuck(3)),
        (3, {"lies": 2}, broken(3), stuck(3)),
    ],
)
def test_as_printed(nodes: int, given: dict[str, Any], agreement: Fate, progress: Fate) -> None:
    assert fate("park-as-printed", "P1", nodes, **given) == agreement
    assert fate("park-as-printed", "P2", nodes, **given) == progress
    assert fate("park-as-printed", "A2", nodes, **given) == progress


@pytest.mark.parametrize(("nodes", "moves"), [(2, 2), (3, 3)])
def test_as_printed_agreement_breaks_with_an_unreliable_detector(nodes: int, moves: int) -> None:
    verdict = judged("park-as-printed", "P1", nodes, **UNRELIABLE)
    assert [violation.length for violation in verdict.violations] == [moves]


def test_as_printed_time_without_bounds_changes_nothing() -> None:
    for nodes, moves in ((2, 6), (3, 12)):
        given = {**RETURN, "clock": Clock.UNBOUNDED}
        assert fate("park-as-printed", "P1", nodes, **given) == broken(moves)
        assert fate("park-as-printed", "P2", nodes, **given) == stuck(2)


def test_as_printed_late_messages_alone_do_no_harm() -> None:
    given = {**BOOT, "clock": Clock.UNBOUNDED, "order": Order.BAG}
    for claim in ("P1", "P2"):
        assert judged("park-as-printed", claim, 3, **given).result is Result.HOLDS


@pytest.mark.parametrize(
    ("rules", "progress"),
    [
        (("reply=view",), live(5)),  # a proposal is looked at again when a view comes
        (("refresh=never",), stuck(7)),
        (("start=leaderless",), stuck(5)),
        (("otherwise=outer",), stuck(7)),
        (("commit=round",), stuck(5)),
    ],
)
def test_as_printed_one_more_repair_is_not_enough(rules: tuple[str, ...], progress: Fate) -> None:
    assert fate("park-as-printed", "P2", 3, **CRASH, rules=rules) == progress
    assert fate("park-as-printed", "P1", 2, lies=1, rules=rules) == broken(2)
    assert fate("park-as-printed", "P2", 2, **RETURN, rules=rules) == stuck(3)
