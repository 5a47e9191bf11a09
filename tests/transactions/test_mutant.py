"""The driver broken on purpose: each rule that it keeps is needed, and its breach is noticed."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from electorate.core import Stage, Wants
from electorate.transactions.host import TransactionHost
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.worker import ResourceWorker
from tests.runtime.cluster import wait_until
from tests.transactions.bank import PACE, Fragile, balances, move, running, set_up


@pytest.fixture
def bank(short_path: Path) -> Iterator[Fragile]:
    found = Fragile(short_path)
    with running(found):
        set_up(found)
        yield found


def damage(bank: Fragile, name: str) -> str:
    return "; ".join(instance.damage or "" for instance in bank.host(name).instances.values())


def forcing_all_but(stage: Stage) -> Any:
    packed = TransactionInstance.packed

    def pack(self: TransactionInstance, stable: Any) -> bytes | None:
        return None if stable.stage is stage else packed(self, stable)

    return pack


def test_a_vote_that_is_not_forced_is_known_to_the_database_alone(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TransactionInstance, "packed", forcing_all_but(Stage.UNCERTAIN))
    bank.crashed("savings", "sent Yes")
    (tx,) = bank.atm.open_transactions
    bank.stop("atm", "checking")
    bank.start("savings")
    wait_until(lambda: bank.host("savings").guard.unlogged == [tx])
    assert not bank.host("savings").instances, "it does not know whom to ask"


def test_a_vote_that_neither_log_nor_database_has_is_damage(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TransactionInstance, "packed", forcing_all_but(Stage.UNCERTAIN))
    bank.crashed("savings", "sent Yes")
    with closing(bank._open("savings")) as resource:
        for tx in resource.prepared():
            resource.abort(tx)
    bank.start("savings")
    wait_until(lambda: "savings has no vote in its log" in damage(bank, "atm"))


def test_a_decision_that_is_not_forced_loses_money(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = replace(PACE, decision_timeout=60.0)
    with running(Fragile(short_path, pace=patient)) as bank:
        assert isinstance(bank, Fragile)
        set_up(bank)
        monkeypatch.setattr(TransactionInstance, "packed", forcing_all_but(Stage.COMMITTED))
        bank.told_only_to_one()
        bank.start("atm")
        bank.reached()
        wait_until(lambda: "was committed here, but aborted at atm" in damage(bank, "savings"))
        assert sum(balances(bank)) == 1400, "savings has heard of the commit, checking has not"


def test_a_promise_without_preparing_is_damage(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = TransactionHost.do

    async def do(self: TransactionHost, tx: str, wants: Wants) -> None:
        if wants is not Wants.PREPARE:
            await done(self, tx, wants)

    monkeypatch.setattr(TransactionHost, "do", do)
    move(bank)
    wait_until(lambda: "has lost what was prepared" in damage(bank, "savings"))
    wait_until(lambda: "has lost what was prepared" in damage(bank, "atm"))


def test_an_acknowledgement_before_it_is_done_loses_the_work(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def commit(self: ResourceWorker, tx: str) -> None:
        """Some other time."""

    monkeypatch.setattr(ResourceWorker, "commit", commit)
    move(bank)
    bank.settled()
    monkeypatch.undo()
    bank.restart("savings", "checking")
    bank.reached()
    assert balances(bank) == (500, 500, 500)


def test_what_was_prepared_without_a_vote_stays_unless_it_is_looked_for(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def recover(self: ResourceWorker, logged: object) -> frozenset[str]:
        self.trouble = None
        return frozenset()

    bank.crashed("savings", "did prepare")
    monkeypatch.setattr(ResourceWorker, "recover", recover)
    bank.start("savings")
    assert len(prepared(bank)) == 1
    monkeypatch.undo()
    bank.restart("savings")
    wait_until(lambda: not prepared(bank))


def prepared(bank: Fragile) -> frozenset[str]:
    worker = bank.host("savings").worker
    assert worker is not None
    return worker.resource.known()


def test_who_forgets_first_and_lets_others_forget_later_cannot_tell_a_loss(
    bank: Fragile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If Forget left before the record is gone, a crash between would look like a lost vote."""
    bank.crashed("atm", "sent Forget")
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert bank.host("savings").losses == {}

    monkeypatch.setattr(TransactionInstance, "drop", lambda self: None)
    bank.crashed("atm", "sent Forget")
    monkeypatch.undo()
    wait_until(lambda: not bank.host("savings").instances)
    bank.start("atm")
    wait_until(lambda: bool(bank.host("savings").losses))
