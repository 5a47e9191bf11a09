"""Machines that do nothing unless they are asked: said where nobody asks, not kept running."""

from pathlib import Path

import pytest

from electorate.cli.protocol import find
from electorate.core import Members, ProtocolError, Request, Timing, Turns
from electorate.protocols.bully import Bully
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting
from tests.cli.run import Run

COMMITS = ["two-phase", "three-phase", "three-phase-as-printed", "three-phase-ballots"]
ADVICE = "`electorate tx serve` runs transactions"


def one_line(err: str) -> str:
    assert err.count("\n") == 1
    return err


def test_commits_and_members_wait_to_be_asked_and_elections_begin_by_themselves() -> None:
    waiting = [name for name, entry in REGISTRY.items() if entry.machine.begins_by]
    assert waiting == [*COMMITS, "membership"]


def test_up_says_that_members_change_only_if_somebody_asks(electorate: Run) -> None:
    ran = electorate("up", "--protocol", "membership")
    assert (ran.code, ran.out) == (2, "")
    told = one_line(ran.err)
    assert "membership does nothing before somebody asks for Change, and nobody can here" in told
    assert "`electorate check membership --asks 1` searches what happens if somebody does" in told


@pytest.mark.parametrize("name", [*COMMITS, "two-phase-over-bully"])
def test_up_and_node_say_who_would_begin_a_transaction(
    electorate: Run, tmp_path: Path, name: str
) -> None:
    data = tmp_path / "data"
    alone = ["--id", "1", "--member", "1@127.0.0.1:7401", "--data", str(data)]
    for words in (["up", "--protocol", name], ["node", name, *alone]):
        ran = electorate(*words)
        assert (ran.code, ran.out) == (2, "")
        told = one_line(ran.err)
        assert told.startswith(f"electorate: {name} does nothing before somebody asks for Begin")
        assert ADVICE in told
        assert f"`electorate check {name} --asks 1`" in told
    assert not data.exists()


def test_up_says_what_a_mandate_without_an_election_waits_for(electorate: Run) -> None:
    ran = electorate("up", "--protocol", "mandate")
    assert ran.code == 2
    assert "asks for Name, and nobody can here: run it over an election" in one_line(ran.err)


@pytest.mark.parametrize("name", ["two-phase", "mandate"])
@pytest.mark.parametrize("command", ["check", "simulate"])
def test_promises_are_not_said_to_hold_where_nothing_happens(
    electorate: Run, command: str, name: str
) -> None:
    ran = electorate(command, name, "--nodes", "2")
    assert (ran.code, ran.out) == (2, "")
    assert "give --asks 1 or more" in one_line(ran.err)


def test_a_mandate_begins_by_itself_over_an_election_or_with_a_leader_to_begin_with() -> None:
    waits = find("mandate").machine(Setting("mandate", (1, 2, 3)))
    assert waits.begins_by
    told = Setting("mandate", (1, 2, 3), rules=("inner.first=1",))
    assert not find("mandate").machine(told).begins_by
    over = Setting("mandate-over-bully", (1, 2, 3))
    assert not find("mandate-over-bully").machine(over).begins_by


@pytest.mark.parametrize("more", [["--asks", "1"], ["--claim", "C1"]])
def test_whoever_asks_or_names_a_claim_is_answered(electorate: Run, more: list[str]) -> None:
    words = ["two-phase", "--nodes", "2", "--engine", "python", *more]
    assert electorate("check", *words).code != 2


@pytest.mark.parametrize("name", ["two-phase", "three-phase", "mandate"])
def test_the_first_to_ask_in_a_simulation_lets_it_begin(electorate: Run, name: str) -> None:
    ran = electorate("simulate", name, "--asks", "1", "--seeds", "40", "--json")
    assert (ran.code, ran.object["verdict"]) == (0, "holds")


def test_an_ask_in_a_scenario_counts(electorate: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "ask.toml"
    scenario.write_text("nodes = 3\n[faults]\nasks = 2\n", encoding="utf-8")
    ran = electorate("simulate", "two-phase", "--scenario", str(scenario), "--seeds", "30")
    assert ran.code == 0


class Start(Request):
    """Begin."""


class Undeclared(Bully):
    """It waits for what it does not know."""

    begins_by = (Start,)


def test_what_a_machine_begins_by_is_among_its_requests() -> None:
    with pytest.raises(ProtocolError, match="begins_by has"):
        Turns(Undeclared(Members.of((1, 2)), Timing()))
