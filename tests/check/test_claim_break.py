"""What breaks A4, A4', S3, S4, L1, T1 to T3, and what keeps them in the same place.

By both engines. Each is broken by a rule or a form that differs from the sound one in what the
claim is about.
"""

from typing import Any, NamedTuple

import pytest

from electorate.check import Liveness, Result
from electorate.claims import CLAIMS
from electorate.trace import Start
from tests.check.network import PATH_3, judged
from tests.check.test_engines import told

BOOT: dict[str, Any] = {"start": Start.BOOT}
RETURN: dict[str, Any] = {"crashes": 1, "recoveries": 1}
HEAL: dict[str, Any] = {"cuts": 1, "heals": 1, "delay_min": 1}
MIDDLE = (0, -1, 0)
"""Attributes that make the middle of three nodes the strongest."""
ENGINES = ("python", "numba")


class Break(NamedTuple):
    """A check that breaks a claim, and another that differs from it in one thing and does not."""

    claim: str
    broken: tuple[str, dict[str, Any]]
    kept: tuple[str, dict[str, Any]]
    given: dict[str, Any]
    moves: int
    liveness: Liveness | None
    text: str

    def __str__(self) -> str:
        return f"{self.claim} {self.broken} {self.given}"


STUCK, PREVENTABLE = Liveness.STUCK, Liveness.PREVENTABLE
BREAKS = [
    Break(
        "A4",
        ("invitation", {}),
        ("invitation", {"attributes": MIDDLE}),
        {"graph": PATH_3, **BOOT},
        moves=45,
        liveness=STUCK,
        text="2 and 3 are linked, but 2 follows 1 in group (1, 2) and 3 follows 3 in group (3, 1)",
    ),
    Break(
        "A4p",
        ("invitation", {"rules": ("probe=alive",)}),
        ("invitation", {}),
        {"nodes": 2, "delay_min": 1, **RETURN},
        moves=17,
        liveness=STUCK,
        text="2 follows 1 in group (1, 2), but 1 follows 1 in group (1, 3)",
    ),
    Break(
        "A4p",
        ("invitation-as-printed", {"rules": ("wraps=4",)}),
        ("invitation", {}),
        {"nodes": 2, **HEAL},
        moves=97,
        liveness=PREVENTABLE,
        text="1 is in election",
    ),
    Break(
        "S3",
        ("invitation", {"rules": ("outranked=delay", "pace=afresh", "wraps=4")}),
        ("invitation", {"rules": ("pace=afresh",)}),
        {"nodes": 2, **RETURN},
        moves=42,
        liveness=STUCK,
        text="1 is normal and follows 2, but the strongest live node is 1",
    ),
    Break(
        "S4",
        ("invitation", {"rules": ("wraps=1",)}),
        ("invitation", {"rules": ("wraps=3",)}),
        {"nodes": 2, **RETURN},
        moves=2,
        liveness=None,
        text="1 forms a group (1, 1), which there was before",
    ),
    Break(
        "L0",
        ("chang-roberts-code", {}),
        ("chang-roberts", {}),
        {"crashes": 1},
        moves=5,
        liveness=STUCK,
        text="1 is in election and has no leader",
    ),
    Break(
        "L1",
        ("ring-attribute-as-printed", {}),
        ("ring-attribute", {}),
        {"asks": 1},
        moves=3,
        liveness=STUCK,
        text="1 is in election, and nobody answers",
    ),
    Break(
        "T1",
        ("bully-textbook", {"rules": ("office=at-once",)}),
        ("bully-textbook", {}),
        {"asks": 1, "delay_min": 1, **RETURN},
        moves=14,
        liveness=None,
        text="1 has the task at 0, but its leader 2 at 1",
    ),
    Break(
        "T2",
        ("invitation", {"rules": ("resumes=own",)}),
        ("invitation", {}),
        {"nodes": 2, "asks": 1, "delay_min": 1},
        moves=9,
        liveness=None,
        text="1 has the task at {1}, but 2 at {}, both in group (1, 3)",
    ),
    Break(
        "T3",
        ("invitation", {"rules": ("resumes=leader", "wraps=4")}),
        ("invitation", {"rules": ("wraps=4",)}),
        {"nodes": 2, "asks": 1, "delay_min": 1, **RETURN},
        moves=22,
        liveness=None,
        text="2 goes back from the task at {1} to {}",
    ),
]


def test_every_claim_of_the_kind_is_broken_by_something() -> None:
    assert (
        {each.claim for each in BREAKS}
        == {
            *("A4", "A4p", "S3", "S4", "L0", "L1"),
            *("T1", "T2", "T3"),
        }
        <= set(CLAIMS)
    )


@pytest.mark.parametrize("each", BREAKS, ids=str)
def test_both_engines_find_the_shortest_run_that_breaks_it(each: Break) -> None:
    name, more = each.broken
    verdicts = [judged(name, each.claim, engine=e, **each.given, **more) for e in ENGINES]
    for verdict in verdicts:
        assert (verdict.claims, verdict.liveness) == ({each.claim: Result.VIOLATED}, each.liveness)
        (violation,) = verdict.violations
        assert (violation.length, violation.witness.text) == (each.moves, each.text)
        assert not verdict.cuts
    assert told(verdicts[0]) == told(verdicts[1])


@pytest.mark.parametrize("each", BREAKS, ids=str)
def test_both_engines_find_that_the_sound_form_keeps_it_there(each: Break) -> None:
    name, more = each.kept
    verdicts = [judged(name, each.claim, engine=e, **each.given, **more) for e in ENGINES]
    for verdict in verdicts:
        assert verdict.claims == {each.claim: Result.HOLDS}
        assert not verdict.cuts
    assert told(verdicts[0]) == told(verdicts[1])


def test_a_node_may_follow_one_that_is_not_the_strongest_though_all_agree() -> None:
    """S3 says more than A2: here the weaker leader is the first to invite the other."""
    rules = ("outranked=delay", "pace=afresh", "wraps=4")
    assert judged("invitation", "A2", nodes=2, rules=rules, **RETURN).tau == 25


@pytest.mark.parametrize("wraps", [1, 2])
def test_the_fewer_numbers_there_are_the_sooner_one_is_used_again(wraps: int) -> None:
    given: dict[str, Any] = {"nodes": 2, "rules": (f"wraps={wraps}",), **RETURN}
    verdict = judged("invitation", "S4", "A3", **given)
    assert verdict.claims == {"S4": Result.VIOLATED, "A3": Result.HOLDS}
    assert [violation.length for violation in verdict.violations] == [{1: 2, 2: 24}[wraps]]
