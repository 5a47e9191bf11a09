"""`electorate tx`: what is open, what it waits for, and a decision by hand."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from electorate import sync
from electorate.core import Stage
from electorate.leadership.directory import number
from electorate.transactions.config import Config, arguments
from tests.cli.run import Ran, runner
from tests.runtime.cluster import free_addresses, wait_until
from tests.transactions.bank import Fragile, balances, host_of, running, set_up

SAVED_COMMITTED = "saved committed"
"""A point of a transaction: see test_crash.py, where they are listed."""

Tx = Callable[..., Ran]


@pytest.fixture
def bank(short_path: Path) -> Iterator[Fragile]:
    found = Fragile(short_path)
    with running(found):
        set_up(found)
        yield found


@pytest.fixture
def tx(capsys: pytest.CaptureFixture[str]) -> Tx:
    run = runner(capsys)
    return lambda *words: run("tx", *map(str, words))


def is_shown(tx: Tx, folder: Path, name: str, what: str) -> bool:
    return what in tx("show", folder, name).out


def in_doubt(bank: Fragile) -> str:
    """The name of a transaction that both participants are left with."""
    bank.crashed("atm", SAVED_COMMITTED)
    (name,) = bank.host("savings").instances
    wait_until(lambda: not bank.sees("savings", "atm") and not bank.sees("checking", "atm"))
    return name


def test_nothing_is_open(bank: Fragile, tx: Tx) -> None:
    assert tx("list", bank.folder / "savings").out == "No transaction is open.\n"


def test_who_resolves_what_does_not_exist_is_not_warned_as_if_it_did(bank: Fragile, tx: Tx) -> None:
    for words in (["--abort"], ["--abort", "--yes"]):
        refused = tx("resolve", bank.folder / "savings", "nosuch", *words)
        assert refused.code == 2
        assert "there is no transaction nosuch here" in refused.err
        assert "warning" not in refused.err


def test_a_transaction_in_doubt_is_listed_and_shown(bank: Fragile, tx: Tx) -> None:
    name = in_doubt(bank)
    wait_until(lambda: bank.host("checking").recovery.leader == number("savings"))
    listed = tx("list", bank.folder / "checking").out
    assert name in listed
    assert "in doubt" in listed
    assert "the decision of atm (unreachable)" in listed
    shown = tx("show", bank.folder / "checking", name).out
    assert "coordinator   atm" in shown
    assert "participants  savings, checking" in shown
    assert "asked         savings" in shown
    told = tx("show", bank.folder / "checking", name, "--json").object["found"][0]
    assert told["state"] == "uncertain"
    assert told["role"] == "participant"


def test_a_decision_by_hand_warns_and_wants_a_yes(bank: Fragile, tx: Tx) -> None:
    name = in_doubt(bank)
    refused = tx("resolve", bank.folder / "savings", name, "--abort")
    assert refused.code == 2
    assert "warning: the others may have committed" in refused.err
    assert "nothing was done" in refused.err
    assert bank.stage("savings") is Stage.UNCERTAIN


def test_a_decision_by_hand_that_the_coordinator_shares_is_forgotten_in_the_end(
    bank: Fragile, tx: Tx
) -> None:
    name = in_doubt(bank)
    done = tx("resolve", bank.folder / "savings", name, "--commit", "--yes")
    assert done.code == 0
    assert "by hand       committed" in done.out
    bank.restart("savings")
    bank.start("atm")
    bank.reached()
    bank.settled()
    assert balances(bank) == (400, 600, 500)


def test_a_decision_by_hand_that_the_coordinator_does_not_share_is_damage(
    bank: Fragile, tx: Tx
) -> None:
    name = in_doubt(bank)
    tx("resolve", bank.folder / "savings", name, "--abort", "--yes")
    bank.restart("savings")
    bank.start("atm")
    split = "was aborted by hand here, but committed at atm"
    wait_until(lambda: split in tx("show", bank.folder / "savings", name).out)
    wait_until(lambda: f"savings {split}" in tx("show", bank.folder / "atm", name).out)
    assert bank.stage("savings") is Stage.ABORTED
    for where in ("savings", "atm"):
        assert tx("resolve", bank.folder / where, name, "--forget", "--yes").code == 0
    assert tx("list", bank.folder / "atm").out == "No transaction is open.\n"


def test_a_decision_by_hand_that_was_spread_is_damage_at_all_who_believed_it(
    bank: Fragile, tx: Tx
) -> None:
    name = in_doubt(bank)
    tx("resolve", bank.folder / "checking", name, "--abort", "--yes")
    wait_until(lambda: bank.stage("savings") is Stage.ABORTED)  # It is elected, and has asked.
    bank.start("atm")
    for where in ("savings", "checking"):
        wait_until(partial(is_shown, tx, bank.folder / where, name, "but committed at atm"))
    wait_until(lambda: "damaged" in tx("show", bank.folder / "atm", name).out)


def test_what_is_in_doubt_is_not_forgotten_and_what_is_not_is_not_decided(
    bank: Fragile, tx: Tx
) -> None:
    name = in_doubt(bank)
    refused = tx("resolve", bank.folder / "savings", name, "--forget", "--yes")
    assert refused.code == 2
    assert "decide it first" in refused.err
    bank.stop("checking")
    bank.start("atm")
    wait_until(lambda: bool(bank.host("atm").instances))
    refused = tx("resolve", bank.folder / "atm", name, "--abort", "--yes")
    assert refused.code == 2
    assert "this node is its coordinator; it is committed" in refused.err
    wait_until(lambda: not bank.sees("atm", "checking"))
    shown = tx("show", bank.folder / "atm", name).out
    assert "checking (unreachable) to have committed it" in shown


def test_what_a_participant_has_lost_is_listed_by_both(bank: Fragile, tx: Tx) -> None:
    import shutil

    bank.told_only_to_one()
    bank.stop("checking")
    shutil.rmtree(bank.folder / "checking")
    for file in bank.folder.glob("checking.db*"):
        file.unlink()
    bank.start("checking", "atm")
    wait_until(lambda: bool(bank.host("checking").losses))
    wait_until(lambda: "damaged: checking came back" in tx("list", bank.folder / "atm").out)
    assert "damaged: this node came back without" in tx("list", bank.folder / "checking").out


def test_a_node_that_does_not_run_cannot_be_asked(tmp_path: Path, tx: Tx) -> None:
    asked = tx("list", tmp_path)
    assert asked.code == 2
    assert asked.err == f"electorate: no node runs on {tmp_path}\n"


def config(folder: Path) -> Path:
    lines = []
    for name, (host, port) in zip(("savings", "atm"), free_addresses(2), strict=True):
        lines += [f"[members.{name}]", f'address = "{host}:{port}"']
        lines += ['database = "sqlite:savings.db"'] if name == "savings" else []
    path = folder / "bank.toml"
    path.write_text("\n".join(lines))
    return path


def test_a_member_is_run_from_a_file_and_recorded(short_path: Path) -> None:
    path, record = config(short_path), short_path / "record"
    electorate = [sys.executable, "-m", "electorate.cli.main"]
    words = [*electorate, "tx", "serve", str(path), "savings", "--record", str(record)]
    serving = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert serving.stdout is not None
    try:
        assert serving.stdout.readline() == "savings takes part; stop it with Ctrl-C\n"
        with sync.Node(**arguments(path, "atm"), record=record) as atm:
            wait_until(lambda: number("savings") in host_of(atm).members.alive)
            with atm.transaction() as tx:
                tx.on("savings").execute("create table account (id int)")
    finally:
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(10) == 0
        serving.stdout.close()
    words = [*electorate, "replay", str(record), "--instance", f"transaction {tx.name}"]
    replayed = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "2 nodes, " in replayed
    assert "C1, C2, C3 and C7 hold after every step" in replayed


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("members = 3", "Expected `object`"),
        ("[members.a]\naddress = 'x:1'\ncolour = 'red'", "unknown field `colour`"),
        ("[", "Invalid"),
    ],
)
def test_a_file_that_is_no_cluster_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "bank.toml").write_text(text)
    with pytest.raises(ValueError, match=wrong):
        Config.read(tmp_path / "bank.toml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"bank\.toml: No such file or directory"):
        Config.read(tmp_path / "bank.toml")


def test_an_unknown_member_and_an_unknown_kind_of_database_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bank.toml"
    path.write_text("[members.a]\naddress = '127.0.0.1:1'\ndatabase = 'oracle:x'")
    with pytest.raises(ValueError, match="no member is called 'b'"):
        arguments(path, "b")
    with pytest.raises(ValueError, match=r"a database is sqlite:FILE or postgresql:"):
        arguments(path, "a")
