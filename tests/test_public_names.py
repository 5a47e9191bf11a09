"""What a protocol file may import is promised: a change here is a change for everybody."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import electorate
import electorate.core
from electorate import claims, errors, trace
from electorate.errors import ElectorateError

CORE = """
Asked Assumption CancelTimer Choice Decision Effect Ensemble EnsembleRules Event GroupStanding Lift
Machine Members Message NodeId Ordinal Over OverRules P Part ProtocolError Received Request Result
Rules Send Serial SetTimer Span Stable Stage Standing State Status Strongest T TimedOut Timer
Timing Topic Turn Turns Value Viewed Wants Wire text_of
"""


def test_the_contract_has_these_names_and_no_others() -> None:
    assert electorate.core.__all__ == CORE.split()


APPLICATION = """
Aborted Access ClusterMismatch Damaged Election ElectorateError GroupTerm IdTaken Leader
LeadershipLost MembersUnchanged Node NodeStopped OutcomeUnknown Pace Postgres Refused Removed Sqlite
StoreError Term Transaction TransferFailed Triple sync
"""


def test_an_application_has_these_names_and_no_others() -> None:
    assert electorate.__all__ == APPLICATION.split()
    with pytest.raises(AttributeError, match="electorate has no 'manager'"):
        electorate.manager  # noqa: B018


def test_dir_lists_the_names_and_loads_none() -> None:
    script = """
import electorate, sys
names = dir(electorate)
assert set(electorate.__all__) <= set(names), names
assert all(name in electorate.__all__ or name.startswith("__") for name in names), names
assert [each for each in sys.modules if each.startswith("electorate.")] == []
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_exception_that_an_application_can_get_has_one_root() -> None:
    """Walks what the packages of the product define, not a list that could be forgotten."""
    defined = {
        each
        for package in ("errors", "leadership", "transactions", "testing", "sync")
        for module in modules(package)
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Exception)
        and each.__module__ == module.__name__
    }
    strangers = {each.__name__ for each in defined if not issubclass(each, ElectorateError)}
    assert strangers == {"TwoLeaders"}  # It fails a test, as an assertion does.
    public = {vars(errors)[name] for name in vars(errors) if name[0].isupper()}
    assert public <= {getattr(electorate, name) for name in electorate.__all__}


def modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(f"electorate.{package}")
    yield root
    for found in pkgutil.walk_packages(getattr(root, "__path__", []), f"electorate.{package}."):
        yield importlib.import_module(found.name)


def test_every_public_name_leads_somewhere() -> None:
    for package in (electorate, electorate.core, claims, trace):
        assert [name for name in package.__all__ if not hasattr(package, name)] == []
        assert len(set(package.__all__)) == len(package.__all__)
