"""What the asyncio and the plain interface share: a node in its thread, and its elections."""

import concurrent.futures
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from electorate.core import Anyone, NodeId, Standing, Timing
from electorate.leadership.office import Office, Seen
from electorate.leadership.offices import NodeStopped, Offices
from electorate.leadership.pace import Pace
from electorate.leadership.place import named, places
from electorate.leadership.term import Term
from electorate.net.config import NodeConfig
from electorate.net.thread import NodeThread
from electorate.trace import Connections, Setting

GRACE_S = 0.5


class Leader(NamedTuple):
    """Who leads an election, as one node knows it."""

    leader: str | None
    """Its name; None while the office is vacant."""
    token: int | None
    """The number of its term."""


class Engine:
    """A node that runs in a thread of its own."""

    def __init__(
        self, me: str, members: Iterable[str], data_dir: Path | str, pace: Pace | None
    ) -> None:
        found = places(members if "@" not in me else [me, *members])
        self.me = named(me, found)
        self.pace = pace or Pace()
        self.names = {place.id: place.name for place in found.values()}
        self.ids = {place.name: place.id for place in found.values()}
        self.offices = Offices(self.me.id, self.names, self.pace)
        ids = tuple(sorted(self.names))
        # What waits on a connection for longer than a lease is of no use to anybody.
        timing = Timing(self.pace.lease_ms)
        setting = Setting("mandate", ids, timing=timing, connections=Connections.DIE)
        addresses = {place.id: place.address for place in found.values()}
        config = NodeConfig(
            self.me.id,
            setting,
            addresses,
            Path(data_dir),
            beat_ms=self.pace.beat_ms,
            timeout_ms=self.pace.timeout_ms,
        )
        machine = Anyone(setting.members(), timing)
        self._thread = NodeThread(config, machine, self._changed, self.offices)
        self.offices.call = self._thread.call

    def start(self) -> None:
        """Begin, and wait until the others were reached or proved unreachable."""
        self._thread.start()
        lived = self._thread.submit(self.offices.lived.wait())
        concurrent.futures.wait([lived])
        if lived.cancelled():
            self._thread.ended.wait()
        self.expect_running()

    def stop(self) -> None:
        """Stand nowhere any more, give work the time to end, and end."""
        with suppress(NodeStopped):
            self.pause(True)
            self._await_end_of_work()
        self._thread.stop()
        if self._thread.error is not None:
            raise self._thread.error

    def expect_running(self) -> None:
        """Raise what has ended the node, if something has."""
        if self._thread.ended.is_set():
            raise self._thread.error or NodeStopped("the node has stopped")

    def pause(self, paused: bool) -> None:
        """Stand nowhere, or again where it did."""
        self.do(self.offices.pause, paused)

    def do(self, act: Callable[..., None], *given: object) -> None:
        """Have something done in the node's thread."""
        if self._thread.ended.is_set():
            raise NodeStopped("the node has stopped")
        self.offices.enter(act, *given)

    def office(self, name: str) -> Office:
        """The election of that name."""
        made: concurrent.futures.Future[Office] = concurrent.futures.Future()
        self.do(lambda: made.set_result(self.offices.office(name)))
        while True:
            try:
                return made.result(0.1)
            except concurrent.futures.TimeoutError:
                self.expect_running()

    def wait(self, office: Office) -> "concurrent.futures.Future[Term]":
        """A term, once there is one. Whoever cancels that does not stand any more."""
        future: concurrent.futures.Future[Term] = concurrent.futures.Future()
        self.do(office.wait, future)
        return future

    def give_up(self, office: Office, future: "concurrent.futures.Future[Term]") -> None:
        """Nobody waits for that term any more; if it has come just now, it is over."""
        if future.cancel():
            with suppress(NodeStopped):
                self.do(office.leave, future)
        elif future.exception() is None:
            future.result().finish()

    def told(self, seen: Seen) -> Leader:
        """The same by name."""
        name = None if seen.leader is None else self.names[seen.leader]
        return Leader(name, seen.token)

    def observe(self, office: Office, tell: Callable[[Leader], None]) -> Callable[[], None]:
        """Tell who leads, now and whenever that changes; returns how to end that."""

        def told(seen: Seen) -> None:
            tell(self.told(seen))

        def begin() -> None:
            told(office.seen)
            office.watching.append(told)

        def end() -> None:
            if told in office.watching:
                office.watching.remove(told)

        self.do(begin)
        return lambda: self._quietly(end)

    def set_priority(self, office: Office, priority: int) -> None:
        """Stand with another priority from now on."""

        def change() -> None:
            office.priority = priority
            office.stand()

        self.do(change)

    def expect_heir(self, office: Office, name: str) -> NodeId:
        """Who is to take over; ValueError or TransferFailed if it cannot."""
        if name not in self.ids:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.ids)}")
        heir = self.ids[name]
        if heir not in self.offices.alive:
            raise TransferFailed(f"{name} cannot be reached")
        if not self.offices.stands_with(heir, office.name):
            raise TransferFailed(f"{name} does not stand: it is paused, has priority 0 or no work")
        if office.seen.leader is None:
            raise TransferFailed(f"nobody leads {office.name}: there is nothing to hand over")
        return heir

    @property
    def patience_s(self) -> float:
        """How long a hand-over may take at most."""
        return (self.pace.grace_ms + 3 * self.pace.granted_ms) / 1000

    def unchanged(self, office: Office) -> str:
        """What is wrong when nothing has come of a wish."""
        leader = self.told(office.seen).leader or "nobody"
        return f"{leader} leads {office.name} after {self.patience_s:.1f} s"

    def _quietly(self, act: Callable[[], None]) -> None:
        with suppress(NodeStopped):
            self.do(act)

    def _await_end_of_work(self) -> None:
        """Wait until no work is left and the others have been told, but not for ever."""
        ended = threading.Event()
        deadline = self.offices.now_ms() + self.pace.grace_ms

        def look() -> None:
            busy = any(o.term is not None or o.is_held for o in self.offices.offices.values())
            if not busy:
                ended.set()

        while self.offices.now_ms() < deadline and not self._thread.ended.is_set():
            self.do(look)
            if ended.wait(0.005):
                # What was said last is still on its way.
                self._thread.submit(self.offices.host.network.flushed()).result(GRACE_S)
                return

    def _changed(self, standing: Standing | None) -> None:
        """The node itself elects nobody."""


class TransferFailed(Exception):
    """The office was not handed over, and this is why."""
