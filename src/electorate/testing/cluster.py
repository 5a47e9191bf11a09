"""A cluster for tests: nodes without sockets and threads, in a time that costs none, and faults."""

import asyncio
import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator
from string import ascii_lowercase
from typing import Any, TypeVar

from electorate.core import NodeId
from electorate.leadership.directory import Place
from electorate.leadership.term import Term
from electorate.node import Node
from electorate.pace import Pace
from electorate.runtime.frame import is_letter
from electorate.simulate.delay import Uniform
from electorate.testing.chaos import FAULTS, disturb, draw_plan
from electorate.testing.faults import Faults
from electorate.testing.loop import VirtualLoop
from electorate.testing.member import Member, Program
from electorate.testing.network import UNITS_PER_S, Network
from electorate.testing.story import Sentence, Story
from electorate.testing.watch import Watch

R = TypeVar("R")

LIMIT_S = 600.0
PATIENCE_S = 60.0
STEP_S = 0.005


class Cluster(Faults):
    """Some nodes, their network, and what may befall them. The seed decides all delays."""

    def __init__(
        self,
        nodes: int | Iterable[str] = 3,
        *,
        seed: int = 0,
        pace: Pace | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self.names = _names(nodes)
        self.seed = seed
        self.pace = pace or Pace()
        self.random = random.Random(f"{seed} test")
        """For choices of the test itself."""
        self._chance = random.Random(f"{seed} chaos")
        self._loop = VirtualLoop(limit_s)  # type: ignore[abstract]
        self.story = Story(lambda: self._loop.now)
        usual = Uniform(0, self.pace.T_ms * UNITS_PER_S // 1000)
        self._network = Network(self._loop, seed, usual, self._tell)
        self._watch = Watch(lambda: self._loop.now, self.story, self._up_ones)
        self._members: dict[str, Member] = {}
        for name in self.names:
            self._join(name)

    def run(self, main: Coroutine[Any, Any, R]) -> R:
        """Start all nodes, do this to its end, and end everything. Once for each cluster."""
        __tracebackhide__ = True
        try:
            return self._loop.run(self._boot_all, main, self.story.end)
        except BaseException as error:
            error.add_note(f"simulated with seed {self.seed}, until {self.now:.3f} s")
            raise
        finally:
            for member in self._members.values():
                member.disk.wipe()

    # --- what runs in it ---

    def node(self, name: str) -> Node:
        """The node that an application would hold there; a new one after each restart."""
        member = self._member(name)
        if not self._loop.is_running():
            raise ValueError("the cluster does not run: this is for what runs in it")
        return member.node

    def start(self, program: Program, *given: Any, on: str | Iterable[str] | None = None) -> None:
        """Run `program(node, *given)` in these processes, or in all; again after each restart."""
        names = self.names if on is None else [on] if isinstance(on, str) else on
        for name in names:
            member = self._member(name)
            member.programs.append((program, given))
            if member.is_up:
                member.run(program, given)

    def add(self, name: str) -> str:
        """Start one more node, to join; where it is, for `add_member` of another."""
        if name in self._members:
            raise ValueError(f"{name!r} is there already: restart it with join=True")
        self.names = (*self.names, name)
        self._join(name)
        self.story.tell(f"{name} starts, to join")
        self._boot(name, join=True)
        return self.place(name)

    def place(self, name: str) -> str:
        """Where a node is, as members are written."""
        return f"{name}@simulated:{1 + self.names.index(name)}"

    async def call(self, service: Callable[..., Any], *given: Any) -> Any:
        """Ask something of a service outside the cluster, such as a database.

        The request travels, is carried out whatever becomes of the caller, and the answer travels.
        """
        answered: asyncio.Future[Any] = self._loop.create_future()

        async def serve() -> None:
            error, result = None, None
            try:
                result = service(*given)
                if inspect.isawaitable(result):
                    result = await result
            except Exception as raised:
                error = raised
            self._loop.call_in_world(
                self._loop.now + self._network.travel_s(), answer, error, result
            )

        def answer(error: Exception | None, result: Any) -> None:
            if answered.done():
                return
            if error is None:
                answered.set_result(result)
            else:
                answered.set_exception(error)

        at = self._loop.now + self._network.travel_s()
        self._loop.call_in_world(at, lambda: self._loop.create_task(serve()))
        return await answered

    # --- what is to be seen ---

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self._loop.now

    def term(self, election: str, name: str) -> Term | None:
        """The term that a node holds for sure, as its own clock has it."""
        member = self._member(name)
        for office in member.offices.all() if member.is_up else ():
            term = office.term if office.name == election else None
            if term is not None and term.remaining() > 0:
                return term.term
        return None

    def leaders(self, election: str) -> tuple[str, ...]:
        """Everybody that holds a term: one at most, and with groups one on each side."""
        return tuple(name for name in self.names if self.term(election, name))

    async def leader(
        self, election: str, *, other_than: str | None = None, within_s: float = PATIENCE_S
    ) -> str:
        """Wait until a node leads that does not stand still; TimeoutError if none does in time."""

        def find() -> Iterator[str]:
            for name, member in self._members.items():
                if name != other_than and member.is_running and self.term(election, name):
                    yield name

        found: list[str] = []
        deadline = self.now + within_s
        while not found:
            if self.now > deadline:
                but = "" if other_than is None else f" but {other_than}"
                raise TimeoutError(f"nobody{but} leads {election} after {within_s:g} s")
            await asyncio.sleep(STEP_S)
            found = list(find())
        return found[0]

    async def calm(self, within_s: float = 2 * PATIENCE_S) -> None:
        """Wait until nobody has changed its mind for so long that nobody will any more."""
        pace, deadline = self.pace, self.now + within_s
        quiet_ms = pace.timeout_ms + 2 * pace.granted_ms + pace.preempt_delay_ms + pace.grace_ms
        begun = self.now
        while self.now - max(begun, self._watch.changed_at) <= quiet_ms / 1000:
            if self.now > deadline:
                raise TimeoutError(f"leaders still change after {within_s:g} s")
            await asyncio.sleep(STEP_S)

    async def chaos(self, seconds: float, faults: Iterable[str] = FAULTS) -> None:
        """Faults that the seed chooses, for a while; at the end all nodes and links are whole."""
        numbers = tuple(range(1, 1 + len(self.names)))
        plan = draw_plan(self._chance, numbers, seconds, tuple(faults))
        await disturb(self, plan, seconds)

    # --- inside ---

    def _boot_all(self) -> None:
        for name in self.names:
            self._boot(name)

    def _join(self, name: str) -> None:
        place = Place.of(self.place(name))
        self._members[name] = Member(place, self.seed, self._loop, self._network)

    def _up_ones(self) -> list[Member]:
        return [member for member in self._members.values() if member.is_up]

    def _tell(self, sender: NodeId, to: NodeId, data: bytes, fate: str) -> None:
        """Letters are told; signs of life and introductions are not."""
        if is_letter(data):
            offices = self._members[self.names[0]].offices
            ways = self.names[sender - 1], self.names[to - 1]
            self.story.tell(Sentence(offices, *ways, data, fate))


def _names(nodes: int | Iterable[str]) -> tuple[str, ...]:
    """The first letters of the alphabet, unless there are names already."""
    if not isinstance(nodes, int):
        return tuple(nodes)
    if not 1 <= nodes <= len(ascii_lowercase):
        raise ValueError(f"a cluster has 1 to {len(ascii_lowercase)} nodes, or names")
    return tuple(ascii_lowercase[:nodes])
