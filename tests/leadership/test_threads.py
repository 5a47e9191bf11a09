"""Leadership without asyncio: what threads ask of real nodes, and what they get."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from electorate import LeadershipLost, NodeStopped, Term, TransferFailed, sync
from electorate.leadership.engine import Leader
from tests.leadership.cluster import PACE, PATIENCE_S, Cluster

VACANT = Leader(None, None)


class Threads:
    """Three nodes, and for each that stands a thread that works in its terms."""

    def __init__(self, nodes: dict[str, sync.Node], pool: ThreadPoolExecutor) -> None:
        self.nodes = nodes
        self.pool = pool
        self.held: list[tuple[str, Term]] = []

    def election(self, name: str) -> sync.Election:
        return self.nodes[name].election("x")

    def stand(self, *names: str) -> None:
        for name in names:
            self.pool.submit(self._stand, name)

    def _stand(self, name: str) -> None:
        with suppress(NodeStopped):
            for term in self.election(name).terms():
                self.held.append((name, term))
                with term:
                    term.lost.wait()

    def led(self, name: str) -> Term:
        """Wait until a node leads, and all know it."""

        def is_known() -> bool:
            now = {self.election(other).leader for other in self.nodes}
            return bool(self.held) and now == {Leader(name, self.held[-1][1].token)}

        until(is_known)
        return self.held[-1][1]


def until(condition: Callable[[], object]) -> None:
    """Wait until something is the case, but not for ever."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it has not come about"
        time.sleep(0.005)


@contextmanager
def running(folder: Path) -> Iterator[Threads]:
    places = Cluster(folder).places
    with ThreadPoolExecutor() as pool, ExitStack() as stack:
        nodes = {
            name: stack.enter_context(sync.Node(name, places.values(), folder / name, pace=PACE))
            for name in places
        }
        yield Threads(nodes, pool)


def test_the_office_goes_where_it_is_sent(tmp_path: Path) -> None:
    with running(tmp_path) as threads:
        threads.stand("a")
        first = threads.led("a")
        with pytest.raises(TransferFailed, match="b does not stand"):
            threads.election("c").transfer("b")
        threads.stand("b")
        until(lambda: sent(threads.election("c"), "b"))
        second = threads.led("b")
        assert second.token > first.token
        with pytest.raises(LeadershipLost):
            first.check()
        threads.election("b").transfer("b")  # It leads already: nothing changes.
        assert threads.led("b") is second
        with pytest.raises(ValueError, match="'z' is no member"):
            threads.election("a").transfer("z")


def sent(election: sync.Election, name: str) -> bool:
    """Hand over to a node that may not be known yet to stand."""
    try:
        election.transfer(name)
    except TransferFailed:
        return False
    return True


def test_who_leads_steps_down_or_pauses_and_stands_again(tmp_path: Path) -> None:
    with running(tmp_path) as threads:
        with pytest.raises(TransferFailed, match="nobody leads x, as far as c knows"):
            threads.election("c").step_down()
        threads.stand("a")
        first = threads.led("a")
        threads.election("c").step_down()
        until(lambda: len(threads.held) == 2)
        second = threads.led("a")
        assert second.token > first.token, "nobody else stands: a is elected again"
        threads.stand("b")
        threads.nodes["a"].pause()
        assert second.lost.is_set(), "pause returns once nothing is led here"
        threads.led("b")
        threads.nodes["b"].pause()
        threads.nodes["a"].resume()
        threads.led("a")


def test_everybody_is_told_who_leads_in_the_right_order(tmp_path: Path) -> None:
    seen: list[Leader] = []

    def watch(election: sync.Election) -> None:
        with suppress(NodeStopped):
            for now in election.observe():
                seen.append(now)

    with running(tmp_path) as threads:
        threads.pool.submit(watch, threads.election("c"))
        until(lambda: seen == [VACANT])
        threads.stand("a")
        first = threads.led("a")
        until(lambda: seen[-1] == Leader("a", first.token))
        threads.election("a").step_down()
        until(lambda: len(threads.held) == 2)
        second = threads.led("a")
        until(lambda: seen[-1] == Leader("a", second.token))
    tokens = [now.token for now in seen if now.token is not None]
    assert tokens == sorted(set(tokens)), "none twice, none late"


def test_who_does_not_lead_in_time_waits_no_longer_and_stands_no_longer(tmp_path: Path) -> None:
    with running(tmp_path) as threads:
        threads.stand("a")
        threads.led("a")
        why = "b does not lead x after 0.3 s"
        with pytest.raises(TimeoutError, match=why), threads.election("b").lead(timeout=0.3):
            raise AssertionError("a leads")
        threads.nodes["a"].pause()
        time.sleep(2 * PACE.lease)
        assert threads.election("c").leader == VACANT, "b stands no longer"
        with threads.election("b").lead(timeout=PATIENCE_S) as term:
            assert term.remaining() > 0
        with pytest.raises(LeadershipLost):
            term.check()


def test_a_timeout_that_is_no_number_of_seconds_is_refused(tmp_path: Path) -> None:
    why = "timeout is a number of seconds, or None for no limit, not '1'"
    odd: Any = "1"
    with sync.Node("a", Cluster(tmp_path).places.values(), tmp_path / "a", pace=PACE) as node:
        election = node.election("x")
        with pytest.raises(TypeError, match=why), election.lead(timeout=odd):
            raise AssertionError("nobody waited")
        with pytest.raises(TypeError, match=why):
            next(election.terms(timeout=odd))
        with pytest.raises(TypeError, match=why):
            next(iter(election.observe(timeout=odd)))
        with pytest.raises(TypeError, match=why):
            node.pause(timeout=odd)
        with pytest.raises(TypeError, match=why):
            node.transaction(timeout=odd)
        with pytest.raises(TypeError, match="not True"):
            node.resume(timeout=True)


async def unheard(*_: object) -> None:
    """A thread cannot await this."""
    raise AssertionError("nobody called it")


def test_work_that_has_to_be_awaited_is_refused_before_anybody_stands(tmp_path: Path) -> None:
    with sync.Node("a", Cluster(tmp_path).places.values(), tmp_path / "a", pace=PACE) as node:
        with pytest.raises(ValueError, match="work has to be a plain function"):
            node.election("x").run(unheard)
        with pytest.raises(ValueError, match="stopped has to be a plain function"):
            node.election("x").run(print, unheard)
