"""Known verdicts of Invitation, with their numbers. A changed number must be explained."""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, Verdict, check
from electorate.check.model import BUDGETS
from electorate.claims import CLAIMS
from electorate.core import Machine, Timing
from electorate.protocols.invitation import Invitation
from electorate.trace import Clock, Order, Setting, Start, Ties

WRAPS = "wraps=4"
"""Numbers that grow would hide a loop in which nothing else does."""
FAULTS: dict[str, Any] = {"crashes": 1, "recoveries": 1}


class Pinned(NamedTuple):
    states: int
    transitions: int
    tau: int | None = None


def judged(
    kind: type[Machine[Any]] = Invitation,
    form: str = "sound",
    *rules: str,
    nodes: int = 3,
    T: int = 1,
    counter: int = 8,
    **given: Any,
) -> Verdict:
    budget = Budget(**{name: given.pop(name) for name in BUDGETS if name in given})
    ids = tuple(range(1, nodes + 1))
    setting = Setting("invitation", ids, rules, timing=Timing(T), **given)
    # With the numbers as they are: what renaming makes of them is in test_rings and test_declared.
    model = Model(setting, budget, Bounds(counter=counter), renames=False)
    claims = [CLAIMS["A3"], CLAIMS["A2"]]
    return check(setting.machine(kind, form), model, claims, engine="numba")


def pinned(verdict: Verdict) -> Pinned:
    return Pinned(verdict.states, verdict.transitions, verdict.tau)


def expect_live(verdict: Verdict, states: int, transitions: int, tau: int) -> None:
    assert verdict.claims == {"A3": Result.HOLDS, "A2": Result.HOLDS}
    assert verdict.liveness is Liveness.LIVE
    assert not verdict.cuts
    assert pinned(verdict) == Pinned(states, transitions, tau)


@pytest.mark.parametrize(
    ("given", "numbers"),
    [
        ({}, Pinned(43_385, 98_968, 0)),
        ({"start": Start.BOOT}, Pinned(7_787, 28_911, 13)),
        ({"crashes": 1}, Pinned(56_861, 281_091, 22)),
        (FAULTS, Pinned(265_999, 785_575, 22)),
        (FAULTS | {"order": Order.BAG}, Pinned(345_107, 1_141_100, 22)),
        ({"losses": 1}, Pinned(138_177, 373_436, 15)),
        ({"losses": 2}, Pinned(416_803, 1_110_145, 18)),
        ({"doubles": 1}, Pinned(201_455, 571_100, 0)),
        ({"crashes": 2, "recoveries": 2, "delay_min": 1}, Pinned(608_613, 1_317_472, 21)),
        ({"crashes": 1, "losses": 1, "delay_min": 1}, Pinned(86_137, 351_376, 21)),
        ({"crashes": 1, "asks": 1, "delay_min": 1}, Pinned(344_550, 1_919_471, 21)),
        (FAULTS | {"delay_min": 1}, Pinned(82_134, 206_955, 21)),
        ({"nodes": 2, "T": 3} | FAULTS, Pinned(91_849, 240_817, 60)),
    ],
)
def test_the_sound_form_ends_in_one_group(given: dict[str, Any], numbers: Pinned) -> None:
    verdict = judged(**given)
    assert numbers.tau is not None
    expect_live(verdict, numbers.states, numbers.transitions, numbers.tau)


def test_no_pause_keeps_two_nodes_apart_in_which_few_messages_pile_up() -> None:
    verdict = judged(nodes=2, pauses=1)
    assert verdict.claims == {"A3": Result.WITHIN_BOUNDS, "A2": Result.UNKNOWN}
    assert verdict.liveness is Liveness.UNDECIDED
    assert pinned(verdict) == Pinned(28_206, 59_117, 13)
    assert set(verdict.cuts) == {"capacity"}


def test_as_printed_it_ends_in_one_group_if_nodes_only_crash() -> None:
    expect_live(judged(Invitation, "printed", crashes=2), 58_382, 316_481, 27)


def test_as_printed_even_one_crash_is_too_much_if_checks_are_rare() -> None:
    verdict = judged(Invitation, "printed", WRAPS, "check=12T", crashes=1, delay_min=1)
    assert verdict.claims == {"A3": Result.HOLDS, "A2": Result.VIOLATED}
    assert verdict.liveness is Liveness.STUCK


@pytest.mark.parametrize("given", [FAULTS, {"losses": 1}, {"pauses": 1}])
@pytest.mark.parametrize("T", [1, 2])
def test_as_printed_two_nodes_can_miss_each_other_for_ever(given: dict[str, Any], T: int) -> None:
    verdict = judged(Invitation, "printed", WRAPS, nodes=2, T=T, **given)
    # What is sent to a node that sleeps piles up.
    safe = Result.WITHIN_BOUNDS if "pauses" in given else Result.HOLDS
    assert verdict.claims == {"A3": safe, "A2": Result.VIOLATED}
    assert set(verdict.cuts) == ({"capacity"} if "pauses" in given else set())
    assert verdict.liveness is Liveness.PREVENTABLE


