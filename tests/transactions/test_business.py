"""The example, one client at a time: it stops after every step, the verification fails, it jams."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from examples.bank.business import Business, Insufficient
from examples.bank.drawer import Drawer
from examples.bank.place import ACCOUNTS, SAVED, Spec
from tests.transactions.bank import Bank, running

RICH, POOR = 1, 2


class Dropped(Exception):
    """The client is gone."""


class Branch:
    """A bank with two customers, in the test's own process."""

    def __init__(self, bank: Bank, drawer: Drawer) -> None:
        self.bank = bank
        self.drawer = drawer
        self.spec = Spec("sqlite", bank.members, customers=2, clients=1, seed=1)
        self.stop_at = ""
        self.business = Business(bank.atm._node, self.spec, drawer, self._reached)

    def _reached(self, what: str) -> None:
        if what == self.stop_at:
            raise Dropped(what)

    def withdraw(self, customer: int = RICH) -> None:
        asyncio.run(self.business.withdraw(customer))

    def balances(self, customer: int = RICH) -> list[int]:
        """After whatever is owed was paid, and all accounts were seen to be right."""
        self.stop_at = ""
        asyncio.run(self.business.pay_what_is_owed())
        asyncio.run(self.business.audit(customer))
        self.bank.settled()
        self.bank.stop(*ACCOUNTS)
        look = f"select balance from account where id = {customer}"
        found = [self.spec.query(self.bank.folder, name, look)[0][0] for name in ACCOUNTS]
        self.bank.start(*ACCOUNTS)
        self.bank.reached()
        return found


@pytest.fixture
def branch(short_path: Path) -> Iterator[Branch]:
    bank = Bank(short_path)
    Spec("sqlite", bank.members, customers=2, clients=1, seed=1).set_up(short_path)
    with running(bank), closing(Drawer(short_path / "drawer.db", jams=False)) as drawer:
        yield Branch(bank, drawer)


@pytest.mark.parametrize("step", range(1, 9))
def test_a_client_that_is_gone_after_any_step_loses_nothing_and_can_try_again(
    branch: Branch, step: int
) -> None:
    branch.stop_at = f"step {step}"
    with pytest.raises(Dropped):
        branch.withdraw()
    # Step 7 is the commit point.
    once = [SAVED - 100, 50, SAVED - 300]
    assert branch.balances() == (once if step >= 7 else [SAVED, 0, SAVED])
    assert len(branch.drawer.given()) == (step >= 7)
    if step < 7:
        branch.withdraw()
        assert branch.balances() == once


def test_a_failed_verification_aborts(branch: Branch) -> None:
    with pytest.raises(Insufficient, match="checking has 300"):
        branch.withdraw(POOR)
    assert branch.balances(POOR) == [SAVED, -100, SAVED]
    assert branch.drawer.given() == {}


def test_what_jams_after_the_commit_point_is_compensated_and_not_undone(branch: Branch) -> None:
    branch.drawer._jams = True
    while not branch.business.counts["returned"]:
        branch.withdraw()
    times = branch.business.counts["committed"]
    kept = times - 1
    assert len(branch.drawer.given()) == kept
    # The transfers stay; what was to be dispensed is back in checking.
    assert branch.balances() == [SAVED - 100 * times, 50 * times + 350, SAVED - 300 * times]


def test_a_payment_is_made_once_however_often_it_is_tried(branch: Branch) -> None:
    branch.stop_at = "step 8"
    with pytest.raises(Dropped):
        branch.withdraw()
    (name,) = branch.drawer.given()
    branch.stop_at = ""
    for _ in range(2):
        asyncio.run(branch.business.pay(name, RICH))
    assert branch.drawer.given() == {name: 350}
