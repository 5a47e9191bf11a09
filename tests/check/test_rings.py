"""Known verdicts of the three rings, with their numbers. A changed number must be explained."""

from itertools import permutations
from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Budget, Detector, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.core import Timing
from electorate.protocols.registry import REGISTRY
from electorate.simulate.script import run_script
from electorate.trace import Clock, Order, Setting, Start, Ties, script_of

RINGS = ("chang-roberts", "ring-list", "ring-attribute")
PROMISED = ("A1", "A2", "S2")
UNNUMBERED = {
    "chang-roberts": "ballots=alike",
    "ring-list": "numbers=none",
    "ring-attribute": "numbers=none",
}


def judged(
    name: str,
    *claims: str,
    nodes: int = 3,
    T: int = 1,
    bounds: Bounds | None = None,
    detector: Detector = Detector.EVENTUALLY_PERFECT,
    **given: Any,
) -> Verdict:
    budget = Budget(**{k: given.pop(k) for k in Budget.__struct_fields__ if k in given})
    ids = tuple(range(1, nodes + 1))
    setting = Setting(name, ids, timing=Timing(T), **{"strongest": "highest", **given})
    machine = setting.machine(*REGISTRY[name])
    model = Model(setting, budget, bounds or Bounds(), detector)
    return check(machine, model, [CLAIMS[c] for c in claims or PROMISED], engine="numba")


def holds(verdict: Verdict, *, cut: bool = False) -> bool:
    """Whether every claim holds, and whether a bound cut the search, as expected."""
    wanted = Result.WITHIN_BOUNDS if cut else Result.HOLDS
    return set(verdict.claims.values()) == {wanted} and bool(verdict.cuts) is cut


class Case(NamedTuple):
    """A check of a sound form that holds."""

    name: str
    given: dict[str, Any]
    states: int
    tau: int

    def __str__(self) -> str:
        return f"{self.name} {self.given}"


RECOVERY: dict[str, Any] = {"crashes": 1, "recoveries": 1}

HOLD = [
    Case("chang-roberts", {"start": Start.BOOT}, 50, 5),
    Case("chang-roberts", {"asks": 2}, 282, 7),
    Case("chang-roberts", {"crashes": 1}, 98, 8),
    Case("chang-roberts", RECOVERY, 2036, 10),
    Case("chang-roberts", {**RECOVERY, "strongest": "lowest"}, 2034, 10),
    Case("chang-roberts", {**RECOVERY, "T": 2}, 8456, 20),
    Case("chang-roberts", {"crashes": 2, "recoveries": 1}, 11812, 10),
    Case("chang-roberts", {"crashes": 2, "recoveries": 2, "nodes": 2}, 604, 8),
    Case("chang-roberts", {"lies": 1}, 173, 10),
    Case("chang-roberts", {**RECOVERY, "losses": 1}, 4490, 10),
    Case("chang-roberts", {**RECOVERY, "order": Order.BAG}, 8251, 11),
    Case("ring-list", {"start": Start.BOOT}, 50, 5),
    Case("ring-list", {"asks": 2}, 580, 5),
    Case("ring-list", {"crashes": 1}, 115, 8),
    Case("ring-list", RECOVERY, 2873, 8),
    Case("ring-list", {**RECOVERY, "strongest": "lowest"}, 2111, 8),
    Case("ring-list", {**RECOVERY, "T": 2}, 11372, 17),
    Case("ring-list", {"crashes": 2, "recoveries": 1}, 18051, 8),
    Case("ring-list", {"crashes": 2, "recoveries": 2, "nodes": 2}, 792, 7),
    Case("ring-list", {"lies": 1}, 226, 9),
    Case("ring-list", {**RECOVERY, "losses": 1}, 6627, 11),
    Case("ring-attribute", {"start": Start.BOOT}, 50, 5),
    Case("ring-attribute", {"asks": 2}, 628, 7),
    Case("ring-attribute", {"crashes": 1}, 131, 8),
    Case("ring-attribute", RECOVERY, 4251, 10),
    Case("ring-attribute", {**RECOVERY, "strongest": "lowest"}, 2495, 11),
    Case("ring-attribute", {**RECOVERY, "T": 2}, 16789, 20),
    Case("ring-attribute", {"crashes": 2, "recoveries": 1}, 27718, 10),
    Case("ring-attribute", {"crashes": 2, "recoveries": 2, "nodes": 2}, 1111, 8),
    Case("ring-attribute", {"lies": 1}, 258, 10),
    Case("ring-attribute", {**RECOVERY, "losses": 1}, 11111, 11),
]


