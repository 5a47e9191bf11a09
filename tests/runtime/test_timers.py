"""Many instances at one host: a few are taken up at a time, and others are heard in between."""

import asyncio
import logging
import math
from typing import Any

import pytest
from msgspec import Raw

from electorate.runtime.frame import Said
from electorate.runtime.host import SAID_MAX, letters
from electorate.runtime.timers import AGAIN_MS, AT_ONCE, ChunkedWork, Lateness, TimerQueue
from electorate.testing import Cluster
from tests.leadership.cluster import run

PATIENCE_MS = 50.0


class Sleeper:
    """As much of an instance as a timer needs."""

    def __init__(self, *, is_urgent: bool = False) -> None:
        self.is_urgent = is_urgent
        self.due_ms = self.queued_ms = math.inf
        self.woken: list[float] = []


class Bedroom:
    """Timers with a clock of their own."""

    def __init__(self, *sleepers: Sleeper) -> None:
        self.now = 0.0
        self.timers = TimerQueue(lambda: self.now, self.enter, PATIENCE_MS, Lateness(10.0))
        for each in sleepers:
            each.wake = lambda each=each: each.woken.append(self.now)  # type: ignore[attr-defined]

    def enter(self, act: Any) -> None:
        act()

    def set(self, sleeper: Sleeper, deadline_ms: float | None) -> None:
        sleeper.due_ms = math.inf if deadline_ms is None else deadline_ms
        if sleeper.due_ms < sleeper.queued_ms:
            self.timers.put(sleeper)  # type: ignore[arg-type]

    async def at(self, now: float) -> None:
        """Let it be that late, and everything happen that happens then."""
        self.now = now
        self.timers._wake()


def test_a_timer_that_is_set_anew_wakes_once_and_then() -> None:
    async def scene() -> None:
        sleeper = Sleeper()
        room = Bedroom(sleeper)
        room.set(sleeper, 10)
        room.set(sleeper, 30)
        for now in (10, 20, 29):
            await room.at(now)
        assert sleeper.woken == []
        room.set(sleeper, 25)
        await room.at(29)
        assert sleeper.woken == [29]
        await room.at(40)
        room.set(sleeper, 50)
        room.set(sleeper, None)
        await room.at(60)
        assert sleeper.woken == [29]

    run(scene())


def test_a_hundred_are_woken_in_one_moment_and_the_rest_after_it() -> None:
    async def scene() -> None:
        sleepers = [Sleeper() for _ in range(AT_ONCE + 1)]
        room = Bedroom(*sleepers)
        for sleeper in sleepers:
            room.set(sleeper, 10)
        await room.at(10)
        assert sum(len(each.woken) for each in sleepers) == AT_ONCE
        await asyncio.sleep(0.05)
        assert all(each.woken == [10] for each in sleepers)

    run(scene())


def test_while_letters_are_read_only_who_leads_is_woken_but_not_for_ever() -> None:
    async def scene() -> None:
        leader, other = Sleeper(is_urgent=True), Sleeper()
        room = Bedroom(leader, other)
        room.set(leader, 10)
        room.set(other, 10)
        now = 10.0
        while not other.woken:
            room.timers.read_ms = now
            await room.at(now)
            now += AGAIN_MS
        assert leader.woken == [10]
        assert other.woken == [10 + PATIENCE_MS]
        room.set(other, 200)
        await room.at(200)
        assert other.woken[1:] == [200], "nothing was read for long"

    run(scene())


def test_a_sweep_pauses_between_every_hundred_and_visits_nobody_twice() -> None:
    async def scene() -> None:
        moments: list[list[int]] = []

        def enter(act: Any) -> None:
            moments.append([])
            act()

        sweep = ChunkedWork[int](enter, lambda each: moments[-1].append(each))
        enter(lambda: sweep.over(range(AT_ONCE + 2)))
        assert moments == [list(range(AT_ONCE))]
        sweep.over([AT_ONCE, AT_ONCE + 1, 7])
        await asyncio.sleep(0)
        assert moments[1:] == [[AT_ONCE, AT_ONCE + 1, 7]]

    run(scene())


def test_a_letter_has_so_many_messages_and_no_more() -> None:
    parts = letters([Said(f"job {number}", 1, Raw(b"")) for number in range(SAID_MAX + 1)])
    assert [len(part) for part in parts] == [SAID_MAX, 1]


def test_a_node_that_is_behind_for_long_says_so_ever_more_rarely() -> None:
    lateness = Lateness(10.0)
    said = []
    for second in range(1, 40):
        lateness.note(5.0)
        lateness.note(20.0)
        if lateness.look() is not None:
            said.append(second)
    assert said == [3, 6, 12, 24]
    lateness.note(9.0)
    assert lateness.look() is None
    lateness.note(20.0)
    assert lateness.look() is None, "it counts anew"


def test_a_thousand_elections_are_led_and_stay_so_and_cost_no_save(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """At the default pace: a renewal changes no promise, so nobody writes to a disk for it."""
    elections, terms = 1_000, []
    cluster = Cluster(3, seed=5)
    # What looks for two leaders at every event is too slow for so many.
    monkeypatch.setattr(cluster._watch, "look", lambda life: None)
    saves: list[int] = []

    async def lead(node: Any, name: str) -> None:
        async for term in node.election(name).terms():
            terms.append(name)
            async with term:
                await asyncio.sleep(1e9)

    async def lead_all(node: Any) -> None:
        await asyncio.gather(*(lead(node, f"job {number}") for number in range(elections)))

    async def scene() -> None:
        cluster.start(lead_all)
        await asyncio.sleep(3)
        assert len(terms) == len(set(terms)) == elections
        for member in cluster._members.values():
            store = member.engine.host.store
            monkeypatch.setattr(store, "save", lambda records: saves.append(len(records)))
        await asyncio.sleep(1)

    with caplog.at_level(logging.WARNING):
        cluster.run(scene())
    assert len(terms) == elections
    assert saves == []
    assert caplog.records == []
