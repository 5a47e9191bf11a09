"""Every protocol of the registry on real sockets: killed, started again, recorded and replayed."""

from pathlib import Path

import pytest

from benchmarks.strike import Trial
from electorate.cli.fleet import Fleet
from electorate.cli.protocol import find
from electorate.cli.records import Records
from electorate.cli.retell import kind_and_form
from electorate.core import Assumption
from electorate.protocols.registry import REGISTRY
from electorate.simulate.replay import replay
from electorate.trace import script_of
from tests.runtime.cluster import Cluster, running, wait_until
from tests.runtime.process import on_linux

NODES = 5
TIMING = ["--T", "100", "--beat", "50", "--timeout", "400"]
PATIENCE_S = 40.0

ASKED = {name: f"{name}-over-bully" for name in ("mandate", "consensus", "paxos")}
"""Protocols in which nobody leads unless it is asked to, and over which they do."""
ELECTIONS = {n: entry for n, entry in REGISTRY.items() if not entry.machine.begins_by}
SOUND = [
    ASKED.get(name, name)
    for name, (machine, form) in ELECTIONS.items()
    if form == "sound"
    if "A2" not in machine.promised(form) or Assumption.NO_CRASH not in machine.assumed(form)
]
OTHERS = [name for name in REGISTRY if ASKED.get(name, name) not in SOUND]


def lives_replayed(folder: Path) -> int:
    """Replay the records in a folder to the states that they name; how many lives they tell of."""
    records = Records([folder])
    assert records.differences == []
    merged = records.merged()
    assert merged is not None
    assert (merged.doubts, records.notes) == ([], [])
    replayed = replay(script_of(merged.trace), kind_and_form, merged.instance)
    assert replayed.difference is None
    return records.lives


@on_linux
@pytest.mark.timeout(4 * PATIENCE_S)
@pytest.mark.parametrize("name", SOUND)
def test_a_killed_leader_is_replaced_and_all_agree_again_when_it_is_back(
    tmp_path: Path, name: str
) -> None:
    trial = Trial(name, NODES, TIMING, patience_s=PATIENCE_S, lasting_s=0.0)
    with Fleet([name, *TIMING, "--first-wait", "5000"], NODES, tmp_path, record=True) as fleet:
        (done,) = trial.strikes(fleet, 1)
        assert done.agreed, done.missing
    assert lives_replayed(tmp_path) > NODES


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms_run_too_whatever_becomes_of_them(tmp_path: Path, name: str) -> None:
    protocol = find(name)
    cluster = Cluster(tmp_path, 3, protocol.kind, name=name, form=protocol.form, record=True)

    def all_stand() -> bool:
        return all(told and told[-1] is not None for told in cluster.standings.values())

    with running(cluster):
        wait_until(all_stand)
        cluster.threads[1].stop()
        cluster.start(1)
        wait_until(all_stand)
        assert [thread.error for thread in cluster.threads.values()] == [None] * 3
    assert lives_replayed(tmp_path) >= 4
