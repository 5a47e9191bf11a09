"""A counter that goes on on both sides of a partition, and is right again when they merge.

Three nodes in one process, so that the cable of one of them can be cut; it takes ten seconds:

    python examples/groups.py

Whoever leads a group counts what it serves, and tells its members. Nobody waits for a majority.
"""

import asyncio
import os
from collections import Counter
from contextlib import AsyncExitStack, suppress

import electorate

HERE = "a@127.0.0.1:7451 b@127.0.0.1:7452 c@127.0.0.1:7453"
MEMBERS = dict(member.split("@") for member in os.environ.get("MEMBERS", HERE).split())


class Cable:
    """Passes on to an address whatever comes, unless it is cut."""

    is_cut = False

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.rpartition(":")
        self._ends: list[asyncio.StreamWriter] = []

    async def lay(self) -> str:
        """The address of its near end."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection, and let no other through."""
        self.is_cut = True
        while self._ends:
            self._ends.pop().close()

    def remove(self) -> None:
        """Nobody uses it any more."""
        self.cut()
        self._server.close()

    async def _connect(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._ends.append(back)
        with suppress(OSError):
            far, there = await asyncio.open_connection(self._host, self._port)
            self._ends.append(there)
            await asyncio.gather(self._carry(near, there), self._carry(far, back))
        back.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while not self.is_cut and (data := await reader.read(65536)):
                writer.write(data)
        writer.close()


async def serve(node: electorate.Node, books: dict[str, Counter[str]]) -> None:
    """Count what is served here; a book has what each node has served, as far as it is known."""
    me = node.name

    def on_merge(term: electorate.Term, others: dict[str, str]) -> None:
        for other, leader in others.items():
            books[me] |= books[other]  # Of what both know of a node, the larger number.
            print(f"{me}: {other} comes from the group of {leader}")
        print(f"{me}: together we have served {books[me].total()}")

    async for term in node.election("counter", safety="group", on_merge=on_merge).terms():
        async with term:
            print(f"{me}: leads {', '.join(term.members)}")
            while True:
                await asyncio.sleep(0.5)
                term.check()
                books[me][me] += 1
                print(f"{me}: request {books[me].total()} is served")
                for member in term.members:
                    books[member] |= books[me]


async def main() -> None:
    """Cut the cable of c for a while."""
    cables = {name: Cable(address) for name, address in MEMBERS.items()}
    through = {name: await cable.lay() for name, cable in cables.items()}
    books: dict[str, Counter[str]] = {name: Counter() for name in MEMBERS}
    async with AsyncExitStack() as stack:
        serving = []
        for me in MEMBERS:
            # From c to the others, and from them to c, there is only the cable.
            away = {name: at for name, at in through.items() if name != me and "c" in (me, name)}
            members = [f"{name}@{at}" for name, at in {**MEMBERS, **away}.items()]
            node = electorate.Node(me, members, data_dir=f"data/groups-{me}")
            await stack.enter_async_context(node)
            serving.append(asyncio.create_task(serve(node, books)))
        await asyncio.sleep(3)
        print("--- the cable of c is cut")
        for cable in cables.values():
            cable.cut()
        await asyncio.sleep(4)
        print("--- the cable of c is mended")
        for cable in cables.values():
            cable.is_cut = False
        await asyncio.sleep(3)
        for task in serving:
            task.cancel()
        await asyncio.wait(serving)
    for cable in cables.values():
        cable.remove()
    print(f"all of us have served {sum(books[name][name] for name in books)}")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
