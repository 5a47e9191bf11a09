"""A cluster for tests: nodes without sockets and threads, in a time that costs none, and faults."""

import asyncio
import inspect
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator
from string import ascii_lowercase
from typing import Any, TypeVar

from electorate.core import NodeId, Timing
from electorate.leadership.directory import MemberAddress
from electorate.leadership.term import Term
from electorate.node import Node
from electorate.pace import Pace
from electorate.runtime.frame import is_letter
from electorate.simulate.delay import Uniform, parse_delay
from electorate.simulate.fault import AnyFault, Crash, CutLink, Pause, Recover
from electorate.testing.chaos import FAULTS, Hurt, draw_plan, units
from electorate.testing.loop import VirtualLoop
from electorate.testing.member import Program, SimulatedMember
from electorate.testing.network import UNITS_PER_S, SimulatedMachine, SimulatedNetwork
from electorate.testing.story import ClusterStory, ToldLetter
from electorate.testing.watch import Watch

R = TypeVar("R")

LIMIT_S = 600.0
PATIENCE_S = 60.0
STEP_S = 0.005


class Cluster:
    """Some nodes, their network, and what may happen to them. The seed decides all delays."""

    def __init__(
        self,
        nodes: int | Iterable[str] = 3,
        *,
        seed: int = 0,
        pace: Pace | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        if pace is not None and not isinstance(pace, Pace):
            raise TypeError(f"a pace is an electorate.Pace(...), not {pace!r}")
        self.names = _names(nodes)
        self.seed = seed
        self.pace = pace or Pace()
        self.random = random.Random(f"{seed} test")
        """Random numbers for choices of the test itself."""
        self._chance = random.Random(f"{seed} chaos")
        self._loop = VirtualLoop(limit_s)  # type: ignore[abstract]
        self.story = ClusterStory(lambda: self._loop.now)
        usual = Uniform(0, units(self.pace.T))
        self._network = SimulatedNetwork(self._loop, seed, usual, self._tell)
        self._watch = Watch(lambda: self._loop.now, self.story, self._up_ones)
        self._members: dict[str, SimulatedMember] = {}
        for name in self.names:
            self._join(name)

    def run(self, main: Coroutine[Any, Any, R]) -> R:
        """Start all nodes, do this to its end, and end everything. Once for each cluster.

        It begins once all have founded the cluster.
        """
        __tracebackhide__ = True
        try:
            return self._loop.run(self._boot_all, main, self.story.end, self._founded)
        except BaseException as error:
            error.add_note(f"simulated with seed {self.seed}, until {self.now:.3f} s")
            raise
        finally:
            for member in self._members.values():
                member.disk.wipe()

    # --- what runs in it ---

    def node(self, name: str) -> Node:
        """The node that an application there would hold; a new one after each restart."""
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
        """Start one more node, to join; returns its address, for `add_member` of another."""
        if name in self._members:
            raise ValueError(f"{name!r} is there already: restart it with join=True")
        self.names = (*self.names, name)
        self._join(name)
        self.story.tell(f"{name} starts, to join")
        self._boot(name, join=True)
        return self.place(name)

    def place(self, name: str) -> str:
        """The address of a node, as members are written."""
        return f"{name}@simulated:{1 + self.names.index(name)}"

    async def call(self, service: Callable[..., Any], *given: Any) -> Any:
        """Ask something of a service outside the cluster, such as a database.

        The request travels, is carried out whatever happens to the caller, and the answer travels.
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
        for each in member.elections.all() if member.is_up else ():
            term = each.term if each.name == election else None
            if term is not None and term.remaining() > 0:
                return term.term
        return None

    def leaders(self, election: str) -> tuple[str, ...]:
        """All that hold a term: one at most, and with groups one on each side."""
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
        """Wait until no node has changed its mind for so long that none will any more."""
        pace, deadline = self.pace, self.now + within_s
        quiet_s = pace.timeout + 2 * pace.granted + pace.preempt_delay + pace.grace
        begun = self.now
        while self.now - max(begun, self._watch.changed_at) <= quiet_s:
            if self.now > deadline:
                raise TimeoutError(f"leaders still change after {within_s:g} s")
            await asyncio.sleep(STEP_S)

    async def chaos(self, seconds: float, faults: Iterable[str] = FAULTS) -> None:
        """Faults that the seed chooses, for a while; at the end all that they broke is mended."""
        begun, hurt = self.now, Hurt()
        numbers = tuple(range(1, 1 + len(self.names)))
        plan = draw_plan(self._chance, numbers, seconds, tuple(faults))
        begins = [(fault.at, self._begin_fault, fault) for fault in plan]
        ends = [(f.until, self._end_fault, f) for f in plan if isinstance(f, Pause | CutLink)]
        for at, act, fault in sorted([*begins, *ends], key=lambda entry: entry[0]):
            await asyncio.sleep(begun + at / UNITS_PER_S - self.now)
            act(fault, hurt)
        await asyncio.sleep(begun + seconds - self.now)

    # --- what may befall it ---

    def is_running(self, name: str) -> bool:
        """Whether its process exists and does not stand still."""
        return self._member(name).is_running

    def crash(self, name: str) -> None:
        """End its process, in the middle of whatever it did; what it has saved stays."""
        member = self._up(name)
        self.story.tell(f"{name} crashes")
        member.crash()

    def restart(self, name: str, *, join: bool = False) -> None:
        """Start its process anew, and what runs in it.

        With `join` it waits until others make it a member, like a node that was added later.
        """
        if self._member(name).is_up:
            raise ValueError(f"{name} is up: crash or stop it first")
        self.story.tell(f"{name} starts again{', to join' if join else ''}")
        self._boot(name, join=join)

    async def stop(self, name: str) -> None:
        """End its process in an orderly way: its work is cancelled, its offices are given up."""
        member = self._up(name)
        self.story.tell(f"{name} is told to stop")
        await member.stop()
        self.story.tell(f"{name} has stopped")

    def wipe(self, name: str) -> None:
        """Delete what it has saved; its process must be down."""
        if self._member(name).is_up:
            raise ValueError(f"{name} is up: crash or stop it first")
        self._member(name).disk.wipe()
        self.story.tell(f"the disk of {name} is wiped")

    def pause(self, name: str, *, clock_stops: bool = False) -> None:
        """Have its process stand still. Its clock goes on, unless the machine stands still."""
        member = self._up(name)
        member.process.paused = True
        if clock_stops:
            member.machine.is_frozen = True
            self._set_clock(name, 0.0)
        self.story.tell(f"{name} stands still{' with its clock' if clock_stops else ''}")

    def unpause(self, name: str) -> None:
        """Have its process go on; it notices nothing by itself."""
        member = self._up(name)
        if member.process.paused:
            if member.clock.stopped:
                self._set_clock(name, 1.0)
            member.go_on()
            self.story.tell(f"{name} goes on")

    def cut(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Let nothing pass between a and b any more, in either direction."""
        machines = self._member(a).machine, self._member(b).machine
        if a == b:
            raise ValueError(f"{a} cannot be cut off from itself")
        self._network.cut(*machines)
        if not one_way:
            self._network.cut(*reversed(machines))
        self.story.tell(f"{a} is cut off from {b}{', one way' if one_way else ''}")

    def partition(self, *sides: Iterable[str]) -> None:
        """Let nothing pass from one side to another; all that are named on none are one more side.

        Cuts that were made before are mended.
        """
        groups = [set(side) for side in sides]
        twice = {name for name in self.names if sum(name in side for side in groups) > 1}
        if twice:
            raise ValueError(f"on more than one side: {', '.join(sorted(twice))}")
        groups.append(set(self.names).difference(*groups))
        self._network.heal()
        for group in groups:
            for a in group:
                for b in set(self.names) - group:
                    self._network.cut(self._member(a).machine, self._member(b).machine)
        self.story.tell(
            "partition: " + " | ".join(" ".join(sorted(group)) for group in groups if group)
        )

    def heal(self) -> None:
        """Let everything pass again, and lose nothing on purpose."""
        self._network.heal()
        self._network.loss = 0.0
        self.story.tell("the network is whole")

    def delay(self, low_s: float | str, high_s: float | None = None) -> None:
        """From now on a message takes between these many seconds; before, 0 to T.

        Instead of two bounds it may be a model as `electorate simulate --delay` takes it.
        """
        if isinstance(low_s, str):
            self._network.delay = parse_delay(low_s, Timing(units(self.pace.T)))
            self.story.tell(f"delays are {low_s}")
        else:
            high_s = low_s if high_s is None else high_s
            if not 0 <= low_s <= high_s:
                raise ValueError(f"a delay from {low_s:g} up to {high_s:g} s is empty")
            self._network.delay = Uniform(units(low_s), units(high_s))
            self.story.tell(f"messages take {low_s:g} to {high_s:g} s")

    def lose(self, rate: float) -> None:
        """From now on this share of what is sent is lost, and sent again after a while."""
        if not 0 <= rate <= 1:
            raise ValueError(f"a part of what is sent is from 0 to 1, not {rate:g}")
        self._network.loss = rate
        self.story.tell(f"{rate:.0%} of all messages are lost")

    def clock_jump(self, name: str, by_s: float) -> None:
        """Set its clock ahead. No node can guard against that: only tokens help."""
        if by_s < 0:
            raise ValueError("the clock of a node never goes back")
        self._watch.clocks_keep_their_word = False
        self._member(name).clock.jump(self._loop.now, by_s)
        self._loop.reset_timers()
        self.story.tell(f"the clock of {name} jumps by {by_s:g} s")

    def set_wall_clock(self, name: str, ahead_s: float = 0.0) -> None:
        """Set its wall clock right, as is done after it stood still, or wrongly ahead."""
        self._member(name).clock.set_wall(self._loop.now, ahead_s)
        self.story.tell(f"the wall clock of {name} is set")

    def clock_rate(self, name: str, rate: float) -> None:
        """Run its clock at another speed, 1 being right; `pace.drift` says what is allowed for."""
        self._set_clock(name, rate)
        self.story.tell(f"the clock of {name} runs at {rate:g}")

    # --- inside ---

    def _boot(self, name: str, *, join: bool = False) -> None:
        member = self._members[name]
        member.joins |= join
        if member.clock.stopped:
            self._set_clock(name, 1.0)
        addresses = [str(each.address) for each in self._members.values()]
        member.boot(addresses, self.pace, self._look)

    def _look(self, member: SimulatedMember) -> None:
        try:
            self._watch.look(member)
        except AssertionError as error:
            self._loop.fail(error)

    def _begin_fault(self, fault: AnyFault, hurt: Hurt) -> None:
        """Have a fault happen, if there is anything left for it to do."""
        match fault:
            case Crash(_, node) if self.is_running(name := self.names[node - 1]):
                self.crash(name)
                hurt.crashed.add(name)
            case Recover(_, node) if (name := self.names[node - 1]) in hurt.crashed:
                hurt.crashed.remove(name)
                if not self._member(name).is_up:
                    self.restart(name)
            case Pause(_, _, node) if self.is_running(name := self.names[node - 1]):
                self.pause(name)
            case CutLink(_, _, sender, to):
                way = self.names[sender - 1], self.names[to - 1]
                if hurt.cuts[way] or not self._network.is_cut(*self._ends(way)):
                    hurt.cuts[way] += 1
                    self.cut(*way, one_way=True)

    def _end_fault(self, fault: AnyFault, hurt: Hurt) -> None:
        """Mend a fault that lasts for a while."""
        match fault:
            case Pause(_, _, node) if self._member(self.names[node - 1]).is_up:
                self.unpause(self.names[node - 1])
            case CutLink(_, _, sender, to) if hurt.cuts[
                way := (self.names[sender - 1], self.names[to - 1])
            ]:
                hurt.cuts[way] -= 1
                if not hurt.cuts[way] and self._network.is_cut(*self._ends(way)):
                    self._network.mend(*self._ends(way))
                    self.story.tell(f"{way[0]} reaches {way[1]} again")

    def _ends(self, way: tuple[str, str]) -> tuple[SimulatedMachine, SimulatedMachine]:
        return self._member(way[0]).machine, self._member(way[1]).machine

    def _set_clock(self, name: str, rate: float) -> None:
        if abs(rate - 1) > self.pace.drift:
            self._watch.clocks_keep_their_word = False
        self._member(name).clock.run(self._loop.now, rate)
        self._loop.reset_timers()

    def _member(self, name: str) -> SimulatedMember:
        if name not in self._members:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.names)}")
        return self._members[name]

    def _up(self, name: str) -> SimulatedMember:
        member = self._member(name)
        if not member.is_up:
            raise ValueError(f"{name} is down")
        return member

    def _boot_all(self) -> None:
        for name in self.names:
            self._boot(name)

    async def _founded(self) -> None:
        await asyncio.gather(*(each.engine.begin() for each in self._members.values()))

    def _join(self, name: str) -> None:
        address = MemberAddress.of(self.place(name))
        self._members[name] = SimulatedMember(address, self.seed, self._loop, self._network)

    def _up_ones(self) -> list[SimulatedMember]:
        return [member for member in self._members.values() if member.is_up]

    def _tell(self, sender: NodeId, to: NodeId, data: bytes, fate: str) -> None:
        """Letters go into the story; signs of life and handshakes do not."""
        if is_letter(data):
            elections = self._members[self.names[0]].elections
            ways = self.names[sender - 1], self.names[to - 1]
            self.story.tell(ToldLetter(elections, *ways, data, fate))


def _names(nodes: int | Iterable[str]) -> tuple[str, ...]:
    """The first letters of the alphabet, unless names are given."""
    if not isinstance(nodes, int):
        return tuple(nodes)
    if not 1 <= nodes <= len(ascii_lowercase):
        raise ValueError(f"a cluster has 1 to {len(ascii_lowercase)} nodes, or names")
    return tuple(ascii_lowercase[:nodes])
