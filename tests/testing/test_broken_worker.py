"""What a simulated cluster is for: it finds the worker that writes although it does not lead."""

import pytest

from electorate.testing import Cluster
from tests.testing.worker import ELECTION, Database, careless, worker

SEEDS = 20


def out_of_order(program: object, seed: int) -> bool:
    cluster, database = Cluster(seed=seed), Database()

    async def scene() -> None:
        cluster.start(program, cluster, database)  # type: ignore[arg-type]
        await cluster.leader(ELECTION)
        await cluster.chaos(10, ["pause"])
        await cluster.leader(ELECTION)

    cluster.run(scene())
    return not database.in_order


def test_a_worker_that_writes_without_its_token_is_found() -> None:
    found = next((seed for seed in range(SEEDS) if out_of_order(careless, seed)), None)
    assert found is not None, f"none of {SEEDS} seeds shows it"
    assert out_of_order(careless, found)


@pytest.mark.electorate(seeds=SEEDS)
def test_no_seed_shows_such_a_thing_of_a_worker_that_uses_it(electorate_seed: int) -> None:
    assert not out_of_order(worker, electorate_seed)
