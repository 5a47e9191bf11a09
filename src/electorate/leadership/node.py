"""Leadership for asyncio.

async with electorate.Node("a@10.0.0.1:7400", members=[...], data_dir="data") as node:
    async for term in node.election("scheduler").terms():
        async with term:
            await work(term)
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Self

from electorate.core import NodeId
from electorate.errors import TransferFailed
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Engine, Leader
from electorate.leadership.group.term import GroupTerm, OnMerge
from electorate.leadership.handle import Condition, ElectionHandle, NodeHandle
from electorate.leadership.office import Seat
from electorate.leadership.term import Term
from electorate.leadership.threaded import ThreadEngine
from electorate.pace import Pace

Work = Callable[[Term], Awaitable[object]]


class Election(ElectionHandle):
    """One election, as one node takes part in it."""

    def terms(self) -> "Terms":
        """Every term of this node, one after the other; it stands while somebody waits for one."""
        return Terms(self._engine, self._office, self._on_merge)

    async def run(self, work: Work, stopped: Work | None = None) -> None:
        """Do this work in every term, and something after each; neither ever overlaps."""
        async for term in self.terms():
            try:
                async with term:
                    await work(term)
            finally:
                if stopped is not None:
                    await stopped(term)

    def observe(self) -> "Observed":
        """Who leads, now and whenever that changes."""
        return Observed(self._engine, self._office)

    async def step_down(self) -> None:
        """Have whoever leads give up its office, once its work has ended; else TransferFailed."""
        self._expect_quorum()
        await self._order(None, self._has_gone())

    async def transfer(self, name: str) -> None:
        """Have whoever leads hand over to that member; TransferFailed if it does not come to it."""
        self._expect_quorum()
        heir = self._engine.expect_heir(self._office, name)
        if self.leader.leader != name:
            await self._order(heir, lambda now: now.leader == name)

    async def _order(self, heir: NodeId | None, condition: Condition) -> None:
        """Ask until it has come about: what is said may be lost, or come too early for the heir."""
        loop, engine = asyncio.get_running_loop(), self._engine
        deadline = loop.time() + engine.patience_s
        while loop.time() < deadline:
            self._ask(heir)
            with suppress(TimeoutError):
                async with asyncio.timeout(engine.again_s):
                    async for now in self.observe():
                        if condition(now):
                            break
                if heir is not None:
                    await asyncio.sleep(engine.sure_s)
                if condition(self.leader):
                    return
        raise TransferFailed(engine.unchanged(self._office))


class Terms:
    """The terms of one node: it stands while somebody waits here, or works in one."""

    def __init__(self, engine: Engine, office: Seat, on_merge: OnMerge | None = None) -> None:
        self._engine = engine
        self._office = office
        self._on_merge = on_merge
        self._last: Term | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Term:
        while True:
            if self._last is not None:
                self._last.finish()
            future = self._engine.wait(self._office)
            term = self._last = await _awaited(self._engine, self._office, future)
            if not isinstance(term, GroupTerm) or await term.reconcile(self._on_merge):
                return term


async def _awaited(engine: Engine, office: Seat, future: "Future[Term]") -> Term:
    try:
        return await asyncio.wrap_future(future)
    except BaseException:  # It may also be thrown away while it waits.
        engine.give_up(office, future)
        raise


class Observed:
    """Who leads: the first item is the present; what was missed meanwhile is left out."""

    def __init__(self, engine: Engine, office: Seat) -> None:
        self._engine = engine
        self._office = office

    async def __aiter__(self) -> AsyncIterator[Leader]:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        latest: list[Leader] = []

        def tell(leader: Leader) -> None:
            latest[:] = [leader]
            with suppress(RuntimeError):  # The loop may be closed.
                loop.call_soon_threadsafe(changed.set)

        end = self._engine.observe(self._office, tell)
        shown: Leader | None = None
        try:
            while True:
                await changed.wait()
                changed.clear()
                if latest[0] != shown:
                    shown = latest[0]
                    yield shown
                self._engine.expect_running()
        finally:
            end()


class Node(NodeHandle):
    """One member of a cluster. Its network lives in a thread of its own.

    With `join` it takes no part until a member has added it; `members` names some of those then.
    With `record` it writes down in that folder everything that its elections go through;
    `electorate replay` runs that again.
    """

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
        engine = ThreadEngine(me, members, data_dir, pace, join=join, record=record)
        super().__init__(engine)

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """The same over a node that runs elsewhere."""
        node = cls.__new__(cls)
        NodeHandle.__init__(node, engine)
        return node

    async def __aenter__(self) -> Self:
        await self._engine.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._engine.end()

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
        return Election(self._engine, name, priority, safety, on_merge)

    def observe(self, name: str, *, safety: Safety = "quorum") -> Observed:
        """Who leads an election, now and whenever that changes, without standing in it."""
        return Observed(self._engine, self._engine.office(name, safety))

    async def add_member(self, member: str) -> None:
        """Make a node a member that runs and was told to join; MembersUnchanged if that fails."""
        await asyncio.wrap_future(self._engine.add_member(member))

    async def remove_member(self, name: str) -> None:
        """Go on without a member, whether it runs or not; MembersUnchanged if that fails."""
        await asyncio.wrap_future(self._engine.remove_member(name))

    async def replace_member(self, name: str, member: str) -> None:
        """Put a node in the place of a member. One of the same name has lost its memory, or moved.

        It is told to join, like one that is added.
        """
        await asyncio.wrap_future(self._engine.replace_member(name, member))

    async def pause(self) -> None:
        """Stand in no election until resumed; returns once nothing is led here."""
        is_idle = self._paused()
        while not is_idle():
            await asyncio.sleep(0.005)

    async def resume(self) -> None:
        """Stand again where it did."""
        self._engine.pause(False)
