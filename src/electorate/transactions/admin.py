"""Where people ask a node about its transactions, and decide some by hand: its admin socket.

It is a socket in the node's data folder, for the owner of that folder alone: anybody who may open
it may ask. One line of JSON is the question, one line the answer.
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

from electorate.core import Asked, Decision, Received, Stage, Wants
from electorate.errors import Damaged, ElectorateError
from electorate.protocols.commit.state import Abort, Applied, Commit
from electorate.runtime.private import FILE_MODE
from electorate.transactions.guard import ResourceGuard
from electorate.transactions.instance import TransactionInstance
from electorate.transactions.letter import Party
from electorate.transactions.recovery import KnownMembers

log = logging.getLogger("electorate.transactions")

FILE = "electorate.sock"
ANSWER_S = 10.0

WARNINGS = {
    "commit": "the others may have aborted; then this database has what no other has",
    "abort": "the others may have committed; then this database lacks what all others have",
    "forget": "a node that has not done what was decided will not be told any more, and what is "
    "prepared for it in this database is dropped",
}
"""What a decision by hand may break."""


DECISIONS: dict[str, tuple[Stage, Commit | Abort]] = {
    "commit": (Stage.COMMITTED, Commit()),
    "abort": (Stage.ABORTED, Abort()),
}


class NoNode(ElectorateError):
    """Nobody answers on the admin socket."""


class Wrong(ElectorateError):
    """It cannot be done; the text says why."""


class TransactionStatus(msgspec.Struct, frozen=True):
    """One transaction, as one node reports it."""

    tx: str
    state: str
    role: str
    waits_for: str
    seconds: float
    """How long it has been in the log."""
    coordinator: str
    participants: list[str]
    asked: str | None = None
    """The node that finds out the decision, if it is in doubt."""
    damage: str | None = None
    by_hand: str | None = None
    missing: list[str] = []
    """What was decided and could not be done here, change by change."""

    @property
    def in_doubt(self) -> bool:
        """Whether this node must neither commit nor abort it of its own accord."""
        return self.role == "participant" and Stage(self.state).is_in_doubt


class AdminPort(Protocol):
    """What the admin socket needs of its node."""

    members: KnownMembers
    instances: dict[str, TransactionInstance]
    losses: dict[str, str]
    by_hand: dict[str, str]
    guard: ResourceGuard

    def resolved(self, tx: str, how: str) -> None:
        """Keep in the log what a person has decided of a transaction that is not in it."""

    def enter(self, act: Any, *given: Any) -> None:
        """Run this in the node's loop; an exception ends the node."""

    def abandon(self, instance: TransactionInstance) -> None:
        """Forget a transaction by hand, whatever the others think of it."""


class AdminSocket:
    """Answers questions, in the loop of the node."""

    def __init__(self, port: AdminPort, folder: Path) -> None:
        self._port = port
        self._path = folder / FILE
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to answer."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        opened = socket.socket(socket.AF_UNIX)
        try:
            # On Linux a socket file gets the mode of its socket: nobody can be quicker than chmod.
            os.fchmod(opened.fileno(), FILE_MODE)
            opened.bind(str(self._path))
            os.chmod(self._path, FILE_MODE)
            self._server = await asyncio.start_unix_server(self._serve, sock=opened)
        except OSError as error:
            opened.close()
            # Paths of sockets are short. Transactions go on without it.
            log.warning("nobody can ask about transactions at %s: %s", self._path, error)

    def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.close()
            with suppress(FileNotFoundError):
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            question = json.loads(await reader.readline())
            writer.write(msgspec.json.encode(await self._answer(question)) + b"\n")
            await writer.drain()
        except (OSError, ValueError):
            pass  # Whoever asks unclearly, or goes away, gets no answer.
        finally:
            writer.close()

    async def _answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            match question:
                case {"do": "list"}:
                    return {"found": statuses(self._port), "lost": self._port.losses}
                case {"do": "resolve", "tx": str(tx), "how": str(how)}:
                    return {"found": [await self._resolve(tx, how)], "lost": {}}
        except Wrong as error:
            return {"wrong": str(error)}
        return {"wrong": "no such question"}

    async def _resolve(self, tx: str, how: str) -> TransactionStatus:
        instance = self._port.instances.get(tx)
        if instance is None:
            return await self._resolve_unlogged(tx, how)
        status = status_of(self._port, instance)
        if how == "forget":
            if status.in_doubt:
                raise Wrong("it is in doubt: to forget it would be to abort it; decide it first")
            self._port.abandon(instance)
            return status
        stage, word = DECISIONS[how]
        if instance.is_stuck:
            return await self._end_stuck(instance, stage)
        if not status.in_doubt:
            raise Wrong(f"it is not in doubt: this node is its {status.role}; it is {status.state}")
        instance.by_hand = stage
        # It is as if the coordinator had said so; what that really says is compared with it.
        coordinator = instance.parts.coordinator.node
        self._port.enter(instance.take, Received(coordinator, word))
        return status_of(self._port, instance)

    async def _end_stuck(self, instance: TransactionInstance, stage: Stage) -> TransactionStatus:
        """Try once more to do what was decided, or end it without that."""
        guard, tx = self._port.guard, instance.tx
        missing = await guard.missing(tx) or instance.missing
        try:
            if stage is not Stage.COMMITTED:
                raise Damaged("it is not wanted")
            await guard.do(tx, Wants.COMMIT)
            instance.damage, missing = None, []
            self._port.enter(instance.take, Asked(Applied()))
        except Damaged:
            await self._dropped(tx)
            instance.missing = missing
            self._port.enter(instance.end_without, stage)
        except Exception as error:
            raise Wrong(f"the database cannot be asked at the moment: {error}") from None
        return msgspec.structs.replace(status_of(self._port, instance), missing=missing)

    async def _resolve_unlogged(self, tx: str, how: str) -> TransactionStatus:
        """Decide what is prepared in the database and is not in the log."""
        guard = self._port.guard
        if tx in self._port.by_hand and how == "forget":
            self._port.enter(self._port.resolved, tx, "")
            return _unlogged(self._port, tx)
        if tx not in guard.unlogged:
            raise Wrong(f"there is no transaction {tx} here")
        if how == "forget":
            raise Wrong("it is in doubt: to forget it would be to abort it; decide it first")
        stage, _ = DECISIONS[how]
        missing: list[str] = []
        self._port.enter(self._port.resolved, tx, stage)  # It is in the log before it is done.
        try:
            await guard.do(tx, Wants.COMMIT if stage is Stage.COMMITTED else Wants.ABORT)
        except Damaged:
            missing = await guard.missing(tx)
            await self._dropped(tx)
        except Exception as error:
            raise Wrong(f"the database cannot be asked at the moment: {error}") from None
        return msgspec.structs.replace(_unlogged(self._port, tx), missing=missing)

    async def _dropped(self, tx: str) -> None:
        try:
            await self._port.guard.drop(tx)
        except Exception as error:
            raise Wrong(f"the database cannot be asked at the moment: {error}") from None


