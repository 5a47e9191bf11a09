"""Nodes on loopback, each in a thread of this process: what they make of trouble."""

import asyncio
import logging
import shutil
import time
from pathlib import Path

import pytest

from electorate.core import Assumption
from electorate.errors import IdTaken, StoreError
from electorate.runtime.environment import Address
from electorate.runtime.node import ProtocolNode
from electorate.runtime.thread import NodeThread
from tests.runtime.cluster import Cluster, free_addresses, running, wait_until
from tests.runtime.puppet import Do, Puppet, PuppetState


class Attentive(Puppet):
    """A puppet that relies on every message."""

    assumptions = (Assumption.NO_LOSS,)


def lived(cluster: Cluster, node: int) -> tuple[str, ...]:
    """What has happened to a puppet in its present life."""
    state = cluster.threads[node].node.instance.state
    return state.lived if isinstance(state, PuppetState) else ()


def do(cluster: Cluster, node: int, *orders: str) -> None:
    thread = cluster.threads[node]
    thread.call(thread.node.ask, Do(orders))


def cut(cluster: Cluster, node: int, *others: int) -> None:
    thread = cluster.threads[node]
    thread.call(setattr, thread.node.network, "cut", frozenset(others))


def stand_still(thread: NodeThread, seconds: float) -> None:
    """Block the loop of a node, as if its process had been stopped."""
    thread.call(time.sleep, seconds)


def test_the_strongest_leads_and_the_next_takes_over_until_it_is_back(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 3)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        cluster.threads[1].stop()
        wait_until(lambda: cluster.agrees_on(2))
        cluster.start(1)
        wait_until(lambda: cluster.agrees_on(1))


