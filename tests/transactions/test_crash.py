"""A crash at every single point: at every save, message and act of every node."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.cluster import wait_until
from tests.transactions.bank import PACE, Bank, Fragile, balances, move, running, set_up


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fragile]:
    found = Fragile(tmp_path_factory.mktemp("t"))
    with running(found):
        set_up(found)
        yield found


COORDINATOR = """
saved uncertain, sent Prepare, sent Prepare, saved committed, sent Commit, sent Commit,
sent Forget, sent Forget, forgot
"""
PARTICIPANT = """
worked, did prepare, saved uncertain, sent Yes, saved committed, did commit, sent Done, forgot
"""


def points(text: str) -> list[str]:
    return [what.strip() for what in text.replace("\n", " ").split(",")]


def test_a_transaction_without_a_fault_goes_like_this(tmp_path: Path) -> None:
    unhurried = replace(
        PACE, sweep_every=60.0, retry_every=60.0, decision_timeout=60.0, votes_timeout=60.0
    )
    with running(Bank(tmp_path, pace=unhurried)) as bank:
        set_up(bank)
        bank.watched.clear()
        move(bank)
        wait_until(lambda: sum(what == "forgot" for _, _, what in bank.watched) == 3)
        done = {name: [what for who, _, what in bank.watched if who == name] for name in bank.nodes}
    assert done["atm"] == points(COORDINATOR)
    assert done["savings"] == done["checking"] == points(PARTICIPANT)
    assert done["moneymkt"] == []


def cases() -> Iterator[tuple[str, str, int]]:
    for victim, text in (("atm", COORDINATOR), ("savings", PARTICIPANT), ("checking", PARTICIPANT)):
        times: Counter[str] = Counter()
        for what in points(text):
            times[what] += 1
            yield victim, what, times[what]


@pytest.mark.parametrize(("victim", "what", "times"), list(cases()))
def test_after_a_crash_at_any_point_all_of_it_is_done_or_none(
    bank: Fragile, victim: str, what: str, times: int
) -> None:
    before = balances(bank)
    bank.settled()
    outcome = bank.crashed(victim, what, times)
    bank.start(victim)
    bank.reached()
    bank.settled()
    moved = (before[0] - 100, before[1] + 100, before[2])
    allowed: dict[str, list[tuple[int, ...]]] = {
        "committed": [moved],
        "aborted": [before],
        "unknown": [before, moved],
    }
    assert balances(bank) in allowed[outcome], (before, outcome)