@pytest.mark.parametrize("case", HOLD, ids=str)
def test_the_sound_form_keeps_its_promises(case: Case) -> None:
    verdict = judged(case.name, **case.given)
    assert holds(verdict)
    assert (verdict.states, verdict.liveness, verdict.tau) == (
        case.states,
        Liveness.LIVE,
        case.tau,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", RINGS)
def test_with_four_nodes_it_keeps_its_promises_however_they_are_placed(name: str) -> None:
    for ranks in permutations((1, 2, 3)):
        assert holds(judged(name, nodes=4, attributes=(*ranks, 4), **RECOVERY))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states", "tau"),
    [
        ("chang-roberts", 64_517, 11),
        ("ring-list", 110_752, 12),
        ("ring-attribute", 161_267, 12),
    ],
)
def test_two_crashes_and_two_recoveries(name: str, states: int, tau: int) -> None:
    verdict = judged(name, crashes=2, recoveries=2, bounds=Bounds(counter=20))
    assert holds(verdict)
    assert (verdict.states, verdict.tau) == (states, tau)


@pytest.mark.parametrize("name", RINGS)
@pytest.mark.parametrize("given", [{"start": Start.BOOT}, RECOVERY])
def test_agreement_does_not_depend_on_time(name: str, given: dict[str, Any]) -> None:
    """Unlike Bully: who leads has heard from everybody, not waited for silence."""
    bounds = Bounds(capacity=3, counter=4)
    assert holds(judged(name, "A1", "S2", clock=Clock.UNBOUNDED, bounds=bounds, **given), cut=True)


@pytest.mark.parametrize("name", RINGS)
def test_wrong_suspicions_of_both_neighbours_break_agreement_and_it_recovers(name: str) -> None:
    assert [v.length for v in judged(name, "A1", lies=2).violations] == [2]
    assert [v.length for v in judged(name, "A1", lies=1, nodes=2).violations] == [1]
    assert holds(judged(name, "A2", lies=2))


@pytest.mark.parametrize("name", RINGS)
def test_a_detector_that_never_stops_lying_prevents_every_election(name: str) -> None:
    given: dict[str, Any] = {"nodes": 2, "rules": (UNNUMBERED[name],)}
    verdict = judged(name, "A2", detector=Detector.UNRELIABLE, **given)
    assert verdict.claims == {"A2": Result.VIOLATED}


@pytest.mark.parametrize("name", ["ring-list", "ring-attribute"])
def test_without_order_on_the_channels_elections_can_be_prevented(name: str) -> None:
    """The circle is seen whether the elections have numbers or not."""
    given: dict[str, Any] = {"order": Order.BAG, "start": Start.BOOT}
    for rules in ((), (UNNUMBERED[name],)):
        verdict = judged(name, "A2", rules=rules, **given)
        assert (verdict.liveness, verdict.cuts) == (Liveness.PREVENTABLE, {})


@pytest.mark.parametrize("name", RINGS)
def test_with_both_orders_of_a_tie_elections_can_go_on_too(name: str) -> None:
    verdict = judged(name, "A2", ties=Ties.BOTH, start=Start.BOOT)
    assert (verdict.liveness, verdict.cuts) == (Liveness.PREVENTABLE, {})


