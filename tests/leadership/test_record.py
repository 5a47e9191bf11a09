"""What deployed elections go through is written down, and comes out the same."""

import asyncio
import errno
import stat
from functools import partial
from pathlib import Path

import pytest

from electorate import Node
from electorate.runtime.recorder import Recorder
from electorate.trace.record import older_parts
from tests.cli.run import runner
from tests.leadership.cluster import PACE, Cluster, run, started, until
from tests.runtime.cluster import free_addresses


class Recorded(Cluster):
    """A cluster whose nodes write down what their elections go through."""

    def node(self, name: str, *, join: bool = False) -> Node:
        others = [place for other, place in self.places.items() if other != name]
        where, data = self.places[name], self.folder / name
        return Node(where, others, data, pace=PACE, join=join, record=self.folder / "record")

    async def restart(self, name: str) -> None:
        """Stop a node and its work, and start both again."""
        await self.stop(name)
        await self.start(name)
        self.stand(name)


async def group(node: Node, work_s: float = 0.2) -> None:
    """Lead a group for a while, again and again."""
    async for term in node.election("g", safety="group").terms():
        async with term:
            await asyncio.sleep(work_s)


def test_elections_with_restarts_and_other_members_come_out_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            groups = [asyncio.create_task(group(node)) for node in cluster.nodes.values()]
            cluster.stand()
            await cluster.led()
            ((host, port),) = free_addresses(1)
            cluster.places["d"] = f"d@{host}:{port}"
            cluster.nodes["d"] = cluster.node("d", join=True)
            await cluster.nodes["d"].__aenter__()
            await cluster.nodes["a"].add_member(cluster.places["d"])
            await cluster.election(cluster.leader()).step_down()
            await cluster.restart("b")
            await cluster.led()
            await cluster.nodes["a"].remove_member("c")
            await until(lambda: "c" not in cluster.nodes["a"].members)
            for task in groups:
                task.cancel()
            await asyncio.gather(*groups, return_exceptions=True)

    run(scene())
    record = tmp_path / "record"
    assert stat.S_IMODE(record.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in record.iterdir()} == {0o600}
    told = runner(capsys)("replay", str(record))
    assert told.code == 0, told.err
    first, _, *instances = told.out.splitlines()
    assert first.startswith("4 nodes, 5 instances, ")
    assert first.endswith(": each led to the recorded state")
    names = [line.strip().partition("  ")[0] for line in instances[:5]]
    assert names == ["directory", "founding", "group g", "members", "office x"]


def test_an_election_is_played_again_by_the_simulator_with_all_that_it_promises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand()
            await cluster.led()
            await cluster.election(cluster.leader()).step_down()
            await cluster.led()
            leader = cluster.leader()
            other = next(name for name in cluster.nodes if name != leader)
            await cluster.election(other).step_down()
            await cluster.led()

    run(scene())
    replay, record = runner(capsys), str(tmp_path / "record")
    script = tmp_path / "x.txt"
    told = replay("replay", record, "--instance", "office x", "--script", str(script))
    assert told.code == 0, told.err
    assert "M1, M2, M3 and M4 hold after every step" in told.out
    assert "M5, M6, M7, M8 and M9 are reached at the end" in told.out
    assert not told.err
    assert "Resign(" in script.read_text(), "a node that did not lead has told the one that did"
    assert replay("replay", str(script)).code == 0


def test_groups_that_part_and_merge_are_played_again_by_the_simulator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            elections = [node.election("g", safety="group") for node in cluster.nodes.values()]
            groups = [asyncio.create_task(group(node, 3600)) for node in cluster.nodes.values()]

            def leaders() -> set[str | None]:
                return {election.leader.leader for election in elections}

            await until(lambda: len(leaders()) == 1 and None not in leaders())
            cluster.cut("a", "b", "c")
            await until(lambda: len(leaders() - {None}) == 2)
            cluster.heal()
            await until(lambda: len(leaders()) == 1 and None not in leaders())
            for task in groups:
                task.cancel()
            await asyncio.gather(*groups, return_exceptions=True)

    run(scene())
    replay, record = runner(capsys), str(tmp_path / "record")
    script = tmp_path / "x.txt"
    told = replay("replay", record, "--instance", "group g", "--script", str(script))
    assert told.code in (0, 1), told.err
    assert "A3, G1 and S4 hold after every step" in told.out
    assert not told.err
    again = replay("replay", str(script))
    assert "the same as written" in again.out


