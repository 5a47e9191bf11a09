"""What stands beside a machine, as data: found for every class, and read strictly."""

from pathlib import Path
from textwrap import dedent

import pytest

from electorate.cli.protocol import find
from electorate.costs import cases_of
from electorate.costs.case import GENERIC
from electorate.dossier import dossier_of
from electorate.protocols.registry import INSIDE, REGISTRY

RING = """
    from electorate.protocols.bully import Bully

    class Careful(Bully):
        pass

    class Careless(Bully):
        pass
"""
REST = """
    name = "rest"
    script = "settle"
"""


def beside(folder: Path, dossier: str) -> str:
    """A protocol file with this dossier."""
    (folder / "ring.py").write_text(dedent(RING))
    (folder / "ring.toml").write_text(dedent(dossier))
    return str(folder / "ring.py")


def names(source: str, kind: str) -> list[str]:
    return [case.name for case in cases_of(find(f"{source}:{kind}").kind)]


def test_a_protocol_of_your_own_has_its_dossier_beside_it(tmp_path: Path) -> None:
    source = beside(tmp_path, f"[[costs]]{REST}")
    assert names(source, "Careful") == names(source, "Careless") == ["rest"]


def test_each_class_of_a_file_may_have_cases_of_its_own(tmp_path: Path) -> None:
    source = beside(tmp_path, f"[[costs.Careful]]{REST}")
    assert names(source, "Careful") == ["rest"]
    assert names(source, "Careless") == [case.name for case in cases_of(find("bully").kind)]


@pytest.mark.parametrize(
    ("dossier", "problem"),
    [
        (
            "cost = []",
            "ring.toml, which is read as the dossier of ring.py: "
            "Object contains unknown field `cost`",
        ),
        ("costs =", "ring.toml, which is read as the dossier of ring.py: Invalid value"),
        (f"[[costs]]{REST}odd = 1", "the dossier of Careful: Object contains unknown field `odd`"),
    ],
)
def test_what_it_should_not_say_is_refused(tmp_path: Path, dossier: str, problem: str) -> None:
    source = beside(tmp_path, dossier)
    with pytest.raises(ValueError, match="dossier of") as error:
        names(source, "Careful")
    assert str(error.value).startswith(problem)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_protocol_has_a_dossier(name: str) -> None:
    assert cases_of(REGISTRY[name].machine) != GENERIC


def test_what_elections_are_only_run_over_has_none() -> None:
    assert all(cases_of(kind) == GENERIC for kind in INSIDE.values())


def test_over_a_real_election_other_cases_are_measured() -> None:
    over, told = find("mandate-over-bully").kind, REGISTRY["mandate"].machine
    assert dossier_of(over) == dossier_of(told)
    assert {case.name for case in cases_of(over)}.isdisjoint(case.name for case in cases_of(told))