@pytest.mark.parametrize("name", RINGS)
def test_the_leader_is_the_strongest_until_something_fails(name: str) -> None:
    assert holds(judged(name, "S1", start=Start.BOOT))
    assert holds(judged(name, "S1", asks=2))
    assert [v.length for v in judged(name, "S1", crashes=1).violations] == [1]


class Printed(NamedTuple):
    """A check of a printed form: the claims that break, with the lengths of the shortest runs."""

    name: str
    given: dict[str, Any]
    broken: dict[str, int]

    def __str__(self) -> str:
        return f"{self.name} {self.given}"


PRINTED = [
    Printed("chang-roberts-slide", {"start": Start.BOOT}, {}),
    Printed("chang-roberts-slide", {"asks": 2}, {}),
    Printed("chang-roberts-slide", {"lies": 1}, {}),
    Printed("chang-roberts-slide", {"crashes": 1}, {"A2": 5}),
    Printed("chang-roberts-slide", {"losses": 1, "asks": 1}, {"A2": 3}),
    Printed("chang-roberts-slide", {"order": Order.BAG, "start": Start.BOOT, "nodes": 4}, {}),
    Printed("chang-roberts-code", {"start": Start.BOOT}, {}),
    Printed("chang-roberts-code", {"asks": 2}, {}),
    Printed("chang-roberts-code", {"lies": 1}, {}),
    Printed("chang-roberts-code", {"crashes": 1}, {"A2": 5}),
    Printed("chang-roberts-code", {"losses": 1, "asks": 1}, {"A2": 3}),
    Printed(
        "chang-roberts-code", {"order": Order.BAG, "start": Start.BOOT, "nodes": 4}, {"A2": 13}
    ),
    Printed("ring-list-as-printed", {"start": Start.BOOT}, {}),
    Printed("ring-list-as-printed", {"asks": 2}, {}),
    Printed("ring-list-as-printed", {"crashes": 1}, {"A2": 5}),
    Printed("ring-list-as-printed", {"crashes": 1, "asks": 1}, {"A1": 8, "A2": 5}),
    Printed("ring-list-as-printed", {"losses": 1, "asks": 1}, {"A2": 3}),
    Printed("ring-list-as-printed", {"lies": 1}, {"A1": 3, "S2": 3}),
    Printed("ring-list-as-printed", RECOVERY, {"A1": 8, "S2": 9}),
    Printed("ring-attribute-as-printed", {"start": Start.BOOT}, {}),
    Printed("ring-attribute-as-printed", {"asks": 1}, {"A2": 3}),
    Printed("ring-attribute-as-printed", {"crashes": 1}, {"A2": 6}),
    Printed("ring-attribute-as-printed", {"lies": 1}, {"A2": 4}),
    Printed("ring-attribute-to-the-letter", {"start": Start.BOOT}, {}),
    Printed("ring-attribute-to-the-letter", {"asks": 1}, {"A2": 3}),
    Printed("ring-attribute-to-the-letter", {"crashes": 1}, {"A2": 6}),
    Printed("ring-attribute-to-the-letter", {"lies": 1}, {"A2": 4}),
    Printed(
        "ring-attribute-to-the-letter",
        {"start": Start.BOOT, "nodes": 2, "attributes": (80, 5)},
        {"A2": 4},
    ),
]


@pytest.mark.parametrize("printed", PRINTED, ids=str)
def test_what_the_printed_form_gets_wrong(printed: Printed) -> None:
    verdict = judged(printed.name, **printed.given)
    assert {v.claim: v.length for v in verdict.violations} == printed.broken


