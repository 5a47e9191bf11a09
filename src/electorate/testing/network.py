"""The simulated network: TCP connections between simulated machines.

How long a segment takes and whether it is lost is drawn as in `electorate.simulate`: by the same
models, and for each segment from the seed and its purpose, so that one segment more on one way
changes nothing on another. A segment that is lost, cut off or sent to a machine without power is
sent again, as TCP does it, until it arrives, or until the sender gives up and the connection
breaks.
"""

import asyncio
import errno
import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import msgspec

from electorate.core import NodeId
from electorate.runtime.environment import Address, Listening, Stream, Transport
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole, Identity
from electorate.simulate.chance import Drawn
from electorate.simulate.delay import Delay
from electorate.simulate.simulation import Channel
from electorate.testing.loop import VirtualLoop
from electorate.testing.process import Process

UNITS_PER_S = 1_000_000
"""Delays are counted in microseconds."""
RESEND_S = 0.2
"""A segment that is not acknowledged is sent again after this time, then after twice as long …"""
CALL_AGAIN_S = 1.0
"""The same for an attempt to connect."""
GIVE_UP_S = 900.0
"""How long a connection lasts without any acknowledgement, unless it is told otherwise."""

LOST = "lost"
CUT = "cut off"
DOWN = "nobody there"
BROKEN = "connection broken"

Teller = Callable[[NodeId, NodeId, bytes, str], None]
"""Called with the sender, the receiver and the bytes, and why they were lost; empty if they
arrived."""


class Flag(Enum):
    """What a segment brings: bytes, the end of the stream, or the end of the connection."""

    DATA = "data"
    END = "end"
    RESET = "reset"


class Segment(msgspec.Struct, eq=False, gc=False):
    """Bytes that were written at once, on their way."""

    channel: Channel
    sender: NodeId
    to: NodeId
    ordinal: int
    """A number on this channel; `electorate.simulate` draws by it."""
    flag: Flag
    data: bytes
    sent_at: float
    due: float = 0.0
    tries: int = 0
    told: bool = False


class SimulatedMachine:
    """What the network knows of one machine."""

    def __init__(self, number: NodeId, address: Address, name: str | None) -> None:
        self.number = number
        self.address = address
        self.identity = (
            None if name is None else Identity(DEFAULT_CLUSTER, CertificateRole.MEMBER, name)
        )
        """Who it proves to be on every connection; None if nobody proves anything."""
        self.is_up = False
        self.is_frozen = False
        """Whether it stands still as a whole: not even its kernel answers."""
        self.lives = 0
        """How often it was started."""
        self.accept: Callable[[SimulatedStream], None] | None = None
        self.streams: dict[SimulatedStream, None] = {}

    @property
    def answers(self) -> bool:
        """Whether its kernel takes what arrives."""
        return self.is_up and not self.is_frozen


class SimulatedStream(Stream):
    """One end of a simulated connection."""

    far_end: "SimulatedStream"

    def __init__(
        self,
        network: "SimulatedNetwork",
        machine: SimulatedMachine,
        channel: Channel,
        patience_s: float,
    ) -> None:
        self.machine = machine
        self.channel = channel
        """The way on which this side sends."""
        self.patience_s = patience_s
        self.queue: deque[Segment] = deque()
        """What is on its way, or waits to be sent again."""
        self.arrival: asyncio.TimerHandle | None = None
        self.last_due = 0.0
        self.unacknowledged_since: float | None = None
        self.is_gone = False
        """Whether its process crashed, or it is broken: its kernel does not know it any more."""
        self._network = network
        self._loop = network.loop
        self._read: list[bytes] = []
        self._ended = False
        self._error: OSError | None = None
        self._waiter: asyncio.Future[None] | None = None
        machine.streams[self] = None

    # --- what its process does with it ---

    async def authenticate(self) -> None:
        """Nothing is left to do: the simulated network knows who is where."""

    async def read(self) -> bytes:
        """The next bytes; none once the other side has ended it; OSError if it is broken."""
        while True:
            if self._read:
                data = self._read[0] if len(self._read) == 1 else b"".join(self._read)
                self._read.clear()
                return data
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._waiter = self._loop.create_future()
            await self._waiter

    def write(self, data: bytes) -> bool:
        """Have these bytes sent after those before; a simulated kernel always has room."""
        if not self.is_closing:
            self._network.post(self, Flag.DATA, data)
        return True

    async def drain(self) -> None:
        """Does nothing: there is always room."""

    is_closing = False

    def close(self) -> None:
        """End it once everything that was written has left."""
        if not self.is_closing:
            self._network.post(self, Flag.END)
            self._close()

    def drop(self) -> None:
        """The same: what was written has left the process."""
        self.close()

    def reset(self) -> None:
        """Break it now; what has not arrived yet is lost."""
        if not self.is_closing:
            self._network.forget(self)
            self._network.post(self, Flag.RESET)
            self._close()

    def _close(self) -> None:
        self.is_closing = self._ended = True
        self._wake()

    # --- what its kernel does with it ---

    def receive(self, data: bytes) -> None:
        """Something has arrived."""
        self._read.append(data)
        self._wake()

    def end(self) -> None:
        """The other side has ended it."""
        self._ended = True
        self._wake()

    def fail(self, error: OSError) -> None:
        """It is broken."""
        self._network.forget(self)
        self.machine.streams.pop(self, None)
        self.is_gone = self.is_closing = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


