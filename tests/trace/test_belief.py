"""Beliefs in words: how nodes stand, and what has changed about that."""

import pytest

from electorate.core import Decision, Stage, Standing, Status, Wants
from electorate.trace.belief import change_of, first_belief, opening_of
from electorate.trace.word import listed, named, nodes_text

ELECTION = Standing(Status.ELECTION)
NORMAL = Standing(Status.NORMAL)


def follows(leader: int, **given: object) -> Standing:
    return Standing(Status.NORMAL, leader, **given)  # type: ignore[arg-type]


def reorganizes(leader: int | None) -> Standing:
    return Standing(Status.REORGANIZATION, leader)


@pytest.mark.parametrize(
    ("standing", "text"),
    [
        (ELECTION, "enters an election"),
        (NORMAL, "works without a leader"),
        (follows(2), "leads"),
        (follows(2, until="lease"), "leads until its timer lease runs out"),
        (follows(1, until="lease"), "follows node 1"),
        (reorganizes(None), "reorganizes without a leader"),
        (reorganizes(2), "reorganizes as the leader"),
        (reorganizes(1), "reorganizes under node 1"),
    ],
)
def test_how_a_node_stands_that_has_just_booted(standing: Standing, text: str) -> None:
    assert first_belief(2, standing) == text


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (follows(1), follows(1), []),
        (follows(1), ELECTION, ["gives up node 1 as leader", "enters an election"]),
        (follows(2), ELECTION, ["gives up the lead", "enters an election"]),
        (NORMAL, ELECTION, ["enters an election"]),
        (follows(1), follows(3), ["follows node 3 instead of node 1"]),
        (follows(1), follows(2), ["gives up node 1 as leader", "becomes the leader"]),
        (follows(2), follows(1), ["gives up the lead", "follows node 1"]),
        (follows(1), NORMAL, ["gives up node 1 as leader", "works without a leader"]),
        (ELECTION, follows(2), ["becomes the leader"]),
        (ELECTION, follows(1), ["follows node 1"]),
        (ELECTION, reorganizes(1), ["reorganizes under node 1"]),
        (ELECTION, reorganizes(2), ["reorganizes as the leader"]),
        (reorganizes(1), follows(1), ["goes to work under node 1"]),
        (reorganizes(2), follows(2), ["goes to work as the leader"]),
        (ELECTION, Standing(Status.ELECTION, 1), ["takes node 1 for the leader"]),
        (ELECTION, Standing(Status.ELECTION, 2), ["takes itself for the leader"]),
        (
            ELECTION,
            follows(2, until="lease"),
            ["becomes the leader until its timer lease runs out"],
        ),
        (
            follows(2),
            follows(2, until="lease"),
            ["holds office until its timer lease runs out"],
        ),
        (follows(1), follows(1, until="lease"), []),
        (ELECTION, follows(1, group=(1, 4)), ["follows node 1 in group (1, 4)"]),
        (follows(1, group=(1, 4)), follows(1, group=(1, 5)), ["is in group (1, 5) now"]),
        (follows(1, group=(1, 4)), follows(1), []),
    ],
)
def test_what_node_2_believes_now_and_did_not_before(
    old: Standing, new: Standing, texts: list[str]
) -> None:
    assert list(change_of(2, old, new)) == texts


def test_a_leader_that_was_just_named_is_not_named_again() -> None:
    assert next(iter(change_of(2, follows(1), ELECTION, 1))) == "gives it up as leader"
    assert next(iter(change_of(2, follows(1), ELECTION, 3))) == "gives up node 1 as leader"


def test_the_opening_gathers_nodes_that_stand_alike() -> None:
    standings = {3: follows(1), 1: follows(1), 2: follows(1), 4: ELECTION}
    assert opening_of(standings) == (
        "At first node 1 leads, nodes 2 and 3 follow node 1, and node 4 is in an election."
    )
    assert opening_of({1: NORMAL, 2: NORMAL}) == "At first nodes 1 and 2 work without a leader."
    assert opening_of({1: ELECTION, 2: ELECTION}) == "At first nodes 1 and 2 are in an election."
    assert opening_of({1: reorganizes(2), 2: reorganizes(2)}) == (
        "At first node 1 reorganizes under node 2, and node 2 reorganizes as the leader."
    )
    assert opening_of({}) == "At first no node is up."


def test_lists_end_with_and() -> None:
    assert [listed("a"), listed("ab"), listed("abc")] == ["a", "a and b", "a, b and c"]
    assert nodes_text([4]) == "node 4"
    assert nodes_text([1, 2, 3]) == "nodes 1, 2 and 3"
    assert named("timer", ["probe", "settle"]) == "timers probe and settle"


def voter(state: Stage, leader: int | None = None, **given: object) -> Decision:
    return Decision(Status.NORMAL, leader, state=state, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "texts"),
    [
        (voter(Stage.WORKING), voter(Stage.UNCERTAIN), ["becomes uncertain"]),
        (voter(Stage.UNCERTAIN), voter(Stage.COMMITTABLE), ["gets ready to commit"]),
        (voter(Stage.UNCERTAIN), voter(Stage.ABORTED, 2), ["aborts", "leads"]),
        (voter(Stage.ABORTABLE, 2), voter(Stage.ABORTABLE, 1), ["follows node 1"]),
        (voter(Stage.ABORTABLE, 2), voter(Stage.ABORTABLE), ["follows nobody any more"]),
        (voter(Stage.COMMITTED), voter(Stage.WORKING, over=True), ["forgets"]),
        (voter(Stage.WORKING), voter(Stage.WORKING, wants=Wants.PREPARE), []),
        (
            voter(Stage.WORKING, coordinates=True),
            voter(Stage.UNCERTAIN, coordinates=True),
            ["begins"],
        ),
    ],
)
def test_how_a_node_comes_on_with_a_transaction(
    old: Decision, new: Decision, texts: list[str]
) -> None:
    assert [*change_of(2, old, new)] == texts


def test_how_far_the_nodes_of_a_transaction_are_at_first() -> None:
    start = {
        1: voter(Stage.WORKING, 1),
        2: voter(Stage.WORKING, 1),
        3: voter(Stage.WORKING, 1),
        4: voter(Stage.WORKING, coordinates=True),
    }
    assert opening_of(start) == (
        "At first node 1 has not voted and leads, nodes 2 and 3 have not voted and follow node 1 "
        "and node 4 has not begun."
    )
    assert first_belief(2, voter(Stage.UNCERTAIN, 1)) == "is uncertain and follows node 1"
