"""The example: move 100 and 300 to checking, verify, take 350 off it, and dispense them.

    1. savings  -= 100        5. verify: checking > 350
    2. checking += 100        6. checking -= 350
    3. moneymkt -= 300        7. the commit point
    4. checking += 300        8. dispense 350

Source: Carnegie Mellon University, "Distributed Systems", lecture notes "ACID Transactions",
section "Transactions, Detail and Example".

That 350 are to be dispensed is part of the transaction: it is written down as a payment. If the
machine jams, the payment cannot be undone any more; another transaction puts the money back.
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from electorate.errors import Aborted
from electorate.node import Node
from electorate.transactions.history import DatabaseRow, Read
from electorate.transactions.transaction import Transaction
from examples.bank.drawer import Drawer, Jammed
from examples.bank.place import ACCOUNTS, DISPENSED, Spec

NOTE = "insert into movement select ?, id, writer from account where id = ?"
MOVE = "update account set balance = balance + ?, writer = ? where id = ?"
LOOK = "select balance, writer from account where id = ?~"
OWE = "insert into payment values (?, ?, ?, 'owed')"
OWED = "select tx, account from payment where state = 'owed'"
PAY = "update payment set state = ? where tx = ? and state = 'owed'"
PAID = "select coalesce(sum(amount), 0) from payment where account = ? and state <> 'returned'"


class Insufficient(Exception):
    """The verification failed: the transaction is aborted on purpose."""


class Business:
    """What the cash machine does for its customers."""

    def __init__(
        self, node: Node, spec: Spec, drawer: Drawer, reached: Callable[[str], None]
    ) -> None:
        self.counts = dict.fromkeys(("committed", "aborted", "refused", "returned", "audits"), 0)
        self.reads: list[Read] = []
        self.why = ""
        """Why the last one was aborted."""
        self._node = node
        self._spec = spec
        self._drawer = drawer
        self._reached = reached
        self._at_hand: set[str] = set()
        """Payments that somebody is about to make."""

    async def withdraw(self, customer: int) -> None:
        """Steps 1 to 8; Aborted or Insufficient if there was no commit."""
        name = ""
        try:
            async with self._node.transaction() as tx:
                name = tx.name
                self._at_hand.add(name)
                await self._steps(tx, customer)
            self._reached("step 7")
            self.counts["committed"] += 1
            await self.pay(name, customer)
        finally:
            self._at_hand.discard(name)

    async def _steps(self, tx: Transaction, customer: int) -> None:
        await self._move(tx, 1, "savings", -100, customer, first=True)
        await self._move(tx, 2, "checking", 100, customer, first=True)
        await self._move(tx, 3, "moneymkt", -300, customer, first=True)
        await self._move(tx, 4, "checking", 300, customer)
        balance, _ = (await self._do(tx, "checking", LOOK, customer)).rows[0]
        self._reached("step 5")
        if not balance > DISPENSED:
            raise Insufficient(f"checking has {balance}")
        await self._move(tx, 6, "checking", -DISPENSED, customer)
        await self._do(tx, "checking", OWE, tx.name, customer, DISPENSED)

    async def pay(self, tx: str, customer: int) -> None:
        """Step 8, or if the machine jams, what makes up for it."""
        try:
            self._drawer.give(tx, DISPENSED)
        except Jammed:
            await self._put_back(tx, customer)
            return
        self._reached("step 8")
        async with self._node.transaction() as mark:
            await self._do(mark, "checking", PAY, "given", tx)

    async def _put_back(self, tx: str, customer: int) -> None:
        """After the commit point nothing is undone: it is compensated."""
        self._reached("jam")
        async with self._node.transaction() as back:
            if (await self._do(back, "checking", PAY, "returned", tx)).count:
                await self._do(back, "checking", NOTE, back.name, customer)
                await self._do(back, "checking", MOVE, DISPENSED, back.name, customer)
        self.counts["returned"] += 1

    async def pay_what_is_owed(self) -> int:
        """Make the payments that a crash has left behind; how many there were."""
        async with self._node.transaction() as tx:
            owed = (await self._do(tx, "checking", OWED)).rows
        left = [(name, customer) for name, customer in owed if name not in self._at_hand]
        for name, customer in left:
            await self.pay(name, customer)
        return len(owed)

    async def audit(self, customer: int) -> None:
        """See all accounts of a customer at one moment; no money is lost or made."""
        async with self._node.transaction() as tx:
            rows = {}
            for name in ACCOUNTS:
                rows[name] = (await self._do(tx, name, LOOK, customer)).rows[0]
            paid = (await self._do(tx, "checking", PAID, customer)).value()
        self.counts["audits"] += 1
        for name, (_, writer) in rows.items():
            self.reads.append(Read(tx.name, DatabaseRow(name, customer), writer))
        total = sum(balance for balance, _ in rows.values()) + int(paid)
        assert total == self._spec.owned_by(customer), f"{customer} has {total}: {rows}, {paid}"

    async def serve(self, number: int, stopping: asyncio.Event) -> None:
        """One client after the other, until it is time to stop."""
        chance = random.Random(self._spec.seed * 1000 + number)
        while not stopping.is_set():
            customer = chance.randint(1, self._spec.customers)
            act = self.audit if chance.random() < 0.1 else self.withdraw
            try:
                await act(customer)
            except Insufficient:
                self.counts["refused"] += 1
            except Aborted as error:
                self.counts["aborted"] += 1
                self.why = error.reason
                await asyncio.sleep(chance.uniform(0, 0.1))

    async def _move(
        self, tx: Transaction, step: int, name: str, by: int, customer: int, first: bool = False
    ) -> None:
        if first:
            await self._do(tx, name, NOTE, tx.name, customer)
        await self._do(tx, name, MOVE, by, tx.name, customer)
        self._reached(f"step {step}")

    async def _do(self, tx: Transaction, name: str, statement: str, *values: Any) -> Any:
        return await tx.on(name).execute(self._spec.sql(statement), *values)
