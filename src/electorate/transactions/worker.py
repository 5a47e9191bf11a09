"""The work of transactions at one node's resource: done in threads, one thing at a time for each.

Work that was not prepared is undone when its coordinator starts anew, or is silent for long: a
participant that has not voted may abort alone. Pieces of work are counted, so that a transaction
that lost some on the way, or over a restart, is never prepared.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from electorate.core import NodeId
from electorate.errors import Refused
from electorate.transactions.letter import Work
from electorate.transactions.resource import Answer, Resource

THREADS = 32
RETRY_FIRST_S = 0.05
RETRY_MAX_S = 2.0

R = TypeVar("R")


class Session:
    """The work of one transaction, while it goes on."""

    def __init__(self, coordinator: NodeId, process: str, now_ms: float) -> None:
        self.coordinator = coordinator
        self.process = process
        self.count = 0
        self.used_ms = now_ms
        self.turn = asyncio.Lock()
        self.over = False
        self.answer: Answer | Refused = Answer()
        """The result of the last piece of work."""


class ResourceWorker:
    """Has the resource do what transactions want, and knows which of them are at work."""

    def __init__(self, resource: Resource, idle_ms: float, now_ms: Callable[[], float]) -> None:
        self.resource = resource
        self.trouble: str | None = "the database has not been reached yet"
        """Why no work is done at the moment."""
        self._idle_ms = idle_ms
        self._now_ms = now_ms
        self._sessions: dict[str, Session] = {}
        # Those who wait for a lock must not keep out the one that could free it.
        self._working = ThreadPoolExecutor(THREADS, "work")
        self._ending = ThreadPoolExecutor(THREADS, "end")

    async def recover(self, kept: Collection[str]) -> frozenset[str]:
        """Undo what is prepared and belongs to nobody, as soon as the database can be reached."""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                known = await self.sweep(kept)
            except Exception as error:
                self.trouble = f"the database cannot be reached: {error}"
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)
            else:
                self.trouble = None
                return known

    async def sweep(self, kept: Collection[str]) -> frozenset[str]:
        """Undo what is prepared here and belongs to nobody; returns all that was prepared."""
        known = await self._thread(self._ending, self.resource.known)
        for tx in sorted(known - set(kept) - self._sessions.keys()):
            await self._thread(self._ending, self.resource.abort, tx)
            await self._thread(self._ending, self.resource.forget, tx)
        return known

    async def execute(self, coordinator: NodeId, process: str, work: Work) -> Answer:
        """Do a piece of work; Refused if it cannot be done, or an earlier piece is missing."""
        if self.trouble is not None:
            raise Refused(self.trouble)
        session = self._sessions.get(work.tx)
        if session is None:
            session = Session(coordinator, process, self._now_ms())
            self._sessions[work.tx] = session
        async with session.turn:
            if session.over or work.number not in (session.count, session.count + 1):
                raise Refused("earlier work of this transaction is gone")
            if work.number == session.count + 1 and isinstance(session.answer, Answer):
                session.answer = await self._done(work)
                session.count += 1
                session.used_ms = self._now_ms()
            if isinstance(session.answer, Refused):
                raise session.answer
            return session.answer

    async def _done(self, work: Work) -> Answer | Refused:
        """The result of a piece of work."""
        given = work.tx, work.statement, work.values
        try:
            return await self._thread(self._working, self.resource.execute, *given)
        except Refused as error:
            return error
        except Exception as error:
            return Refused(f"{type(error).__name__}: {error}")

    async def prepare(self, tx: str) -> None:
        """Make the work safe; Refused if that is not possible."""
        session = self._sessions.get(tx)
        if session is None:
            raise Refused("the work of this transaction is gone")
        async with session.turn:
            if isinstance(session.answer, Refused):
                raise session.answer
            await self._thread(self._ending, self.resource.prepare, tx)

    async def commit(self, tx: str) -> None:
        """Make the work visible."""
        await self._end(tx, self.resource.commit)

    async def abort(self, tx: str) -> None:
        """Undo the work."""
        await self._end(tx, self.resource.abort)

    async def give_up(self, tx: str) -> None:
        """Undo work that nobody has voted on; if that fails, the next sweep tries again."""
        with suppress(Exception):
            await self.abort(tx)

    async def forget(self, tx: str) -> None:
        """Drop the note of it; if that fails, the next sweep does it."""
        with suppress(Exception):
            await self._thread(self._ending, self.resource.forget, tx)

    async def _end(self, tx: str, act: Callable[[str], None]) -> None:
        session = self._sessions.get(tx)
        if session is None:
            await self._thread(self._ending, act, tx)
            return
        async with session.turn:
            await self._thread(self._ending, act, tx)
            session.over = True
            self._sessions.pop(tx, None)

    @property
    def coordinators(self) -> dict[str, NodeId]:
        """The coordinators of the transactions at work here."""
        return {tx: session.coordinator for tx, session in self._sessions.items()}

    def orphans(self, coordinator: NodeId = 0, process: str = "") -> Sequence[str]:
        """Transactions at work whose coordinator is silent for too long, or in another life now."""
        now = self._now_ms()
        return [
            tx
            for tx, session in self._sessions.items()
            if (now - session.used_ms > self._idle_ms and not session.turn.locked())
            or (session.coordinator == coordinator and session.process != process)
        ]

    def close(self) -> None:
        """Close the resource; work that is not prepared is undone."""
        self._working.shutdown(wait=False, cancel_futures=True)
        self._ending.shutdown(wait=True, cancel_futures=True)
        self._working.shutdown(wait=True)
        self.resource.close()

    @staticmethod
    async def _thread(pool: ThreadPoolExecutor, act: Callable[..., R], *given: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(pool, act, *given)
