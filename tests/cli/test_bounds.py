"""What `electorate check` says, and how it exits, where a bound cut the search or none had to."""

import pytest

from tests.cli.run import Run

CUT = ("check", "ring-list", "--from", "boot", "--capacity", "1", "--claim", "S2")
BLOCKS = ("--timing", "unbounded", "--from", "boot")


def test_what_holds_within_bounds_is_not_said_to_hold(electorate: Run) -> None:
    ran = electorate(*CUT, "--json")
    assert ran.code == 3
    assert ran.object["verdict"] == "holds-within-bounds"
    assert ran.object["claims"] == {"S2": "holds-within-bounds"}
    assert ran.object["cuts"] == {"capacity": 7}
    told = electorate(*CUT)
    assert told.code == 3
    assert told.out.startswith("ring-list: S2 holds within bounds for N=3,")
    assert "up to capacity 1 (cut 7 times)" in told.out


def test_who_accepts_the_bounds_gets_another_exit_code_and_the_same_verdict(
    electorate: Run,
) -> None:
    ran = electorate(*CUT, "--json", "--accept-bounds")
    assert (ran.code, ran.object["verdict"]) == (0, "holds-within-bounds")


@pytest.mark.parametrize(
    ("line", "verdict", "code"),
    [
        ("bully --crashes 1", "holds", 0),
        ("bully --crashes 1 --ties both", "violated", 1),
        ("bully", "unknown", 3),
        ("ring-list --from boot --capacity 1", "unknown", 3),
        ("bully --crashes 2 --states-max 100", "unknown", 3),
    ],
)
def test_to_accept_bounds_changes_no_other_verdict(
    line: str, verdict: str, code: int, electorate: Run
) -> None:
    for words in ([], ["--accept-bounds"]):
        ran = electorate("check", *line.split(), "--json", "--no-needs", *words)
        assert (ran.object["verdict"], ran.code) == (verdict, code)


def test_a_goal_beyond_a_bound_says_which_bound_to_raise(electorate: Run) -> None:
    ran = electorate("check", "ring-list", "--from", "boot", "--capacity", "1", "--json")
    assert ran.object["claims"]["A2"] == "unknown"
    assert (ran.object["liveness"], ran.object["tau"]) == ("undecided", 5)
    assert ran.object["reason"] == (
        "some runs go beyond capacity 1, and whether they reach A2 was not seen: raise --capacity"
    )


def test_channels_that_block_cut_nothing(electorate: Run) -> None:
    words = ("check", "bully", "--nodes", "2", *BLOCKS, "--claim", "A2", "--json")
    blocked = electorate(*words, "--capacity-blocks", "2").object
    assert blocked["cuts"] == {}
    assert blocked["bounds"] == {
        "capacity": 2,
        "counter": 8,
        "firings": 2,
        "normal": 100_000,
        "blocks": True,
    }
    told = electorate(*words[:-1], "--capacity-blocks", "2").out
    assert "channels of 2 that block" in told


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--capacity-blocks", "2"), "a node that is blocked cannot keep its time"),
        ((*BLOCKS, "--capacity-blocks", "0"), "must be at least 1"),
        (("--capacity", "0"), "argument --capacity: must be at least 1"),
        ((*BLOCKS, "--capacity-blocks", "2", "--capacity", "3"), "not allowed with"),
    ],
)
def test_a_capacity_is_refused_where_it_means_nothing(
    words: tuple[str, ...], problem: str, electorate: Run
) -> None:
    ran = electorate("check", "bully", *words)
    assert ran.code == 2
    assert problem in ran.err


def test_a_turn_that_needs_more_room_than_there_is_is_bad_input(electorate: Run) -> None:
    ran = electorate("check", "bully", *BLOCKS, "--capacity-blocks", "1")
    assert ran.code == 2
    assert "a turn sends 2 messages to one node at once" in ran.err


def test_what_was_not_exercised_is_said(electorate: Run) -> None:
    ran = electorate("check", "bully", "--crashes", "1", "--asks", "2")
    assert ran.code == 0
    assert "  not exercised: asks ≤ 2: there was nothing to ask for\n" in ran.out
    found = electorate("check", "bully", "--crashes", "1", "--asks", "2", "--json").object
    assert found["unspent"] == ["asks ≤ 2: there was nothing to ask for"]