def test_records_of_two_runs_in_one_folder_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The nodes have the same names, and each knows the others by memories of its own run."""

    async def scene(folder: Path) -> None:
        async with started(Recorded(folder)) as cluster:
            cluster.stand()
            await cluster.led()

    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        run(scene(folder))
    replay, record = runner(capsys), tmp_path / "one" / "record"
    told = replay("replay", str(record))
    assert (told.code, told.err) == (0, "")
    refused = replay("replay", str(record), "--tell")
    assert refused.code == 2
    assert (
        "name one with --instance: there are directory, founding, members and office x"
        in refused.err
    )
    (record / "a.jsonl").write_bytes((tmp_path / "two" / "record" / "a.jsonl").read_bytes())
    told = replay("replay", str(record))
    assert "b and c knew a by another memory than a has in its record: these are" in told.err
    assert "a knew b by another memory than b has in its record" in told.err


def test_what_the_simulator_cannot_play_is_judged_by_what_nodes_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand("a", priority=100)
            await cluster.led()

    run(scene())
    replay, record = runner(capsys), str(tmp_path / "record")
    told = replay("replay", record, "--instance", "office x")
    assert told.code == 0, told.err
    assert "M1, M2, M3 and M4 hold after every step" in told.out
    assert "only claims about terms and groups are judged: the simulator cannot play" in told.err
    assert "this: a may be asked for " in told.err
    told = replay("replay", record, "--instance", "office x", "--script", str(tmp_path / "x.txt"))
    assert told.code == 2
    assert "no script can be made of this: the simulator cannot play this: " in told.err


def test_records_whose_oldest_parts_are_gone_come_out_the_same_from_there_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = partial(Recorder, part_bytes=12_000, parts_max=3)
    monkeypatch.setattr("electorate.runtime.host.Recorder", small)

    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand()
            parts = [older_parts(tmp_path / "record" / f"{name}.jsonl") for name in "abc"]
            while not all(each and each[0][0] > 1 for each in parts):
                await cluster.led()
                await cluster.election(cluster.leader()).step_down()
                parts = [older_parts(tmp_path / "record" / f"{name}.jsonl") for name in "abc"]

    run(scene())
    # One that was rotated in the last moment may have had another for an instant.
    parts = [older_parts(tmp_path / "record" / f"{name}.jsonl") for name in "abc"]
    assert {len(each) for each in parts} == {2}
    replay = runner(capsys)
    told = replay("replay", str(tmp_path / "record"))
    assert told.code == 0, told.err
    assert ": each led to the recorded state" in told.out
    told = replay("replay", str(tmp_path / "record"), "--instance", "office x", "--tell")
    assert told.code == 0, told.err
    assert "the records begin in the middle, or have a gap" in told.err
    assert "Node a " in told.out
    assert "out of order" not in told.err


def test_a_record_that_was_tampered_with_does_not_come_out_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand()
            await cluster.led()

    run(scene())
    (file,) = (tmp_path / "record").glob("a.jsonl")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"received"' not in line))
    told = runner(capsys)("replay", str(tmp_path / "record"))
    assert told.code == 1
    assert "led to another state than the re-run" in told.out + told.err


def test_a_full_disk_ends_the_record_and_not_the_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            with monkeypatch.context() as disk:
                disk.setattr("electorate.runtime.recorder.os.write", full)
                cluster.stand()
                await cluster.led()

    run(scene())
    assert caplog.text.count("The node goes on, but what happens from now on is not recorded") == 3
