"""docs/lectures.md says what the items say; `pytest --rewrite` writes it anew."""

from tests.lectures.page import page
from tests.script import ROOT


def test_the_page_is_up_to_date(rewrite: bool) -> None:
    file = ROOT / "docs" / "lectures.md"
    if rewrite:
        file.write_text(page(), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == page()
