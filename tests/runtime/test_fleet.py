"""Clusters of real processes: whatever is done to them, those at work agree in the end."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from electorate.cli.fleet import Fleet
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

WORDS = ["bully", "--T", "60", "--beat", "30", "--timeout", "250"]
PATIENCE_S = 15.0

pytestmark = [on_linux, pytest.mark.timeout(60)]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(WORDS, 3, tmp_path, record=False) as started:
        agree(started, 1)
        yield started


def agree(fleet: Fleet, leader: int) -> None:
    """All at work come to follow this node."""
    took = fleet.await_agreement(leader, PATIENCE_S)
    told = {node: (member.status, member.leader) for node, member in fleet.members.items()}
    assert took is not None, told


def pids(fleet: Fleet) -> list[int]:
    return [member.process.pid for member in fleet.members.values() if member.process is not None]


def test_a_killed_leader_is_replaced_and_leads_again_when_it_is_back(fleet: Fleet) -> None:
    fleet.kill(1)
    assert fleet.members[1].status == "down"
    agree(fleet, 2)
    fleet.start(1)
    agree(fleet, 1)


def test_a_stopped_leader_is_replaced_and_leads_again_when_it_goes_on(fleet: Fleet) -> None:
    fleet.pause(1)
    agree(fleet, 2)
    fleet.resume(1)
    agree(fleet, 1)


def test_a_leader_that_is_cut_off_is_replaced_and_one_leads_when_it_is_healed(
    fleet: Fleet,
) -> None:
    fleet.cut(1, off=True)
    agree(fleet, 2)
    fleet.cut(1, off=False)
    agree(fleet, 1)


def test_a_node_that_was_cut_off_and_killed_is_back_without_the_cut(fleet: Fleet) -> None:
    fleet.cut(1, off=True)
    agree(fleet, 2)
    fleet.kill(1)
    fleet.start(1)
    agree(fleet, 1)


def test_a_node_that_is_paused_while_all_others_are_killed_finds_them_again(fleet: Fleet) -> None:
    fleet.pause(3)
    for node in (1, 2):
        fleet.kill(node)
    for node in (1, 2):
        fleet.start(node)
    agree(fleet, 1)
    fleet.resume(3)
    agree(fleet, 1)


def test_all_nodes_are_killed_at_once_and_come_back_at_once(fleet: Fleet) -> None:
    for node in fleet.members:
        fleet.kill(node)
    assert fleet.agreed() is None
    for node in fleet.members:
        fleet.start(node)
    agree(fleet, 1)


def test_what_a_process_said_last_says_nothing_about_the_next(fleet: Fleet) -> None:
    fleet.kill(3)
    fleet.start(3)
    assert fleet.members[3].status == "starting"
    assert fleet.agreed() is None
    agree(fleet, 1)


def test_a_node_that_ends_by_itself_says_why(tmp_path: Path) -> None:
    (tmp_path / "node-1").write_text("in the way")
    with Fleet(WORDS, 1, tmp_path, record=False) as fleet:
        news = next(fleet.watch(PATIENCE_S))
        assert news.what.startswith("down: electorate: node 1: cannot keep data in")


def test_stopping_leaves_no_process_not_even_a_paused_one(tmp_path: Path) -> None:
    with Fleet(WORDS, 3, tmp_path, record=True) as fleet:
        agree(fleet, 1)
        started = pids(fleet)
        fleet.pause(2)
        fleet.kill(3)
        began = time.monotonic()
    assert time.monotonic() - began < 3.0
    wait_until(lambda: not any(map(is_running, started)))
    assert '"type":"ended"' in fleet.record_of(1).read_text().splitlines()[-1]