def test_as_printed_the_attributes_need_both_a_scope_and_a_lifetime() -> None:
    """Two initiators need the scope of the flag, a second election the lifetime of the cache."""
    name = "ring-attribute-as-printed"
    for rules, asks, liveness in (
        ((), 1, Liveness.STUCK),
        (("forwarded=run",), 1, Liveness.STUCK),
        (("cache=election",), 2, Liveness.STUCK),
        (("cache=election", "forwarded=election"), 2, Liveness.STUCK),
        (("cache=election", "forwarded=run"), 2, Liveness.LIVE),
    ):
        verdict = judged(name, "A2", asks=asks, rules=rules, strongest="lowest")
        assert verdict.liveness is liveness, rules


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_to_the_letter_all_may_start_only_if_the_highest_id_has_the_best_attribute(
    nodes: int,
) -> None:
    """Otherwise nobody is elected in any run, and the checker calls no claim kept."""
    name = "ring-attribute-to-the-letter"
    for attributes in permutations(range(nodes)):
        given: dict[str, Any] = {"nodes": nodes, "attributes": attributes, "start": Start.BOOT}
        elects = attributes[-1] == max(attributes)
        assert judged(name, "A1", **given).result is (Result.HOLDS if elects else Result.UNKNOWN)
        assert judged(name, "A2", **given).result is (Result.HOLDS if elects else Result.VIOLATED)
        assert holds(judged("ring-attribute-as-printed", "A2", **given))


@pytest.mark.parametrize("rule", ["initiators=rank", "first=begun", "forwarded=run"])
def test_with_any_of_these_read_otherwise_one_of_two_nodes_is_elected(rule: str) -> None:
    """To the letter nobody is: node 2 has the higher id, and node 1 the better attribute."""
    given: dict[str, Any] = {"nodes": 2, "attributes": (80, 5), "start": Start.BOOT}
    name = "ring-attribute-to-the-letter"
    assert judged(name, "A2", **given).liveness is Liveness.STUCK
    assert judged(name, "A2", rules=(rule,), **given).liveness is Liveness.LIVE


@pytest.mark.parametrize("name", RINGS)
def test_every_start_is_answered(name: str) -> None:
    for given in ({"asks": 2}, RECOVERY):
        assert holds(judged(name, "L1", **given))


def test_as_printed_the_second_start_is_not_answered() -> None:
    """I. Gupta, slide "Worst-Case Analysis": election terminates. The first one does."""
    name = "ring-attribute-as-printed"
    assert holds(judged(name, "L1", start=Start.BOOT))
    verdict = judged(name, "L1", asks=1)
    assert verdict.liveness is Liveness.STUCK
    assert [(v.length, v.witness.text) for v in verdict.violations] == [
        (3, "1 is in election, and nobody answers")
    ]


def test_a_start_may_seem_to_be_answered_that_is_not() -> None:
    """The word of an older election puts the leader in office in the middle of a newer one."""
    assert holds(judged("ring-list-as-printed", "A2", asks=3))
    verdict = judged("ring-list-as-printed", "L1", asks=3)
    assert verdict.liveness is Liveness.STUCK
    assert [(v.length, v.witness.text) for v in verdict.violations] == [
        (22, "1 is normal and follows 3, which has not been elected since it asked")
    ]
    assert holds(judged("ring-list", "L1", asks=3))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("chang-roberts-code", {"crashes": 1}),
        ("ring-list-as-printed", {"crashes": 1, "asks": 1}),
        ("ring-attribute-as-printed", {"asks": 1, "attributes": (5, 32, 80)}),
    ],
)
def test_the_simulator_retells_the_run_that_breaks_it(name: str, given: dict[str, Any]) -> None:
    text = script_of(judged(name, **given).violations[0].trace)
    assert run_script(text, REGISTRY.__getitem__).text == text


def test_an_incomplete_detector_breaks_the_safety_of_the_slides_and_nothing_else() -> None:
    given: dict[str, Any] = {"crashes": 1, "attributes": (5, 32, 80)}
    assert judged("ring-attribute", "S3", **given).liveness is Liveness.LIVE
    incomplete = judged("ring-attribute", "S3", **given, detector=Detector.INCOMPLETE)
    assert incomplete.liveness is Liveness.PREVENTABLE
    assert incomplete.violations[0].witness.text == "1 is normal and follows 3, which is not up"
    assert holds(judged("ring-attribute", "A1", "S2", **given, detector=Detector.INCOMPLETE))
