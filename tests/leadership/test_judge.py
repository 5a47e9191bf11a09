"""The judge of faults finds every kind of wrong where it is planted, and nothing where there is
none. It knows nothing of electorate.
"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.faults.evidence import ACCOUNT, FENCE, GROUPS, JOB, JOURNAL, POINTS, TRANSFERS, Note
from benchmarks.faults.judge import (
    ALONE,
    BACK,
    ENDED,
    LATE,
    OVERLAP,
    REUSED,
    SPLIT,
    STALE,
    STUCK,
    Judgement,
    judged,
)
from benchmarks.faults.ledger import INITIAL, SCHEMA
from benchmarks.faults.worker import Fence

MS = 1_000_000
WELL: tuple[tuple[int, int, str], ...] = (
    (0, 1, "a"),
    (4_900, 1, "a"),
    (5_500, 2, "b"),
    (9_000, 2, "b"),
)
"""When (in ms) somebody was in office, by which token: a, until b takes over."""
PIDS = {"a": 71, "b": 72, "c": 73}


class Planted:
    """A folder of evidence of three nodes, as a run of ten seconds would have left it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / JOB).mkdir()  # Where a test puts a fence.
        self._journal = Note(folder / JOURNAL)
        self.tell(0, "members", lists=[[*PIDS]])
        for name in PIDS:
            self.tell(0, "up", name=name)

    def tell(self, at_ms: int, what: str, **said: object) -> None:
        self._journal.add(json.dumps({"at": at_ms * MS, "what": what, **said}))

    def links(self, at_ms: int, lost: Sequence[tuple[str, str]]) -> None:
        both = [*lost, *((other, one) for one, other in lost)]
        self.tell(at_ms, "links", lost=both, poor=[])

    def office(self, points: Sequence[tuple[int, int, str]], election: str = JOB) -> None:
        """Points, and between two of one term as many as a worker would have noted."""
        (self.folder / election).mkdir(exist_ok=True)
        note = Note(self.folder / election / POINTS)
        for (at_ms, token, name), (until_ms, next_token, other) in pairwise([*points, (0, 0, "")]):
            last = until_ms if (token, name) == (next_token, other) else at_ms + 1
            for ms in range(at_ms, last, 100):
                note.add(ms * MS, token, name, PIDS[name])

    def judged(self, end_ms: int = 10_000) -> Judgement:
        self.tell(end_ms, "over")
        return judged(self.folder)

    def kinds(self, end_ms: int = 10_000) -> set[str]:
        return {each.kind for each in self.judged(end_ms).violations}


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return Planted(tmp_path)


def test_nothing_is_found_where_all_is_well(planted: Planted) -> None:
    planted.tell(4_950, "fault", called="kill", name="a")
    planted.tell(4_950, "down", name="a")
    planted.office(WELL)
    fence = Fence(planted.folder / JOB / FENCE)
    assert [fence.write(1, "a", 71), fence.write(2, "b", 72), fence.write(1, "a", 71)] == [
        *(True, True),
        False,
    ]
    found = planted.judged()
    assert found.violations == []
    assert {name: row.terms for name, row in found.rows.items()} == {
        "before the first": 1,
        "kill": 1,
    }


AGAIN = ((0, 1, "a"), (4_900, 1, "a"), (5_500, 2, "b"), (5_700, 1, "a"), (5_900, 1, "a"))
"""The same, and a comes back once b is in office."""


def test_terms_that_overlap_are_found(planted: Planted) -> None:
    planted.office(AGAIN)
    found = planted.judged()
    assert found.violations[0].lasted_ns == 200 * MS
    assert [str(each) for each in found.violations] == [
        "overlap: job: a (71) with token 1 was in office 200.0 ms after b (72) with token 2 was"
    ]


def test_a_token_that_comes_twice_is_found(planted: Planted) -> None:
    planted.office([*WELL, (9_500, 2, "c")])
    assert planted.kinds() == {REUSED}


def test_a_token_that_goes_back_is_found(planted: Planted) -> None:
    planted.office([(0, 4, "a"), (4_900, 4, "a"), (5_500, 2, "b"), (9_000, 2, "b")])
    assert planted.kinds() == {BACK}


def test_an_old_token_that_is_written_after_a_newer_one_is_found(planted: Planted) -> None:
    planted.office(WELL)
    fence = Fence(planted.folder / JOB / FENCE, is_careless=True)
    for token, name in ((1, "a"), (2, "b"), (1, "a")):
        assert fence.write(token, name, PIDS[name])
    assert planted.kinds() == {STALE}


def test_a_token_that_two_have_written_with_is_found(planted: Planted) -> None:
    planted.office(WELL)
    fence = Fence(planted.folder / JOB / FENCE, is_careless=True)
    for token, name in ((1, "a"), (2, "b"), (2, "c")):
        assert fence.write(token, name, PIDS[name])
    assert planted.kinds() == {REUSED}


@pytest.mark.parametrize("cause", ["cut off", "others down", "others stopped", "one way"])
def test_a_leader_without_a_majority_is_found(planted: Planted, cause: str) -> None:
    if cause == "cut off":
        planted.links(3_000, [("a", "b"), ("a", "c")])
    elif cause == "one way":
        planted.tell(3_000, "links", lost=[("a", "b"), ("c", "a")], poor=[])
    else:
        for name in ("b", "c"):
            planted.tell(3_000, cause.removeprefix("others "), name=name)
    # Until a lease after that it may lead; what follows is one point too many.
    planted.office([(0, 1, "a"), (3_601, 1, "a")])
    assert planted.kinds(4_000) == {ALONE}


