"""Two machines that work, and a small third one that only votes.

Two machines alone cannot survive the loss of one: the other cannot tell whether it is alone or cut
off. A witness on any third machine has the casting vote; it needs no database and does no work.

    python examples/witness.py a
    python examples/witness.py b
    python examples/witness.py witness
"""

import asyncio
import os
import sys
from contextlib import suppress

import electorate

HERE = "a@127.0.0.1:7441 b@127.0.0.1:7442 witness@127.0.0.1:7443"
MEMBERS = os.environ.get("MEMBERS", HERE).split()
SECRET = os.environ.get("ELECTORATE_SECRET")
"""All members need the same one if they are not on one machine."""


async def work(me: str, term: electorate.Term) -> None:
    """One step after the other."""
    while True:
        term.check()
        print(f"{me}: works in term {term.token}")
        await asyncio.sleep(0.5)


async def vote(node: electorate.Node) -> None:
    """Who does not ask for terms only votes. It may watch."""
    async for now in node.observe("job"):
        if now.leader is None:
            print(f"{node.name}: nobody leads")
        else:
            print(f"{node.name}: {now.leader} leads, token {now.token}")


async def main(me: str) -> None:
    """Vote, and unless this is the witness stand for office too."""
    async with electorate.Node(me, MEMBERS, f"data/witness-{me}", secret=SECRET) as node:
        print(f"{me}: ready")
        if me == "witness":
            await vote(node)
        async for term in node.election("job").terms():
            async with term:
                await work(me, term)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
