"""Elections that assume links between all live nodes, where links are missing, cut and healed.

Invitation, which assumes no such thing, is in tests/check/test_invitation_network.py.
"""

from typing import Any, NamedTuple

import pytest

from electorate.check import Bounds, Liveness, Result
from electorate.check.interned import ELECTED
from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.trace import Start
from tests.check.network import PATH_3, judged

BOOT: dict[str, Any] = {"start": Start.BOOT}
HEAL: dict[str, Any] = {"cuts": 1, "heals": 1}
PARTITION: dict[str, Any] = {
    "cuts": 2,
    "heals": 2,
    "delay_min": 1,
    "detection": 1,
    "bounds": Bounds(counter=6),
}
UNNUMBERED = {
    "chang-roberts": ("ballots=alike",),
    "ring-list": ("numbers=none",),
    "ring-attribute": ("numbers=none",),
}
BULLIES = ("bully", "bully-textbook", "bully-rpc")


def all_is_well_once_links_are_healed(row: Row) -> Witness | None:
    """A2, but only where everybody is linked to everybody again."""
    found: Witness | None = None if row.absent else CLAIMS["A2"].judge(row)
    return found


HEALED = Claim("healed", Kind.GOAL, "", all_is_well_once_links_are_healed)


# --- a path of three nodes ---


@pytest.mark.parametrize(
    ("name", "moves"), [("bully", 16), ("bully-textbook", 23), ("bully-rpc", 56)]
)
def test_on_a_path_bullies_agree_and_never_come_to_rest(name: str, moves: int) -> None:
    """Who cannot reach the leader asks again and again, and each time an election follows."""
    safe = judged(name, "A1", "S2", graph=PATH_3, **BOOT)
    assert set(safe.claims.values()) == {Result.HOLDS}
    for goal in ("A2", "A4p"):
        verdict = judged(name, goal, graph=PATH_3, **BOOT)
        assert verdict.liveness is Liveness.STUCK
        assert [violation.length for violation in verdict.violations] == [moves]


@pytest.mark.parametrize("name", UNNUMBERED)
def test_on_a_path_there_is_no_ring_and_nobody_is_ever_elected(name: str) -> None:
    verdict = judged(name, "A2", graph=PATH_3, rules=UNNUMBERED[name], **BOOT)
    assert verdict.liveness is Liveness.STUCK
    assert not verdict.sometimes[ELECTED.text]


def test_on_a_path_park_is_safe_and_the_worst_time_grows_with_the_rounds() -> None:
    """The middle node sees both ends, which do not see each other: P2 cannot be kept for long."""
    for rounds, tau in ((4, 28), (8, 56), (12, 84)):
        given = {"graph": PATH_3, "bounds": Bounds(counter=rounds), **BOOT}
        verdict = judged("park", "P1", **given)
        assert verdict.claims == {"P1": Result.UNKNOWN}, "no two of them see each other and work"
        verdict = judged("park", "P2", **given)
        assert (verdict.liveness, verdict.tau) == (Liveness.UNDECIDED, tau)


# --- links that are cut ---


class Cut(NamedTuple):
    """What one cut link does to three nodes: the moves that break A1, None if none do; and A4'."""

    name: str
    a1: int | None
    a4_weakened: int
    given: dict[str, Any] = {}


@pytest.mark.parametrize(
    "cut",
    [
        Cut("bully", 9, 15),
        Cut("bully-textbook", 11, 16),
        Cut("bully-rpc", 28, 45, {"delay_min": 1}),
        *(Cut(name, None, 8, {"rules": rules}) for name, rules in UNNUMBERED.items()),
    ],
)
def test_what_one_cut_link_does_to_three_nodes(cut: Cut) -> None:
    safe = judged(cut.name, "A1", cuts=1, **cut.given)
    assert [v.length for v in safe.violations] == ([] if cut.a1 is None else [cut.a1])
    verdict = judged(cut.name, "A4p", cuts=1, **cut.given)
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [cut.a4_weakened]


@pytest.mark.parametrize("name", UNNUMBERED)
def test_who_is_cut_off_a_ring_leads_itself(name: str) -> None:
    assert [v.length for v in judged(name, "A1", cuts=2).violations] == [3]
    assert [v.length for v in judged(name, "A1", nodes=2, cuts=1).violations] == [2]