def statuses(port: AdminPort) -> list[TransactionStatus]:
    """Every transaction that is not over, the oldest first; and those that were lost."""
    found = [status_of(port, instance) for instance in port.instances.values()]
    unlogged = {*port.guard.unlogged, *port.by_hand} - port.instances.keys()
    found += [_unlogged(port, tx) for tx in sorted(unlogged)]
    return sorted(found, key=lambda status: -status.seconds)


def status_of(port: AdminPort, instance: TransactionInstance) -> TransactionStatus:
    """How one transaction stands."""
    view, parts = instance.view, instance.parts
    doubtful = view.state.is_in_doubt and not view.coordinates
    leader = parts.of(view.leader) if doubtful and view.leader else None
    return TransactionStatus(
        instance.tx,
        str(view.state),
        "coordinator" if view.coordinates else "participant",
        _waits_for(port, instance, view),
        round(time.time() - instance.began, 1),
        _called(port, parts.coordinator),
        [_called(port, part) for part in parts.participants],
        None if leader is None else _called(port, leader),
        instance.damage,
        instance.by_hand,
        instance.missing,
    )


def _unlogged(port: AdminPort, tx: str) -> TransactionStatus:
    """How a transaction stands that the database has prepared, and that is not in the log."""
    # Its name says who has begun it; the log would know the rest.
    coordinator, by_hand = tx.rsplit("-", 2)[0], port.by_hand.get(tx)
    waits_for = f"the decision of {coordinator}; {port.guard.why_unlogged}"
    state = Stage(by_hand) if by_hand else Stage.UNCERTAIN
    if by_hand:
        waits_for = f"{coordinator} to say what it has decided, or for you to say --forget"
    return TransactionStatus(
        *(tx, str(state), "participant", waits_for, 0.0, coordinator, []), by_hand=by_hand
    )


def _waits_for(port: AdminPort, instance: TransactionInstance, view: Decision) -> str:
    coordinator = instance.parts.coordinator
    silent = [part for part in instance.parts.participants if part.node not in instance.state.heard]
    match view:
        case Decision(coordinates=True, state=Stage.UNCERTAIN):
            return f"the votes of {_names(port, silent)}"
        case Decision(coordinates=True):
            return f"{_names(port, silent)} to have {view.state} it"
        case Decision(wants=wants) if wants is not Wants.NOTHING:
            trouble = f", which says: {instance.trouble}" if instance.trouble else ""
            return f"the database to {wants}{trouble}"
        case Decision(state=Stage.UNCERTAIN):
            why = f"; {port.guard.why_unlogged}" if instance.is_held else ""
            return f"the decision of {_names(port, [coordinator])}{why}"
    return f"{_names(port, [coordinator])} to say that all have {view.state} it"


def _names(port: AdminPort, parts: list[Party]) -> str:
    """The members' names, and which of them cannot be reached or are no members any more."""
    members = port.members
    present = {*members.numbers.values()}

    def told(part: Party) -> str:
        if part.node not in present:
            return f"{_called(port, part)} (no member any more)"
        return _called(port, part) + ("" if part.node in members.alive else " (unreachable)")

    return ", ".join(map(told, parts)) or "nobody"


def _called(port: AdminPort, part: Party) -> str:
    return part.name or port.members.called(part.node)


def ask(folder: Path, question: dict[str, Any]) -> dict[str, Any]:
    """Ask the node whose data folder this is; NoNode if it is not running."""
    with socket.socket(socket.AF_UNIX) as to_node:
        to_node.settimeout(ANSWER_S)
        try:
            to_node.connect(str(folder / FILE))
        except OSError:
            raise NoNode(f"no node runs on {folder}") from None
        with to_node.makefile("rwb") as line:
            line.write(json.dumps(question).encode() + b"\n")
            line.flush()
            try:
                told = line.readline()
            except TimeoutError:
                raise NoNode(f"the node on {folder} gives no answer") from None
    if not told:
        raise NoNode(f"the node on {folder} has ended before it answered")
    answer: dict[str, Any] = json.loads(told)
    if "wrong" in answer:
        raise Wrong(answer["wrong"])
    return answer
