"""Rules are changed by texts, and print as the texts that would make them."""

from typing import Literal

import pytest

from electorate.core import Rules, Span, T
from electorate.protocols.bully import BullyRules


class OuterRules(Rules):
    quorum: bool = True
    retries: int = 3
    inner: BullyRules = BullyRules()


class TwiceNested(Rules):
    pace: Literal["slow", "fast"] = "slow"
    outer: OuterRules = OuterRules()


def test_a_text_changes_one_rule() -> None:
    changed = BullyRules().with_texts(["guard=T+1", "accept=anyone"])
    assert changed == BullyRules(guard=T + 1, accept="anyone")


def test_the_last_of_two_texts_counts() -> None:
    assert BullyRules().with_texts(["guard=T", "guard=3T"]).guard == 3 * T


def test_numbers_and_truth_values_are_read() -> None:
    changed = OuterRules().with_texts(["retries=5", "quorum=false"])
    assert changed == OuterRules(quorum=False, retries=5)


def test_the_rules_of_an_inner_machine_are_named_with_a_dot() -> None:
    changed = OuterRules().with_texts(["inner.guard=T"])
    assert changed.inner == BullyRules(guard=T)
    deeper = TwiceNested().with_texts(["outer.inner.halt=latest", "pace=fast"])
    assert deeper.outer.inner.halt == "latest"
    assert deeper.pace == "fast"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("guard", "rule 'guard' has no value: write name=value"),
        ("gard=T", "unknown rule 'gard'; the rules are: quorum, retries, inner.accept, "),
        ("inner=T", "unknown rule 'inner'; the rules are: quorum"),
        ("inner.gard=T", "unknown rule 'inner.gard'; the rules are: quorum"),
        ("retries.x=1", "unknown rule 'retries.x'"),
        ("with_texts=1", "unknown rule 'with_texts'"),
        ("=1", "unknown rule ''"),
        ("retries=many", "rule retries=many: Expected `int`, got `str`"),
        ("quorum=perhaps", "rule quorum=perhaps: Expected `bool`, got `str`"),
        ("inner.guard=2X", "rule inner.guard=2X: '2X' is not a span"),
        ("inner.accept=all", "rule inner.accept=all: must be one of halter, anyone"),
    ],
)
def test_a_bad_text_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        OuterRules().with_texts([text])
    assert str(caught.value).startswith(problem)
    assert "\n" not in str(caught.value)


def test_a_machine_without_rules_says_so() -> None:
    with pytest.raises(ValueError, match="unknown rule 'guard'; the rules are: none"):
        Rules().with_texts(["guard=T"])


def test_rules_print_the_texts_that_make_them() -> None:
    rules = TwiceNested("fast", OuterRules(False, 9, BullyRules(guard=2 * T + Span(ticks=1))))
    texts = rules.texts()
    assert texts["outer.quorum"] == "false"
    assert texts["outer.inner.guard"] == "2T+1"
    assert TwiceNested().with_texts(f"{name}={text}" for name, text in texts.items()) == rules
