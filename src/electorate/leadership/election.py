"""One election, as an application takes part in it with asyncio."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Self

from electorate.core import NodeId
from electorate.errors import TransferFailed
from electorate.leadership.candidacy import Safety
from electorate.leadership.engine import Engine, Leader
from electorate.leadership.office import Seat
from electorate.leadership.register import RESERVED
from electorate.leadership.term import OnMerge, Tenure, Term

Condition = Callable[[Leader], bool]
Work = Callable[[Term], Awaitable[object]]


class Election:
    """One election, as one node takes part in it."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        priority: int | None,
        safety: Safety = "quorum",
        on_merge: OnMerge | None = None,
    ) -> None:
        if name.startswith(RESERVED):
            raise ValueError(f"{name} is not yours to lead: choose another name")
        if on_merge is not None and safety != "group":
            raise ValueError('nothing ever merges without safety="group": there is no on_merge')
        if on_merge is not None and not callable(on_merge):
            raise ValueError(f"on_merge is called as on_merge(term, others): not {on_merge!r}")
        self.name = name
        self.safety = safety
        self.node = engine.me.name
        """The node that takes part here."""
        self._engine = engine
        self._office = engine.office(name, safety)
        self._on_merge = on_merge
        if priority is not None:
            self.set_priority(priority)

    @property
    def leader(self) -> Leader:
        """Who leads at the moment, as this node knows it."""
        return self._engine.told(self._office.seen)

    def set_priority(self, priority: int) -> None:
        """Stand with another priority from now on; 0 is a witness, which votes and never leads.

        In a group the highest priority leads: who has it takes over at once.
        """
        if not isinstance(priority, int) or not 0 <= priority < 1 << 31:
            raise ValueError(f"a priority is a number from 0 up, not {priority!r}")
        self._engine.set_priority(self._office, priority)

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
            engine.do(engine.offices.order, self.name, heir)
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

    def _expect_quorum(self) -> None:
        """A group does not choose its leader, so nobody can choose another."""
        if self.safety == "group":
            raise ValueError(
                f"each group of {self.name} is led by its strongest member: "
                "set_priority changes that, or pause"
            )

    def _has_gone(self) -> Condition:
        """Whether the present leader is in office no longer; TransferFailed if there is none."""
        engine, office = self._engine, self._office
        before = engine.expect_leader(office)

        def has_gone(now: Leader) -> bool:
            # Not to hear of it any more proves nothing: it may be this node that is cut off.
            is_sure = now.leader is not None or before.leader == engine.me.name
            return now != before and (is_sure or engine.told(office.released) == before)

        return has_gone


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
            tenure = await self._awaited(self._engine.wait(self._office))
            self._last = tenure.term
            if await tenure.reconcile(self._on_merge):
                return tenure.term

    async def _awaited(self, future: "Future[Tenure]") -> Tenure:
        try:
            return await asyncio.wrap_future(future)
        except BaseException:  # It may also be thrown away while it waits.
            self._engine.give_up(self._office, future)
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
