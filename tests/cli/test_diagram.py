"""`electorate diagram`."""

from tests.cli.run import Run

NEVER = ("--rule", "inner.first=1", "--rule", "acknowledge=never")


def test_the_coordinator_has_a_diagram_of_its_own(electorate: Run) -> None:
    ran = electorate("diagram", "two-phase", "--nodes", "2", "--role", "coordinator", *NEVER)
    assert ran.code == 0
    assert "uncertain --> committed: Yes" in ran.out
    assert "Vote" not in ran.out


def test_an_election_is_shown_by_who_leads_and_cut_runs_are_admitted(electorate: Run) -> None:
    ran = electorate("diagram", "bully", "--nodes", "2", "--states-max", "100", "--json")
    assert ran.code == 3
    assert ran.object["complete"] is False
    assert ran.object["roles"]["node"]["first"] == "election"


def test_a_role_that_nobody_has_is_one_clear_line(electorate: Run) -> None:
    ran = electorate("diagram", "bully", "--nodes", "2", "--role", "voter", "--states-max", "10")
    assert ran.code == 2
    assert "its roles are: node" in ran.err
