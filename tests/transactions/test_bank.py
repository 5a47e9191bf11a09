"""The bank in processes that are killed; and the bank without transactions."""

import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest

from electorate.cli.supervisor import Supervisor
from examples.bank.audit import audit
from examples.bank.crew import Crew, Stuck
from examples.bank.doom import points, step_of
from examples.bank.naive import show
from examples.bank.place import ATM, ROOT, Kind, Spec
from examples.bank.run import Day, Plan, free_addresses, run
from examples.bank.server import NoServer
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

KINDS: list[object] = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_money_is_lost_or_made_though_processes_are_killed(kind: Kind, short_path: Path) -> None:
    day = day_at(Plan(kind, commits=12, kills=4, clients=4), short_path)
    assert day.books.flaws == []
    assert day.books.commits >= 12
    assert day.books.left == day.books.initial - day.books.dispensed
    assert sum(day.kills.values()) == 4
    assert day.missed == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_each_step_is_hit_ten_times(kind: Kind, short_path: Path) -> None:
    day = day_at(Plan(kind, commits=1000, kills=240, clients=8, customers=40), short_path)
    assert day.books.flaws == []
    assert day.books.commits >= 1000
    assert sum(day.kills.values()) >= 200
    assert day.steps.keys() == set(range(1, 9))
    assert min(day.steps.values()) >= 10


def day_at(plan: Plan, folder: Path) -> Day:
    try:
        return run(plan, folder)
    except NoServer as error:
        pytest.fail(f"{error}; leave these tests out with -m 'not postgres'", pytrace=False)


def test_every_numbered_step_is_among_the_points_for_everybody() -> None:
    names = {name for name, _ in points()}
    assert names == {"savings", "checking", "moneymkt", "atm"}
    for name in names:
        assert {step_of(what) for who, what in points() if who == name} == set(range(1, 9))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_transaction_it_goes_as_the_notes_say(kind: Kind, short_path: Path) -> None:
    cases = {case.step: case for case in show(kind, short_path)}
    lost = {step: case.lost for step, case in cases.items()}
    # "if a failure occurs after points 1 & 3 the customer loses money"; and after 6, until 8.
    assert lost == {1: 100, 2: 0, 3: 300, 4: 0, 5: 0, 6: 350, 7: 350, 8: 0}
    # "after points 2, 4, or 5, no money is lost, but … cannot be repeated"
    for step in (2, 4, 5):
        assert cases[step].verdict == "nothing lost, but it cannot be repeated"
        assert cases[step].wrong["savings"] == -100
    assert cases[8].verdict == "nothing lost"


# --- that the books would show it ---


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bank that has come to an end."""
    folder = tmp_path_factory.mktemp("t")
    run(Plan(commits=12, kills=0, clients=2, customers=3), folder)
    return folder


@pytest.fixture
def closed(day: Path, tmp_path: Path) -> tuple[Spec, Path]:
    """The same, to be tampered with."""
    folder = shutil.copytree(day, tmp_path / "copy", ignore=shutil.ignore_patterns("*.sock"))
    return Spec.read(folder), folder


@pytest.mark.parametrize(
    ("database", "forgery", "flaw"),
    [
        ("savings", "update account set balance = balance - 1 where id = 1", "- "),
        ("savings", "delete from movement", "is not in moneymkt"),
        ("checking", "update payment set state = 'owed'", "is owed"),
        ("checking", "update payment set state = 'returned'", "the drawer says otherwise"),
        ("checking", "update movement set replaced = ''", "replaced the same version"),
        ("moneymkt", "insert into electorate_prepared values ('x', '')", "still has x prepared"),
        ("drawer", "delete from given", "the drawer says otherwise"),
    ],
)
def test_books_that_are_wrong_are_found_to_be(
    closed: tuple[Spec, Path], database: str, forgery: str, flaw: str
) -> None:
    spec, folder = closed
    assert audit(spec, folder, []).flaws == []
    with closing(sqlite3.connect(folder / f"{database}.db")) as db:
        db.execute(forgery)
        db.commit()
    assert any(flaw in found for found in audit(spec, folder, []).flaws)


def test_who_gives_an_order_to_a_process_that_has_failed_is_told_why(short_path: Path) -> None:
    with Crew(short_path, [ATM]) as crew:
        crew._processes[ATM].wait(20)  # There is no bank in that folder.
        with pytest.raises(Stuck, match=r"(?s)atm ended with 1: .*bank\.json"):
            crew.order(ATM, "finish")


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_closes_the_bank_early_leaves_no_process_and_no_file(
    short_path: Path, number: signal.Signals
) -> None:
    said: SimpleQueue[str] = SimpleQueue()
    words = [sys.executable, "-m", "examples.bank", "--kills", "1000"]
    env = {**os.environ, "TMPDIR": str(short_path)}
    log = short_path / "log"
    with Supervisor[str]() as running:
        bank = running.start("bank", words, log=log, hear=said.put, cwd=ROOT, env=env)
        children = Path(f"/proc/{bank.pid}/task/{bank.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 4)
        members = [int(word) for word in children.read_text().split()]
        bank.signal(number)
        assert bank.wait(20) == 3
    assert log.read_text() == "electorate: interrupted\n"
    assert not any(map(is_running, members))
    assert [path.name for path in short_path.iterdir()] == ["log"]


def test_no_two_banks_share_an_address() -> None:
    hosts = [free_addresses(4)[0].partition(":")[0] for _ in range(20)]
    assert len(set(hosts)) == 20 or set(hosts) == {"127.0.0.1"}
