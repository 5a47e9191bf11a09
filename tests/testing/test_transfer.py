"""A hand-over is made once it has been made, not once it has been promised."""

import asyncio

import pytest

from electorate.testing import Cluster
from tests.testing.worker import ELECTION, idle


@pytest.mark.electorate(nodes=4)
@pytest.mark.parametrize("electorate_seed", [10, 34, 39])
async def test_a_transfer_returns_once_the_heir_leads(electorate_cluster: Cluster) -> None:
    """With these seeds the heir's claim overtakes the news that it is the heir, and fails."""
    cluster = electorate_cluster
    cluster.start(idle)
    await cluster.leader(ELECTION)
    await asyncio.sleep(1)
    for heir in "dadbd":
        await cluster.node("a").election(ELECTION).transfer(heir)
        await asyncio.sleep(1)
        assert cluster.leaders(ELECTION) == (heir,)
