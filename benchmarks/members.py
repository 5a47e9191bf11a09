"""How long members take to come and go while elections go on: `python benchmarks/members.py`.

Three nodes lead and follow in some elections, and each of them in turn is asked to add a fourth
node, which waits for that already, and to remove it again. All of them live in one process, so the
times are for comparison with other versions. It uses the public interface alone:
`PYTHONPATH=other/src python benchmarks/members.py`.
"""

import argparse
import asyncio
import json
import socket
import tempfile
import time
from collections.abc import Awaitable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from statistics import median

import electorate

NAMES = ("a", "b", "c")
SETTLE_S = 2.0
"""Nobody is asked for a change before elections have come to rest."""
Found = dict[str, list[float]]


def addresses(names: list[str]) -> dict[str, str]:
    """Places on loopback where nobody listens at the moment."""
    sockets = [socket.socket() for _ in names]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = {
        name: f"{name}@127.0.0.1:{each.getsockname()[1]}"
        for name, each in zip(names, sockets, strict=True)
    }
    for each in sockets:
        each.close()
    return found


async def stand(election: "electorate.Election") -> None:
    """Lead whenever it comes to that."""
    async for term in election.terms():
        async with term:
            await asyncio.sleep(1e9)


async def timed(act: Awaitable[None]) -> float:
    """How many milliseconds it takes."""
    begun = time.monotonic()
    await act
    return 1000 * (time.monotonic() - begun)


async def measured(elections: int, trials: int, folder: Path) -> Found:
    """Add and remove a member so many times."""
    newcomers = [f"d{trial}" for trial in range(trials)]
    places = addresses([*NAMES, *newcomers])
    members = [places[name] for name in NAMES]
    found: Found = {"add": [], "remove": []}
    async with AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(electorate.Node(name, members, folder / name))
            for name in NAMES
        ]
        stood = [node.election(f"job-{n}") for node in nodes for n in range(elections)]
        standing = [asyncio.create_task(stand(each)) for each in stood]
        stack.callback(lambda: [task.cancel() for task in standing])
        while not all(each.leader.leader for each in stood):
            await asyncio.sleep(0.02)
        await asyncio.sleep(SETTLE_S)
        for trial, name in enumerate(newcomers):
            asked = nodes[trial % len(nodes)]
            newcomer = electorate.Node(places[name], members, folder / name, join=True)
            joining = asyncio.create_task(_live(newcomer))
            found["add"].append(await timed(asked.add_member(places[name])))
            found["remove"].append(await timed(asked.remove_member(name)))
            joining.cancel()
            with suppress(asyncio.CancelledError):
                await joining
    return found


async def _live(node: "electorate.Node") -> None:
    """Be a member for as long as the others want it."""
    with suppress(electorate.Removed, electorate.NodeStopped):
        async with node:
            await asyncio.sleep(1e9)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--elections", type=int, default=1, help="that go on; default 1")
    parser.add_argument("--trials", type=int, default=6, help="default 6")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="electorate-members-") as folder:
        found = asyncio.run(measured(options.elections, options.trials, Path(folder)))
    if options.json:
        print(json.dumps({"elections": options.elections, "ms": found}))
        return
    for what, times in found.items():
        print(f"{what}: {median(times):.0f} ms, at most {max(times):.0f} ms, {len(times)} times")


if __name__ == "__main__":
    main()
