"""The end of a leader's connections: believed to be that of its process only where asked for.

Terms last for half a minute here: who leads within seconds has not waited for one to run out.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from benchmarks.engine import ROOT
from electorate import Pace
from electorate.cli.supervisor import Supervisor, free_ports
from electorate.leadership.directory import number
from electorate.leadership.engine import NodeEngine
from tests.leadership.cluster import run, running, until
from tests.runtime.process import on_linux

LEADER = """
import json, sys, time
from electorate import Pace, sync

name, folder, pace, *members = sys.argv[1:]
with sync.Node(name, members, folder, pace=Pace(**json.loads(pace))) as node:
    with node.election("x").lead() as term:
        print(name, flush=True)
        time.sleep(3600)
"""
SOON_S = {True: 20.0, False: 8.0}
"""A candidate that another one was in the way of tries again after 8 s at this pace."""
LONG = '{"T": 3, "P": 1, "timeout": 1'


@contextmanager
def processes(folder: Path, pace: str) -> Iterator[tuple[dict[str, int], "SimpleQueue[str]"]]:
    """Three processes that want to lead, and who does, as they say it."""
    members = [f"{n}@127.0.0.1:{port}" for n, port in zip("abc", free_ports(3), strict=True)]
    said: SimpleQueue[str] = SimpleQueue()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with Supervisor[str]() as running:
        for name in "abc":
            words = [sys.executable, "-c", LEADER, name, str(folder / name), pace, *members]
            running.start(name, words, log=folder / "log", hear=said.put, cwd=ROOT, env=env)
        yield {name: child.pid for name, child in running.items()}, said


@on_linux
@pytest.mark.parametrize(
    ("trusts", "strike", "is_replaced"),
    [
        ("true", signal.SIGKILL, True),
        ("false", signal.SIGKILL, False),
        ("true", signal.SIGSTOP, False),
    ],
)
def test_a_killed_leader_is_replaced_at_once_if_its_end_is_believed(
    tmp_path: Path, trusts: str, strike: signal.Signals, is_replaced: bool
) -> None:
    with processes(tmp_path, f'{LONG}, "trust_close": {trusts}}}') as (pids, said):
        first = said.get(timeout=60)
        os.kill(pids[first], strike)
        try:
            assert said.get(timeout=SOON_S[is_replaced]) != first
            assert is_replaced
        except Empty:
            assert not is_replaced


def test_connections_that_a_leader_breaks_itself_do_not_end_its_term(tmp_path: Path) -> None:
    """As it does when it finds that it stood still: its work goes on meanwhile."""

    async def scene() -> None:
        pace = Pace(trust_close=True, grace=1.0)
        async with running(tmp_path, pace=pace) as cluster:
            cluster.stand()
            first = await cluster.led()
            engines = {name: node._engine for name, node in cluster.nodes.items()}
            voters = [name for name in "abc" if name != first]
            closed = {name: broken(engines[name], first) for name in voters}
            leader = engines[first].elections
            engines[first].do(leader.host.network.reset)
            await until(lambda: all(broken(engines[n], first) > closed[n] for n in voters))
            states: list[Any] = [engines[n].elections.election("x")._instance.state for n in voters]
            assert [state.bound for state in states] == [number(first)] * 2
            assert cluster.leads(first)
            assert len(cluster.held) == 1

    def broken(engine: NodeEngine, node: str) -> int:
        """How often the connections between two nodes broke."""
        return engine.elections.host.network.links[number(node)].counters["broken connections"]

    run(scene())
