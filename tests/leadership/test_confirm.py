"""Terms that a majority confirms, on real networks and without asyncio."""

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from electorate import LeadershipLost, sync
from tests.leadership.cluster import PACE, Cluster
from tests.runtime.cluster import free_addresses


def test_a_thread_has_its_term_confirmed(tmp_path: Path) -> None:
    places = [
        f"{name}@{host}:{port}" for name, (host, port) in zip("ab", free_addresses(2), strict=True)
    ]
    with ExitStack() as stack:
        a, b = (
            stack.enter_context(sync.Node(name, places, tmp_path / name, pace=PACE))
            for name in "ab"
        )
        with a.election("x").lead(timeout=20) as term:
            for _ in range(3):
                term.confirm(timeout=10)
            b.__exit__(None, None, None)
            with pytest.raises(LeadershipLost):
                confirm_for_ever(term)
        with pytest.raises(LeadershipLost):
            term.confirm()


def confirm_for_ever(term: sync.Term) -> None:
    """The last words of a node that has ended may still have come."""
    while True:
        term.confirm(timeout=10)


def test_it_is_confirmed_to_asyncio_within_milliseconds(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            cluster.stand("a")
            while not cluster.terms:
                await asyncio.sleep(0.01)
            term = cluster.terms["a"]
            took = []
            for _ in range(10):
                begun = time.monotonic()
                await term.confirm(timeout=10)
                took.append(time.monotonic() - begun)
            print(f"confirmed after {min(took) * 1000:.1f} ms")
            assert min(took) < 0.1
        finally:
            await cluster.stop()

    asyncio.run(scene())