def test_a_leader_that_hears_a_majority_now_and_then_is_not_without_it(planted: Planted) -> None:
    planted.links(3_000, [("a", "b"), ("a", "c")])
    planted.links(3_500, [("a", "c")])
    planted.links(3_600, [("a", "b"), ("a", "c")])
    planted.links(4_100, [])
    planted.office([(0, 1, "a"), (9_000, 1, "a")])
    assert planted.kinds() == set()


def test_an_office_that_is_vacant_for_too_long_is_found(planted: Planted) -> None:
    planted.office([(0, 1, "a"), (3_000, 1, "a")])
    planted.tell(3_000, "down", name="a")
    found = planted.judged(end_ms=14_000)
    assert [str(each) for each in found.violations] == [
        "no leader: job: none for 11.0 s, a majority was well"
    ]
    assert found.vacant_ms == 11_000


def test_a_machine_that_is_busy_excuses_what_is_late_and_nothing_else(planted: Planted) -> None:
    planted.office([*AGAIN])
    for ms in range(6_000, 20_000, 500):
        planted.tell(ms + 500, "busy", since=ms * MS)
    planted.tell(19_000, "complaint", text="nobody leads", is_late=True)
    found = planted.judged(end_ms=21_000)
    assert {each.kind for each in found.violations} == {OVERLAP}
    assert found.busy_s == 14
    assert found.doubts[-1] == "too late: nobody leads, on a busy machine"


def test_every_election_has_to_have_a_leader(planted: Planted) -> None:
    planted.office([(0, 1, "a"), (19_900, 1, "a")])
    planted.office([(0, 7, "b"), (3_000, 7, "b")], "spare")
    assert [str(each) for each in planted.judged(end_ms=20_000).violations] == [
        "no leader: spare: none for 17.0 s, a majority was well"
    ]


@pytest.mark.parametrize("cause", ["down", "stopped", "ill", "cut", "slow"])
def test_an_office_may_be_vacant_while_no_majority_is_well(planted: Planted, cause: str) -> None:
    planted.office([(0, 1, "a"), (3_000, 1, "a")])
    every = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")]
    if cause == "cut":
        planted.links(3_000, every)
    elif cause == "slow":
        planted.tell(3_000, "links", lost=[], poor=every)
    else:
        for name in ("a", "b"):
            planted.tell(3_000, cause, name=name)
    assert planted.kinds(end_ms=60_000) == set()


def test_one_node_that_hears_a_majority_is_enough_to_have_a_leader(planted: Planted) -> None:
    planted.office([(0, 1, "a"), (3_000, 1, "a")])
    planted.links(3_000, [("a", "c")])  # b hears both, and nobody else does.
    assert planted.kinds(end_ms=60_000) == {STUCK}


def test_a_group_of_the_same_leader_and_token_is_found_unless_it_was_replaced(
    planted: Planted,
) -> None:
    planted.office(WELL)
    note = Note(planted.folder / GROUPS)
    note.add(1_000 * MS, 3, "a", 71, "a,b")
    note.add(2_000 * MS, 3, "b", 72, "b,c")
    note.add(6_000 * MS, 3, "b", 82, "b,c")
    planted.tell(3_000, "fault", called="members replace", name="a")
    note.add(4_000 * MS, 3, "a", 81, "a,b")
    assert [str(each) for each in planted.judged().violations] == [
        "token reused: b (72) with token 3 and b (82) with token 3 led groups"
    ]


def test_what_no_fault_excuses_is_found(planted: Planted) -> None:
    planted.office(WELL)
    planted.tell(3_000, "complaint", text="b (72) has ended by itself (1): b.log")
    planted.tell(4_000, "complaint", text="nobody could remove b within 60 s", is_late=True)
    assert planted.kinds() == {ENDED, LATE}


def _account(folder: Path, name: str, moved: Sequence[tuple[str, int]]) -> None:
    (folder / name).mkdir()
    with closing(sqlite3.connect(folder / name / ACCOUNT)) as database, database:
        for statement in SCHEMA:
            database.execute(statement)
        database.executemany("insert into moved values (?, ?)", moved)
        by = sum(amount for _, amount in moved)
        database.execute("update account set balance = balance + ?", (by,))


def test_a_transaction_that_is_split_is_found(planted: Planted) -> None:
    planted.office(WELL)
    _account(planted.folder, "a", [("x-1", -3), ("x-2", 5)])
    _account(planted.folder, "b", [("x-1", 3)])
    told = Note(planted.folder / TRANSFERS)
    told.add("x-1", "aborted")
    told.add("x-3", "committed")
    found = planted.judged().violations
    assert [(each.kind, each.text) for each in found] == [
        (SPLIT, f"all accounts have {2 * INITIAL + 5} together, of {2 * INITIAL}"),
        (SPLIT, "transfer x-2 is split: [('a', 5)]"),
        (SPLIT, "transfer x-1 was aborted and is at a"),
        (SPLIT, "transfer x-3 was committed and is nowhere"),
    ]


def test_the_judge_knows_nothing_of_electorate(planted: Planted) -> None:
    """Not even if electorate is nowhere to be found: the folder alone is enough."""
    planted.office(AGAIN)
    planted.tell(10_000, "over")
    code = (
        "import runpy, sys; sys.modules['electorate'] = None; "
        f"sys.argv = ['judge', {str(planted.folder)!r}]; sys.path.insert(0, {str(ROOT)!r}); "
        "runpy.run_module('benchmarks.faults.judge', run_name='__main__')"
    )
    words = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["violations"][0].startswith("overlap: job: ")


def test_a_folder_that_is_not_there_cannot_be_judged() -> None:
    words = [sys.executable, "-m", "benchmarks.faults.judge", "nowhere"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("judge: name one folder")
