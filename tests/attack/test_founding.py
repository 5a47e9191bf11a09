"""What is tried before, and while, a cluster is founded."""

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest

from electorate import Node
from electorate.errors import StoreError
from electorate.leadership.directory import addresses, identity, number
from electorate.runtime.environment import Address
from electorate.runtime.frame import Frame, FrameReader, Hello, Welcome, pack
from tests.leadership.cluster import PACE, Cluster, run, running, started, until

WATCHED_S = 1.5
"""For so long nobody may lead; where nothing is wrong somebody does after a tenth of that."""


def at(place: str) -> Address:
    host, port = place.partition("@")[2].rsplit(":", 1)
    return host, int(port)


async def says_hello(place: str, name: str, cluster: str, **changed: object) -> Frame:
    """Say hello to the node at that place in the name of another one, and hang up."""
    to = number(place.partition("@")[0])
    hello = Hello(cluster, number(name), to, f"false {name}", 1, f"p{name}", 0, number(name))
    reader, writer = await asyncio.open_connection(*at(place))
    writer.write(pack(msgspec.structs.replace(hello, **changed)))
    answer = await FrameReader(lambda: reader.read(4096)).next(1.0)
    writer.close()
    return answer


def test_lists_that_differ_at_the_first_start_never_have_two_leaders(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Point 11: a and b know a, b and c; c and d know a, c and d; a and c both led."""

    async def scene() -> None:
        cluster = Cluster(tmp_path, "abcd")
        lists = {"a": "abc", "b": "abc", "c": "acd", "d": "acd"}
        cluster.node = lambda name: Node(  # type: ignore[method-assign]
            *(cluster.places[name], [cluster.places[each] for each in lists[name]]),
            tmp_path / name,
            pace=PACE,
        )
        async with started(cluster):
            cluster.stand()
            await asyncio.sleep(WATCHED_S)
            assert not cluster.held
            for name in lists:
                cluster.nodes[name]._engine.elections.founding._begun_ms -= 10_000
            await until(lambda: "a waits for c to say that the cluster is founded" in caplog.text)
            await until(lambda: "c waits for a to say that the cluster is founded" in caplog.text)

    with caplog.at_level(logging.WARNING):
        run(scene())


def test_six_hellos_before_the_first_start_keep_no_cluster_from_forming(tmp_path: Path) -> None:
    """Point 4: each node took a stranger's memory for that of both others, for ever."""

    async def scene() -> None:
        cluster = Cluster(tmp_path)
        spoken = f"{identity(addresses(cluster.places.values()))}/{PACE.agreed}"
        async with started(cluster, start=False):
            for name in "abc":
                await cluster.start(name)
                for other in "abc".replace(name, ""):
                    answer = await says_hello(cluster.places[name], other, spoken)
                    assert isinstance(answer, Welcome) or other in cluster.nodes
                if name != "c":
                    await cluster.stop(name)  # They have kept it, if they keep any of it.
            await cluster.start("a", "b")
            cluster.stand()
            await cluster.led()
            memories = {
                each._engine.elections.directory.state.memory(number("b"))
                for each in cluster.nodes.values()
            }
            assert memories == {cluster.nodes["b"]._engine.elections.directory._memory}

    run(scene())


@pytest.mark.parametrize("agreed", [PACE.agreed, "T=99 s"])
def test_one_hello_neither_ends_a_node_that_is_to_join_nor_ties_it_to_a_false_cluster(
    tmp_path: Path, agreed: str
) -> None:
    """Point 4, too."""

    async def scene() -> None:
        async with running(tmp_path, "ab") as cluster:
            free = Cluster(tmp_path, "d").places["d"]
            others = list(cluster.places.values())
            async with Node(free, others, tmp_path / "d", pace=PACE, join=True) as joining:
                await says_hello(free, "a", f"false/{agreed}")
                await asyncio.sleep(0.1)
                await cluster.nodes["a"].add_member(free)
                await until(lambda: set(joining.members) == {"a", "b", "d"})
                assert joining.running

    run(scene())


def test_two_clusters_with_the_same_names_never_mix(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Point 3, by accident: a member of a test cluster answers where one of production was."""

    async def scene() -> None:
        async with running(tmp_path / "production") as production:
            ids = set()
            test = Cluster(tmp_path / "test")
            async with started(test):
                for cluster in (production, test):
                    ids |= {
                        node._engine.elections.directory.state.stable.cluster
                        for node in cluster.nodes.values()
                    }
            assert len(ids) == 2
            production.stand("a", "b")
            leader = await production.led("a", "b")
            await production.stop("c")
            test.places = production.places
            async with test.node("c") as astray:
                await asyncio.sleep(WATCHED_S)
                assert astray.running
                assert production.leads(leader)
            assert all(production.nodes[name].running for name in "ab")
            assert "hello from another cluster" in caplog.text

    run(scene())


def test_a_founder_gives_its_word_for_one_list_only(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path, "abc")
        a, b, c = cluster.places.values()
        async with Node(a, [b], tmp_path / "a", pace=PACE):
            pass
        with pytest.raises(StoreError, match="a has given its word to found a cluster with other"):
            async with Node(a, [c], tmp_path / "a", pace=PACE):
                pass
        async with Node(a, [b], tmp_path / "a", pace=PACE), Node(b, [a], tmp_path / "b", pace=PACE):
            pass
        async with Node(a, [c], tmp_path / "a", pace=PACE) as node:
            assert node.members == ("a", "b"), "once it is founded, how it is started matters less"

    run(scene())


def test_who_cannot_wait_for_all_founders_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path, "abc")
        cluster.founding = "majority"
        async with started(cluster, start=False):
            await cluster.start("a", "b")
            cluster.stand()
            await cluster.led()
            await cluster.start("c")
            await until(lambda: len(cluster.nodes["c"]._engine.elections.alive) == 3)
        assert "a founds its cluster with founding='majority'" in caplog.text

    with pytest.raises(ValueError, match='founding is "all" or "majority", not'):
        Node("a@h:1", ["b@h:2"], tmp_path, founding="none")  # type: ignore[arg-type]
    run(scene())
