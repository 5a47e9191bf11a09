"""Invitation where not everybody is linked to everybody: A4, A4' and S4, with their numbers."""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Liveness, Result
from electorate.claims.network import networks
from electorate.protocols.registry import REGISTRY
from electorate.simulate.script import run_script
from electorate.trace import Cut, Lost, Start, script_of
from tests.check.forgetful import Forgetful
from tests.check.network import CYCLE_4, PATH_3, PATH_4, STAR_4, judged

BOOT: dict[str, Any] = {"start": Start.BOOT}
RETURN: dict[str, Any] = {"crashes": 1, "recoveries": 1}
HEAL: dict[str, Any] = {"cuts": 1, "heals": 1}
ROUNDS: dict[str, Any] = {"delay_min": 1}
WRAPS = "wraps=4"
"""Numbers that grow would hide a loop in which nothing else does."""
DELAY = ("outranked=delay",)
AT_ONCE = ("outranked=delay", "delay=0")


class Kept(NamedTuple):
    """A check of the sound form in which A4' is kept."""

    given: dict[str, Any]
    states: int
    tau: int

    def __str__(self) -> str:
        return str(self.given)


KEPT = [
    Kept({"graph": PATH_3, **BOOT}, 650, 13),
    Kept({"graph": PATH_3, **RETURN}, 95_015, 20),
    Kept({"graph": PATH_3, "losses": 1}, 59_165, 15),
    Kept({"graph": PATH_3, **HEAL}, 156_447, 20),
    Kept({"graph": PATH_4, **BOOT}, 9_682, 20),
    Kept({"graph": PATH_4, **BOOT, **RETURN, **ROUNDS}, 16_875, 28),
    Kept({"graph": CYCLE_4, **BOOT}, 125_680, 13),
    Kept({"graph": CYCLE_4, **BOOT, **RETURN, **ROUNDS}, 43_019, 21),
    Kept({"graph": PATH_3, **RETURN, **ROUNDS}, 41_690, 20),
    Kept({"graph": PATH_3, "T": 2, **BOOT}, 1_519, 26),
    Kept({"graph": PATH_4, "T": 2, **BOOT}, 31_024, 40),
    Kept({"graph": CYCLE_4, "T": 2, **BOOT}, 664_279, 26),
    Kept({"graph": STAR_4, **BOOT}, 10_529, 13),
    Kept({"nodes": 2, **HEAL}, 5_753, 15),
    Kept({"cuts": 1, **ROUNDS}, 58_079, 0),
    Kept({**HEAL, **ROUNDS}, 149_337, 14),
    Kept({"cuts": 2, "heals": 2, **ROUNDS}, 675_726, 21),
]


LONG = [
    Kept({"graph": PATH_3, "T": 2, **RETURN}, 1_459_077, 41),
    Kept({"graph": PATH_4, **RETURN}, 3_396_365, 28),
    Kept({"graph": PATH_4, **RETURN, **ROUNDS}, 1_034_941, 28),
    Kept({"graph": PATH_4, **HEAL}, 5_406_156, 33),
    Kept({"graph": CYCLE_4, **RETURN}, 9_279_367, 29),
    Kept({"graph": CYCLE_4, **RETURN, **ROUNDS}, 1_938_228, 22),
    Kept({"graph": CYCLE_4, **HEAL}, 10_669_359, 22),
]
"""Half a minute to a minute each."""


@pytest.mark.parametrize(
    "kept", [*KEPT, *(pytest.param(kept, marks=pytest.mark.slow) for kept in LONG)], ids=str
)
def test_the_sound_form_keeps_a4_weakened(kept: Kept) -> None:
    verdict = judged("invitation", "A4p", **kept.given)
    assert (verdict.claims, verdict.liveness) == ({"A4p": Result.HOLDS}, Liveness.LIVE)
    assert not verdict.cuts
    assert (verdict.states, verdict.tau) == (kept.states, kept.tau)


def test_on_every_network_of_three_nodes_a_crash_and_a_recovery_are_survived() -> None:
    verdicts = [
        judged("invitation", "A4p", graph=tuple(sorted(n.links)), nodes=3, **RETURN, **ROUNDS)
        for n in networks(3)
    ]
    assert {verdict.result for verdict in verdicts} == {Result.HOLDS}
    assert [verdict.tau for verdict in verdicts] == [0, 20, 20, 20, 20, 20, 21, 21]


@pytest.mark.slow
def test_every_network_of_four_nodes_comes_to_few_groups_from_the_first_boots() -> None:
    taus = {
        judged("invitation", "A4p", graph=tuple(sorted(n.links)), nodes=4, **BOOT, **ROUNDS).tau
        for n in networks(4)
    }
    assert taus == {0, 13, 20}


# --- A4 ---


