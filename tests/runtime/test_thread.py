"""A node in a thread of its own, as an application holds it."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from electorate.core import Standing, Status
from electorate.errors import NodeStopped
from electorate.runtime.store import Store
from electorate.runtime.thread import NodeThread
from tests.runtime.cluster import Cluster, running, wait_until


def test_an_application_that_is_blocked_costs_the_node_nothing(tmp_path: Path) -> None:
    """While this thread does nothing at all for longer than the timeout, nobody is suspected."""
    with running(Cluster(tmp_path, 3, timeout_ms=600.0)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        shown = {node: len(cluster.standings[node]) for node in cluster.ids}
        time.sleep(0.9)
        assert {node: len(cluster.standings[node]) for node in cluster.ids} == shown


def test_changes_are_told_in_the_order_in_which_they_happened_and_the_end_too(
    tmp_path: Path,
) -> None:
    with running(Cluster(tmp_path, 1)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
    assert cluster.standings[1] == [
        Standing(Status.ELECTION),
        Standing(Status.NORMAL, 1),
        None,
    ]


def test_changes_are_told_in_the_thread_of_the_node(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 1)
    names: list[str] = []
    thread = NodeThread(
        cluster.config(1), cluster.machine, lambda _: names.append(threading.current_thread().name)
    )
    thread.start()
    wait_until(lambda: len(names) == 2)
    thread.stop()
    assert set(names) == {"node-1"}


def test_stopping_is_quick_whatever_the_links_are_doing(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 3), 1, 2) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        for node in (1, 2):
            began = time.monotonic()
            cluster.threads[node].stop()
            assert time.monotonic() - began < 1.0
            assert cluster.threads[node].error is None


def test_an_address_that_is_taken_shows_as_an_error_and_lets_go_of_the_store(
    tmp_path: Path,
) -> None:
    with running(Cluster(tmp_path, 1)) as cluster:
        config = cluster.config(1, data=tmp_path / "other")
        second = NodeThread(config, cluster.machine, lambda _: None)
        second.start()
        assert second.ended.wait(5)
        assert "cannot listen on 127.0.0.1" in str(second.error)
        second.stop()
        Store(config.data, 1).close()


def test_an_application_that_fails_to_listen_stops_the_node_with_its_own_error(
    tmp_path: Path,
) -> None:
    def complain(standing: Standing | None) -> None:
        if standing is not None and standing.leader is not None:
            raise ArithmeticError("not I")

    cluster = Cluster(tmp_path, 1)
    thread = NodeThread(cluster.config(1), cluster.machine, complain)
    thread.start()
    assert thread.ended.wait(5)
    thread.stop()
    assert repr(thread.error) == "ArithmeticError('not I')"


def test_a_node_can_be_stopped_twice_and_before_it_was_started(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 1)
    thread = NodeThread(cluster.config(1), cluster.machine, lambda _: None)
    thread.stop()
    again = cluster.start(1)
    again.stop()
    again.stop()
    again.call(pytest.fail, "nothing is done any more")


def test_no_thread_and_no_file_is_left_behind(tmp_path: Path) -> None:
    threads = threading.active_count()
    descriptors = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self").exists() else 0
    for _ in range(3):
        with running(Cluster(tmp_path, 2)) as cluster:
            wait_until(lambda: cluster.agrees_on(1))
    wait_until(lambda: threading.active_count() == threads)
    if descriptors:
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors


def test_what_a_loop_took_in_its_last_moment_is_given_up_when_the_node_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop takes it between its last turn and its closing, and never says anything about it."""
    deaf = asyncio.new_event_loop()
    with running(Cluster(tmp_path, 1)) as cluster:
        thread = cluster.threads[1]
        with monkeypatch.context() as its_last_moment:
            its_last_moment.setattr(thread, "_loop", deaf)
            asked = thread.submit(asyncio.sleep(0))
        assert not asked.done()
        thread.stop()
        with pytest.raises(NodeStopped, match="it was stopped"):
            asked.result(0)
        with pytest.raises(NodeStopped):
            thread.submit(asyncio.sleep(0))
    deaf.close()


def test_a_loop_that_is_closed_already_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That the node has ended is said a moment later."""
    closed = asyncio.new_event_loop()
    closed.close()
    with running(Cluster(tmp_path, 1)) as cluster:
        thread = cluster.threads[1]
        ending = threading.Timer(0.1, thread._loop.call_soon_threadsafe, (thread._stopping.set,))
        ending.start()
        with monkeypatch.context() as a_moment_later:
            a_moment_later.setattr(thread, "_loop", closed)
            with pytest.raises(NodeStopped, match="it was stopped"):
                thread.submit(asyncio.sleep(0))
        ending.join()


def test_who_waits_for_a_node_that_ends_is_told_so(tmp_path: Path) -> None:
    """A loop that ends cancels what it has not done; but it was not the asker that cancelled it."""
    with running(Cluster(tmp_path, 1)) as cluster:
        waiting = cluster.threads[1].submit(asyncio.Event().wait())
        cluster.threads[1].stop()
        with pytest.raises(NodeStopped, match="it was stopped"):
            waiting.result(0)


def test_who_does_not_wait_any_more_has_it_cancelled(tmp_path: Path) -> None:
    ended = threading.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with running(Cluster(tmp_path, 1)) as cluster:
        waiting = cluster.threads[1].submit(work())
        wait_until(lambda: cluster.agrees_on(1))
        assert waiting.cancel()
        assert ended.wait(5)


def test_a_start_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 1)
    thread = NodeThread(cluster.config(1), cluster.machine, lambda _: None)

    async def scene() -> None:
        async with asyncio.timeout(0):
            await thread.begin(thread.start)

    with pytest.raises(TimeoutError):
        asyncio.run(scene())
    assert thread.ended.is_set()
    Store(cluster.config(1).data, 1).close()
