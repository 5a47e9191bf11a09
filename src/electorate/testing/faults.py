"""What may befall a simulated cluster, by call."""

from collections.abc import Iterable

from electorate.core import Timing
from electorate.pace import Pace
from electorate.simulate.delay import Uniform, parse_delay
from electorate.testing.loop import VirtualLoop
from electorate.testing.member import Member
from electorate.testing.network import UNITS_PER_S, Network
from electorate.testing.story import Story
from electorate.testing.watch import Watch


class Faults:
    """Processes that crash or stand still, links that fail, clocks that are wrong."""

    names: tuple[str, ...]
    pace: Pace
    story: Story
    _loop: VirtualLoop
    _network: Network
    _watch: Watch
    _members: dict[str, Member]

    # --- processes ---

    def is_up(self, name: str) -> bool:
        """Whether its process exists; it may stand still."""
        return self._member(name).is_up

    def is_running(self, name: str) -> bool:
        """Whether its process exists and does not stand still."""
        return self._member(name).is_running

    def crash(self, name: str) -> None:
        """Its process is gone, in the middle of whatever it did; what it has saved is not."""
        member = self._up(name)
        self.story.tell(f"{name} crashes")
        member.crash()

    def restart(self, name: str, *, join: bool = False) -> None:
        """Start its process, and what runs in it, anew.

        With `join` it waits to be made a member by others, like one that was added later.
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
        """What it has saved is gone; its process must be down."""
        if self._member(name).is_up:
            raise ValueError(f"{name} is up: crash or stop it first")
        self._member(name).disk.wipe()
        self.story.tell(f"the disk of {name} is wiped")

    def pause(self, name: str, *, clock_stops: bool = False) -> None:
        """Its process stands still. Its clock goes on, unless the whole machine stands still."""
        member = self._up(name)
        member.process.paused = True
        if clock_stops:
            member.machine.is_frozen = True
            self._set_clock(name, 0.0)
        self.story.tell(f"{name} stands still{' with its clock' if clock_stops else ''}")

    def unpause(self, name: str) -> None:
        """Its process goes on, and notices nothing by itself."""
        member = self._up(name)
        if member.process.paused:
            if member.clock.stopped:
                self._set_clock(name, 1.0)
            member.go_on()
            self.story.tell(f"{name} goes on")

    def cut(self, a: str, b: str, *, one_way: bool = False) -> None:
        """Nothing gets from a to b any more, nor back."""
        machines = self._member(a).machine, self._member(b).machine
        self._network.cut(*machines)
        if not one_way:
            self._network.cut(*reversed(machines))
        self.story.tell(f"{a} is cut off from {b}{', one way' if one_way else ''}")

    def partition(self, *sides: Iterable[str]) -> None:
        """Nothing gets from one side to another; who is named on none is on one more side.

        Cuts that were made before are mended.
        """
        groups = [set(side) for side in sides]
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
        """Everything passes again, and nothing is lost on purpose."""
        self._network.heal()
        self._network.loss = 0.0
        self.story.tell("the network is whole")

    def delay(self, low_ms: float | str, high_ms: float | None = None) -> None:
        """From now on it takes so many milliseconds to get from one node to another; 0 to T before.

        Instead of two bounds it may be a model as `electorate simulate --delay` takes it.
        """
        if isinstance(low_ms, str):
            timing = Timing(self.pace.T_ms * UNITS_PER_S // 1000)
            self._network.delay = parse_delay(low_ms, timing)
            self.story.tell(f"delays are {low_ms}")
        else:
            high_ms = low_ms if high_ms is None else high_ms
            if not 0 <= low_ms <= high_ms:
                raise ValueError(f"a delay from {low_ms:g} up to {high_ms:g} ms is none")
            bounds = (int(ms * UNITS_PER_S / 1000) for ms in (low_ms, high_ms))
            self._network.delay = Uniform(*bounds)
            self.story.tell(f"messages take {low_ms:g} to {high_ms:g} ms")

    def lose(self, rate: float) -> None:
        """From now on such a part of what is sent is lost, and sent again after a while."""
        self._network.loss = rate
        self.story.tell(f"{rate:.0%} of all messages are lost")

    def clock_jump(self, name: str, ms: float) -> None:
        """Its clock is suddenly ahead. No node can guard against that: only tokens help."""
        if ms < 0:
            raise ValueError("the clock of a node never goes back")
        self._watch.clocks_keep_their_word = False
        self._member(name).clock.jump(self._loop.now, ms / 1000)
        self._loop.reset_timers()
        self.story.tell(f"the clock of {name} jumps by {ms:g} ms")

    def clock_rate(self, name: str, rate: float) -> None:
        """Its clock runs at another speed, 1 being right; `pace.drift` says what is allowed for."""
        self._set_clock(name, rate)
        self.story.tell(f"the clock of {name} runs at {rate:g}")

    # --- inside ---

    def _boot(self, name: str, *, join: bool = False) -> None:
        member = self._members[name]
        member.joins |= join
        places = [str(each.place) for each in self._members.values()]
        member.boot(places, self.pace, self._look)

    def _look(self, member: Member) -> None:
        try:
            self._watch.look(member)
        except AssertionError as error:
            self._loop.fail(error)

    def _set_clock(self, name: str, rate: float) -> None:
        if abs(rate - 1) > self.pace.drift:
            self._watch.clocks_keep_their_word = False
        self._member(name).clock.run(self._loop.now, rate)
        self._loop.reset_timers()

    def _member(self, name: str) -> Member:
        if name not in self._members:
            raise ValueError(f"{name!r} is no member; the members are {', '.join(self.names)}")
        return self._members[name]

    def _up(self, name: str) -> Member:
        member = self._member(name)
        if not member.is_up:
            raise ValueError(f"{name} is down")
        return member
