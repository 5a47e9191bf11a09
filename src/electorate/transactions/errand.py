"""Work that other nodes are asked to do, and their answers."""

import asyncio
from typing import Protocol

from electorate.core import NodeId
from electorate.errors import Refused
from electorate.pace import Pace
from electorate.runtime.frame import Hello
from electorate.runtime.host import Host
from electorate.transactions.letter import Failed, Letter, Part, Work, Worked
from electorate.transactions.resource import Answer


class Sender(Protocol):
    """Who brings letters on their way."""

    pace: Pace
    host: Host

    def send(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way, or drop it."""


class Errands:
    """What was asked for and is not answered yet."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._asked: dict[tuple[str, NodeId, int], asyncio.Future[tuple[Answer, Part]]] = {}

    async def ask(self, to: NodeId, work: Work) -> tuple[Answer, Part]:
        """Have another node do a piece of work; Refused if it could not, or cannot be reached."""
        key, pace = (work.tx, to, work.number), self._sender.pace
        answer: asyncio.Future[tuple[Answer, Part]] = asyncio.get_running_loop().create_future()
        self._asked[key] = answer
        deadline = self._sender.host.now_ms() + pace.work_ms
        suspect = False
        try:
            while not answer.done():
                # Twice in a row: it may have come back just now.
                was_suspect, suspect = suspect, to not in self._sender.host.network.alive()
                if suspect and was_suspect:
                    raise Refused("it cannot be reached")
                left_ms = deadline - self._sender.host.now_ms()
                if left_ms <= 0:
                    raise Refused(f"no answer within {pace.work_timeout:g} s")
                # The work or its answer may get lost; who has done it already only says so.
                self._sender.send(to, work)
                await asyncio.wait([answer], timeout=min(pace.again_ms, left_ms) / 1000)
            if answer.cancelled():
                raise Refused("the node has ended")
            return answer.result()
        finally:
            del self._asked[key]

    def answered(self, hello: Hello, letter: Worked | Failed) -> None:
        """An answer has come; what nobody waits for any more is not heard."""
        asked = self._asked.get((letter.tx, hello.node, letter.number))
        if asked is None or asked.done():
            return
        if isinstance(letter, Worked):
            part = Part(hello.node, hello.store, hello.incarnation)
            asked.set_result((letter.answer, part))
        else:
            asked.set_exception(Refused(letter.reason))

    def close(self) -> None:
        """Nobody will answer any more."""
        for asked in self._asked.values():
            asked.cancel()
