"""What must be seen for a claim to say anything: a row that shows it, and one that does not."""

import pytest
from msgspec.structs import replace

from electorate.claims import CLAIMS, Row
from electorate.core import Members, Stable, Stage, Standing, Status
from electorate.protocols.commit.state import TransactionStable
from electorate.protocols.mandate.founding import FoundingStable, FoundingState
from tests.claims import test_commit as commit
from tests.claims import test_consensus as consensus
from tests.claims import test_group as group
from tests.claims import test_mandate as mandate
from tests.claims.test_commit import ABORTED, COMMITTED, UNCERTAIN, WORKING, at

ELECTION = Standing(Status.ELECTION)
DOWN = None


def follows(leader: int | None, group: tuple[int, ...] | None = None) -> Standing:
    return Standing(Status.NORMAL, leader, group)


def row(*standings: Standing | None) -> Row:
    return Row(Members.of(range(1, len(standings) + 1)), standings)


def founding(founders: tuple[int, ...]) -> Row:
    """A node that has given its word for a list, and one that is down."""
    state = FoundingState(1, FoundingStable(founders))
    return replace(row(follows(None), DOWN), states=(state, None))


def tasks(seen: Row, *known: int) -> Row:
    return replace(seen, tasks=known)


LED, UNLED = row(follows(1), ELECTION), row(ELECTION, follows(1))
MEET: dict[str, tuple[Row, Row]] = {
    "A1": (row(follows(1), follows(1)), row(follows(1), ELECTION, DOWN)),
    "A2": (LED, UNLED),
    "A3": (
        row(follows(1, (1, 1)), follows(1, (1, 1))),
        row(follows(1, (1, 1)), follows(2, (2, 1))),
    ),
    "S1": (UNLED, row(ELECTION, follows(None))),
    "S2": (LED, UNLED),
    "S3": (LED, UNLED),
    "L0": (UNLED, row(ELECTION, follows(None))),
    "L1": (row(follows(1), ELECTION), row(follows(1), follows(1), DOWN)),
    "L2": (row(follows(1), ELECTION), row(follows(1), follows(1), DOWN)),
    "A4": (LED, UNLED),
    "A4p": (LED, UNLED),
    "S4": (row(follows(1, (1, 7)), ELECTION), row(follows(1), follows(1, (1, 7)))),
    "G1": (row(group.leads(1, 2, owed={2: 2})), row(group.leads(1, 2))),
    "G2": (LED, UNLED),
    "P1": (row(follows(1, (1, 2)), follows(1, (1, 2))), row(follows(1, (1, 2)), follows(2, (2,)))),
    "P2": (LED, UNLED),
    **dict.fromkeys(
        ("T1", "T2"),
        (tasks(row(follows(1), follows(1)), 1, 1), tasks(row(follows(1), follows(1)), 1, 0)),
    ),
    **dict.fromkeys(("T3", "T4"), (tasks(LED, 0, 1), tasks(LED, 0, 0))),
    "C1": (commit.row(COMMITTED, at(COMMITTED), at(UNCERTAIN)), commit.row(at(ABORTED), WORKING)),
    "C2": (commit.row(COMMITTED, at(UNCERTAIN)), commit.row(at(ABORTED), at(UNCERTAIN))),
    "C3": (commit.row(ABORTED, at(WORKING)), commit.row(at(UNCERTAIN), at(UNCERTAIN))),
    "C4": (
        commit.row(at(WORKING, 1), at(UNCERTAIN, 1), WORKING),
        commit.row(at(UNCERTAIN, 1), at(UNCERTAIN, 2), WORKING),
    ),
    "C5": (
        commit.row(at(WORKING, 1), at(UNCERTAIN, 1), WORKING, WORKING),
        commit.row(at(UNCERTAIN, 1), WORKING, WORKING, WORKING),
    ),
    "C6": (commit.row(ABORTED, at(WORKING)), commit.row(at(UNCERTAIN), at(UNCERTAIN))),
    "C7": (
        commit.row(at(COMMITTED, over=True), COMMITTED),
        commit.row(at(COMMITTED), at(COMMITTED)),
    ),
    **dict.fromkeys(
        ("K1", "K2"),
        (consensus.row(consensus.at(0), DOWN), consensus.row(consensus.at(), consensus.at())),
    ),
    "K3": (consensus.row(consensus.at(), DOWN), consensus.row(DOWN, DOWN)),
    "K4": (
        consensus.row(consensus.at(None, 1), consensus.at(None, 1), DOWN),
        consensus.row(consensus.at(None, 1), DOWN, DOWN),
    ),
    **dict.fromkeys(
        ("M1", "M3", "M4", "M6", "M8", "M9"), (mandate.row({2: 1}), mandate.row({}, {2: 1}))
    ),
    **dict.fromkeys(
        ("D1", "D2", "D3", "D4"),
        (row(follows(None, (1, 2)), DOWN), row(follows(None, (1,)), follows(None, (2,)))),
    ),
    **dict.fromkeys(("D5", "D6"), (founding((1, 2)), founding(()))),
    "M2": (mandate.row({2: 1}), mandate.row({2: 1}, {2: 2})),
    "M5": (mandate.row({}), mandate.row({}, absent=frozenset({(1, 2), (1, 3), (2, 3)}))),
    "M7": (mandate.row({1: 1}), mandate.row({1: 1}, absent=frozenset({(1, 2), (1, 3)}))),
}


def test_every_claim_has_a_premise_and_none_is_met_where_nobody_is_up() -> None:
    assert set(MEET) == set(CLAIMS)
    logs = (TransactionStable(Stable(), Stage.WORKING),) * 2
    nobody = Row(Members.of((1, 2)), (None, None), stables=logs, tasks=(None, None))
    for claim in CLAIMS.values():
        assert claim.premise is not None
        assert not claim.premise(nobody)
        assert claim.premise.text


@pytest.mark.parametrize("name", CLAIMS)
def test_a_premise_is_met_where_its_claim_says_something(name: str) -> None:
    premise, (shows, lacks) = CLAIMS[name].premise, MEET[name]
    assert premise is not None
    assert premise(shows)
    assert not premise(lacks)
