"""Where people ask a node about its transactions, and decide some by hand: its admin socket.

It is a socket in the node's data folder; who may open that may ask. One line of JSON is the
question, one line the answer.
"""

import asyncio
import json
import logging
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec

from electorate.core import Decision, Received, Stage, Wants
from electorate.errors import ElectorateError
from electorate.protocols.commit.state import Abort, Commit
from electorate.transactions.deal import Deal
from electorate.transactions.letter import Part
from electorate.transactions.recovery import Members

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
    """Nobody answers on the admin socket."""


class Wrong(ElectorateError):
    """It cannot be done, and this is why."""


class Status(msgspec.Struct, frozen=True):
    """One transaction at one node."""

    tx: str
    state: str
    role: str
    waits_for: str
    seconds: float
    """How long it has been in the log."""
    coordinator: str
    participants: list[str]
    asked: str | None = None
    """Who is to find out the decision, if it is in doubt."""
    damage: str | None = None
    by_hand: str | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether it must neither be committed nor aborted of this node's own accord."""
        return self.role == "participant" and Stage(self.state).is_in_doubt


class Desk(Protocol):
    """Whose transactions are asked about."""

    members: Members
    deals: dict[str, Deal]
    losses: dict[str, str]

    def enter(self, act: Any, *given: Any) -> None:
        """Have something done; what it raises ends the node."""

    def abandon(self, deal: Deal) -> None:
        """Forget a transaction by hand, whatever the others think of it."""


class AdminSocket:
    """Answers in the loop of the node."""

    def __init__(self, desk: Desk, folder: Path) -> None:
        self._desk = desk
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
                    return {"found": statuses(self._desk), "lost": self._desk.losses}
                case {"do": "resolve", "tx": str(tx), "how": str(how)}:
                    return {"found": [self._resolve(tx, how)], "lost": {}}
        except Wrong as error:
            return {"wrong": str(error)}
        return {"wrong": "no such question"}

    def _resolve(self, tx: str, how: str) -> Status:
        deal = self._desk.deals.get(tx)
        if deal is None:
            raise Wrong(f"there is no transaction {tx} here")
        status = status_of(self._desk, deal)
        if how == "forget":
            if status.in_doubt:
                raise Wrong("it is in doubt: to forget it would be to abort it; decide it first")
            self._desk.abandon(deal)
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
        self._desk.enter(deal.take, Received(coordinator, word))
        return status_of(self._desk, deal)


def statuses(desk: Desk) -> list[Status]:
    """Every transaction that is not over, the oldest first; and those that were lost."""
    found = [status_of(desk, deal) for deal in desk.deals.values()]
    return sorted(found, key=lambda status: -status.seconds)


def status_of(desk: Desk, deal: Deal) -> Status:
    """How one transaction stands."""
    view, parts = deal.view, deal.parts
    doubtful = view.state.is_in_doubt and not view.coordinates
    leader = parts.of(view.leader) if doubtful and view.leader else None
    return Status(
        deal.tx,
        str(view.state),
        "coordinator" if view.coordinates else "participant",
        _waits_for(desk, deal, view),
        round(time.time() - deal.began, 1),
        _called(desk, parts.coordinator),
        [_called(desk, part) for part in parts.participants],
        None if leader is None else _called(desk, leader),
        deal.damage,
        deal.by_hand,
    )


def _waits_for(desk: Desk, deal: Deal, view: Decision) -> str:
    coordinator = deal.parts.coordinator
    silent = [part for part in deal.parts.participants if part.node not in deal.state.heard]
    match view:
        case Decision(coordinates=True, state=Stage.UNCERTAIN):
            return f"the votes of {_names(desk, silent)}"
        case Decision(coordinates=True):
            return f"{_names(desk, silent)} to have {view.state} it"
        case Decision(wants=wants) if wants is not Wants.NOTHING:
            trouble = f", which says: {deal.trouble}" if deal.trouble else ""
            return f"the database to {wants}{trouble}"
        case Decision(state=Stage.UNCERTAIN):
            return f"the decision of {_names(desk, [coordinator])}"
    return f"{_names(desk, [coordinator])} to say that all have {view.state} it"


def _names(desk: Desk, parts: list[Part]) -> str:
    """Their names, and which of them cannot be reached or are no members any more."""
    members = desk.members
    present = {*members.numbers.values()}

    def told(part: Part) -> str:
        if part.node not in present:
            return f"{_called(desk, part)} (no member any more)"
        return _called(desk, part) + ("" if part.node in members.alive else " (unreachable)")

    return ", ".join(map(told, parts)) or "nobody"


def _called(desk: Desk, part: Part) -> str:
    return part.name or desk.members.called(part.node)


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
