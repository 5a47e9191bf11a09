"""Faults that a seed chooses: what happens to whom, when, and for how long."""

import asyncio
import random
from collections.abc import Callable
from typing import NamedTuple

from electorate.testing.faults import Faults

GAP_S = 2.0
"""Between two faults there is at most that time."""
LENGTH_S = 3.0
"""A fault lasts at most that long."""


class Fault(NamedTuple):
    """How to hurt a node, and how to make it whole again."""

    hurt: Callable[[Faults, str, random.Random], None]
    mend: Callable[[Faults, str], None]


def _cut_off(cluster: Faults, name: str, chance: random.Random) -> None:
    others = [other for other in cluster.names if other != name]
    for other in chance.sample(others, chance.randint(1, len(others))) if others else []:
        cluster.cut(name, other, one_way=chance.random() < 0.25)


KINDS = {
    "crash": Fault(
        lambda cluster, name, _: cluster.crash(name), lambda cluster, name: cluster.restart(name)
    ),
    "pause": Fault(
        lambda cluster, name, _: cluster.pause(name), lambda cluster, name: cluster.unpause(name)
    ),
    "cut": Fault(_cut_off, lambda cluster, name: cluster.heal()),
}
FAULTS = tuple(KINDS)


async def disturb(
    cluster: Faults, chance: random.Random, seconds: float, faults: tuple[str, ...]
) -> None:
    """Hurt random nodes for a while, never more than a minority at once; at the end all are whole.

    With two nodes or one there is no such minority, and one is hurt at a time.
    """
    unknown = ", ".join(sorted(set(faults) - set(FAULTS)))
    if unknown or not faults:
        raise ValueError(f"no fault {unknown or 'at all'}: choose from {', '.join(FAULTS)}")
    loop = asyncio.get_running_loop()
    end, most = loop.time() + seconds, max(1, (len(cluster.names) - 1) // 2)
    mending: dict[str, asyncio.Task[None]] = {}
    while loop.time() < end:
        await asyncio.sleep(min(chance.uniform(0, GAP_S), end - loop.time()))
        hurt = [name for name, task in mending.items() if not task.done()]
        well = [name for name in cluster.names if name not in hurt and cluster.is_running(name)]
        if well and len(hurt) < most:
            name, fault = chance.choice(well), KINDS[chance.choice(faults)]
            fault.hurt(cluster, name, chance)
            length_s = chance.uniform(0, LENGTH_S)
            mending[name] = loop.create_task(_mend(cluster, name, fault, length_s))
    await asyncio.gather(*mending.values())


async def _mend(cluster: Faults, name: str, fault: Fault, after_s: float) -> None:
    await asyncio.sleep(after_s)
    fault.mend(cluster, name)
