"""One node in a process of its own: `python -m tests.conformance.child` and its orders on stdin.

`speak` asks the node to speak; `doom 3` does, too, and has the process killed instead of writing
the fourth letter after that. When nobody gives orders any more, it ends.
"""

import asyncio
import os
import signal
import sys

import msgspec

from electorate.core import Asked, NodeId
from electorate.runtime.frame import HEADER, Frame, Letter, unpack
from electorate.runtime.host import Host
from electorate.runtime.node import ProtocolNode
from electorate.runtime.thread import HostThread
from tests.conformance.lodging import AnyLodging
from tests.conformance.probe import Speak


class Doom:
    """Ends this process between two letters, about the probe, wherever they are going."""

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self.letters: int | None = None

    def hang_over(self, kind: type[asyncio.StreamWriter]) -> None:
        """Watch everything that is written."""
        real = kind.write

        def write(writer: asyncio.StreamWriter, data: bytes) -> None:
            self._approach(data)
            real(writer, data)

        kind.write = write  # type: ignore[assignment, method-assign]

    def _approach(self, data: bytes) -> None:
        if self.letters is not None and self._concerns_it(unpack(data[HEADER.size :])):
            if self.letters == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.letters -= 1

    def _concerns_it(self, frame: Frame) -> bool:
        return isinstance(frame, Letter) and any(s.to == self._instance for s in frame.said)


def main(told: str) -> None:
    node, lodging = msgspec.json.decode(
        told, type=tuple[NodeId, AnyLodging], dec_hook=lambda kind, text: kind(text)
    )
    doom = Doom(lodging.instance)
    doom.hang_over(asyncio.StreamWriter)
    host = lodging.host(node, ProtocolNode, Host)
    thread = HostThread(host)
    thread.start()

    def speak() -> None:
        host.enter(host.instances[lodging.instance].take, Asked(Speak()))

    for order in sys.stdin:
        match order.split():
            case ["speak"]:
                thread.call(speak)
            case ["doom", letters]:
                thread.call(setattr, doom, "letters", int(letters))
                thread.call(speak)
    thread.stop()


if __name__ == "__main__":
    main(sys.argv[1])
