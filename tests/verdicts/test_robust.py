"""What the promises hang on: complete, as the page says, and declared by those who promise.

Some small rows are checked again by the reference explorer. `make robust` checks all rows again.
"""

import pytest

from electorate.core import Assumption
from electorate.protocols.registry import REGISTRY
from tests.verdicts import page, plan, robust
from tests.verdicts.robust import Answer

TEXT = robust.FILE.read_text(encoding="utf-8")
FOUND = robust.read()
ASKED = robust.rows()
QUICK = [
    "chang-roberts --from boot",
    "ring-list --crashes 1",
    "ring-list-as-printed --from boot --losses 1",
    "park-as-printed --lies 1",
    "park-literal --from boot",
]
DECLARED = {"--ties both": Assumption.CLOSED_BOUNDS, "--order bag": Assumption.FIFO}
"""The assumption that is dropped by an option."""


def test_the_file_answers_what_is_asked_and_nothing_else() -> None:
    assert FOUND.keys() == ASKED.keys()
    assert robust.text(FOUND, robust.states_of(TEXT)) == TEXT


@pytest.mark.parametrize("row", QUICK)
def test_the_reference_explorer_says_the_same(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(plan.ROOT)
    asked = (row, ASKED[row])
    assert str(robust.answer(asked, robust.states_of(TEXT), engine="python")) == str(FOUND[row])


def test_the_page_says_what_the_file_says() -> None:
    wanted = page.robust(FOUND, robust.states_of(TEXT))
    advice = "run: python -m tests.verdicts.make_robust --pages"
    assert page.OVERVIEW.read_text(encoding="utf-8") == wanted, advice


def test_a_promise_hangs_only_on_what_is_declared() -> None:
    for row, found in FOUND.items():
        machine, form = REGISTRY[row.split()[0]]
        for option in found.broken:
            assert DECLARED[option] in machine.assumed(form), (row, option)


def test_an_answer_survives_its_line() -> None:
    found = Answer(
        "holds",
        {"--ties both": "A1 13, A2?"},
        {"--from boot": "more than 9 states (--states-max)"},
        ("--delay 0..2", "--order bag"),
    )
    assert Answer.parse(str(found)) == found
    assert Answer.parse("violated") == Answer("violated")
