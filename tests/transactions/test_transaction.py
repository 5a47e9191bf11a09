"""Transactions over real nodes and files: what an application sees."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from electorate import sync
from electorate.errors import Aborted
from tests.runtime.cluster import wait_until
from tests.transactions.bank import MOVE, Bank, Crash, balances, read, running, set_up


@pytest.fixture
def bank(short_path: Path) -> Iterator[Bank]:
    with running(Bank(short_path)) as found:
        set_up(found)
        yield found


@contextmanager
def failing(bank: Bank, match: str, kind: type[Exception] = Aborted) -> Iterator[sync.Transaction]:
    """A transaction that ends like this."""
    with pytest.raises(kind, match=match), bank.atm.transaction() as tx:
        yield tx


def no_work_at(bank: Bank, name: str) -> bool:
    worker = bank.host(name).worker
    return worker is not None and not worker._sessions


def crash(bank: Bank, name: str) -> None:
    """End a node without a word."""

    def fail() -> None:
        raise Crash(name)

    engine = bank.nodes[name]._node._engine
    engine.do(fail)
    wait_until(lambda: not engine.running)
    with suppress(Crash):
        bank.stop(name)


def test_all_of_it_is_committed_or_none_of_it(bank: Bank) -> None:
    with bank.atm.transaction() as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute(MOVE, 100)
    assert balances(bank) == (400, 600, 500)
    with failing(bank, "checking: no such table: nowhere") as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute("update nowhere set balance = 0")
    assert balances(bank) == (400, 600, 500)


def test_what_is_raised_inside_aborts_and_is_raised_again(bank: Bank) -> None:
    with failing(bank, "by zero", ZeroDivisionError) as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute(MOVE, 100 // 0)
    assert balances(bank) == (500, 500, 500)


def test_a_failure_that_was_swallowed_still_aborts(bank: Bank) -> None:
    with failing(bank, "no such table") as tx:
        tx.on("savings").execute(MOVE, -100)
        with pytest.raises(Aborted):
            tx.on("checking").execute("update nowhere set balance = 0")
    assert balances(bank) == (500, 500, 500)


def test_the_same_with_async(bank: Bank) -> None:
    async def move(amount: int) -> None:
        for _ in range(20):
            try:
                async with bank.atm._node.transaction() as tx:
                    await tx.on("savings").execute(MOVE, -amount)
                    await tx.on("checking").execute(MOVE, amount)
                return
            except Aborted:
                continue
        raise AssertionError("it never got through")

    async def all_at_once() -> None:
        async with asyncio.TaskGroup() as group:
            for amount in range(1, 9):
                group.create_task(move(amount))

    asyncio.run(all_at_once())
    assert balances(bank) == (500 - 36, 500 + 36, 500)


def test_no_work_is_done_after_the_end_of_the_block(bank: Bank) -> None:
    with bank.atm.transaction() as empty:
        pass
    with bank.atm.transaction() as full:
        full.on("checking").execute(MOVE, 100)
    for over in (empty, full):
        with pytest.raises(RuntimeError, match="over with its block"):
            over.on("savings").execute(MOVE, -100)
    assert no_work_at(bank, "savings")
    assert balances(bank) == (500, 600, 500)


def test_work_that_was_not_waited_for_is_not_left_out(bank: Bank) -> None:
    async def half() -> None:
        async with bank.atm._node.transaction() as tx:
            await tx.on("checking").execute(MOVE, 100)
            task = asyncio.create_task(tx.on("savings").execute(MOVE, -100))
            task.add_done_callback(lambda ended: ended.exception())
            await asyncio.sleep(0)

    with pytest.raises(Aborted, match="savings: an answer was not waited for"):
        asyncio.run(half())
    wait_until(lambda: no_work_at(bank, "savings"))
    assert balances(bank) == (500, 500, 500)


def test_values_are_given_one_by_one_and_dates_and_decimals_travel_as_text(bank: Bank) -> None:
    class Amount(float):
        pass

    given = (1, "a", None, 2.5, b"x", Decimal("0.10"), date(2026, 1, 2), Amount(1.5))
    with bank.atm.transaction() as tx:
        answer = tx.on("savings").execute("select ?, ?, ?, ?, ?, ?, ?, ?", *given)
    assert [tuple(row) for row in answer.rows] == [
        (1, "a", None, 2.5, b"x", "0.10", "2026-01-02", 1.5)
    ]


@pytest.mark.parametrize("value", [object(), ValueError("no"), [1, object()]])
def test_what_would_arrive_as_another_thing_is_refused_by_its_type(
    bank: Bank, value: object
) -> None:
    kind = "ValueError" if isinstance(value, ValueError) else "object"
    with bank.atm.transaction() as tx:
        tx.on("savings").execute(MOVE, -100)
        with pytest.raises(TypeError, match=f"a value of type {kind} cannot be sent"):
            tx.on("savings").execute("select ?", value)
        with pytest.raises(ValueError, match="more than 64 bits"):
            tx.on("savings").execute("select ?", 1 << 70)
        tx.on("checking").execute(MOVE, 100)
    assert balances(bank) == (400, 600, 500)


def test_values_in_a_tuple_are_refused_with_what_to_do(bank: Bank) -> None:
    with failing(bank, r"pass values one by one, execute\(sql, 1, 2\)") as tx:
        tx.on("savings").execute("select ?, ?", (1, 2))


def test_a_finished_transaction_is_forgotten_everywhere(bank: Bank) -> None:
    with bank.atm.transaction() as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute(MOVE, 100)
    bank.settled()
    bank.stop()
    for name in bank.members:
        kept = read(bank.folder / name / "electorate.db", "select instance from stable")
        assert not [kind for (kind,) in kept if kind.startswith("transaction")], name
    for name in ("savings", "checking"):
        assert read(bank.folder / f"{name}.db", "select * from electorate_prepared") == []


def test_two_transactions_on_the_same_rows_come_one_after_the_other(bank: Bank) -> None:
    with bank.atm.transaction() as first:
        first.on("savings").execute(MOVE, -100)
        with failing(bank, f"savings: transaction {first.name} has the database") as second:
            second.on("savings").execute(MOVE, -100)
    assert balances(bank) == (400, 500, 500)


def test_two_that_wait_for_each_other_do_not_wait_for_ever(bank: Bank) -> None:
    failed: list[str] = []
    both = threading.Barrier(2)

    def move(one: str, other: str) -> None:
        try:
            with bank.atm.transaction() as tx:
                tx.on(one).execute(MOVE, -100)
                both.wait(5)
                tx.on(other).execute(MOVE, 100)
        except Aborted:
            failed.append(one)

    pairs = [("savings", "checking"), ("checking", "savings")]
    threads = [threading.Thread(target=move, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert failed
    assert sum(balances(bank)) == 1500


def test_an_unreachable_participant_aborts_and_keeps_nobody_else_from_going_on(bank: Bank) -> None:
    bank.stop("moneymkt")
    wait_until(lambda: not bank.sees("atm", "moneymkt"))
    with failing(bank, "moneymkt: it cannot be reached") as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("moneymkt").execute(MOVE, 100)
    with bank.atm.transaction() as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute(MOVE, 100)
    bank.start("moneymkt")
    bank.reached()
    assert balances(bank) == (400, 600, 500)


def test_a_participant_that_restarts_in_the_middle_has_forgotten_the_work_and_says_so(
    bank: Bank,
) -> None:
    with failing(bank, "savings: earlier work of this transaction is gone") as tx:
        tx.on("savings").execute(MOVE, -100)
        crash(bank, "savings")
        bank.start("savings")
        bank.reached()
        tx.on("savings").execute(MOVE, -100)
    with failing(bank, "savings: the work of this transaction is gone") as tx:
        tx.on("savings").execute(MOVE, -100)
        crash(bank, "savings")
        bank.start("savings")
        bank.reached()
    assert balances(bank) == (500, 500, 500)


def test_nobody_waits_for_the_vote_of_a_participant_that_was_stopped_after_its_work(
    bank: Bank,
) -> None:
    with failing(bank, "savings: it was stopped before the vote") as tx:
        tx.on("savings").execute(MOVE, -100)
        tx.on("checking").execute(MOVE, 100)
        bank.stop("savings")
    assert not bank.atm.open_transactions
    bank.start("savings")
    bank.reached()
    assert balances(bank) == (500, 500, 500)


def test_work_that_its_coordinator_has_left_behind_is_undone(bank: Bank) -> None:
    tx = bank.atm.transaction().__enter__()
    tx.on("savings").execute(MOVE, -100)
    bank.restart("atm")
    bank.reached()
    left = bank.atm.transaction().__enter__()
    left.on("checking").execute(MOVE, -100)
    for name in ("savings", "checking"):
        wait_until(partial(no_work_at, bank, name))
    assert balances(bank) == (500, 500, 500)


def test_a_stranger_and_the_coordinator_itself_take_no_part(bank: Bank) -> None:
    with failing(bank, "'pension' is no member; the members are atm, checking", ValueError) as tx:
        tx.on("pension").execute("select 1")
    with failing(bank, "atm coordinates", ValueError) as tx:
        tx.on("atm").execute("select 1")