def test_a_wiped_store_is_noticed_by_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(Cluster(tmp_path, 3)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        cluster.threads[3].stop()
        shutil.rmtree(tmp_path / "node-3")
        assert cluster.start(3).node.store.first_start
        wait_until(lambda: cluster.agrees_on(1))
        assert [
            cluster.threads[n].node.tally()["came back with its memory wiped"] for n in (1, 2)
        ] == [1, 1]
    assert caplog.text.count("node 3 came back with its memory wiped") == 2


def test_a_store_that_was_set_back_is_noticed_by_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(Cluster(tmp_path, 2)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        cluster.threads[2].stop()
        shutil.copytree(tmp_path / "node-2", tmp_path / "backup")
        for _ in range(2):
            cluster.start(2)
            wait_until(lambda: cluster.agrees_on(1))
            cluster.threads[2].stop()
        shutil.rmtree(tmp_path / "node-2")
        shutil.copytree(tmp_path / "backup", tmp_path / "node-2")
        cluster.start(2)
        wait_until(lambda: cluster.agrees_on(1))
        assert cluster.threads[1].node.tally()["came back with an older memory"] == 1
    assert caplog.text.count("node 2 came back with an older memory") == 1


def elsewhere(cluster: Cluster, node: int) -> dict[int, Address]:
    """The addresses, except that this node is somewhere else."""
    return {**cluster.addresses, node: free_addresses(1)[0]}


def test_a_node_that_finds_itself_where_another_should_be_goes_on(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, 3, timeout_ms=150.0)
    mine = {**cluster.addresses, 3: cluster.addresses[2]}  # Where 3 was, 2 is now.
    with running(cluster, 1):
        cluster.threads[2] = NodeThread(
            cluster.config(2, addresses=mine), cluster.machine, cluster.standings[2].append
        )
        cluster.threads[2].start()
        wait_until(lambda: cluster.leader_of(2) == 1)
        assert not cluster.threads[2].ended.wait(1)
        assert cluster.closed(2)["hello to another node: that is this very process"] >= 1
        cluster.threads[2].stop()


@pytest.mark.parametrize("impostor_first", [False, True])
def test_of_two_nodes_with_one_id_the_second_never_takes_part(
    tmp_path: Path, impostor_first: bool
) -> None:
    cluster = Cluster(tmp_path, 3, timeout_ms=150.0)
    usual = cluster.config(2)
    odd = cluster.config(2, addresses=elsewhere(cluster, 2), data=tmp_path / "odd")
    with running(cluster, 1, 3):
        told: list[object] = []

        def hears_2(node: int) -> bool:
            listener = cluster.threads[node].node.network.listener
            return cluster.leader_of(node) == 1 and listener.hears(2)

        cluster.threads[2] = NodeThread(
            odd if impostor_first else usual, cluster.machine, cluster.standings[2].append
        )
        cluster.threads[2].start()
        wait_until(lambda: cluster.standings[2] and all(map(hears_2, (1, 3))))
        second = NodeThread(usual if impostor_first else odd, cluster.machine, told.append)
        second.start()
        assert second.ended.wait(10)
        assert isinstance(second.error, IdTaken)
        assert str(second.error) in (
            "another node 2 is live, says node 1, 3",
            "another node 2 is live, says node 1",
            "another node 2 is live, says node 3",
        )
        assert told == []
        assert cluster.leader_of(1) == cluster.leader_of(3) == 1
        second.stop()


def test_a_failing_store_stops_the_node_and_nothing_of_that_turn_leaves(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 2, Puppet)) as cluster:
        wait_until(lambda: lived(cluster, 1) and lived(cluster, 2))
        do(cluster, 1, "set lease 10000", "lead lease", "send 2 hello")
        wait_until(lambda: "1 said hello" in lived(cluster, 2))
        assert cluster.leader_of(1) == 1
        thread = cluster.threads[1]
        thread.call(thread.node.store.close)
        do(cluster, 1, "send 2 before", "promise 7", "send 2 promised")
        assert thread.ended.wait(5)
        assert isinstance(thread.error, StoreError)
        assert cluster.standings[1][-1] is None, "the application must learn that it leads no more"
        wait_until(lambda: "saw [2]" in lived(cluster, 2))
        assert not any("promised" in what or "before" in what for what in lived(cluster, 2))


def test_nothing_is_taken_any_more_once_the_end_is_written_down(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 1, Puppet, record=True)) as cluster:
        wait_until(lambda: lived(cluster, 1))
        thread = cluster.threads[1]

        def pester(times: int) -> None:
            """Ask on every turn of the loop that is left."""
            thread.node.ask(Do(()))
            if times:
                thread._loop.call_soon(pester, times - 1)

        thread.call(pester, 100)
        thread.stop()
    words = [line.split('"')[3] for line in (tmp_path / "node-1.jsonl").read_text().splitlines()]
    assert words[-1] == "ended"
    assert words.count("ended") == 1


def test_an_error_in_a_handler_stops_the_node(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 2, Puppet)) as cluster:
        wait_until(lambda: lived(cluster, 1))
        do(cluster, 1, "fail")
        assert cluster.threads[1].ended.wait(5)
        assert "KeyError: 'fail'" in str(cluster.threads[1].error)


def test_nothing_is_taken_any_more_once_the_record_says_that_the_life_has_ended(
    tmp_path: Path,
) -> None:
    cluster, record = Cluster(tmp_path, 1, Puppet), tmp_path / "record.jsonl"

    async def stopped_while_it_is_asked() -> None:
        node = ProtocolNode(cluster.config(1, record=record), cluster.machine, lambda _: None)
        stopping = asyncio.Event()
        life = asyncio.create_task(node.run(stopping))
        while not record.exists() or not record.stat().st_size:
            await asyncio.sleep(0.01)
        stopping.set()
        while not life.done():
            node.ask(Do(()))
            await asyncio.sleep(0)
        await life

    asyncio.run(stopped_while_it_is_asked())
    entries = record.read_text().splitlines()
    assert ['"type":"ended"' in entry for entry in entries] == [False] * (len(entries) - 1) + [True]


