"""One node in a process of its own: `python -m tests.conformance.child` and its orders on stdin.

`speak` asks the node to speak; `doom 3` does, too, and has the process killed instead of writing
the fourth letter after that. When nobody gives orders any more, it ends.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from electorate.runtime.config import NodeConfig
from electorate.runtime.frame import HEADER, Letter, unpack
from electorate.runtime.thread import NodeThread
from electorate.trace import Setting
from tests.conformance.probe import Speak, find


class Doom:
    """Ends this process between two letters, wherever they are going."""

    def __init__(self) -> None:
        self.letters: int | None = None

    def hang_over(self, kind: type[asyncio.StreamWriter]) -> None:
        """Watch everything that is written."""
        real = kind.write

        def write(writer: asyncio.StreamWriter, data: bytes) -> None:
            self._approach(data)
            real(writer, data)

        kind.write = write  # type: ignore[assignment, method-assign]

    def _approach(self, data: bytes) -> None:
        if self.letters is not None and isinstance(unpack(data[HEADER.size :]), Letter):
            if self.letters == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.letters -= 1


def main(told: str) -> None:
    me, cluster, addresses, data, record, beat_ms, timeout_ms = json.loads(told)
    setting = Setting.parse(cluster)
    where = {int(node): (str(host), int(port)) for node, (host, port) in addresses.items()}
    config = NodeConfig(me, setting, where, Path(data), Path(record), beat_ms, timeout_ms)
    doom = Doom()
    doom.hang_over(asyncio.StreamWriter)
    thread = NodeThread(config, setting.machine(*find("probe")), lambda standing: None)
    thread.start()
    for order in sys.stdin:
        match order.split():
            case ["speak"]:
                thread.call(thread.node.ask, Speak())
            case ["doom", letters]:
                thread.call(setattr, doom, "letters", int(letters))
                thread.call(thread.node.ask, Speak())
    thread.stop()


if __name__ == "__main__":
    main(sys.argv[1])
