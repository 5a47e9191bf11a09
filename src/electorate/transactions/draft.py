"""A transaction while its work is being done; it runs in the node's own loop.

Nothing of it is in any log yet. Once everything is done it is opened as a deal, and the machine
decides it; whatever fails before that ends it without a trace.
"""

import asyncio
from typing import Any

from electorate.core import NodeId, Stage
from electorate.errors import Aborted, OutcomeUnknown, Refused
from electorate.protocols.commit.state import Begin
from electorate.transactions.clerk import Clerk
from electorate.transactions.letter import Leave, Part, Parts, Work
from electorate.transactions.resource import Answer


class Draft:
    """Work that is to be committed in several places, or in none."""

    def __init__(self, clerk: Clerk) -> None:
        self.tx = clerk.new_name()
        self._clerk = clerk
        self._counts: dict[NodeId, int] = {}
        self._parts: dict[NodeId, Part] = {}
        self._failure: str | None = None

    async def execute(self, name: str, statement: Any, values: tuple[Any, ...]) -> Answer:
        """Do a piece of work; if it fails, the transaction cannot be committed any more."""
        if self._failure is not None:
            raise Aborted(self.tx, self._failure)
        node = self._node(name)
        number = self._counts[node] = self._counts.get(node, 0) + 1
        try:
            work = Work(self.tx, number, statement, values)
            answer, part = await self._clerk.errands.ask(node, work)
        except Refused as error:
            self._failure = f"{name}: {error}"
            raise Aborted(self.tx, self._failure) from None
        except BaseException:
            self._failure = f"{name}: an answer was not waited for"
            raise
        self._parts.setdefault(node, part)
        return answer

    async def commit(self) -> None:
        """Have it decided; Aborted if that is how it is decided."""
        if self._failure is not None:
            await self.abort()
            raise Aborted(self.tx, self._failure)
        if not self._parts:
            return
        participants = tuple(self._parts[node] for node in sorted(self._parts))
        deal = self._clerk.open(self.tx, Parts(self._clerk.me_as_part(), participants))
        self._clerk.enter(deal.ask, Begin())
        await asyncio.wait([deal.decided])
        if deal.decided.cancelled():
            raise OutcomeUnknown(self.tx)
        if deal.decided.result() is Stage.ABORTED:
            why = "; ".join(deal.reasons) or "not everybody voted yes in time"
            raise Aborted(self.tx, why)
        await asyncio.wait([deal.ended], timeout=self._clerk.pace.settle_ms / 1000)

    async def abort(self) -> None:
        """Tell everybody who has done work to undo it; who does not hear it does so in time."""
        for node in self._counts:
            self._clerk.send(node, Leave(self.tx))
        self._counts.clear()
        self._failure = self._failure or "it was given up"

    def _node(self, name: str) -> NodeId:
        names = self._clerk.names
        if name not in names:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(names)}")
        if names[name] == self._clerk.host.me:
            raise ValueError(f"{name} coordinates: it takes no part in its own transactions")
        return names[name]
