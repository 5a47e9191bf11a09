"""The pages of the protocols say what the cases say."""

from pathlib import Path

import pytest

from tests.costs.page import TABLE, pages


@pytest.mark.parametrize(("page", "table"), pages().items(), ids=lambda given: Path(given).stem)
def test_the_golden_table_of_costs_is_that_of_the_cases(
    page: Path, table: str, rewrite: bool
) -> None:
    text = page.read_text(encoding="utf-8")
    found = TABLE.search(text)
    assert found, f"{page.name} has no table of costs"
    if rewrite:
        page.write_text(text.replace(found[0], found[1] + table, 1), encoding="utf-8")
    else:
        assert found[2] == table
