"""An election whose members another office changes: known verdicts. A changed number must be
explained.

All of it is `leadership`, what a node of an application runs, with terms as short as they can be
and messages that take any time; only clocks are bounded. With real lengths, and messages that
arrive in time, it is judged in test_leadership.py. The register waits for `settle` before it
changes anything; claims are above the token of the list, times `era`. What each of these is good
for, the mutants say.

Nodes 2 and 3 do not see each other. Node 3 has proposed to go on without 2, which is in office, and
may go on alone: 1 and 2 are a majority of the first list, 1 and 3 of the second, 3 alone of the
third. The first and the third have nobody in common.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from electorate.check import Bounds, Budget, Result, Verdict
from electorate.claims import Claim, Kind, Row, Witness
from electorate.claims.mandate import holders
from electorate.core import NodeId
from electorate.protocols.mandate import change
from electorate.protocols.mandate.state import AnyState, Promise, Roster
from electorate.trace import Clock
from tests.check.begun import begun, cluster_at
from tests.check.leading import PATH, Case, judged

SAFE = "M1 M2 M3 M4"
ASKED = ("3:members.request(Change(1", "3:election.request(Stand(1")
"""Node 3 is asked to go on without node 1, too, and to stand for the office."""
ASK = Budget(asks=2)
BOUNDS = Bounds(4, 1)
ERA = 10**9


def of_file(file: str) -> str:
    """The rules that the setting of a file has."""
    return " ".join(cluster_at(file).setting.rules)


def after(node: NodeId, least: int) -> Claim:
    """No promise: whatever breaks it comes to where this node is in office with such a token."""

    def found(row: Row) -> Witness | None:
        for holder, token in holders(row):
            if holder == node and token > least:
                return Witness((node,), f"{node} is in office with token {token}")
        return None

    return Claim("L3", Kind.ALWAYS, f"{node} is not in office with a token above {least}", found)


def told(
    rules: str = "",
    claims: str = SAFE,
    *more: Claim,
    file: str = "brief.txt",
    budget: Budget = ASK,
    asked: tuple[str, ...] = ASKED,
    bounds: Bounds = BOUNDS,
    **others: Any,
) -> Verdict:
    return begun(file, rules, budget, claims, *more, asked=asked, bounds=bounds, **others)


def expect_held(verdict: Verdict, states: int) -> None:
    assert verdict.result is Result.WITHIN_BOUNDS
    assert not verdict.unspent
    assert verdict.states == states


FREE: Any = {"clock": Clock.UNBOUNDED, "bounds": Bounds(4, 0, 0), "claims": "M1 M2"}
BACK: Any = {"budget": Budget(asks=1), "asked": ("3:members.request(Change(2",)}
"""Node 2 is added again."""
EARLY: Any = {"file": "brief_early.txt", "claims": "M3"}
OUTRUN: Any = {"file": "outrun.txt", "asked": (), "budget": Budget(), "bounds": Bounds(2, 1)}
"""Node 2 hears of a token above those of the next list, and stands under the first. Nobody is
to take the change up: what would come of that is not what this is about."""


def test_these_places_have_in_them_what_the_cases_are_about() -> None:
    without_2 = Roster((1, 1), (1, 2, 3), (1, 3))
    nodes: Any = cluster_at("brief.txt").nodes
    assert nodes[3].stable.members.inner.roster == without_2
    assert nodes[2].local.state.election.office
    nodes = cluster_at("brief_early.txt").nodes
    assert nodes[3].local.state.members.inner.office
    assert not nodes[3].local.state.members.inner.settled
    assert nodes[2].local.state.election.office
    nodes = cluster_at("two_lists.txt").nodes
    first = (1, 2, 3, 4)
    lists = [nodes[node].stable.election.roster.new for node in first]
    assert lists == [(1, 3, 4), first, (2, 3, 4), first]


@pytest.mark.parametrize(
    ("rules", "others", "states"),
    [
        ("", {}, 1_793_556),
        # Without any clock: tokens stay unique and in order, though two may be in office.
        ("", FREE, 119_101),
        ("", BACK, 51_264),
        ("", {"file": "two_lists.txt", "asked": (), "budget": Budget()}, 605_063),
        pytest.param("", EARLY, 2_400_938, marks=pytest.mark.slow),
        pytest.param("sweep=3T", {}, 2_933_595, marks=pytest.mark.slow),
        pytest.param(
            "election.period=1", {"bounds": Bounds(3, 1)}, 3_625_356, marks=pytest.mark.slow
        ),
        ("members.left=left", OUTRUN, 297_009),
    ],
)
def test_an_office_is_one_whatever_its_members_become(
    rules: str, others: dict[str, Any], states: int
) -> None:
    expect_held(told(rules, **others), states)


@pytest.mark.parametrize(
    ("rules", "others", "claim", "moves"),
    [("", {}, after(3, 2 * ERA), 20), ("members.left=left", OUTRUN, after(2, ERA), 12)],
    ids=["third list", "outrun"],
)
def test_the_search_comes_to_where_tokens_could_meet(
    rules: str, others: dict[str, Any], claim: Claim, moves: int
) -> None:
    verdict = told(rules, "", claim, **others)
    assert [violation.length for violation in verdict.violations] == [moves]


def test_without_clocks_two_may_be_in_office_as_with_members_that_never_change() -> None:
    verdict = told(claims="M3", clock=Clock.UNBOUNDED, bounds=Bounds(4, 1, 0))
    assert [violation.length for violation in verdict.violations] == [9]


@pytest.mark.parametrize(
    ("others", "sound", "states"),
    [(BACK, 51_264, 50_372), ({"asked": ("3:members.request(Change(1",)}, 66_500, 64_072)],
    ids=["2 comes back", "1 is removed"],
)
def test_a_member_that_forgets_its_promises_when_it_is_removed_breaks_nothing(
    others: dict[str, Any], sound: int, states: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases of its time have run out when it is asked again; those of now bind others, too."""
    expect_held(told(**others), sound)
    adopt = change.adopt

    def adopt_and_forget(s: AnyState, roster: Roster) -> AnyState:
        after = adopt(s, roster)
        if after is s or s.me in roster.everybody:
            return after
        return replace(after, bound=None, stable=replace(after.stable, promise=Promise()))

    monkeypatch.setattr(change, "adopt", adopt_and_forget)
    expect_held(told(**others), states)


