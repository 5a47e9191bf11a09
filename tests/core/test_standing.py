"""An office ends with its timer, whether or not its holder has noticed."""

from electorate.core import Decision, Stage, Standing, Status

OFFICE = Standing(Status.NORMAL, 2, group=(2, 1), until="lease", token=7)


def test_an_office_without_an_end_does_not_run_out() -> None:
    office = Standing(Status.NORMAL, 2)
    assert office.expired(frozenset()) is office


def test_an_office_lasts_while_its_timer_is_armed() -> None:
    assert OFFICE.expired(frozenset({"lease", "probe"})) is OFFICE


def test_an_office_whose_timer_is_gone_has_ended() -> None:
    assert OFFICE.expired(frozenset({"probe"})) == Standing(Status.ELECTION, None, (2, 1))


def test_a_decision_stays_one_when_the_office_underneath_has_ended() -> None:
    held = Decision(Status.NORMAL, 2, until="lease", state=Stage.UNCERTAIN)
    assert held.expired(frozenset()) == Decision(Status.ELECTION, state=Stage.UNCERTAIN)
