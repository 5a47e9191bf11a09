"""The counter of a node: where people ask about its transactions, and decide some by hand.

It is a socket in the node's data folder; who may open that may ask. One line of JSON is the
question, one line the answer.
"""

import asyncio
import json
import logging
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from electorate.core import Received, Stage
from electorate.errors import ElectorateError
from electorate.protocols.commit.state import Abort, Commit
from electorate.transactions.clerk import Clerk
from electorate.transactions.status import Status, status_of, statuses

log = logging.getLogger("electorate.transactions")

FILE = "electorate.sock"
ANSWER_S = 10.0

WARNINGS = {
    "commit": "the others may have aborted; then this database has what no other has",
    "abort": "the others may have committed; then this database lacks what all others have",
    "forget": "whoever has not done as was decided will not be told any more",
}
"""What a decision by hand may break."""


class NoNode(ElectorateError):
    """Nobody is at the counter."""


class Wrong(ElectorateError):
    """It cannot be done, and this is why."""


class Counter:
    """Answers in the loop of the node."""

    def __init__(self, clerk: Clerk, folder: Path) -> None:
        self._clerk = clerk
        self._path = folder / FILE
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to answer."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        try:
            self._server = await asyncio.start_unix_server(self._serve, self._path)
            os.chmod(self._path, 0o600)
        except OSError as error:
            # Paths of sockets are short. Transactions go on without it.
            log.warning("nobody can ask about transactions at %s: %s", self._path, error)

    def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            question = json.loads(await reader.readline())
            writer.write(msgspec.json.encode(self._answer(question)) + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # Whoever asks unclearly, or goes away, gets no answer.
        finally:
            writer.close()

    def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            match question:
                case {"do": "list"}:
                    return {"found": statuses(self._clerk), "lost": self._clerk.losses}
                case {"do": "resolve", "tx": str(tx), "how": str(how)}:
                    return {"found": [self._resolve(tx, how)], "lost": {}}
        except Wrong as error:
            return {"wrong": str(error)}
        return {"wrong": "no such question"}

    def _resolve(self, tx: str, how: str) -> Status:
        deal = self._clerk.deals.get(tx)
        if deal is None:
            raise Wrong(f"there is no transaction {tx} here")
        status = status_of(self._clerk, deal)
        if how == "forget":
            if status.in_doubt:
                raise Wrong("it is in doubt: to forget it would be to abort it; decide it first")
            self._clerk.abandon(deal)
            return status
        if not status.in_doubt:
            raise Wrong(f"it is not in doubt: this node is its {status.role}; it is {status.state}")
        stage, word = {
            "commit": (Stage.COMMITTED, Commit()),
            "abort": (Stage.ABORTED, Abort()),
        }[how]
        deal.by_hand = stage
        # It is as if the coordinator had said so; what that really says is compared with it.
        coordinator = deal.parts.coordinator.node
        self._clerk.enter(deal.take, Received(coordinator, word))
        return status_of(self._clerk, deal)


def ask(folder: Path, question: dict[str, Any]) -> dict[str, Any]:
    """Ask the node whose data folder this is; NoNode if it does not run."""
    with socket.socket(socket.AF_UNIX) as to_node:
        to_node.settimeout(ANSWER_S)
        try:
            to_node.connect(str(folder / FILE))
        except OSError:
            raise NoNode(f"no node runs on {folder}") from None
        with to_node.makefile("rwb") as line:
            line.write(json.dumps(question).encode() + b"\n")
            line.flush()
            answer: dict[str, Any] = json.loads(line.readline())
    if "wrong" in answer:
        raise Wrong(answer["wrong"])
    return answer
