"""An application of electorate: it stands in one election or in many, and says when it leads.

python -m benchmarks.leadership.application.electorate a data 1 '{"T": 0.05}' a@127.0.0.1:7001 …
"""

import asyncio
import sys

import msgspec

from benchmarks.leadership.application.voice import obey, say
from electorate import Election, Node
from electorate.errors import LeadershipLost, TransferFailed
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.pace import Pace


class Application:
    """What one node does in its elections: nothing, but for as long as it can."""

    def __init__(self, node: Node, elections: int) -> None:
        self._elections = [node.election(f"job-{number}") for number in range(elections)]
        self._held: dict[str, Term] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Stand everywhere, and obey."""
        loop = asyncio.get_running_loop()

        def order(words: str) -> None:
            loop.call_soon_threadsafe(self._order, words)

        obey(order)
        say("ready")
        await asyncio.gather(*map(self._stand, self._elections))

    async def _stand(self, election: Election) -> None:
        async for term in election.terms():
            say("held", term.token)
            self._held[election.name] = term
            async with term:
                await asyncio.sleep(1e9)
            del self._held[election.name]
            say("over", term.token)

    def _order(self, order: str) -> None:
        word, _, about = order.partition(" ")
        if word == "hand-over":
            task = asyncio.ensure_future(self._hand_over(about))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            say("report", self._report())

    async def _hand_over(self, heir: str) -> None:
        try:
            await self._elections[0].transfer(heir)
        except TransferFailed as failure:
            say("failed", str(failure))

    def _report(self) -> dict[str, object]:
        """What is led here for certain, and whom this node takes for the leader of each."""
        seen: dict[str, Leader] = {each.name: each.leader for each in self._elections}
        held = {name: term.token for name, term in self._held.items() if _is_certain(term)}
        return {"held": held, "seen": {name: list(leader) for name, leader in seen.items()}}


def _is_certain(term: Term) -> bool:
    try:
        term.check()
    except LeadershipLost:
        return False
    return True


async def main(me: str, folder: str, elections: int, pace: Pace, places: list[str]) -> None:
    """Be one node of a cluster until killed."""
    mine = next(place for place in places if place.startswith(f"{me}@"))
    others = [place for place in places if place != mine]
    insecure = not all("@127.0.0.1:" in place for place in places)
    async with Node(mine, others, folder, pace=pace, insecure=insecure) as node:
        await Application(node, elections).run()


if __name__ == "__main__":
    _, me, folder, elections, pace, *places = sys.argv
    asyncio.run(main(me, folder, int(elections), msgspec.json.decode(pace, type=Pace), places))
