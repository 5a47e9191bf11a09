"""Leadership without asyncio, for threads.

with sync.Node("a@10.0.0.1:7400", members=[...], data_dir="data") as node:
    for term in node.election("scheduler").terms():
        with term:
            while not term.lost.wait(1):
                work(term)
"""

import inspect
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from electorate.core import NodeId
from electorate.errors import TransferFailed
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Leader
from electorate.leadership.group.term import GroupTerm, OnMerge
from electorate.leadership.handle import Condition, ElectionHandle, NodeHandle
from electorate.leadership.term import Term
from electorate.leadership.threaded import ThreadEngine
from electorate.pace import Pace

POLL_S = 0.1

Work = Callable[[Term], object]


class Election(ElectionHandle):
    """One election, as one node takes part in it."""

    @contextmanager
    def lead(self, timeout: float | None = None) -> Iterator[Term]:
        """Wait until this node leads; TimeoutError if it does not within so many seconds.

        A thread cannot be cancelled: look at `term.lost`, or call `term.check()`. The office is
        given up at the end of the block. LeadershipLost of this term ends the block quietly.
        """
        with self._elected(timeout) as term:
            yield term

    def terms(self) -> Iterator[Term]:
        """Every term of this node, one after the other; the next once the work of one has ended."""
        while True:
            term = self._elected(None)
            try:
                yield term
            finally:
                term.finish()

    def run(self, work: Work, stopped: Work | None = None) -> None:
        """Do this work in every term, and something after each; neither ever overlaps."""
        for term in self.terms():
            try:
                with term:
                    work(term)
            finally:
                if stopped is not None:
                    stopped(term)

    def observe(self) -> Iterator[Leader]:
        """Who leads: the first item is the present; what was missed meanwhile is left out."""
        changes: queue.SimpleQueue[Leader] = queue.SimpleQueue()
        end = self._engine.observe(self._office, changes.put)
        shown: Leader | None = None
        try:
            while True:
                latest = self._latest(changes)
                if latest not in (None, shown):
                    shown = latest
                    assert shown is not None
                    yield shown
        finally:
            end()

    def step_down(self) -> None:
        """Have whoever leads give up its office, once its work has ended; else TransferFailed."""
        self._expect_quorum()
        self._order(None, self._has_gone())

    def transfer(self, name: str) -> None:
        """Have whoever leads hand over to that member; TransferFailed if it does not come to it."""
        self._expect_quorum()
        heir = self._engine.expect_heir(self._office, name)
        if self.leader.leader != name:
            self._order(heir, lambda now: now.leader == name)

    def _elected(self, timeout: float | None) -> Term:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            term = self._given(timeout, deadline)
            if not isinstance(term, GroupTerm) or term.reconcile_in_thread(self._on_merge):
                return term

    def _given(self, timeout: float | None, deadline: float | None) -> Term:
        future = self._engine.wait(self._office)
        while True:
            try:
                # In short pieces, so that Ctrl-C is heard.
                return future.result(POLL_S)
            except NotYet:
                if deadline is not None and time.monotonic() > deadline:
                    self._engine.give_up(self._office, future)
                    raise TimeoutError(
                        f"{self._engine.me.name} does not lead {self.name} after {timeout} s"
                    ) from None
                self._engine.expect_running()
            except BaseException:
                self._engine.give_up(self._office, future)
                raise

    def _latest(self, changes: "queue.SimpleQueue[Leader]") -> Leader | None:
        try:
            latest = changes.get(timeout=POLL_S)
            while not changes.empty():
                latest = changes.get()
        except queue.Empty:
            self._engine.expect_running()
            return None
        return latest

    def _order(self, heir: NodeId | None, condition: Condition) -> None:
        """Ask until it has come about: what is said may be lost, or come too early for the heir."""
        begun = asked = time.monotonic() - self._engine.again_s
        since: float | None = None
        while True:
            now = time.monotonic()
            since = (since or now) if condition(self.leader) else None
            if since is not None and (heir is None or now - since > self._engine.sure_s):
                return
            if now - begun > self._engine.patience_s:
                raise TransferFailed(self._engine.unchanged(self._office))
            if now - asked >= self._engine.again_s:
                asked = now
                self._ask(heir)
            self._engine.expect_running()
            time.sleep(0.005)


class Node(NodeHandle):
    """One member of a cluster. Its network lives in a thread of its own.

    With `join` it takes no part until a member has added it; `members` names some of those then.
    With `record` it writes down in that folder everything that its elections go through;
    `electorate replay` runs that again.
    """

    _engine: ThreadEngine

    def __init__(
        self,
        me: str,
        members: Iterable[str],
        data_dir: Path | str,
        *,
        pace: Pace | None = None,
        join: bool = False,
        record: Path | str | None = None,
    ) -> None:
        super().__init__(ThreadEngine(me, members, data_dir, pace, join=join, record=record))

    def __enter__(self) -> Self:
        self._engine.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.stop()

    def election(
        self,
        name: str,
        priority: int | None = None,
        *,
        safety: Safety = "quorum",
        on_merge: OnMerge | None = None,
    ) -> Election:
        """The election of that name. This node stands in it while somebody asks for its terms.

        The priority is 1 unless something else was said before; 0 votes and never leads. With
        `safety="group"` each side of a partition has a leader; when groups merge, the leader calls
        `on_merge(term, others)` before its work, with who has come from which leader's group.
        """
        if inspect.iscoroutinefunction(on_merge):
            raise ValueError("on_merge has to be a plain function: a thread cannot await another")
        return Election(self._engine, name, priority, safety, on_merge)

    def observe(self, name: str, *, safety: Safety = "quorum") -> Iterator[Leader]:
        """Who leads an election, now and whenever that changes, without standing in it."""
        return self.election(name, safety=safety).observe()

    def add_member(self, member: str) -> None:
        """Make a node a member that runs and was told to join; MembersUnchanged if that fails."""
        self._done(self._engine.add_member(member))

    def remove_member(self, name: str) -> None:
        """Go on without a member, whether it runs or not; MembersUnchanged if that fails."""
        self._done(self._engine.remove_member(name))

    def replace_member(self, name: str, member: str) -> None:
        """Put a node in the place of a member. One of the same name has lost its memory, or moved.

        It is told to join, like one that is added.
        """
        self._done(self._engine.replace_member(name, member))

    def _done(self, future: "Future[None]") -> None:
        """Wait in short pieces, so that Ctrl-C is heard."""
        while True:
            try:
                return future.result(POLL_S)
            except NotYet:
                self._engine.expect_running()
            except BaseException:
                future.cancel()
                raise

    def pause(self) -> None:
        """Stand in no election until resumed; returns once nothing is led here."""
        is_idle = self._paused()
        while not is_idle():
            time.sleep(0.005)

    def resume(self) -> None:
        """Stand again where it did."""
        self._engine.pause(False)