HEIR = Case(
    3,
    Budget(asks=3),
    of_file("brief.txt"),
    0,
    SAFE,
    (1, 1, 0),
    Clock.CLOCKS,
    bounds=Bounds(2, 2),
    graph=PATH,
    asked=(
        "2:election.request(Transfer(1",
        "2:election.request(Ended",
        "3:members.request(Change(1",
    ),
)
"""Node 2 hands the office over to node 1, which node 3 removes."""
GROWING = Case(
    3,
    Budget(asks=2),
    f"{of_file('brief.txt')} members.inner.base=1 election.base=1",
    0,
    SAFE,
    (0, 0, 1),
    Clock.CLOCKS,
    bounds=Bounds(3, 2),
    asked=("1:members.request(Change(2", "1:members.request(Change(3"),
)
"""Node 1 adds one after the other; only the last stands for the office."""


@pytest.mark.parametrize(
    ("case", "states", "node", "token", "moves"),
    [(HEIR, 532_747, 1, 1, 15), (GROWING, 2_216_461, 3, 2 * ERA, 23)],
    ids=["heir", "growing"],
)
def test_so_it_is_from_the_first_boots_on(
    case: Case, states: int, node: NodeId, token: int, moves: int
) -> None:
    expect_held(judged(case), states)
    reached = judged(case._replace(claims=""), None, after(node, token))
    assert [violation.length for violation in reached.violations] == [moves]