@pytest.mark.parametrize("given", [HEAL, PARTITION, {"nodes": 2, **HEAL}])
def test_park_keeps_p1_whatever_links_do(given: dict[str, Any]) -> None:
    verdict = judged("park", "P1", **given)
    assert verdict.claims == {"P1": Result.WITHIN_BOUNDS if verdict.cuts else Result.HOLDS}
    assert set(verdict.cuts) <= {"counter"}


def test_one_cut_link_of_three_keeps_park_from_p2_and_of_two_it_does_not() -> None:
    verdict = judged("park", "P2", **HEAL)
    assert verdict.liveness is Liveness.STUCK
    (violation,) = verdict.violations
    text = "2 is normal and follows 1, but sees that 3 is election and follows nobody"
    assert (violation.length, violation.witness.text) == (10, text)
    assert judged("park", "P2", nodes=2, **HEAL).tau == 11


# --- links that heal ---


@pytest.mark.parametrize(
    ("name", "tau"),
    [("bully", 6), ("bully-rpc", 13), ("chang-roberts", 8), ("ring-list", 7), ("park", 11)],
)
def test_two_nodes_come_together_again(name: str, tau: int) -> None:
    verdict = judged(name, "A4p", nodes=2, **HEAL)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)


@pytest.mark.parametrize(
    ("name", "given", "tau"),
    [
        ("bully", HEAL, 8),
        ("bully", PARTITION, 8),
        ("bully-textbook", {"nodes": 2, **HEAL}, 9),
        ("bully-textbook", HEAL, 11),
        ("bully-textbook", PARTITION, 11),
        ("bully-rpc", {"delay_min": 1, **HEAL}, 24),
        ("invitation", {"delay_min": 1, **HEAL}, 14),
    ],
)
def test_all_is_well_again_once_every_link_is_healed(
    name: str, given: dict[str, Any], tau: int
) -> None:
    verdict = judged(name, HEALED, **given)
    assert (verdict.liveness, verdict.tau) == (Liveness.LIVE, tau)


@pytest.mark.parametrize(
    ("name", "given", "tau"),
    [
        ("chang-roberts", HEAL, 11),
        ("ring-list", HEAL, 10),
        ("ring-attribute", HEAL, 11),
        ("park", HEAL, 14),
        ("chang-roberts", PARTITION, 11),
        ("ring-attribute", PARTITION, 11),
        ("park", PARTITION, 13),
    ],
)
def test_where_numbers_grow_while_a_link_is_cut_the_time_to_heal_does_not_grow_with_them(
    name: str, given: dict[str, Any], tau: int
) -> None:
    """Who is cut off counts on: the rings' numbers are renamed, and Park's leave the goal open."""
    grade = Liveness.UNDECIDED if name == "park" else Liveness.LIVE
    for counter in (4, 6):
        verdict = judged(name, HEALED, **{**given, "bounds": Bounds(counter=counter)})
        assert (verdict.liveness, verdict.tau) == (grade, tau)


@pytest.mark.parametrize(
    ("name", "given", "moves", "text"),
    [
        ("bully-textbook", {"nodes": 2, "rules": ("doubt=0",), **HEAL}, 8, "1 and 2"),
        ("bully-textbook", {"rules": ("doubt=0",), **HEAL}, 14, "2 and 3"),
        ("bully", {"rules": ("doubt=0",), **PARTITION}, 18, "1 and 2"),
        ("ring-list", PARTITION, 24, "2 and 3"),
    ],
)
def test_two_leaders_may_remain_though_every_link_is_healed(
    name: str, given: dict[str, Any], moves: int, text: str
) -> None:
    """Bully without doubt: the cut was too short for a detector. The list: it went round before."""
    verdict = judged(name, HEALED, **given)
    assert verdict.liveness is Liveness.STUCK
    (violation,) = verdict.violations
    assert violation.length == moves
    one, _, other = text.partition(" and ")
    assert violation.witness.text.endswith(f"is normal and follows {other}")
    assert f"is normal and follows {one}, but" in violation.witness.text
