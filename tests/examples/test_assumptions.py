"""Assumptions that no option drops: nodes of two forms, and messages that nobody meant to send."""

from typing import Any

import pytest

from electorate.check import Budget, Model, Result, check
from electorate.claims import CLAIMS
from electorate.core import Machine
from electorate.trace import Setting
from examples.assumptions import Babbling, MixedAbove, MixedBelow


def result(kind: type[Machine[Any]], budget: Budget) -> Result:
    setting = Setting("example", (1, 2, 3))
    return check(setting.machine(kind, "sound"), Model(setting, budget), [CLAIMS["A1"]]).result


@pytest.mark.parametrize(("asks", "found"), [(1, Result.HOLDS), (2, Result.VIOLATED)])
def test_bully_survives_one_message_that_nobody_sent_and_not_two(asks: int, found: Result) -> None:
    assert result(Babbling, Budget(asks=asks)) is found


def test_one_node_that_runs_the_printed_form_is_enough_if_it_is_the_weakest() -> None:
    assert result(MixedBelow, Budget(crashes=1, recoveries=1)) is Result.VIOLATED


def test_the_strongest_node_may_run_the_printed_form() -> None:
    assert result(MixedAbove, Budget(crashes=1, recoveries=1)) is Result.HOLDS
