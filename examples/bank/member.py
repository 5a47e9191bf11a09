"""A process of the bank: an account with its database, or the cash machine.

    python -m examples.bank.member FOLDER NAME

It takes orders on its standard input, one a line: `finish`, or `kill PID TIMES POINT`. It ends when
whoever started it is gone.
"""

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from electorate.errors import Aborted
from electorate.node import Node
from electorate.pace import Pace
from examples.bank.business import Business
from examples.bank.doom import Doom
from examples.bank.drawer import Drawer
from examples.bank.place import ATM, Spec

PACE = Pace(
    timeout=1.0,
    work_timeout=4.0,
    votes_timeout=3.0,
    decision_timeout=1.0,
    retry_every=0.3,
    idle_timeout=4.0,
    settle_timeout=1.0,
)


class Orders:
    """What whoever started this process wants."""

    def __init__(self, doom: Doom) -> None:
        self._doom = doom
        self.finishing = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in sys.stdin:
            verb, *words = line.split()
            if verb == "kill":
                self._doom.order(" ".join(words[2:]), int(words[1]), int(words[0]))
            elif verb == "finish":
                self.finishing.set()
        os._exit(1)


async def serve(node: Node, spec: Spec, folder: Path, doom: Doom, orders: Orders) -> Business:
    """Be a cash machine until told to finish; then pay whatever is still owed."""
    drawer = Drawer(folder / "drawer.db")
    business = Business(node, spec, drawer, doom.reached)
    stopping = asyncio.Event()
    clients = [
        asyncio.ensure_future(business.serve(number, stopping)) for number in range(spec.clients)
    ]
    owed = 1
    while owed or not orders.finishing.is_set():
        try:
            owed = await business.pay_what_is_owed()
        except Aborted:
            owed = 1
        for client in clients:
            if client.done():
                client.result()
        await asyncio.sleep(0.2)
        tell(business)
        if orders.finishing.is_set() and not stopping.is_set():
            stopping.set()
            await asyncio.gather(*clients)
            owed = 1
    drawer.close()
    return business


def tell(business: Business) -> None:
    """What was done, and what was read since the last time."""
    reads, business.reads = business.reads, []
    told: dict[str, Any] = {"counts": business.counts, "why": business.why}
    told["reads"] = [[r.tx, *r.row, r.writer] for r in reads]
    print(json.dumps(told), flush=True)


async def main(folder: Path, name: str) -> None:
    """Run until whoever started this closes its standard input; tell when nothing is left."""
    spec, doom = Spec.read(folder), Doom()
    orders = Orders(doom)
    resource = spec.resource(folder, name)
    data = folder / name
    node = Node(name, spec.places, data, pace=PACE, database=resource, watch=doom.watch)
    async with node:
        if name == ATM:
            await serve(node, spec, folder, doom, orders)
        told = -1
        while node.running:
            if orders.finishing.is_set() and told != (told := len(node.open_transactions)):
                print(json.dumps({"open": told}), flush=True)
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
