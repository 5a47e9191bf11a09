"""The event loop in which no time is spent, as asyncio uses it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from electorate.testing import Stuck
from electorate.testing.loop import VirtualLoop
from electorate.testing.process import MachineClock, Process


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return new().run(nothing, main, nothing)


def new() -> VirtualLoop:
    return VirtualLoop(10_000)  # type: ignore[abstract]


def nothing() -> None:
    pass


def spawn(
    loop: VirtualLoop, process: Process, act: Callable[[], Coroutine[Any, Any, None]]
) -> asyncio.Task[Any]:
    return loop.create_task(act(), context=process.context.copy())


def test_an_hour_takes_no_time() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await asyncio.sleep(3600)
        return loop.time() - begun

    begun = time.monotonic()
    assert run(main()) == 3600
    assert time.monotonic() - begun < 1


def test_things_happen_in_the_order_of_their_times() -> None:
    order: list[int] = []

    async def later(number: int, after: float) -> None:
        await asyncio.sleep(after)
        order.append(number)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number, after in enumerate((0.3, 0.1, 0.2, 0.1)):
                group.create_task(later(number, after))

    run(main())
    assert order == [1, 3, 2, 0]


def test_timeouts_locks_queues_and_threads_work_as_usual() -> None:
    async def main() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(9), 1)
        queue: asyncio.Queue[str] = asyncio.Queue(1)
        asyncio.get_running_loop().call_later(1, queue.put_nowait, "said")
        async with asyncio.Lock():
            assert await asyncio.to_thread(len, "four") == 4
            with pytest.raises(ZeroDivisionError):
                await asyncio.to_thread(divmod, 1, 0)
            return await queue.get()

    assert run(main()) == "said"


def test_what_nobody_finishes_is_finished_at_the_end() -> None:
    ended: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            ended.append("generator")

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append("task")

    async def main() -> None:
        task = asyncio.create_task(forever(), name="forgotten")
        async for number in numbers():
            assert number == 1
            break
        await asyncio.sleep(0)
        assert not task.done()

    run(main())
    assert sorted(ended) == ["generator", "task"]


def test_waiting_for_what_never_comes_is_an_error_that_says_where() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match=r"nothing will ever happen again; .* in main \(.*test_loop.py"):
        run(main())


def test_a_task_that_never_waits_is_an_error() -> None:
    async def main() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Stuck, match=r"some task never waits, at 0\.000 s"):
        run(main())


def test_an_error_that_nobody_sees_ends_the_run() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(divmod, 1, 0)
        await asyncio.sleep(1)

    with pytest.raises(ZeroDivisionError):
        run(main())


def test_there_is_no_network() -> None:
    async def main() -> None:
        with pytest.raises(NotImplementedError):
            await asyncio.open_connection("localhost", 80)

    run(main())


def test_a_process_stands_still_and_goes_on_with_all_of_its_tasks() -> None:
    loop, process, ticks = new(), Process("a", MachineClock()), list[float]()

    async def tick() -> None:
        while True:
            ticks.append(loop.now)
            await asyncio.sleep(1)

    async def program() -> None:
        inner = asyncio.create_task(tick())
        await inner

    async def main() -> None:
        spawn(loop, process, program)
        await asyncio.sleep(1.5)
        process.paused = True
        await asyncio.sleep(5)
        assert ticks == [0, 1]
        process.paused = False
        loop.unpark(process)
        await asyncio.sleep(1.1)

    loop.run(nothing, main(), nothing)
    assert ticks == [0, 1, 6.5, 7.5]


def test_a_process_that_is_gone_says_nothing_until_the_end() -> None:
    loop, process, said = new(), Process("a", MachineClock()), list[str]()

    async def program() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            said.append("sleeping")
            await asyncio.sleep(1)

    async def main() -> None:
        spawn(loop, process, program)
        await asyncio.sleep(0.5)
        process.dead = True
        await asyncio.sleep(5)
        assert said == []

    loop.run(nothing, main(), nothing)


@pytest.mark.parametrize(("rate", "at"), [(0.5, 2.0), (1.0, 1.0), (2.0, 0.5)])
def test_a_process_sleeps_by_its_own_clock(rate: float, at: float) -> None:
    loop, clock, woke = new(), MachineClock(), list[float]()

    async def program() -> None:
        await asyncio.sleep(1)
        woke.extend((loop.now, asyncio.get_running_loop().time()))

    async def main() -> None:
        clock.run(0, rate)
        await spawn(loop, Process("a", clock), program)

    loop.run(nothing, main(), nothing)
    assert woke == [at, 1]


def test_timers_follow_a_clock_that_jumps_or_stops() -> None:
    loop, clock, woke = new(), MachineClock(), list[float]()

    async def program() -> None:
        for _ in range(2):
            await asyncio.sleep(10)
            woke.append(loop.now)

    async def main() -> None:
        sleeping = spawn(loop, Process("a", clock), program)
        await asyncio.sleep(1)
        clock.jump(loop.now, 5)
        loop.reset_timers()
        await asyncio.sleep(5)
        assert woke == [5]
        clock.run(loop.now, 0)
        loop.reset_timers()
        await asyncio.sleep(100)
        clock.run(loop.now, 1)
        loop.reset_timers()
        await sleeping

    loop.run(nothing, main(), nothing)
    assert woke == [5, 115]
