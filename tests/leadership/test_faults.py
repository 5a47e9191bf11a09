"""Real processes that are killed and stopped: what they wrote down proves that terms exclude
each other, and the same analysis finds workers that are wrong on purpose.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.engine import ROOT
from benchmarks.faults.fleet import Fleet
from benchmarks.faults.judge import OVERLAP, STALE, STUCK, Judgement, judged
from benchmarks.faults.network import relayed, why_no_network
from benchmarks.faults.plan import Fault
from benchmarks.faults.worker import MUTANTS, Fence
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


def inflicted(folder: Path, faults: tuple[Fault, ...], mutant: str | None = None) -> Judgement:
    with Fleet(folder, mutant) as fleet:
        assert fleet.await_leader() is not None
        for fault in faults:
            fleet.strike(fault)
        fleet.settle()
    assert fleet.complaints == []
    return judged(folder)


def unsafe(found: Judgement) -> list[str]:
    """What must not be, however busy this machine is."""
    return [str(each) for each in found.violations if each.kind != STUCK]


def test_terms_exclude_each_other_and_a_fence_holds_whatever_is_done_to_processes(
    tmp_path: Path,
) -> None:
    found = inflicted(tmp_path, SHORT)
    assert unsafe(found) == []
    assert found.doubts == []
    assert found.terms >= 3
    assert {name: row.faults for name, row in found.rows.items()} == {
        "before the first": 0,
        "kill": 2,
        "stop": 4,
    }


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
    found = judged(tmp_path)
    assert (found.elections, unsafe(found)) == (2, [])
    told = runner(capsys)("replay", str(record))
    assert told.code == 0, told.err
    # Five founders, one that was added, and one that has come back under another number.
    assert told.out.startswith("7 nodes, 6 instances, ")
    assert told.out.splitlines()[0].endswith(": each led to the recorded state")


@pytest.mark.skipif(why_no_network() is not None, reason=f"no cuts: {why_no_network()}")
@pytest.mark.parametrize("way", ["both", "to", "from", "half"])
def test_a_leader_that_is_cut_off_has_a_successor_and_comes_back(tmp_path: Path, way: str) -> None:
    with relayed(5) as made, Fleet(tmp_path, nodes=4, network=made) as fleet:
        assert fleet.await_leader() is not None
        fleet.strike(Fault("cut", "leader", 1.5, 1.5, way))
        fleet.settle()
    assert fleet.complaints == []
    found = judged(tmp_path)
    assert unsafe(found) == []
    assert found.rows[f"cut {way}"].terms > 0


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_worker_that_overstays_its_term_and_a_fence_that_looks_away_are_found(
    tmp_path: Path, mutant: str
) -> None:
    # Stopped for 0.9 s: the others have a new leader just before it comes back.
    stop = Fault("stop", "leader", 1.0, 1.2)
    kinds = {each.kind for each in inflicted(tmp_path, (stop,) * 3, mutant).violations} - {STUCK}
    # What a term does not prevent, the fence does; and the other way round.
    assert kinds == ({STALE} if mutant == "careless" else {OVERLAP})


def test_a_fence_refuses_what_is_smaller_than_what_it_has_seen(tmp_path: Path) -> None:
    fence, other = Fence(tmp_path / "fence.db"), Fence(tmp_path / "fence.db")
    assert [fence.write(2, "a"), other.write(3, "b"), fence.write(2, "a"), other.write(3, "b")] == [
        *(True, True),
        *(False, True),
    ]
    assert not fence.write(3, "a"), "the token of another"


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
