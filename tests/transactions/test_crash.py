"""A crash at every single point: at every save, message and act of every node."""

from collections.abc import Iterator

import pytest

from tests.transactions.bank import Fragile, balances, move, running, set_up


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fragile]:
    found = Fragile(tmp_path_factory.mktemp("t"))
    with running(found):
        set_up(found)
        yield found


def points_of(bank: Fragile, name: str) -> list[str]:
    """What a node does in a transaction without a fault."""
    bank.watched.clear()
    move(bank)
    bank.settled()
    return [what for who, _, what in bank.watched if who == name]


COORDINATOR = """
saved uncertain, sent Prepare, sent Prepare, saved committed, sent Commit, sent Commit,
sent Forget, sent Forget, forgot
"""
PARTICIPANT = """
worked, did prepare, saved uncertain, sent Yes, saved committed, did commit, sent Done, forgot
"""


def points(text: str) -> list[str]:
    return [what.strip() for what in text.replace("\n", " ").split(",")]


def test_a_transaction_without_a_fault_goes_like_this(bank: Fragile) -> None:
    bank.victim = ""
    assert points_of(bank, "atm") == points(COORDINATOR)
    assert points_of(bank, "savings") == points(PARTICIPANT)


CASES = [
    *(("atm", number, what) for number, what in enumerate(points(COORDINATOR), start=1)),
    *(("savings", number, what) for number, what in enumerate(points(PARTICIPANT), start=1)),
    *(("checking", number, what) for number, what in enumerate(points(PARTICIPANT), start=1)),
]


@pytest.mark.parametrize(("victim", "number", "what"), CASES)
def test_after_a_crash_at_any_point_all_of_it_is_done_or_none(
    bank: Fragile, victim: str, number: int, what: str
) -> None:
    before = balances(bank)
    bank.settled()
    outcome = bank.crashed(victim, number)
    assert [seen for who, _, seen in bank.watched if who == victim][-1] == what
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
