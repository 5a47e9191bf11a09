"""Tokens outgrow 32 bits after three changes of members; no fence may fall over that."""

from contextlib import closing

import pytest

from electorate.errors import StaleToken
from examples.bank.server import Server
from examples.standby import open_row

ERA = 10**9
"""By so much tokens grow with every change of members."""


@pytest.mark.postgres
def test_the_primary_of_the_example_goes_on_after_three_changes_of_members() -> None:
    """Its row in PostgreSQL had `token int`: `integer out of range` in every term from then on."""
    with Server("app") as server, closing(open_row(server.conninfo("app"))) as row:
        for token in (1, 3 * ERA + 1, 2**63 - 2):
            row.write(5, token)
        with pytest.raises(StaleToken):
            row.write(0, 3 * ERA + 1)
