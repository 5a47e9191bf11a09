"""Starting and stopping real nodes: also if somebody does not wait for the end of it."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from electorate import Node, NodeStopped, Pace, Removed, sync
from electorate import node as nodes
from tests.leadership.cluster import PACE, Cluster, run, running


@contextmanager
def silent_neighbour(folder: Path) -> Iterator[list[str]]:
    """The members a and b, where b takes connections and says nothing, as if it were stopped."""
    places = Cluster(folder, "ab").places
    host, port = places["b"].partition("@")[2].split(":")
    with closing(socket.create_server((host, int(port)))):
        yield list(places.values())


def test_a_start_that_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scene() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), Node("a", members, tmp_path / "a", pace=PACE):
                raise AssertionError("b says nothing")
        assert not is_running("node-")
        async with Node("a", members, tmp_path / "a", pace=PACE):
            assert is_running("node-"), "its folder and its address are free again"

    with silent_neighbour(tmp_path) as members:
        run(scene())


def test_a_start_can_be_interrupted(tmp_path: Path) -> None:
    with silent_neighbour(tmp_path) as members:
        interrupt = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])
        interrupt.start()
        with (
            pytest.raises(KeyboardInterrupt),
            sync.Node("a", members, tmp_path / "a", pace=PACE),
        ):
            raise AssertionError("b says nothing")
        interrupt.join()
        assert not is_running("node-")


def is_running(name: str) -> bool:
    """Whether there is a thread whose name begins like this."""
    return any(thread.name.startswith(name) for thread in threading.enumerate())


def test_who_is_not_started_says_so(tmp_path: Path) -> None:
    why = "a is not started: use it inside of `with`"
    thread = sync.Node("a@127.0.0.1:7400", [], tmp_path)
    with pytest.raises(NodeStopped, match=why):
        thread.election("x")
    thread.__exit__()

    async def scene() -> None:
        node = Node("a@127.0.0.1:7400", [], tmp_path)
        with pytest.raises(NodeStopped, match=why):
            node.election("x")
        await node.__aexit__()

    run(scene())


def test_a_node_ends_though_its_last_words_do_not_get_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(nodes, "GRACE_S", 0.1)
    place = Cluster(tmp_path, "a").places["a"]
    with sync.Node(place, [], tmp_path / "a", pace=PACE) as node:
        monkeypatch.setattr(node._node._engine.elections.host.network, "flushed", for_ever)
    assert not is_running("node-")


def test_a_pause_is_over_only_once_the_node_has_heard_of_it(tmp_path: Path) -> None:
    """A node that is busy might come into office just before it hears of it."""

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            node, begun = cluster.nodes["a"], time.monotonic()
            node._engine.do(time.sleep, 0.2)
            await node.pause()
            assert time.monotonic() - begun > 0.2
            assert node._engine.elections.paused

    run(scene())


def test_who_was_removed_while_it_was_away_ends_when_it_is_back(tmp_path: Path) -> None:
    """The others have forgotten it by then, and let it in no more; but they tell it why."""
    pace = Pace(grace=0.3)

    async def scene() -> None:
        async with running(tmp_path, pace=pace) as cluster:
            await cluster.stop("c")
            await cluster.nodes["a"].remove_member("c")
            await asyncio.sleep(pace.grace + pace.granted + 1)
            await cluster.start("c")
            cluster.stand("c")
            with pytest.raises(NodeStopped):
                await cluster.workers["c"]
            with pytest.raises(Removed, match="c is no member any more"):
                await cluster.nodes.pop("c").__aexit__()

    run(scene())
