"""Transactions in doubt: who finds out, who waits, and what is damaged rather than guessed."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from electorate.core import Stage, Wants
from electorate.errors import Aborted
from electorate.leadership.directory import number
from electorate.runtime.store import Store
from electorate.transactions.admin import ask
from electorate.transactions.instance import TransactionInstance
from tests.runtime.cluster import wait_until
from tests.transactions.bank import ACCOUNTS, Fragile, balances, move, read, running, set_up

SAVED_COMMITTED = "saved committed"
"""A point of a transaction: see test_crash.py, where they are listed."""
SAVES = 1_000
"""More than any node saves here."""


@pytest.fixture
def bank(short_path: Path) -> Iterator[Fragile]:
    found = Fragile(short_path)
    with running(found):
        set_up(found)
        yield found


def instances(bank: Fragile, name: str) -> list[TransactionInstance]:
    return list(bank.host(name).instances.values())


def is_damaged(bank: Fragile, name: str, how: str) -> bool:
    return how in damage(bank, name)


def damage(bank: Fragile, name: str) -> str:
    found = instances(bank, name)
    return (found[0].damage if found else None) or ""


def test_whoever_has_voted_waits_for_its_coordinator_as_long_as_it_takes(bank: Fragile) -> None:
    assert bank.crashed("atm", SAVED_COMMITTED) == "unknown"
    # Whom the elected node has asked just now has not waited for long since; it has itself.
    wait_until(lambda: any(d.state.waiting for n in ACCOUNTS for d in instances(bank, n)))
    assert bank.stage("savings") is bank.stage("checking") is Stage.UNCERTAIN
    bank.restart("savings")
    assert bank.stage("checking") is Stage.UNCERTAIN
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (400, 600, 500)


def test_the_elected_node_finds_out_what_another_has_heard(bank: Fragile) -> None:
    bank.told_only_to_one()
    wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (400, 600, 500)


def test_the_elected_node_need_not_take_part_itself(bank: Fragile) -> None:
    """Savings leads, but only checking and the money market take part."""
    bank.told_only_to_one("moneymkt", "checking")
    wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (500, 600, 400)


def test_a_participant_that_has_lost_its_memory_does_what_its_coordinator_says(
    bank: Fragile,
) -> None:
    """Its database still has what it promised; the coordinator cannot believe that it is done."""
    bank.crashed("atm", SAVED_COMMITTED)
    bank.stop("checking")
    shutil.rmtree(bank.folder / "checking")
    bank.start("checking")
    wait_until(lambda: bool(bank.host("checking").guard.unlogged))
    assert "not the one that the database belongs to" in bank.host("checking").guard.why_unlogged
    bank.start("atm")
    wait_until(lambda: "checking came back without the memory" in damage(bank, "atm"))
    wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
    assert bank.stage("atm") is bank.stage("savings") is Stage.COMMITTED
    wait_until(lambda: instances(bank, "checking")[0].view.wants is Wants.NOTHING)
    bank.restart("atm")
    wait_until(lambda: "checking came back without the memory" in damage(bank, "atm"))
    bank.stop("checking")
    assert read(bank.folder / "checking.db", "select balance from account") == [(600,)]


def test_a_participant_whose_log_is_older_than_its_vote_does_what_was_decided(
    bank: Fragile,
) -> None:
    keep_a_log_of_checking(bank)
    bank.told_only_to_one()
    bring_it_back(bank)
    bank.start("checking")
    wait_until(lambda: "older than the database" in bank.host("checking").guard.why_unlogged)
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (400, 600, 500)


def test_a_participant_with_an_older_log_does_not_say_that_it_has_not_voted(bank: Fragile) -> None:
    """It would be taken for a no, though the coordinator may have committed."""
    keep_a_log_of_checking(bank)
    bank.crashed("atm", SAVED_COMMITTED)
    bring_it_back(bank)
    bank.start("checking")
    wait_until(lambda: bool(instances(bank, "checking")))  # The elected node has asked it.
    assert bank.stage("checking") is bank.stage("savings") is Stage.UNCERTAIN
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (400, 600, 500)


def keep_a_log_of_checking(bank: Fragile) -> None:
    """Copy the folder, and go on."""
    bank.stop("checking")
    shutil.copytree(bank.folder / "checking", bank.folder / "backup")
    bank.start("checking")
    bank.reached()


def bring_it_back(bank: Fragile) -> None:
    """Bring back the folder of that earlier life, which has not voted yet.

    The others let it in only once it has saved as often as they have seen: so it has, here.
    """
    bank.stop("checking")
    shutil.rmtree(bank.folder / "checking")
    shutil.move(bank.folder / "backup", bank.folder / "checking")
    with closing(Store(bank.folder / "checking", number("checking"))) as store:
        for _ in range(SAVES):
            store.save({})


def test_a_database_that_has_lost_what_was_prepared_is_damaged(bank: Fragile) -> None:
    bank.crashed("atm", SAVED_COMMITTED)
    bank.stop("savings")
    for file in bank.folder.glob("savings.db*"):
        file.unlink()
    bank.start("savings")
    wait_until(lambda: "its database has lost what was prepared" in damage(bank, "savings"))
    assert bank.stage("savings") is Stage.UNCERTAIN
    bank.start("atm")
    wait_until(lambda: "has lost what was prepared" in damage(bank, "atm"))
    wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
    assert bank.stage("savings") is Stage.COMMITTED


def test_a_coordinator_that_has_lost_its_memory_is_not_believed(bank: Fragile) -> None:
    bank.crashed("atm", SAVED_COMMITTED)
    shutil.rmtree(bank.folder / "atm")
    bank.start("atm")
    for name in ("savings", "checking"):
        wait_until(partial(is_damaged, bank, name, "atm came back without"))
        assert bank.stage(name) is Stage.UNCERTAIN


def test_what_was_prepared_without_a_vote_waits_for_its_coordinator_or_a_person(
    bank: Fragile,
) -> None:
    bank.stop("savings")
    resource = bank._open("savings")
    resource.execute("atm-0-1", "update account set balance = 0", ())
    resource.prepare("atm-0-1")
    resource.close()
    bank.start("savings")
    wait_until(lambda: bank.host("savings").guard.unlogged == ["atm-0-1"])
    with pytest.raises(Aborted, match="transaction atm-0-1 has the database"):
        move(bank)
    ask(bank.folder / "savings", {"do": "resolve", "tx": "atm-0-1", "how": "abort"})
    move(bank)
    assert balances(bank) == (400, 600, 500)


def test_what_was_prepared_without_a_vote_is_aborted_once_its_coordinator_says_so(
    bank: Fragile,
) -> None:
    bank.crashed("savings", "did prepare")
    bank.start("savings")
    bank.settled()
    assert balances(bank) == (500, 500, 500)
