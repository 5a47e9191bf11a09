"""Real processes that are killed and stopped: what they wrote down proves that terms exclude
each other, and the same analysis finds workers that are wrong on purpose.
"""

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.faults.evidence import JOB, SPARE, Evidence, Point
from benchmarks.faults.fleet import KINDS, Fault, Fleet, Way, planned
from benchmarks.faults.worker import MUTANTS, Fence
from benchmarks.leadership.island import islands, unavailable
from tests.cli.run import runner
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

pytestmark = on_linux

LONG_S = 1.3
"""Longer than a term, and time enough for another node to lead and to write."""
SHORT = (
    Fault("stop", "leader", LONG_S, LONG_S + 0.2),
    Fault("kill", "leader", 0.1, 0.3),
    Fault("stop", "other", 0.3, 0.1),
    Fault("stop", "leader", LONG_S, LONG_S + 0.2),
    Fault("kill", "other", 0.2, 0.1),
    Fault("stop", "leader", 0.1, 0.2),
)


def inflicted(folder: Path, faults: tuple[Fault, ...], mutant: str | None = None) -> Evidence:
    with Fleet(folder, mutant) as fleet:
        assert fleet.await_leader() is not None
        for fault in faults:
            fleet.strike(fault)
        fleet.settle()
    assert fleet.complaints == []
    return Evidence.of(folder / JOB)


def test_terms_exclude_each_other_and_a_fence_holds_whatever_is_done_to_processes(
    tmp_path: Path,
) -> None:
    evidence = inflicted(tmp_path, SHORT)
    assert evidence.violations() == []
    assert evidence.doubts() == []
    assert all(one <= other for one, other in pairwise(evidence.taken))
    assert evidence.terms >= 3


CHANGES = (
    Fault("members", "leader", 0.0, 0.5),  # The leader is removed,
    Fault("kill", "other", 0.1, 0.2),
    Fault("members", "other", 0.0, 0.2),  # another one is added,
    Fault("stop", "leader", LONG_S, 0.1),
    Fault("members", "other", 0.0, 0.2),  # and a third one loses its folder and is replaced.
    Fault("kill", "leader", 0.1, 0.2),
)
"""With five nodes: somebody is killed or stopped while members come and go."""


def test_a_record_of_faults_and_other_members_leads_to_the_recorded_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record"
    with Fleet(tmp_path, nodes=5, record=record, is_wide=True) as fleet:
        assert fleet.await_leader() is not None
        for fault in CHANGES:
            fleet.strike(fault)
        fleet.settle()
    assert fleet.complaints == []
    assert [blow.change for blow in fleet.blows if blow.change] == ["remove", "add", "replace"]
    for election in (JOB, SPARE):
        assert Evidence.of(tmp_path / election).violations() == []
    told = runner(capsys)("replay", str(record))
    assert told.code == 0, told.err
    # Five founders, one that was added, and one that has come back under another number.
    assert told.out.startswith("7 nodes, 6 instances, ")
    assert told.out.splitlines()[0].endswith(": each led to the recorded state")


@pytest.mark.skipif(unavailable("ip") is not None, reason=f"no cuts: {unavailable('ip')}")
@pytest.mark.parametrize("way", ["both", "to", "from", "half"])
def test_a_leader_that_is_cut_off_has_a_successor_and_comes_back(tmp_path: Path, way: Way) -> None:
    with islands(5) as made, Fleet(tmp_path, nodes=4, islands=made) as fleet:
        assert fleet.await_leader() is not None
        fleet.strike(Fault("cut", "leader", 1.5, 1.5, way))
        fleet.settle()
    assert fleet.complaints == []
    evidence = Evidence.of(tmp_path / JOB)
    assert evidence.violations() == []
    before = fleet.blows[0].token
    assert any(point.token > before for point in evidence.points)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_worker_that_overstays_its_term_is_found(tmp_path: Path, mutant: str) -> None:
    # Stopped for 0.9 s: the others have a new leader just before it comes back.
    stop = Fault("stop", "leader", 1.0, 1.2)
    evidence = inflicted(tmp_path, (stop,) * 3, mutant)
    assert any(" was in office " in each for each in evidence.violations())
    # What its term does not prevent, the fence does.
    assert all(one <= other for one, other in pairwise(evidence.taken))


def test_every_kind_of_wrong_is_found() -> None:
    right = [Point(10, 1, "a", 7), Point(20, 1, "a", 7), Point(30, 2, "b", 8)]
    assert Evidence(right, [1, 1, 2], [], [1, 1, 2]).violations() == []
    late = [*right, Point(40, 1, "a", 7)]
    assert Evidence(late, [], [], []).violations() == [
        "a (7) with token 1 was in office 0.0 ms after b (8) with token 2 was"
    ]
    at_once = [*right, Point(30, 3, "c", 9)]
    assert len(Evidence(at_once, [], [], []).violations()) == 1
    shared = [*right, Point(40, 2, "c", 9)]
    assert Evidence(shared, [], [], []).violations() == [
        "b (8) with token 2 and c (9) with token 2 have the same token"
    ]
    leak = Evidence(right, [1, 2, 1], [1], [1, 2, 1])
    assert leak.violations() == ["the fence took token 1 after 2"]
    assert leak.stale == 1


def test_what_proves_nothing_is_said_to() -> None:
    assert Evidence([Point(10, 1, "a", 7)], [1], [], [1]).doubts() == [
        "nobody ever took over",
        "no stale write was tried, so the fence had nothing to do",
        "no stale write was taken without a fence",
    ]


def test_a_fence_refuses_what_is_smaller_than_what_it_has_seen(tmp_path: Path) -> None:
    fence, other = Fence(tmp_path / "fence.db"), Fence(tmp_path / "fence.db")
    assert [fence.write(2), other.write(3), fence.write(2), other.write(3)] == [
        *(True, True),
        *(False, True),
    ]


def test_a_seed_decides_which_faults_there_are() -> None:
    assert list(planned(1, 50)) == list(planned(1, 50)) != list(planned(2, 50))
    assert {fault.called for fault in planned(1, 50)} == {
        *("kill leader", "kill other"),
        *("stop leader", "stop other"),
    }
    assert {fault.kind for fault in planned(1, 50, KINDS)} == {*KINDS}


def test_whoever_ends_it_early_leaves_no_process_behind(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.faults", "--keep", str(tmp_path), "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: len(children.read_text().split()) == 3)
        workers = [int(word) for word in children.read_text().split()]
        os.kill(workers[0], signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3
    assert err.splitlines()[-1] == "faults: interrupted"
    assert '"violations": []' in out
    wait_until(lambda: not any(map(is_running, workers)))
