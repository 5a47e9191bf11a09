"""Hosts of applications carry out wires as the ensemble does that is checked, event by event."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from electorate import Node
from electorate.core import NodeId
from electorate.errors import MembersUnchanged
from electorate.leadership.founding import FOUNDING
from electorate.pace import Pace
from electorate.runtime.instance import Instance
from electorate.runtime.wiring import Inlet, Output, Wiring
from electorate.testing import Cluster, member
from tests.conformance.wired import Otherwise, Watch, ensemble, watching

SEEDS = range(3)
MANY_SEEDS = range(11, 30)
"""One in three of them leaves a node out in the end that only a sweep tells."""


async def lead(node: Node, election: str) -> None:
    """Lead for a while, again and again."""
    async for term in node.election(election).terms():
        async with term:
            await asyncio.sleep(0.7)


async def swap(node: Node, cluster: Cluster) -> None:
    """Add a newcomer if there is room, or remove another member."""
    there = set(node.members)
    absent = sorted(set(cluster.names) - there)
    with suppress(MembersUnchanged, ValueError):
        if absent and len(there) < 4:
            newcomer = cluster.random.choice(absent)
            if cluster._members[newcomer].was_removed:
                cluster.restart(newcomer, join=True)
            await node.add_member(cluster.place(newcomer))
        else:
            await node.remove_member(cluster.random.choice(sorted(there - {node.name})))


async def swaps(node: Node, cluster: Cluster, calm: asyncio.Event) -> None:
    """Change the members again and again."""
    while not calm.is_set():
        await asyncio.sleep(cluster.random.uniform(0, 2))
        await swap(node, cluster)


class Scene:
    """Members come and go, while nodes crash and sleep, and at last while all is quiet."""

    def __init__(self, seed: int, watch: Watch) -> None:
        self.cluster = Cluster(3, seed=seed)
        self._watch = watch
        self._crashed = 0
        self._down: list[str] = []

    async def play(self) -> None:
        """All of it."""
        cluster, calm = self.cluster, asyncio.Event()
        for name in "de":
            cluster.add(name)
        for election in ("x", "y"):
            cluster.start(lead, election)
        cluster.start(only_vote)
        await cluster.leader("x")
        self._watch.on_change = self.crash
        restarting = asyncio.create_task(self.restart())
        cluster.start(swaps, cluster, calm, on=list("abc"))
        for _ in range(3):
            await self.sleep_through_a_change()
        await cluster.chaos(10)
        calm.set()
        cluster.heal()
        await asyncio.sleep(30)
        self._watch.on_change = None
        restarting.cancel()
        await swap(await self.somebody(), cluster)
        await asyncio.sleep(1)
        self._watch.expect_nobody_behind()

    async def sleep_through_a_change(self) -> None:
        """A leader stands still for longer than its term lasts, and finds other members."""
        leader = await self.cluster.leader("x")
        self.cluster.pause(leader)
        await asyncio.sleep(3)
        if not self.cluster.is_running(leader):
            self.cluster.unpause(leader)
        await asyncio.sleep(1)

    def crash(self, me: NodeId) -> None:
        """A node crashes when its register has saved a list that its elections do not know."""
        (name,) = (each.name for each in self.cluster._members.values() if each.id == me)
        self._crashed += 1
        if self._crashed % 5 == 0:
            self.cluster.crash(name)
            self._down.append(name)

    async def restart(self) -> None:
        """Nodes that have crashed come back."""
        while True:
            await asyncio.sleep(1)
            while self._down:
                with suppress(ValueError):  # Chaos has been faster.
                    self.cluster.restart(self._down.pop())

    async def somebody(self) -> Node:
        """A member."""
        return self.cluster.node(await self.cluster.leader("x"))


async def only_vote(node: Node) -> None:
    """Take part in an election for which nobody stands: nothing happens in it."""
    node.election("idle")


def play(seed: int, monkeypatch: pytest.MonkeyPatch) -> Watch:
    """A cluster is watched while much happens in it."""
    watch = Watch(ensemble(Pace()))
    monkeypatch.setattr(member, "SimulatedEngine", watching(watch))
    scene = Scene(seed, watch)
    scene.cluster.run(scene.play())
    return watch


def play_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One cluster after the other."""
    for seed in MANY_SEEDS:
        play(seed, monkeypatch)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_event_leads_a_host_to_where_it_leads_the_ensemble(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = play(seed, monkeypatch)
    assert watch.taken > 5000
    assert watch.told > 100


# --- hosts that carry wires out in another way are noticed ---


def never_before_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps alone tell elections what is new."""
    hear = Instance._hear

    def take(self: Instance, event: Any, letterhead: Any = None) -> None:
        monkeypatch.setattr(Instance, "_hear", lambda self: None)
        original(self, event, letterhead)
        monkeypatch.setattr(Instance, "_hear", hear)

    original = Instance.take
    monkeypatch.setattr(Instance, "take", take)


def after_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """An election hears what is new once it has taken its next event."""
    hear = Instance._hear
    original = Instance.take

    def take(self: Instance, event: Any, letterhead: Any = None) -> None:
        monkeypatch.setattr(Instance, "_hear", lambda self: None)
        original(self, event, letterhead)
        monkeypatch.setattr(Instance, "_hear", hear)
        self.hear()

    monkeypatch.setattr(Instance, "take", take)


def not_at_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    """An election boots with the list that it has saved itself."""

    def forget(self: Inlet) -> None:
        self.heard = self.output.version

    monkeypatch.setattr(Inlet, "forget", forget)


def by_no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """An election to which nothing happens is not told."""
    sweep = Wiring._sweep_soon

    def sweep_soon(self: Wiring, output: Output) -> None:
        if output.source == FOUNDING:
            sweep(self, output)

    monkeypatch.setattr(Wiring, "_sweep_soon", sweep_soon)


def what_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """An election is told the last list but one."""
    look = Output.look

    def late(self: Output, stable: Any) -> None:
        last = self.value
        look(self, stable)
        if last is not None and last != self.value and self.source != FOUNDING:
            self.older = last  # type: ignore[attr-defined]

    def asked(self: Inlet) -> Any:
        self.heard = self.output.version
        return self._wire.asked(getattr(self.output, "older", self.output.value))

    monkeypatch.setattr(Output, "look", late)
    monkeypatch.setattr(Inlet, "asked", asked)


def only_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """One election is told, and the others are not."""
    join = Wiring.join

    def join_first(self: Wiring, wire: Any, source: Any, target: Any) -> None:
        is_first = all(source is not first for first, _ in self._outputs)
        if wire.source == FOUNDING or is_first:
            join(self, wire, source, target)

    monkeypatch.setattr(Wiring, "join", join_first)


def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An election is told what there is when it boots, and nothing later."""
    hear = Instance._hear

    def hear_once(self: Instance) -> None:
        is_founded = any(inlet.output.source == FOUNDING for inlet in self.inlets)
        if is_founded or all(inlet.heard == 0 for inlet in self.inlets):
            hear(self)

    monkeypatch.setattr(Instance, "_hear", hear_once)


BROKEN = (
    never_before_an_event,
    after_an_event,
    not_at_boot,
    by_no_sweep,
    what_was_there_before,
    only_the_first,
    once,
)


@pytest.mark.parametrize("break_it", BROKEN, ids=lambda each: each.__name__)
def test_a_host_that_tells_elections_otherwise_is_noticed(
    break_it: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it(monkeypatch)
    with pytest.raises(Otherwise):
        play_all(monkeypatch)  # Not in every run does it matter.
