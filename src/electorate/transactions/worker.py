"""The work of transactions at one node's resource: done in threads, one thing at a time for each.

Work that was not prepared is undone when its coordinator starts anew, or is silent for long: a
participant that has not voted may abort alone. Pieces of work are counted, so that a transaction
that lost some on the way, or over a restart, is never prepared.

What is prepared and is not in the log is never undone by itself: the log may be lost, or older
than the database, and it may have been voted for. It waits until its coordinator has spoken, or a
person.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from electorate.core import NodeId
from electorate.errors import Refused
from electorate.transactions.access import Access, carried_out
from electorate.transactions.letter import Work
from electorate.transactions.resource import Answer, LogMark, Resource

log = logging.getLogger("electorate.transactions")

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

    def __init__(
        self,
        resource: Resource,
        idle_ms: float,
        now_ms: Callable[[], float],
        mark: Callable[[], LogMark],
    ) -> None:
        self.resource = resource
        self.access: Access = getattr(resource, "access", Access())
        self.unlogged: frozenset[str] = frozenset()
        """Transactions that are prepared here and not in the log: they wait for a word."""
        self.noted: frozenset[str] = frozenset()
        """Transactions that are committed here and not in the log. They are over, unless the log is
        older; that others may ask costs a short note of each."""
        self.has_looked = False
        """Whether it is known by now which are."""
        self.why_unlogged = "they are not in the log: it crashed before its vote"
        self._mark = mark
        self._found = mark()
        """The log as this process has found it, before it has begun a life of its own."""
        self.trouble: str | None = "the database has not been reached yet"
        """Why no work is done at the moment."""
        self._was_tried = asyncio.Event()
        """Set once this process has reached the database, or has failed to."""
        self._idle_ms = idle_ms
        self._now_ms = now_ms
        self._sessions: dict[str, Session] = {}
        # Those who wait for a lock must not keep out the one that could free it.
        self._working = ThreadPoolExecutor(THREADS, "work")
        self._ending = ThreadPoolExecutor(THREADS, "end")

    async def recover(self, kept: Collection[str]) -> frozenset[str]:
        """See what is prepared and belongs to nobody, as soon as the database can be reached."""
        pause_s = RETRY_FIRST_S
        while True:
            try:
                while self._mark() == self._found:
                    await asyncio.sleep(RETRY_FIRST_S)  # The life is in the log first.
                was = await self._thread(self._ending, self.resource.belongs, self._mark())
                self._compare(was)
                known = await self.sweep(kept)
            except Exception as error:
                self.trouble = f"the database cannot be reached: {error}"
                self._was_tried.set()
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, RETRY_MAX_S)
            else:
                self.trouble = None
                self._was_tried.set()
                return known

    async def sweep(self, kept: Collection[str]) -> frozenset[str]:
        """See what is held here and is not in the log; returns all that is known here."""
        known = await self._thread(self._ending, self.resource.known)
        prepared = await self._thread(self._ending, self.resource.prepared)
        mine = {*kept, *self._sessions}
        unlogged, notes = prepared - mine, known - prepared - mine
        if new := sorted(unlogged - self.unlogged):
            log.warning(
                "the database has %s prepared, and the log does not: %s. They wait for their "
                "coordinator; see `electorate tx list`, and `electorate tx resolve` if it is gone",
                *(", ".join(new), self.why_unlogged),
            )
        self.unlogged, self.noted, self.has_looked = unlogged, notes, True
        return known

    def _compare(self, was: LogMark | None) -> None:
        """See whether the log is the one that the database belonged to."""
        found = self._found
        is_later = was == self._mark() and self.has_looked  # It was compared before.
        if was is None or is_later or (was.store == found.store and was.life <= found.life):
            return
        if was.store != found.store:
            self.why_unlogged = "this node's log is not the one that the database belongs to"
        else:
            self.why_unlogged = "this node's log is older than the database: it was brought back"
        log.error("%s; what is prepared there and not in the log is left alone", self.why_unlogged)

    async def missing(self, tx: str) -> list[str]:
        """What prepared work would change, in words."""
        try:
            return await self._thread(self._ending, self.resource.missing, tx)
        except Exception as error:
            return [f"it cannot be said what: {error}"]

    async def execute(self, coordinator: NodeId, process: str, work: Work, act: Any) -> Answer:
        """Do a piece of work; Refused if it cannot be done, or an earlier piece is missing."""
        with suppress(TimeoutError):  # Others may be quicker than the database of this node.
            async with asyncio.timeout(RETRY_MAX_S):
                await self._was_tried.wait()
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
                session.answer = await self._done(work, act)
                session.count += 1
                session.used_ms = self._now_ms()
            if isinstance(session.answer, Refused):
                raise session.answer
            return session.answer

    async def _done(self, work: Work, act: Any) -> Answer | Refused:
        """The result of a piece of work; it is stopped if it takes too long."""
        given = self.resource.execute, work.tx, act, work.values
        doing = asyncio.ensure_future(self._thread(self._working, carried_out, *given))
        while not (await asyncio.wait([doing], timeout=self.access.seconds))[0]:
            await self._cancel(work.tx)
        try:
            return doing.result()
        except Refused as error:
            return error
        except Exception as error:
            return Refused(f"{type(error).__name__}: {error}")

    async def _cancel(self, tx: str) -> None:
        """Stop what is being done for a transaction, whatever it is."""
        with suppress(Exception):
            # It must not wait for a thread that all those have who are to be stopped.
            await asyncio.to_thread(self.resource.cancel, tx)

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
        self.unlogged -= {tx}

    async def abort(self, tx: str) -> None:
        """Undo the work."""
        await self._end(tx, self.resource.abort)
        self.unlogged -= {tx}

    async def give_up(self, tx: str) -> None:
        """Stop and undo what nobody has voted on; if that fails, the next sweep tries again."""
        session = self._sessions.get(tx)
        if session is not None and session.turn.locked():
            await self._cancel(tx)
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
        """Close the resource; work that is not prepared is stopped and undone."""
        for tx in self._sessions:
            with suppress(Exception):
                self.resource.cancel(tx)
        self._working.shutdown(wait=False, cancel_futures=True)
        self._ending.shutdown(wait=True, cancel_futures=True)
        self._working.shutdown(wait=True)
        self.resource.close()

    @staticmethod
    async def _thread(pool: ThreadPoolExecutor, act: Callable[..., R], *given: Any) -> R:
        return await asyncio.get_running_loop().run_in_executor(pool, act, *given)