def test_a_counter_that_grows_hides_that_they_do() -> None:
    """A run is no loop if a number in it has grown: it only passes whatever bound there is."""
    verdicts = [judged(Invitation, "printed", nodes=2, counter=c, **FAULTS) for c in (4, 6, 8)]
    assert [verdict.liveness for verdict in verdicts] == [Liveness.UNDECIDED] * 3
    assert {verdict.claims["A2"] for verdict in verdicts} == {Result.UNKNOWN}
    assert [verdict.tau for verdict in verdicts] == [20, 34, 48]
    assert all(verdict.cuts for verdict in verdicts)


def test_as_printed_a_node_of_three_can_be_left_behind_for_ever() -> None:
    verdict = judged(Invitation, "printed", **FAULTS)
    assert verdict.claims == {"A3": Result.WITHIN_BOUNDS, "A2": Result.VIOLATED}
    assert verdict.liveness is Liveness.STUCK
    assert pinned(verdict) == Pinned(491_354, 1_280_348)


@pytest.mark.parametrize("delay", [2, 3, 4, 5])
def test_with_a_delay_checks_must_be_closer_than_five_T_and_the_delay(delay: int) -> None:
    """Where both sides are done before the next check, they meet again as they met before."""
    for busy, grade in ((4, Liveness.LIVE), (5, Liveness.PREVENTABLE), (6, Liveness.PREVENTABLE)):
        rules = ("outranked=delay", f"delay={delay}", f"check={busy + delay}")
        assert judged(Invitation, "sound", WRAPS, *rules, nodes=2, **FAULTS).liveness is grade


def test_with_a_delay_not_every_shorter_period_will_do() -> None:
    grades = [Liveness.LIVE, *[Liveness.PREVENTABLE] * 2, Liveness.LIVE]
    for period, grade in zip(("3T", "4T", "5T", "6T"), grades, strict=True):
        rules = ("outranked=delay", "delay=2T", f"check={period}")
        verdict = judged(Invitation, "sound", WRAPS, *rules, nodes=2, **FAULTS)
        assert verdict.liveness is grade


@pytest.mark.parametrize(("delay", "tau"), [("1", 98), ("T", 74), ("T+1", 50), ("2T", 50)])
def test_with_checks_afresh_a_longer_delay_only_saves_time(delay: str, tau: int) -> None:
    rules = ("outranked=delay", "pace=afresh", f"delay={delay}", "check=6T+2")
    verdict = judged(Invitation, "sound", WRAPS, *rules, nodes=2, T=2, **FAULTS)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)


@pytest.mark.parametrize(("ack", "tau"), [("none", 17), ("awaited", 22)])
def test_acks_are_not_needed_and_a_lost_one_costs_time(ack: str, tau: int) -> None:
    verdict = judged(Invitation, "sound", WRAPS, f"ack={ack}", losses=1, start=Start.BOOT)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)


@pytest.mark.parametrize(("ready", "answers"), [("4T", "2T+1"), ("4T+1", "2T")])
@pytest.mark.parametrize("T", [1, 2])
def test_with_both_orders_of_a_tie_two_timers_are_too_short_by_one_tick(
    ready: str, answers: str, T: int
) -> None:
    given = {"nodes": 2, "T": T, "ties": Ties.BOTH, **FAULTS}
    broken = judged(Invitation, "sound", WRAPS, f"ready={ready}", f"answers={answers}", **given)
    assert broken.claims == {"A3": Result.HOLDS, "A2": Result.VIOLATED}
    mended = judged(Invitation, "sound", WRAPS, "ready=4T+1", "answers=2T+1", **given)
    assert mended.liveness is Liveness.LIVE


def test_with_both_orders_of_a_tie_no_fault_is_needed() -> None:
    verdict = judged(nodes=2, ties=Ties.BOTH)
    assert verdict.claims == {"A3": Result.WITHIN_BOUNDS, "A2": Result.VIOLATED}
    assert pinned(verdict) == Pinned(5_660, 8_783)


def test_with_both_orders_of_a_tie_three_nodes_need_no_more_than_two() -> None:
    verdict = judged(Invitation, "sound", "ready=4T+1", "answers=2T+1", ties=Ties.BOTH, **FAULTS)
    expect_live(verdict, 636_147, 1_998_402, 28)


def test_agreement_within_groups_needs_no_bounds_on_time() -> None:
    verdict = judged(nodes=2, clock=Clock.UNBOUNDED, start=Start.BOOT)
    assert verdict.claims["A3"] is Result.WITHIN_BOUNDS
    assert set(verdict.cuts) == {"firings"}


@pytest.mark.parametrize("given", [{"nodes": 2, **FAULTS}, {"delay_min": 1, **FAULTS}])
def test_numbers_that_wrap_change_nothing_where_they_come_to_rest(given: dict[str, Any]) -> None:
    assert pinned(judged(Invitation, "sound", WRAPS, **given)) == pinned(judged(**given))