def test_a_machine_that_relies_on_every_message_starts_over_when_it_missed_one(
    tmp_path: Path,
) -> None:
    with running(Cluster(tmp_path, 2, Attentive)) as cluster:
        wait_until(lambda: lived(cluster, 1) and lived(cluster, 2))
        do(cluster, 1, "send 2 first")
        wait_until(lambda: "1 said first" in lived(cluster, 2))
        # Cut off so briefly that nobody suspects anybody.
        cut(cluster, 2, 1)
        do(cluster, 1, "send 2 missed")
        wait_until(lambda: cluster.threads[1].node.tally()["out"] == 2)
        time.sleep(0.01)
        cut(cluster, 2)
        wait_until(lambda: cluster.threads[2].node.counters["lives ended: letters missed"] == 1)
        wait_until(lambda: lived(cluster, 2) == ("saw [1, 2]",))
        do(cluster, 1, "send 2 last")
        wait_until(lambda: "1 said last" in lived(cluster, 2))
        assert cluster.threads[1].node.counters["lives ended: letters missed"] == 0


def test_a_machine_that_can_do_without_goes_on(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 2, Puppet)) as cluster:
        wait_until(lambda: lived(cluster, 1) and lived(cluster, 2))
        cut(cluster, 2, 1)
        do(cluster, 1, "send 2 missed")
        wait_until(lambda: cluster.threads[1].node.tally()["out"] == 1)
        time.sleep(0.01)
        cut(cluster, 2)
        do(cluster, 1, "send 2 last")
        wait_until(lambda: "1 said last" in lived(cluster, 2))
        assert cluster.threads[2].node.tally()["letters missed"] == 1


def test_a_node_that_stood_still_for_long_starts_over_and_all_agree_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with running(Cluster(tmp_path, 3)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        stand_still(cluster.threads[1], 0.8)
        wait_until(lambda: cluster.leader_of(2) == cluster.leader_of(3) == 2)
        wait_until(lambda: cluster.agrees_on(1))
        assert cluster.threads[1].node.counters["lives ended: stood still"] == 1
        assert None in cluster.standings[1]
    assert "node 1 stood still for" in caplog.text


def test_after_a_short_pause_what_was_waiting_is_not_taken_and_the_life_goes_on(
    tmp_path: Path,
) -> None:
    with running(Cluster(tmp_path, 2, Puppet)) as cluster:
        wait_until(lambda: lived(cluster, 1) and lived(cluster, 2))
        stand_still(cluster.threads[2], 0.18)  # Between half the timeout and all of it.
        time.sleep(0.02)
        do(cluster, 1, "send 2 stale")
        wait_until(lambda: cluster.threads[2].node.counters["pauses noticed"] == 1)
        do(cluster, 2, "set nap 1")
        wait_until(lambda: "nap ran out" in lived(cluster, 2))
        wait_until(lambda: cluster.threads[1].node.network.links[2].connected)
        do(cluster, 1, "send 2 fresh")
        wait_until(lambda: "1 said fresh" in lived(cluster, 2))
        assert "1 said stale" not in lived(cluster, 2)
        assert cluster.threads[2].node.counters["lives ended: stood still"] == 0


@pytest.mark.parametrize("seconds", [0.14, 0.3])
def test_a_pause_before_the_first_boot_does_not_prevent_it(tmp_path: Path, seconds: float) -> None:
    cluster = Cluster(tmp_path, 2)
    with running(cluster, 1):
        for _ in range(3):
            stand_still(cluster.threads[1], seconds)
        wait_until(lambda: cluster.leader_of(1) == 1)


def test_two_sides_of_a_cut_have_a_leader_each_and_one_when_it_is_healed(tmp_path: Path) -> None:
    with running(Cluster(tmp_path, 3)) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        for node, gone in ((1, (2, 3)), (2, (1,)), (3, (1,))):
            cut(cluster, node, *gone)
        wait_until(lambda: cluster.leader_of(2) == cluster.leader_of(3) == 2)
        assert cluster.leader_of(1) == 1
        for node in cluster.ids:
            cut(cluster, node)
        wait_until(lambda: cluster.agrees_on(1))


def test_a_cluster_that_was_misconfigured_is_told_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    one, other = Cluster(tmp_path, 2, T=60), Cluster(tmp_path, 2, T=61)
    other.addresses = one.addresses
    with running(one, 1), running(other, 2):
        wait_until(lambda: "node 2 is refused by node 1: hello from another" in caplog.text)
        wait_until(lambda: "node 1 closed a connection: hello from another" in caplog.text)
