"""Values print the same in every process, and differ in type as well as in content."""

import os
import subprocess
import sys

import pytest

from electorate.core import Send, SetTimer, Stable, State, Value, Viewed, text_of
from electorate.protocols.bully import Halt, Phase, Yes


class Pair(Value):
    name: str
    numbers: frozenset[int] = frozenset()


class Chosen(State):
    phase: Phase
    leader: int | None = None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"),
        (True, "yes"),
        (False, "no"),
        (7, "7"),
        ("word", "word"),
        (Phase.HALTED, "halted"),
        ((1, (2, None)), "(1, (2, none))"),
        ([1], "(1)"),
        (frozenset({10, 9, 1}), "{1, 9, 10}"),
        (frozenset({"b", "a"}), "{a, b}"),
        (frozenset(), "{}"),
        (Yes(), "Yes"),
        (Send(1, Halt()), "Send(1, Halt)"),
        (SetTimer("probe", 2), "SetTimer(probe, 2, 0)"),
        (Viewed(frozenset({2, 1})), "Viewed({1, 2})"),
        (Chosen(1, Stable(), Phase.NORMAL), "Chosen(1, Stable, normal, none)"),
        (1.5, "1.5"),
    ],
)
def test_a_value_is_printed_for_people(value: object, text: str) -> None:
    assert text_of(value) == text


def test_two_messages_of_different_types_differ() -> None:
    yes, halt = Yes(), Halt()
    assert {yes: 1, halt: 2} == {Halt(): 2, Yes(): 1}


def test_a_value_can_neither_be_changed_nor_extended() -> None:
    pair = Pair("one")
    with pytest.raises(AttributeError):
        pair.name = "two"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        pair.other = 1  # type: ignore[attr-defined]


PRINTING = """
from electorate.core import Value, text_of
class Pair(Value):
    name: str
    numbers: frozenset[int] = frozenset()
pairs = {Pair(name, frozenset({number, 10})) for name in "abcdefg" for number in range(5)}
print(text_of(frozenset(pairs)), text_of(frozenset("electorate")))
"""


def test_texts_are_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", PRINTING],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(texts) == 1
    assert "Pair(a, {0, 10})" in texts.pop()
