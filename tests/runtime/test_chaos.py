"""Processes that are killed, started, stopped, let go, cut off and healed at random.

Once it is over and everybody is back, all follow the strongest, and keep to it.
"""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from electorate.cli.fleet import Fleet
from tests.runtime.process import on_linux

WORDS = ["bully", "--T", "60", "--beat", "30", "--timeout", "250"]
NODES = 4
ROUNDS = int(os.environ.get("ROUNDS", "4"))
PATIENCE_S = 15.0

pytestmark = [on_linux, pytest.mark.timeout(60 + 10 * ROUNDS)]


def rest(fleet: Fleet, seconds: float) -> None:
    for _ in fleet.watch(seconds):
        pass


def blows(fleet: Fleet, chance: random.Random) -> list[str]:
    """Between one and eight things that happen to nodes; what they were."""
    kinds: dict[str, Callable[[int], None]] = {
        "kill": fleet.kill,
        "start": fleet.start,
        "pause": fleet.pause,
        "resume": fleet.resume,
        "cut": lambda node: fleet.cut(node, off=True),
        "heal": lambda node: fleet.cut(node, off=False),
    }
    done = []
    for _ in range(chance.randint(1, 8)):
        what, node = chance.choice(list(kinds)), chance.randint(1, NODES)
        kinds[what](node)
        done.append(f"{fleet.seconds:.2f} s: {what} {node}")
        rest(fleet, chance.choice([0, 0.01, 0.05, 0.1, 0.2, 0.4]))
    return done


def mend(fleet: Fleet, chance: random.Random) -> None:
    """Bring everybody back, in any order."""
    for node in chance.sample(list(fleet.members), NODES):
        if fleet.members[node].paused:
            fleet.resume(node)
        if fleet.members[node].cut:
            fleet.cut(node, off=False)
        fleet.start(node)


@pytest.mark.parametrize("seed", [1, 2])
def test_after_any_chaos_all_follow_the_strongest(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with Fleet(WORDS, NODES, tmp_path, record=False) as fleet:
        for _ in range(ROUNDS):
            done = blows(fleet, chance)
            mend(fleet, chance)
            assert fleet.await_agreement(1, PATIENCE_S) is not None, done
        rest(fleet, 0.5)  # Twice the timeout: what is still to be noticed is noticed by now.
        assert fleet.await_agreement(1, PATIENCE_S) is not None, done