def test_the_checker_finds_the_scenario_of_stoller_on_a_path_of_three_nodes() -> None:
    """P. F. Souto, "Elections", slide "Problematic Scenario": these groups will not change."""
    verdict = judged("invitation", "A4", graph=PATH_3, **BOOT)
    assert verdict.liveness is Liveness.STUCK
    (violation,) = verdict.violations
    assert violation.length == 45
    assert violation.witness.text == (
        "2 and 3 are linked, but 2 follows 1 in group (1, 2) and 3 follows 3 in group (3, 1)"
    )
    text = script_of(violation.trace)
    assert run_script(text, REGISTRY.__getitem__).text == text


FAULTS = {"Cut", "Crashed", "Recovered"}


def test_where_a_link_is_lost_later_no_crash_is_needed_for_it() -> None:
    verdict = judged("invitation", "A4", cuts=1, **RETURN, **ROUNDS)
    assert verdict.liveness is Liveness.STUCK
    (violation,) = verdict.violations
    faults = [s.happening for s in violation.trace.steps if type(s.happening).__name__ in FAULTS]
    assert faults == [Cut(1, 3, both=True)]


@pytest.mark.parametrize(("graph", "moves"), [(PATH_4, 80), (CYCLE_4, 62)])
def test_a4_fails_on_a_path_and_on_a_ring_of_four_nodes(graph: Any, moves: int) -> None:
    verdict = judged("invitation", "A4", graph=graph, **BOOT)
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [moves]


def test_a4_is_kept_where_the_strongest_node_is_linked_to_all() -> None:
    assert judged("invitation", "A4", graph=STAR_4, **BOOT).tau == 13
    middle: dict[str, Any] = {"graph": PATH_3, "attributes": (0, -1, 0)}
    assert judged("invitation", "A4", **middle, **BOOT).tau == 13
    assert judged("invitation", "A4", **middle, **RETURN, **ROUNDS).liveness is Liveness.LIVE


# --- A4' without the repairs ---


class Missed(NamedTuple):
    """A check in which A4' is missed: the moves into the loop, and the states."""

    name: str
    rules: tuple[str, ...]
    given: dict[str, Any]
    liveness: Liveness
    moves: int
    states: int

    def __str__(self) -> str:
        return f"{self.name} {' '.join(self.rules)} {self.given}"


STUCK, PREVENTABLE = Liveness.STUCK, Liveness.PREVENTABLE
ALIVE = ("probe=alive",)
OUTSIDERS = ("asks=outsiders",)
MISSED = [
    Missed("invitation", AT_ONCE, {"nodes": 2, **BOOT}, PREVENTABLE, 5, 533),
    Missed("invitation", AT_ONCE, {"graph": PATH_3, **BOOT}, PREVENTABLE, 5, 24_917),
    Missed("invitation", AT_ONCE, {"graph": PATH_3, **BOOT, **ROUNDS}, STUCK, 5, 337),
    Missed("invitation", AT_ONCE, {"graph": PATH_4, **BOOT, **ROUNDS}, STUCK, 5, 1_121),
    Missed("invitation", AT_ONCE, {"graph": CYCLE_4, **BOOT, **ROUNDS}, STUCK, 5, 3_425),
    Missed("invitation", DELAY, {"graph": PATH_3, **RETURN}, PREVENTABLE, 25, 181_010),
    Missed("invitation", DELAY, {"graph": PATH_3, **RETURN, **ROUNDS}, PREVENTABLE, 25, 58_694),
    Missed("invitation", ALIVE, {"nodes": 2, **RETURN, **ROUNDS}, STUCK, 6, 2_362),
    Missed("invitation", ALIVE, {"nodes": 3, **RETURN, **ROUNDS}, STUCK, 7, 82_573),
    Missed("invitation", ALIVE, {"graph": PATH_3, **RETURN}, STUCK, 7, 98_680),
    Missed("invitation", OUTSIDERS, {"graph": PATH_3, **RETURN, **ROUNDS}, STUCK, 7, 31_931),
    Missed("invitation-as-printed", (), {"graph": PATH_3, **RETURN, **ROUNDS}, STUCK, 7, 59_147),
    Missed("invitation-as-printed", (), {"nodes": 2, **HEAL, **ROUNDS}, PREVENTABLE, 22, 4_705),
]
LONG_MISSED = [
    Missed("invitation", AT_ONCE, {"graph": PATH_4, **BOOT}, PREVENTABLE, 5, 909_881),
    Missed("invitation", AT_ONCE, {"graph": CYCLE_4, **BOOT}, PREVENTABLE, 5, 32_746_257),
    Missed("invitation", DELAY, {"graph": PATH_4, **RETURN}, PREVENTABLE, 29, 6_181_094),
    Missed("invitation", DELAY, {"graph": CYCLE_4, **RETURN}, PREVENTABLE, 27, 15_100_407),
    Missed("invitation", ALIVE, {"graph": PATH_4, **RETURN}, STUCK, 8, 3_408_312),
    Missed("invitation", ALIVE, {"graph": CYCLE_4, **RETURN}, STUCK, 8, 9_564_819),
]
"""Up to three minutes each."""


