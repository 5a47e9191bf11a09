"""How much of our code one renewal passes through: `python -m benchmarks.path`.

Counts the calls of electorate's own functions, and the files they are in, in the thread of a voter,
from the frame that asks for a renewal to the frame that answers it, and the files that are used
from `async with Node` to the first term. It uses the public interface alone, so that it can be run
on other versions too: `PYTHONPATH=other/src python benchmarks/path.py`.
"""

import argparse
import asyncio
import json
import socket
import sys
import tempfile
import threading
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import electorate
from electorate.core.turn import Sample

PACKAGE = str(Path(electorate.__file__).parent)

Calls = list[tuple[str, str]]
"""Calls of our own functions, each by its file and its name."""


class Watcher:
    """Writes down every call of our own functions in the threads of one node."""

    def __init__(self) -> None:
        self.paths: list[Calls] = []
        self.is_on = False

    def begin(self, frame: Any, event: str, argument: object) -> None:
        """Watch the thread in which this is called, from its first call on."""
        sys.setprofile(ThreadWatcher(self))


class ThreadWatcher:
    """The same in one thread: frames of two threads must not be taken for one."""

    def __init__(self, node: Watcher) -> None:
        self._node = node
        self._path: Calls = []
        self._is_renewal = False

    def __call__(self, frame: Any, event: str, argument: object) -> None:
        if event != "call" or not self._node.is_on:
            return
        code = frame.f_code
        if code.co_filename.endswith("asyncio/selector_events.py") and code.co_name == "write":
            if self._is_renewal:
                self._node.paths.append(self._path)
            self._path, self._is_renewal = [], False
        if not code.co_filename.startswith(PACKAGE):
            return
        file = code.co_filename.removeprefix(PACKAGE).lstrip("/")
        if code.co_name == "unpack":
            self._path, self._is_renewal = [], False
        self._is_renewal |= code.co_name == "step" and file.startswith("protocols/mandate")
        self._path.append((file, code.co_name))


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens on at the moment."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


async def renewals(folder: Path, seconds: float) -> list[Calls]:
    """The calls of every renewal that a voter takes part in, for a while."""
    members = [f"{n}@127.0.0.1:{p}" for n, p in zip("abc", free_ports(3), strict=True)]
    watcher = Watcher()
    async with AsyncExitStack() as stack:
        nodes = []
        for name in "abc":
            # A thread is watched from its beginning on, or not at all.
            threading.setprofile(watcher.begin if name == "b" else None)
            node = electorate.Node(name, members, data_dir=folder / name)
            nodes.append(await stack.enter_async_context(node))
        term = await anext(nodes[0].election("x").terms())
        async with term:
            await asyncio.sleep(1)
            watcher.is_on = True
            await asyncio.sleep(seconds)
            watcher.is_on = False
    return watcher.paths


def first_term(folder: Path) -> set[str]:
    """The files in which something is called until a node that is alone leads."""
    files: set[str] = set()

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files.add(frame.f_code.co_filename.removeprefix(PACKAGE).lstrip("/"))

    async def lead() -> None:
        (port,) = free_ports(1)
        async with electorate.Node("a", [f"a@127.0.0.1:{port}"], data_dir=folder) as node:
            async for _ in node.election("x").terms():
                break

    electorate.Node  # noqa: B018 - what is loaded is not counted
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        asyncio.run(lead())
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--calls", action="store_true", help="list the calls of one renewal")
    parser.add_argument("--seconds", type=float, default=5.0, help="of watching; default 5")
    parser.add_argument("--files", action="store_true", help="list the files of both")
    options = parser.parse_args()
    # The first turns of a node, and later one of many, are verified as well: that is not counted.
    Sample.draw = lambda self: False  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        paths = asyncio.run(renewals(Path(folder) / "three", options.seconds))
        files_to_term = first_term(Path(folder) / "alone")
    calls = sorted(map(len, paths))
    usual = next(path for path in paths if len(path) == calls[len(calls) // 2])
    files = {file for file, _ in usual}
    outside = {file for file in files if not file.startswith(("protocols/", "core/"))}
    if options.calls:
        for (file, name), times in Counter(usual).items():
            print(f"{times:4} {file} {name}")
    if options.files:
        print("of a renewal:", *sorted(files, key=lambda file: (file not in outside, file)))
        print("to the first term:", *sorted(files_to_term))
    told = {
        "renewals": len(paths),
        "calls": len(usual),
        "files": len(files),
        "files outside protocols and core": len(outside),
        "files to the first term": len(files_to_term),
    }
    print(json.dumps(told) if options.json else "\n".join(f"{v:6} {k}" for k, v in told.items()))


if __name__ == "__main__":
    main()
