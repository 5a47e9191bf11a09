"""Whatever users ask for, in whatever order: everybody agrees in the end, and nothing hangs."""

import pytest

from electorate.testing import Cluster
from tests.testing.whims import Whims


@pytest.mark.electorate(nodes=3, seeds=4, limit_s=2000)
async def test_three_nodes_come_to_rest_after_any_calls(electorate_cluster: Cluster) -> None:
    await come_to_rest(electorate_cluster)


@pytest.mark.electorate(nodes=5, seeds=2, limit_s=2000)
async def test_five_nodes_come_to_rest_after_any_calls(electorate_cluster: Cluster) -> None:
    await come_to_rest(electorate_cluster)


async def come_to_rest(cluster: Cluster) -> None:
    whims = Whims(cluster)
    await whims.act(40)
    await whims.settle()
    for each in (whims.pause, whims.resume):
        for name in cluster.names:
            each(name, "")
        await whims.agreed(within_s=30)