@pytest.mark.parametrize(
    "missed",
    [*MISSED, *(pytest.param(missed, marks=pytest.mark.slow) for missed in LONG_MISSED)],
    ids=str,
)
def test_where_a4_weakened_is_missed(missed: Missed) -> None:
    verdict = judged(missed.name, "A4p", rules=(*missed.rules, WRAPS), **missed.given)
    assert (verdict.liveness, verdict.states) == (missed.liveness, missed.states)
    assert [violation.loop_after for violation in verdict.violations] == [missed.moves]
    assert not verdict.cuts


@pytest.mark.parametrize("missed", MISSED, ids=str)
def test_it_is_missed_however_many_numbers_there_are(missed: Missed) -> None:
    """Fails if a loop comes only of a number that is taken for another one."""
    for wraps in (5, 7):
        rules = (*missed.rules, f"wraps={wraps}")
        verdict = judged(missed.name, "A4p", rules=rules, **missed.given)
        assert verdict.liveness is missed.liveness


def test_numbers_that_grow_do_not_hide_the_loop() -> None:
    given: dict[str, Any] = {"rules": AT_ONCE, "graph": PATH_3, **BOOT, **ROUNDS}
    for counter in (4, 8):
        verdict = judged("invitation", "A4p", bounds=Bounds(counter=counter), **given)
        assert verdict.claims == {"A4p": Result.VIOLATED}


@pytest.mark.parametrize("graph", [PATH_3, PATH_4, CYCLE_4])
@pytest.mark.parametrize("rules", [DELAY, ("outranked=delay", "probe=alive", "ack=awaited")])
def test_with_a_delay_and_checks_in_step_a4_weakened_is_kept(
    rules: tuple[str, ...], graph: Any
) -> None:
    verdict = judged("invitation", "A4p", rules=(*rules, WRAPS), graph=graph, **BOOT, **ROUNDS)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, 17)


def test_a2_does_not_see_that_a_group_has_lost_its_leader() -> None:
    """A leader restarts faster than any timeout: it is followed in a group that is gone."""
    given = {"rules": ("probe=alive", WRAPS), **RETURN, **ROUNDS}
    assert judged("invitation", "A2", **given).liveness is Liveness.LIVE
    verdict = judged("invitation", "A4p", **given)
    assert verdict.violations[0].witness.text == (
        "2 follows 1 in group (1, 2), but 1 follows 1 in group (1, 3)"
    )


@pytest.mark.parametrize(
    ("rules", "tau"),
    [
        (("prompted=true",), 20),
        (("ack=awaited",), 20),
        (("pace=afresh",), 22),
        (("outranked=delay", "pace=afresh"), 24),
        (("outranked=weaker",), 29),
        (("queries=ignore-weaker",), 29),
    ],
)
def test_the_variants_keep_a4_weakened_on_a_path_too(rules: tuple[str, ...], tau: int) -> None:
    verdict = judged("invitation", "A4p", rules=(*rules, WRAPS), graph=PATH_3, **RETURN, **ROUNDS)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)


# --- S4 ---


@pytest.mark.parametrize(
    "given",
    [
        {"graph": PATH_3, **RETURN, **ROUNDS},
        {"nodes": 2, "crashes": 2, "recoveries": 2},
        {"nodes": 2, "losses": 1, **HEAL},
    ],
)
def test_group_numbers_are_never_reused(given: dict[str, Any]) -> None:
    for name in ("invitation", "invitation-as-printed"):
        verdict = judged(name, "S4", **given)
        assert verdict.claims == {"S4": Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS}
        assert set(verdict.cuts) <= {"counter"}


def test_if_the_counter_were_lost_in_a_crash_numbers_would_be_reused() -> None:
    verdict = judged("invitation", "S4", "A3", kind=Forgetful, nodes=2, **BOOT, **RETURN)
    assert verdict.claims == {"S4": Result.VIOLATED, "A3": Result.HOLDS}
    (violation,) = verdict.violations
    assert (violation.length, violation.witness.text) == (
        2,
        "1 forms a group (1, 1), which there was before",
    )


# --- beginning where links are missing ---


def test_a_run_may_begin_where_the_fault_free_run_of_a_path_ends_up() -> None:
    """Fails if a promise that is made for other networks keeps a check from beginning."""
    assert judged("invitation", "A3", graph=PATH_3, **ROUNDS).result is Result.HOLDS
    text = "cluster invitation 1 2 3 graph=1-2,2-3\n\nstandings\nclaims A4p\n----\n"
    assert run_script(text, REGISTRY.__getitem__).text.endswith("A4p holds\n")


def test_links_that_are_missing_lose_messages() -> None:
    verdict = judged("invitation", "A4", graph=PATH_3, **BOOT)
    lost = [s.happening for s in verdict.violations[0].trace.steps if isinstance(s.happening, Lost)]
    assert {(loss.sender, loss.to) for loss in lost} == {(1, 3), (3, 1)}
