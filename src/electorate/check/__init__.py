"""The exhaustive driver: every run of a protocol within stated budgets and bounds."""

from electorate.check.checking import check
from electorate.check.model import Bounds, Budget, Detector, Model
from electorate.check.verdict import Liveness, Result, Verdict, Violation

__all__ = [
    "Bounds",
    "Budget",
    "Detector",
    "Liveness",
    "Model",
    "Result",
    "Verdict",
    "Violation",
    "check",
]