@dataclass
class Call:
    """An attempt to connect."""

    machine: SimulatedMachine
    life: int
    """The process that connects."""
    to: SimulatedMachine
    patience_s: float
    answer: "asyncio.Future[Stream]"
    tries: int = 0


class SimulatedListening(Listening):
    """An address at which a process accepts connections."""

    def __init__(
        self,
        loop: VirtualLoop,
        machine: SimulatedMachine,
        process: Process,
        take: Callable[[Stream], None],
        admits: Callable[[str], bool],
    ) -> None:
        self._admits = admits
        self._loop = loop
        self._machine = machine
        self._process = process
        self._take = take
        machine.accept = self.accept

    def accept(self, stream: SimulatedStream) -> None:
        """The kernel has accepted it; the process takes it when it gets there."""
        self._loop.call_soon(self._accepted, stream, context=self._process.context)

    def _accepted(self, stream: SimulatedStream) -> None:
        if self._machine.accept == self.accept and self._admits(stream.address):
            self._take(stream)
        else:
            stream.drop()

    async def close(self) -> None:
        """Accept no more connections."""
        if self._machine.accept == self.accept:
            self._machine.accept = None


class SimulatedTransport(Transport):
    """The network, as one process on one machine uses it."""

    def __init__(
        self, network: "SimulatedNetwork", machine: SimulatedMachine, process: Process
    ) -> None:
        self._network = network
        self._machine = machine
        self._process = process

    async def connect(self, address: Address, fresh_ms: float) -> Stream:
        """Connect; OSError if that fails."""
        return await self._network.connect(self._machine, address, fresh_ms / 1000)

    async def listen(
        self,
        address: Address,
        accept: Callable[[Stream], None],
        admits: Callable[[str], bool] = lambda address: True,
    ) -> Listening:
        """Accept connections from now on."""
        if address != self._machine.address or self._machine.accept is not None:
            raise OSError(f"cannot listen on {address[0]}:{address[1]}: it cannot be used")
        return SimulatedListening(self._network.loop, self._machine, self._process, accept, admits)


