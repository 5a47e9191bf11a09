"""What transactions go through is written down, and comes out the same; their data is not."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from electorate.core import Stage
from electorate.errors import Aborted
from tests.cli.run import runner
from tests.runtime.cluster import wait_until
from tests.transactions.bank import ACCOUNTS, Fragile, balances, move, running, set_up


class Recorded(Fragile):
    """A bank whose nodes write down what their transactions go through."""

    @property
    def record(self) -> Path:
        return self.folder / "record"

    def start(self, *names: str, **changed: Any) -> None:
        super().start(*names, record=self.record, **changed)


@contextmanager
def recorded(folder: Path) -> Iterator[Recorded]:
    bank = Recorded(folder)
    with running(bank):
        set_up(bank)
        yield bank


def name_of_the_last(bank: Recorded) -> str:
    """What the record calls the transaction that the atm has begun last."""
    begun = [tx for name, tx, what in bank.watched if name == "atm" and what == "saved uncertain"]
    return f"transaction {begun[-1]}"


def test_transactions_in_doubt_come_out_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with recorded(tmp_path) as bank:
        move(bank)
        bank.settled()
        plain = name_of_the_last(bank)
        # The coordinator dies when it has decided, and whoever waits for it is restarted.
        assert bank.crashed("atm", "saved committed") == "unknown"
        doubtful = name_of_the_last(bank)
        wait_until(lambda: bank.stage("checking") is Stage.UNCERTAIN)
        bank.restart("savings")
        bank.start("atm")
        bank.reached()
        bank.settled()
        # A participant dies when it has voted.
        bank.crashed("savings", "saved uncertain")
        bank.start("savings")
        bank.reached()
        bank.settled()
        # One has heard the decision, and the elected node finds out.
        bank.told_only_to_one()
        wait_until(lambda: bank.stage("checking") is Stage.COMMITTED)
        bank.start("atm")
        bank.reached()
        bank.settled()
        balances(bank)
        bank.settled()
    replay = runner(capsys)
    told = replay("replay", str(bank.record))
    assert told.code == 0, told.err
    first, *_ = told.out.splitlines()
    assert first.startswith("4 nodes, ")
    assert first.endswith(": each led to the recorded state")
    told = replay("replay", str(bank.record), "--instance", plain, "--tell")
    assert "commits" in told.out
    assert "crash" not in told.out, "what is over is forgotten, nobody fails"
    assert "C1" in told.out, "claims are judged"
    told = replay("replay", str(bank.record), "--instance", doubtful, "--tell")
    assert "Node atm crashes." in told.out
    assert "Node savings recovers" in told.out
    assert "Node atm recovers" in told.out


def test_no_statement_no_row_and_no_reason_is_in_a_record(tmp_path: Path) -> None:
    statement, row, reason = "secret_column", "a secret of the customer", "secret_table"
    with recorded(tmp_path) as bank:
        with bank.atm.transaction() as tx:
            tx.on("savings").execute(f"create table notes ({statement} text)")
            tx.on("savings").execute("insert into notes values (?)", row)
        with bank.atm.transaction() as tx:
            (found,) = tx.on("savings").execute(f"select {statement} from notes").rows
            tx.on("checking").execute("select 1")
        assert tuple(found) == (row,)
        with pytest.raises(Aborted, match=reason), bank.atm.transaction() as tx:
            tx.on("savings").execute(f"select * from {reason}")
        bank.settled()
    files = list(bank.record.glob("*.jsonl"))
    assert len(files) == 1 + len(ACCOUNTS)
    for file in files:
        text = file.read_text()
        assert "transaction " in text or file.name == "moneymkt.jsonl"
        for secret in (statement, row, reason):
            assert secret not in text
        head = json.loads(text.splitlines()[0])
        assert "no statements, values or rows of transactions" in head["contains"]
