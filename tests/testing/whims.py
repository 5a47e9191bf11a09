"""Users at random: whatever they ask of a simulated cluster, its promises hold."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from electorate import Election, Node
from electorate.errors import NodeStopped, TransferFailed
from electorate.leadership.engine import Leader
from electorate.leadership.term import Term
from electorate.testing import Cluster

GROUP = "cache"
ELECTIONS = ("scheduler", "backup", GROUP)
AGREED_S = 45
"""By then everybody agrees, and nothing that was asked for is still awaited."""


class Whim(Exception):
    """The application fails."""


class Whims:
    """What users have asked for so far, and what has to be the case therefore."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.chance = random.Random(f"whims {cluster.seed}")
        self.workers = {
            (name, election): self.chance.choice([0, 1, 1, 1, 2])
            for name in cluster.names
            for election in ELECTIONS
        }
        """How many workers ask for the terms of an election at a node."""
        self.priorities = {part: self.chance.choice([0, 1, 1, 1, 2]) for part in self.workers}
        self.paused: set[str] = set()
        self.idle: set[str] = set()
        """Where a pause has come to its end: nothing begins there."""
        self.is_calm = False
        self._busy: set[tuple[Node, str]] = set()
        self._asked: set[asyncio.Task[None]] = set()

    # --- what users do ---

    async def act(self, times: int) -> None:
        """Do something again and again."""
        self.cluster.start(self.take_part)
        acts: list[Callable[[str, str], None]] = [
            self.pause,
            self.resume,
            self.rank,
            self.step_down,
        ]
        acts += [self.transfer, self.hire, self.dismiss, self.observe]
        acts += [self.crash, self.restart, self.stall, self.go_on, self.cut, self.heal]
        for _ in range(times):
            act = self.chance.choice(acts)
            name, election = self.chance.choice(self.cluster.names), self.chance.choice(ELECTIONS)
            self.cluster.story.tell(f"somebody says: {act.__name__} {name} {election}")
            with suppress(NodeStopped):
                act(name, election)
            if self.chance.random() < 0.05:
                await self.stop(name)
            await asyncio.sleep(
                self.chance.choice([0, 0.01, 0.1, 0.5, 2, 7]) * self.chance.random()
            )

    def pause(self, name: str, _: str) -> None:
        self._ask(self._pause(name))

    async def _pause(self, name: str) -> None:
        node = self.cluster.node(name)
        self.paused.add(name)
        try:
            await node.pause()
        except NodeStopped:
            self.paused.discard(name)
            raise
        if name in self.paused:
            self.idle.add(name)

    def resume(self, name: str, _: str) -> None:
        self._ask(self._resume(name))

    async def _resume(self, name: str) -> None:
        self._forget(name)
        await self.cluster.node(name).resume()

    def rank(self, name: str, election: str) -> None:
        priority = self.chance.choice([0, 1, 1, 2, 3])
        self.election(name, election).set_priority(priority)
        self.priorities[name, election] = priority

    def step_down(self, name: str, election: str) -> None:
        if election != GROUP:
            for _ in range(self.chance.choice([1, 1, 2])):
                self._ask(self.election(name, election).step_down())

    def transfer(self, name: str, election: str) -> None:
        if election != GROUP:
            for _ in range(self.chance.choice([1, 1, 2])):
                heir = self.chance.choice(self.cluster.names)
                self._ask(self.election(name, election).transfer(heir))

    def hire(self, name: str, election: str) -> None:
        self.workers[name, election] = min(2, self.workers[name, election] + 1)

    def dismiss(self, name: str, election: str) -> None:
        self.workers[name, election] = max(0, self.workers[name, election] - 1)

    def observe(self, name: str, election: str) -> None:
        self._ask(self._observe(self.election(name, election), self.chance.randint(1, 5)))

    async def _observe(self, election: Election, times: int) -> None:
        last: Leader | None = None
        tokens: dict[str | None, int] = defaultdict(int)
        with suppress(TimeoutError):
            async with asyncio.timeout(AGREED_S / 3):
                async for now in election.observe():
                    assert now != last, "nothing has changed"
                    # The tokens of groups grow with each leader, those of others with all.
                    whose = now.leader if election.name == GROUP else None
                    assert now.token is None or now.token >= tokens[whose], "that was before"
                    tokens[whose], last = now.token or tokens[whose], now
                    times -= 1
                    if not times:
                        return

    # --- what befalls the cluster ---

    def crash(self, name: str, _: str) -> None:
        with suppress(ValueError):  # It is down.
            self.cluster.crash(name)
            self._forget(name)

    async def stop(self, name: str) -> None:
        if self.cluster.is_running(name):
            await self.cluster.stop(name)
            self._forget(name)

    def restart(self, name: str, _: str) -> None:
        with suppress(ValueError):  # It runs.
            self.cluster.restart(name)

    def stall(self, name: str, _: str) -> None:
        with suppress(ValueError):
            self.cluster.pause(name)

    def go_on(self, name: str, _: str) -> None:
        with suppress(ValueError):
            self.cluster.unpause(name)

    def cut(self, name: str, _: str) -> None:
        self.cluster.partition({name, self.chance.choice(self.cluster.names)})

    def heal(self, *_: str) -> None:
        self.cluster.heal()

    # --- what applications do ---

    async def take_part(self, node: Node) -> None:
        """Have as many workers as users want to have."""
        working: dict[str, list[asyncio.Task[None]]] = {election: [] for election in ELECTIONS}
        while True:
            for election, tasks in working.items():
                while len(tasks) < self.workers[node.name, election]:
                    tasks.append(asyncio.create_task(self._work(node, election)))
                while len(tasks) > self.workers[node.name, election]:
                    tasks.pop(self.chance.randrange(len(tasks))).cancel()
                for task in [task for task in tasks if task.done()]:
                    tasks.remove(task)
                    task.result()
            await asyncio.sleep(0.02)

    async def _work(self, node: Node, name: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NodeStopped):
            # One that fails while it is being dismissed loses its cancellation, and is to end.
            while not task.cancelling():
                election = self._stands(node, name)
                with suppress(Whim):
                    if self.chance.random() < 0.5:
                        await election.run(lambda term: self._body(node, term), self._after)
                    async for term in election.terms():
                        async with term:
                            await self._body(node, term)
                        if self.chance.random() < 0.1:
                            break

    def _stands(self, node: Node, name: str) -> Election:
        priority = self.priorities[node.name, name]
        if name == GROUP:
            return node.election(name, priority, safety="group", on_merge=self._merge)
        return node.election(name, priority)

    async def _body(self, node: Node, term: Term) -> None:
        assert node.name not in self.idle, f"{node.name} is paused"
        with self._alone(node, term.election):
            await self._whim()
            try:
                if self.is_calm or self.chance.random() < 0.7:
                    await asyncio.Event().wait()
            finally:
                # Some do not end at once, and some not even in time.
                if not self.is_calm and self.chance.random() < 0.3:
                    grace_s = self.cluster.pace.grace
                    await asyncio.sleep(self.chance.uniform(0, 1.5 * grace_s))

    @contextmanager
    def _alone(self, node: Node, election: str) -> Iterator[None]:
        assert (node, election) not in self._busy, "one term at a time"
        self._busy.add((node, election))
        try:
            yield
        finally:
            self._busy.discard((node, election))

    async def _after(self, term: Term) -> None:
        await self._whim()

    async def _merge(self, term: Term, others: dict[str, str]) -> None:
        await self._whim()

    async def _whim(self) -> None:
        """Take some time now and then, or fail."""
        whim = 1.0 if self.is_calm else self.chance.random()
        if whim < 0.3:
            await asyncio.sleep(self.chance.uniform(0, 3))
        if whim < 0.05:
            raise Whim

    # --- what has to be the case ---

    async def settle(self) -> None:
        """Mend everything: then all have to agree, and everything that was asked for ends."""
        self.is_calm = True
        self.cluster.heal()
        for name in self.cluster.names:
            self.go_on(name, "")
            self.restart(name, "")
        await self.agreed(AGREED_S)
        assert not self._asked, f"nobody has answered: {self._asked}"

    async def agreed(self, within_s: float) -> None:
        """Wait until everybody names the one that has to lead, everywhere."""
        deadline = self.cluster.now + within_s
        await asyncio.sleep(within_s / 2)
        while wrong := [name for name in ELECTIONS if not self._is_led_well(name)]:
            assert self.cluster.now < deadline, f"{wrong}: {[*map(self._led, wrong)]}"
            await asyncio.sleep(0.1)

    def _is_led_well(self, election: str) -> bool:
        """Whether one that stands with the highest priority leads, and nobody if nobody stands."""
        ranks = {
            name: self.priorities[name, election]
            for name in self.cluster.names
            if name not in self.paused and self.workers[name, election]
        }
        top = max(ranks.values(), default=0)
        leaders, (told, *others) = self._led(election)
        if not top:
            return not (leaders or others) and told == Leader(None, None)
        return leaders == (told.leader,) and not others and ranks.get(leaders[0]) == top

    def _led(self, election: str) -> tuple[tuple[str, ...], list[Leader]]:
        """Who leads, and whom the nodes name."""
        named = {self.election(name, election).leader for name in self.cluster.names}
        return self.cluster.leaders(election), sorted(named, key=str)

    def election(self, name: str, election: str) -> Election:
        safety: Any = "group" if election == GROUP else "quorum"
        return self.cluster.node(name).election(election, safety=safety)

    def _forget(self, name: str) -> None:
        self.paused.discard(name)
        self.idle.discard(name)

    def _ask(self, call: Coroutine[Any, Any, None]) -> None:
        """Ask, and wait for it elsewhere; some lose their patience."""

        async def ask() -> None:
            with suppress(TransferFailed, NodeStopped):
                await call

        asked = asyncio.create_task(ask())
        self._asked.add(asked)
        asked.add_done_callback(self._answered)
        if self.chance.random() < 0.1:
            asyncio.get_running_loop().call_later(self.chance.uniform(0, 2), asked.cancel)

    def _answered(self, asked: asyncio.Task[None]) -> None:
        self._asked.discard(asked)
        if not asked.cancelled():
            asked.result()
