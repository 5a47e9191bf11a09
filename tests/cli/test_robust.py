"""`electorate check --robust` as its users see it."""

from typing import Any

import pytest

from electorate.check import Result
from electorate.check.robust import Recheck
from electorate.cli.sensitivity import conclusion, fate
from tests.cli.run import Run

HELD = {"A1": Result.HOLDS, "A2": Result.HOLDS}
CHANG = ("check", "chang-roberts", "--nodes", "3", "--from", "boot")


def recheck(option: str = "--ties both", **given: Any) -> Recheck:
    return Recheck("ties messages-first", "ties messages-first → both", option, **given)


def test_a_verdict_that_hangs_on_a_default_says_so_and_still_exits_with_0(electorate: Run) -> None:
    ran = electorate(*CHANG, "--robust")
    assert ran.code == 0
    _, _, told = ran.out.partition("\n\n")
    assert told.splitlines() == [
        "With each default moved by one, within 10,000,000 states each:",
        "  T 1 → 2                     --delay 0..2    A1, A2 and S2 still hold",
        "  delay 0..1 → 1..1           --delay 1..1    A1, A2 and S2 still hold",
        "  ties messages-first → both  --ties both     A2 breaks in 14 moves, A1 and S2 still hold",
        "  order fifo → bag            --order bag     A1, A2 and S2 still hold",
        "  order fifo → global         --order global  A1, A2 and S2 still hold",
        "It hangs on: ties messages-first (A2 breaks in 14 moves at --ties both).",
    ]


def test_the_option_that_is_named_breaks_the_claim_in_as_many_moves(electorate: Run) -> None:
    ran = electorate(*CHANG, "--ties", "both", "--no-needs")
    assert ran.code == 1
    assert "A2 is missed by a run of 14 moves" in ran.out


def test_the_same_as_data(electorate: Run) -> None:
    found = electorate(*CHANG, "--robust", "--json")
    assert found.code == 0
    by_option = {each["option"]: each for each in found.object["robust"]}
    assert by_option["--ties both"] == {
        "change": "ties messages-first → both",
        "option": "--ties both",
        "claims": {"A1": "holds", "A2": "violated", "S2": "holds"},
        "moves": {"A2": 14},
        "reason": None,
    }
    assert electorate(*CHANG, "--json").object["robust"] is None


def test_where_nothing_holds_there_is_nothing_to_try(electorate: Run) -> None:
    broken = electorate(
        "check", "bully-as-printed", "--crashes", "1", "--recoveries", "1", "--robust"
    )
    assert broken.code == 1
    last = broken.out.rstrip().splitlines()[-1]
    assert last == "--robust has nothing to try: the verdict is violated."
    unknown = ("check", "bully", "--crashes", "2", "--states-max", "100", "--robust")
    assert electorate(*unknown).code == 3
    assert electorate(*unknown, "--json").object["robust"] == []


def test_where_runs_would_notice_nothing_there_is_nothing_to_try(electorate: Run) -> None:
    kept = ("examples/two_phase_gray_lamport.py:TwoPhase", "--nodes", "2", "--timing", "unbounded")
    ran = electorate("check", *kept, "--order", "set", "--from", "boot", "--robust")
    assert ran.code == 0
    last = ran.out.rstrip().splitlines()[-1]
    assert last == "--robust has nothing to try: runs would notice none of the defaults."


def test_a_change_that_was_not_finished_is_named_with_its_reason(electorate: Run) -> None:
    words = ("check", "bully", "--nodes", "2", "--crashes", "1", "--states-max", "32", "--robust")
    ran = electorate(*words)
    assert ran.code == 0
    assert "A1 and A2 unknown: more than 32 states (--states-max)" in ran.out
    assert ran.out.rstrip().endswith("Not decided: --from boot.")


def test_ctrl_c_shows_what_was_found_until_then(
    electorate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("electorate.check.robust.check", interrupted)
    ran = electorate(*CHANG, "--robust")
    assert ran.code == 0, "that of the verdict itself"
    assert "A1, A2 and S2 unknown: interrupted" in ran.out
    assert ran.out.count("not tried: interrupted") == 4


# --- in words ---


def test_a_fate_groups_claims() -> None:
    assert fate(recheck(claims=HELD)) == "A1 and A2 still hold"
    assert fate(recheck(claims=HELD, within=" up to counter 8")) == (
        "A1 and A2 still hold up to counter 8"
    )
    broken = {"A1": Result.VIOLATED, "S2": Result.VIOLATED, "A2": Result.UNKNOWN}
    told = recheck(claims=broken, moves={"A1": 1, "S2": 3}, reason="out of memory")
    assert fate(told) == "A1 breaks in 1 move and S2 in 3, A2 unknown: out of memory"


def test_the_conclusion_names_what_carries_and_what_is_open() -> None:
    fine = recheck(claims=HELD)
    assert conclusion([fine]) == "Nothing that was moved carries it."
    open_ = recheck("--order bag", claims={"A1": Result.UNKNOWN}, reason="out of memory")
    assert conclusion([fine, open_]) == (
        "Nothing that was decided carries it. Not decided: --order bag."
    )
    broken = recheck(claims=HELD | {"A1": Result.VIOLATED}, moves={"A1": 8})
    assert conclusion([broken, open_]) == (
        "It hangs on: ties messages-first (A1 breaks in 8 moves at --ties both). "
        "Not decided: --order bag."
    )