class SimulatedNetwork:
    """Carries segments between machines; the seed decides how long each takes."""

    def __init__(self, loop: VirtualLoop, seed: int, delay: Delay, tell: Teller) -> None:
        self.loop = loop
        self._seed = seed
        self._delay = delay
        self._loss = 0.0
        self._tell = tell
        self._last_words = random.Random(f"{seed} last words")
        self._machines: dict[Address, SimulatedMachine] = {}
        self._channels: dict[tuple[NodeId, NodeId], Channel] = {}
        self._redraw()

    def add(self, address: Address, name: str | None = None) -> SimulatedMachine:
        """Add a machine, still without power; with a name it proves to be that member."""
        machine = SimulatedMachine(1 + len(self._machines), address, name)
        self._machines[address] = machine
        return machine

    # --- what may befall it ---

    @property
    def delay(self) -> Delay:
        """Set how long segments take, in microseconds."""
        return self._delay

    @delay.setter
    def delay(self, delay: Delay) -> None:
        self._delay = delay
        self._redraw()

    @property
    def loss(self) -> float:
        """The share of segments that is lost."""
        return self._loss

    @loss.setter
    def loss(self, loss: float) -> None:
        self._loss = loss
        self._redraw()

    def _redraw(self) -> None:
        self._chance = Drawn(self._seed, self._delay, self._loss)

    def cut(self, one: SimulatedMachine, other: SimulatedMachine) -> None:
        """Let nothing pass from one to the other any more, not even what is under way."""
        self._channel(one, other).cut = True

    def is_cut(self, one: SimulatedMachine, other: SimulatedMachine) -> bool:
        """Whether nothing passes from one to the other."""
        return self._channel(one, other).cut

    def mend(self, one: SimulatedMachine, other: SimulatedMachine) -> None:
        """Let pass again what one sends to the other."""
        self._channel(one, other).cut = False

    def heal(self) -> None:
        """Let everything pass again."""
        for channel in self._channels.values():
            channel.cut = False

    def boot(self, machine: SimulatedMachine) -> None:
        """The machine has power, and runs; nobody listens yet."""
        machine.is_up, machine.is_frozen = True, False
        machine.lives += 1

    def crash(self, machine: SimulatedMachine) -> None:
        """It loses power. On each connection some first part of what it has sent still arrives."""
        machine.is_up, machine.accept = False, None
        for stream in list(machine.streams):
            stream.is_gone = True
            kept = self._last_words.randint(0, len(stream.queue))
            while len(stream.queue) > kept:
                self._explain(stream.queue.pop(), BROKEN)
        machine.streams.clear()

    # --- connections ---

    async def connect(
        self, machine: SimulatedMachine, address: Address, patience_s: float
    ) -> Stream:
        """Connect from this machine; OSError if nobody listens there."""
        to = self._machines.get(address)
        if to is None:
            raise OSError(f"no machine has the address {address[0]}:{address[1]}")
        answer: asyncio.Future[Stream] = self.loop.create_future()
        self._call(Call(machine, machine.lives, to, patience_s, answer))
        return await answer

    def _call(self, call: Call) -> None:
        """Ask for a connection, again and again while the caller waits for it."""
        is_same_process = call.machine.is_up and call.machine.lives == call.life
        if is_same_process and not call.answer.done():
            asking = self._segment(self._channel(call.machine, call.to), Flag.DATA, b"")
            self.loop.call_in_world(asking.due, self._called, call, asking)

    def _called(self, call: Call, asking: Segment) -> None:
        if self._is_missed(asking, call.to):
            again = self.loop.now + CALL_AGAIN_S * 2**call.tries
            call.tries += 1
            self.loop.call_in_world(again, self._call, call)
        elif call.to.accept is None:
            self._later(call.to, call.machine, _refuse, call.answer)
        else:
            back = self._channel(call.to, call.machine)
            ours = SimulatedStream(self, call.machine, asking.channel, call.patience_s)
            theirs = SimulatedStream(self, call.to, back, GIVE_UP_S)
            ours.far_end, theirs.far_end = theirs, ours
            ours.proven, theirs.proven = call.to.identity, call.machine.identity
            ours.address, theirs.address = map(str, (call.to.number, call.machine.number))
            call.to.accept(theirs)
            self._later(call.to, call.machine, self._answer, ours, call.answer)

    def _answer(self, stream: SimulatedStream, answer: "asyncio.Future[Stream]") -> None:
        """The connection is made, if the caller still waits for it."""
        if stream.is_gone or answer.done():
            stream.machine.streams.pop(stream, None)
            stream.is_gone = True
            stream.far_end.fail(_error(errno.ECONNRESET))
        else:
            answer.set_result(stream)

    def _later(
        self,
        sender: SimulatedMachine,
        to: SimulatedMachine,
        act: Callable[..., None],
        *given: object,
    ) -> None:
        """Do this when a packet of one machine has reached another; it is sent until it arrives."""
        word = self._segment(self._channel(sender, to), Flag.DATA, b"")

        def arrive() -> None:
            if not self._is_missed(word, to):
                act(*given)
            elif sender.is_up:
                self.loop.call_in_world(
                    self.loop.now + CALL_AGAIN_S, self._later, sender, to, act, *given
                )

        self.loop.call_in_world(word.due, arrive)

    # --- segments ---

    def post(self, stream: SimulatedStream, flag: Flag, data: bytes = b"") -> None:
        """Send a segment; a reset does not wait for anything before it."""
        now = self.loop.now
        segment = self._segment(stream.channel, flag, data)
        while self._loss and self._chance.loses(segment):
            self._explain(segment, LOST)
            self._renumber(segment)
            segment.due += RESEND_S * 2**segment.tries
            segment.tries += 1
        if segment.due < stream.last_due and flag is not Flag.RESET:
            segment.due = stream.last_due
        stream.last_due = segment.due
        stream.queue.append(segment)
        if len(stream.queue) == 1:
            stream.arrival = self.loop.call_in_world(segment.due, self._arrive, stream)
        if 2 * (segment.due - now) > stream.patience_s:
            # Its acknowledgement takes as long, and comes too late.
            self.loop.call_in_world(now + stream.patience_s, self._time_out, stream)

    def forget(self, stream: SimulatedStream) -> None:
        """Nothing that is under way there arrives any more."""
        for segment in stream.queue:
            if not segment.told:
                self._explain(segment, BROKEN)
        stream.queue.clear()
        if stream.arrival is not None:
            stream.arrival.cancel()
        stream.last_due = 0.0

    def travel_s(self) -> float:
        """How long something travels between a process and the world outside, in seconds."""
        outside = self._channels.setdefault((0, 0), Channel(0, 0))
        return self._segment(outside, Flag.DATA, b"").due - self.loop.now

    def _channel(self, sender: SimulatedMachine, to: SimulatedMachine) -> Channel:
        way = (sender.number, to.number)
        if way not in self._channels:
            self._channels[way] = Channel(*way)
        return self._channels[way]

    def _renumber(self, segment: Segment) -> None:
        """What is sent again is another segment to the seed."""
        segment.ordinal = segment.channel.posted
        segment.channel.posted += 1

    def _segment(self, channel: Channel, flag: Flag, data: bytes) -> Segment:
        now = self.loop.now
        segment = Segment(channel, channel.sender, channel.to, channel.posted, flag, data, now)
        channel.posted += 1
        segment.due = now + self._chance.delay(segment) / UNITS_PER_S
        return segment

    def _is_missed(self, segment: Segment, to: SimulatedMachine) -> bool:
        """Whether an attempt to connect, or an answer to one, is lost."""
        is_lost = self._loss and self._chance.loses(segment)
        return bool(is_lost) or segment.channel.cut or not to.answers

    def _arrive(self, stream: SimulatedStream) -> None:
        queue, now, to = stream.queue, self.loop.now, stream.far_end.machine
        while queue and queue[0].due <= now:
            if queue[0].channel.cut or not to.answers:
                self._resend(stream, CUT if queue[0].channel.cut else DOWN)
                return
            self._deliver(stream, queue.popleft())
        if queue:
            stream.arrival = self.loop.call_in_world(queue[0].due, self._arrive, stream)
        elif stream.is_closing:
            stream.machine.streams.pop(stream, None)

    def _resend(self, stream: SimulatedStream, obstacle: str) -> None:
        """The first segment has not arrived, and all others wait for it."""
        now, first = self.loop.now, stream.queue[0]
        for segment in stream.queue:
            if segment.due <= now and not segment.told:
                segment.told = True
                self._explain(segment, obstacle)
        if stream.is_gone or first.flag is Flag.RESET:
            self.forget(stream)  # Nobody sends it again.
        elif now >= first.sent_at + stream.patience_s:
            stream.fail(_error(errno.ETIMEDOUT))
        else:
            again = min(now + RESEND_S * 2**first.tries, first.sent_at + stream.patience_s)
            first.tries += 1
            first.due = again
            stream.last_due = max(stream.last_due, again)
            stream.arrival = self.loop.call_in_world(again, self._arrive, stream)

    def _deliver(self, stream: SimulatedStream, segment: Segment) -> None:
        far_end = stream.far_end
        if segment.flag is Flag.RESET:
            if not far_end.is_gone:
                far_end.fail(_error(errno.ECONNRESET))
            return
        if far_end.is_gone or far_end.is_closing:
            self._explain(segment, BROKEN)
            self._later(far_end.machine, stream.machine, self._reset, stream)
            return
        if segment.flag is Flag.END:
            far_end.end()
        else:
            self._explain(segment, "")
            far_end.receive(segment.data)
        if not far_end.channel.cut:
            stream.unacknowledged_since = None
        elif stream.unacknowledged_since is None:
            stream.unacknowledged_since = segment.sent_at
            patience_ends = max(self.loop.now, segment.sent_at + stream.patience_s)
            self.loop.call_in_world(patience_ends, self._miss_acknowledgement, stream)

    def _reset(self, stream: SimulatedStream) -> None:
        """The other machine does not know this connection."""
        if not stream.is_gone:
            stream.fail(_error(errno.ECONNRESET))

    def _miss_acknowledgement(self, stream: SimulatedStream) -> None:
        """Break the connection, unless what has arrived was acknowledged meanwhile."""
        if stream.unacknowledged_since is not None and stream.far_end.channel.cut:
            self._time_out(stream)
        stream.unacknowledged_since = None

    def _time_out(self, stream: SimulatedStream) -> None:
        if not stream.is_gone:
            stream.fail(_error(errno.ETIMEDOUT))

    def _explain(self, segment: Segment, fate: str) -> None:
        if segment.flag is Flag.DATA:
            self._tell(segment.sender, segment.to, segment.data, fate)


def _refuse(answer: "asyncio.Future[Stream]") -> None:
    if not answer.done():
        answer.set_exception(_error(errno.ECONNREFUSED))


def _error(number: int) -> OSError:
    """What the kernel says; the number makes it a ConnectionRefusedError, a TimeoutError …"""
    return OSError(number, os.strerror(number))
