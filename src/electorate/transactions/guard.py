"""Looks after the database of a node: the work that others ask of it, and what is left of that."""

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any, Protocol

from electorate.core import NodeId, Stage, Wants
from electorate.errors import Refused
from electorate.pace import Pace
from electorate.runtime.frame import Hello
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import Failed, Letter, Work, Worked
from electorate.transactions.recovery import KnownMembers
from electorate.transactions.worker import ResourceWorker

SWEEPS = 10
"""One sweep in this many searches the database for transactions that belong to nobody."""
NO_DATABASE = "there is no database at this node"
STOPPED = "it was stopped before the vote"


class GuardPort(Protocol):
    """What the guard needs of its node."""

    instances: dict[str, TransactionInstance]
    members: KnownMembers
    pace: Pace

    def start(self, act: Coroutine[Any, Any, None]) -> None:
        """Run this beside everything else."""

    def send(self, to: NodeId, letter: Letter) -> None:
        """Send a letter, or drop it."""

    def watch(self, tx: str, what: str) -> None:
        """Report what was just done, if anybody watches."""


class ResourceGuard:
    """Guards the database; if there is none, all work is refused."""

    def __init__(self, port: GuardPort, worker: ResourceWorker | None) -> None:
        self._port = port
        self._worker = worker

    def begin(self) -> None:
        """Undo what the last life left without a vote, and keep looking for such transactions."""
        if self._worker is not None:
            self._port.start(self._recover(self._worker))
            self._port.start(self._sweep(self._worker))

    def met(self, sender: NodeId, hello: Hello) -> None:
        """Another node has connected: undo what an earlier life of it began."""
        if self._worker is not None:
            for tx in self._worker.orphans(sender, hello.process):
                self.undo(tx)

    def undo(self, tx: str) -> None:
        """Stop and undo work that has not been voted on."""
        if self._worker is not None and tx not in self._port.instances:
            self._port.start(self._worker.give_up(tx))

    def forget(self, tx: str) -> None:
        """The transaction is over."""
        if self._worker is not None:
            self._port.start(self._worker.forget(tx))

    def begin_work(self, sender: NodeId, hello: Hello, work: Work) -> None:
        """Do a piece of work beside everything else."""
        self._port.start(self._work(sender, hello.process, work))

    async def _work(self, sender: NodeId, process: str, work: Work) -> None:
        try:
            if self._worker is None:
                raise Refused(NO_DATABASE)
            members = self._port.members
            act = self._worker.access.permitted(
                members.called(sender),
                work.statement,
                named=work.named,
                is_near=members.is_near(members.me) and members.is_near(sender),
            )
            answer = await self._worker.execute(sender, process, work, act)
            self._port.watch(work.tx, "worked")
            self._port.send(sender, Worked(work.tx, work.number, answer))
        except Refused as error:
            self._port.send(sender, Failed(work.tx, work.number, str(error)))

    async def do(self, tx: str, wants: Wants) -> None:
        """Prepare, commit or abort."""
        if self._worker is None:
            raise Refused(NO_DATABASE)
        act = {
            Wants.PREPARE: self._worker.prepare,
            Wants.COMMIT: self._worker.commit,
            Wants.ABORT: self._worker.abort,
        }[wants]
        await act(tx)

    async def leave(self) -> None:
        """Undo what was not voted on, and tell the coordinators: no vote will ever come."""
        if self._worker is not None:
            self._worker.trouble = STOPPED
            left = self._worker.coordinators.items()
            await asyncio.gather(*(self._leave(self._worker, tx, to) for tx, to in left))

    async def _leave(self, worker: ResourceWorker, tx: str, coordinator: NodeId) -> None:
        if tx not in self._port.instances:
            await worker.give_up(tx)
            self._port.send(coordinator, Failed(tx, 0, STOPPED))

    async def close(self) -> None:
        """Let go of the database."""
        if self._worker is not None:
            await asyncio.to_thread(self._worker.close)

    def _in_doubt(self) -> frozenset[str]:
        instances = self._port.instances.items()
        return frozenset(tx for tx, instance in instances if instance.view.state.is_in_doubt)

    async def _recover(self, worker: ResourceWorker) -> None:
        doubtful = self._in_doubt()
        known = await worker.recover(self._port.instances.keys())
        for tx in (doubtful & self._in_doubt()) - known:
            self._port.instances[tx].damage = "its database has lost what was prepared"

    @property
    def has_looked(self) -> bool:
        """Whether it is known what the database holds that is not in the log."""
        return self._worker is None or self._worker.has_looked

    def held(self, tx: str) -> Stage:
        """How far the database has come with a transaction that is not in the log."""
        if self._worker is None:
            return Stage.WORKING
        if tx in self._worker.noted:
            return Stage.COMMITTED
        return Stage.UNCERTAIN if tx in self._worker.unlogged else Stage.WORKING

    @property
    def unlogged(self) -> list[str]:
        """What is prepared here and neither in the log nor spoken of by anybody so far."""
        found = frozenset[str]() if self._worker is None else self._worker.unlogged
        return sorted(found - self._port.instances.keys())

    @property
    def why_unlogged(self) -> str:
        """How it came that this is not in the log."""
        return "" if self._worker is None else self._worker.why_unlogged

    async def missing(self, tx: str) -> list[str]:
        """What prepared work would change, in words."""
        return [] if self._worker is None else await self._worker.missing(tx)

    async def drop(self, tx: str) -> None:
        """Drop what is prepared, by hand; the database is free again."""
        if self._worker is not None:
            await self._worker.abort(tx)

    async def _sweep(self, worker: ResourceWorker) -> None:
        for round_ in count(1):
            await asyncio.sleep(self._port.pace.sweep_every)
            if worker.trouble is not None:
                continue
            for tx in worker.orphans():
                self.undo(tx)
            if round_ % SWEEPS == 0:
                try:
                    await worker.sweep(self._port.instances.keys())
                except Exception as error:
                    worker.trouble = str(error) or type(error).__name__
                    self._port.start(self._recover(worker))
