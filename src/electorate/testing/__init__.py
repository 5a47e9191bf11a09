"""A simulated cluster for the tests of an application: docs/testing.md."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from electorate.testing.cluster import Cluster
    from electorate.testing.loop import Stuck
    from electorate.testing.watch import TwoLeaders

__all__ = ["Cluster", "Stuck", "TwoLeaders"]

_HOMES = {"Cluster": "cluster", "Stuck": "loop", "TwoLeaders": "watch"}


def __getattr__(name: str) -> Any:
    """Load a name when it is used: the plug-in is loaded with every run of pytest."""
    if name in _HOMES:
        return getattr(import_module(f"electorate.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"electorate.testing has no {name!r}")
