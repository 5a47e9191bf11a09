"""Whether every letter came: gaps in the numbers tell."""

from msgspec.structs import replace

from electorate.runtime.frame import Hello
from electorate.runtime.network import Ledger

HELLO = Hello("c", node=2, to=1, store="s", incarnation=1, process="p", sent=0)


def test_letters_that_come_one_after_the_other_are_complete() -> None:
    ledger = Ledger()
    assert ledger.missing(HELLO, 0) == 0
    assert [ledger.missing(HELLO, n - 1, 1) for n in (1, 2, 3)] == [0, 0, 0]
    assert ledger.missing(HELLO, 3) == 0


def test_a_gap_in_the_numbers_is_noticed_once() -> None:
    ledger = Ledger()
    ledger.missing(HELLO, 0, 1)
    assert ledger.missing(HELLO, 3, 1) == 2
    assert ledger.missing(HELLO, 4, 1) == 0


def test_a_beat_tells_of_a_letter_that_no_other_followed() -> None:
    ledger = Ledger()
    ledger.missing(HELLO, 0, 1)
    assert ledger.missing(HELLO, 2) == 1
    assert ledger.missing(HELLO, 2) == 0


def test_letters_of_a_life_that_came_before_its_first_connection_are_missed() -> None:
    ledger = Ledger()
    assert ledger.missing(HELLO, 2) == 2


def test_a_new_life_counts_from_one() -> None:
    ledger = Ledger()
    ledger.missing(HELLO, 9, 1)
    reborn = replace(HELLO, incarnation=2)
    assert ledger.missing(reborn, 0, 1) == 0
    wiped = replace(HELLO, store="other")
    assert ledger.missing(wiped, 0, 1) == 0


def test_every_node_has_its_own_numbers() -> None:
    ledger = Ledger()
    ledger.missing(HELLO, 0, 1)
    assert ledger.missing(replace(HELLO, node=3), 0, 1) == 0
    assert ledger.missing(HELLO, 1, 1) == 0
