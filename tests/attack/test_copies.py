"""A member whose data folder was put back to how it was some time ago."""

import asyncio
import logging
import shutil
from pathlib import Path

import pytest

from electorate.errors import StoreError
from electorate.leadership.directory import number
from tests.leadership.cluster import Cluster, run, running, until


async def copied(cluster: Cluster, name: str) -> None:
    """Take a copy of the folder of a node, in its present life."""
    folder = cluster.folder / name
    shutil.copytree(folder, folder.with_suffix(".copy"), dirs_exist_ok=True)


async def restored(cluster: Cluster, name: str) -> None:
    """Stop a node, and put back the copy of its folder."""
    await cluster.stop(name)
    folder = cluster.folder / name
    shutil.rmtree(folder)
    folder.with_suffix(".copy").rename(folder)


async def led_anew(cluster: Cluster, leader: str) -> str:
    """Have another term begin, so that all have promised something new."""
    held = len(cluster.held)
    await cluster.nodes[leader].election("x").step_down()
    await until(lambda: len(cluster.held) > held)
    return await cluster.led()


@pytest.mark.parametrize("within", ["the life", "a life before"])
def test_a_member_with_a_restored_folder_is_refused_and_both_sides_say_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, within: str
) -> None:
    """Point 12: token 5, then 2 again, and nothing in the log."""

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            leader = await cluster.led()
            await copied(cluster, "c")
            if within == "a life before":
                for _ in range(2):
                    await cluster.stop("c")
                    await cluster.start("c")
                cluster.stand("c")
            await led_anew(cluster, leader)
            await asyncio.sleep(3 * cluster.pace.beat)
            await restored(cluster, "c")
            await cluster.start("c")
            others = [cluster.nodes[name]._engine.elections for name in "ab"]
            await until(lambda: "c comes back with an older copy of its data folder" in caplog.text)
            await until(lambda: "this one is a copy that was restored" in caplog.text)
            await asyncio.sleep(0.5)
            assert not any(number("c") in each.alive for each in others)
            highest = max(token for _, token in cluster.held)
            assert await cluster.led("a", "b") in "ab"
            assert max(token for _, token in cluster.held) >= highest

    with caplog.at_level(logging.WARNING):
        run(scene())


def test_what_others_have_seen_of_a_member_is_kept_when_they_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            leader = await cluster.led()
            await copied(cluster, "c")
            for _ in range(3):
                leader = await led_anew(cluster, leader)
                await asyncio.sleep(3 * cluster.pace.beat)
            await restored(cluster, "c")
            await cluster.stop("a", "b")
            await cluster.start()
            await until(lambda: "c comes back with an older copy of its data folder" in caplog.text)

    run(scene())


def test_of_two_live_nodes_with_one_folder_the_second_does_not_start(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            with pytest.raises(StoreError, match=r"is in use by another process|cannot keep data"):
                async with cluster.node("c"):
                    pass

    run(scene())
