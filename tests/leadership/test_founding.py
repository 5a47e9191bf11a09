"""The first start of real nodes, and the first one after an update."""

import logging
from pathlib import Path

import msgspec
import pytest

from electorate.core import Stable
from electorate.errors import MembersUnchanged
from electorate.leadership.directory import RECORD, addresses, identity, number
from electorate.protocols.mandate.admission import Acquaintance, AdmissionStable
from electorate.protocols.mandate.state import MandateStable, Promise, Roster
from electorate.runtime.store import Store
from tests.leadership.cluster import Cluster, run, started, until


def older(cluster: Cluster, *, voted: bool) -> None:
    """Folders as an older version has left them: it took a cluster for founded at once."""
    places = addresses(cluster.places.values())
    founders = tuple(sorted(places))
    for name in cluster.places:
        store = Store(cluster.folder / name, number(name))
        known = tuple((j, Acquaintance(str(places[j]))) for j in founders)
        kept = AdmissionStable(
            *(identity(places), founders, known),
            roll=Roster(old=founders, new=founders),
            settled=True,
        )
        records = {RECORD: msgspec.msgpack.encode(kept)}
        if voted:
            promise = MandateStable(Promise(7), Stable(), Roster(old=founders, new=founders))
            records["office x"] = msgspec.msgpack.encode(promise)
        store.save(records)
        store.close()


def test_a_cluster_of_before_that_has_voted_is_founded(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path)
        older(cluster, voted=True)
        async with started(cluster, start=False):
            for _ in range(2):
                await cluster.start("a", "b")
                cluster.stand()
                await cluster.led()
                assert cluster.held[-1][1] > 7
                await cluster.stop()

    run(scene())


def test_one_that_has_not_is_founded_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path)
        older(cluster, voted=False)
        async with started(cluster, start=False):
            await cluster.start("a", "b")
            cluster.stand()
            said = "waits for c to say that the cluster is founded with a, b, c: nobody leads"
            await until(lambda: caplog.text.count(said) == 2)
            assert not cluster.held
            assert cluster.nodes["a"].members == ("a", "b", "c")
            with pytest.raises(MembersUnchanged, match="the cluster is not founded yet"):
                await cluster.nodes["a"].remove_member("c")
            await cluster.start("c")
            await cluster.led("a", "b")

    with caplog.at_level(logging.WARNING):
        run(scene())


def test_all_founders_know_the_id_and_the_memories_of_all(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path, "abcde")
        async with started(cluster):
            directories = [node._engine.elections.directory for node in cluster.nodes.values()]
            assert len({each.state.stable.cluster for each in directories}) == 1
            memories = {each.me.id: each._memory for each in directories}
            for directory in directories:
                known = {node: each.store for node, each in directory.known.items()}
                assert known == memories
                assert directory.state.stable.settled

    run(scene())


def test_a_founder_that_misses_the_end_of_it_is_told_later(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path)
        async with started(cluster):
            pass
        store = Store(tmp_path / "c", number("c"))
        founding = cluster_founding(store)
        store.save({"founding": msgspec.msgpack.encode(founding), RECORD: None})
        store.close()
        async with started(cluster):
            await until(lambda: is_founded(cluster, "c"))

    run(scene())


def cluster_founding(store: Store) -> object:
    """What it had saved when it had given its word, and nobody had heard of it yet."""
    data = store.load("founding")
    assert data is not None
    kept = msgspec.msgpack.decode(data)
    kept["roster"] = {"version": [0, 0], "old": [], "new": []}
    kept["foundation"] = {"cluster": "", "memories": []}
    kept["memories"] = [[number("c"), store.identity]]
    return kept


def is_founded(cluster: Cluster, name: str) -> bool:
    return cluster.nodes[name]._engine.elections.founding.stable.is_founded
