"""Cases are data: read from a protocol's own file, known of a machine, or fit for any election."""

from types import ModuleType
from typing import Any

import pytest

from electorate.core import Machine
from electorate.costs import Case, cases_of
from electorate.costs.case import GENERIC
from electorate.protocols.bully import Bully
from electorate.trace import Start
from examples.two_phase_gray_lamport import TwoPhase

HALTS = {
    "name": "the strongest survivor notices",
    "script": "crash 1; suspect 2; settle",
    "formulas": {"Halt": "N-2"},
    "start": "boot",
    "forms": ["sound"],
}


def declaring(monkeypatch: pytest.MonkeyPatch, costs: object) -> type[Machine[Any]]:
    """A machine whose file declares these costs."""
    module = ModuleType("costly")
    kind: type[Machine[Any]] = type("Costly", (Bully,), {"__module__": "costly"})
    monkeypatch.setitem(__import__("sys").modules, "costly", module)
    module.__dict__["COSTS"] = costs
    return kind


def test_a_file_declares_its_cases_as_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    [case] = cases_of(declaring(monkeypatch, [HALTS]))
    assert (case.name, case.formulas, case.start) == (HALTS["name"], {"Halt": "N-2"}, Start.BOOT)
    assert case.fits("sound", 3)
    assert not case.fits("sound", 2)
    assert not case.fits("printed", 3)


def test_or_as_cases_or_for_each_class_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("rest", "settle")
    assert cases_of(declaring(monkeypatch, (case,))) == (case,)
    assert cases_of(declaring(monkeypatch, {"Costly": (case,)})) == (case,)
    assert cases_of(declaring(monkeypatch, {"Other": (case,)})) == cases_of(Bully)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"scripts": ""}, "unknown field `scripts`"),
        ({"script": 3}, "Expected `str`, got `int`"),
        ({"formulas": {"Halt": "N-"}}, "'N-' ends too soon"),
        ({"formulas": {"Halt": "mean d"}, "numbers": {"d": "1..N"}}, "leaves open over which"),
    ],
)
def test_what_is_declared_wrongly_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match="COSTS of Costly: ") as error:
        cases_of(declaring(monkeypatch, [{**HALTS, **change}]))
    assert problem in str(error.value)


def test_a_machine_made_from_another_is_held_against_the_costs_of_that_one() -> None:
    class Careful(Bully):
        pass

    assert cases_of(Careful) == cases_of(Bully)


def test_of_an_unknown_machine_generic_cases_are_measured() -> None:
    assert cases_of(TwoPhase) == GENERIC
    assert not any(case.formulas for case in GENERIC)


def test_a_case_may_be_about_some_sizes_only() -> None:
    case = Case("example", "settle", nodes=(6,))
    assert [nodes for nodes in range(1, 9) if case.fits("sound", nodes)] == [6]
