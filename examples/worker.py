"""A worker that runs on one of three machines at a time.

Start it three times, then stop or kill whoever leads:

    python examples/worker.py a
    python examples/worker.py b
    python examples/worker.py c
"""

import asyncio
import os
import sys
from contextlib import suppress

import electorate

HERE = "a@127.0.0.1:7401 b@127.0.0.1:7402 c@127.0.0.1:7403"
MEMBERS = os.environ.get("MEMBERS", HERE).split()
SECRET = os.environ.get("ELECTORATE_SECRET")
"""All members need the same one if they are not on one machine."""


async def work(me: str, term: electorate.Term) -> None:
    """One step after the other, as long as it is certain that nobody else takes any."""
    for step in range(1, sys.maxsize):
        term.check()
        print(f"{me}: step {step} of term {term.token}")
        await asyncio.sleep(0.5)


async def main(me: str) -> None:
    """Stand for office as long as this process lives."""
    async with electorate.Node(me, MEMBERS, f"data/worker-{me}", secret=SECRET) as node:
        print(f"{me}: ready")
        async for term in node.election("worker").terms():
            async with term:  # The work is cancelled when the term ends.
                await work(me, term)
            print(f"{me}: term {term.token} is over")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
