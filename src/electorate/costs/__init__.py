"""What protocols cost: cases with formulas, held against runs in which every delay is exactly T."""

from electorate.costs.case import Case, Extreme, cases_of
from electorate.costs.chart import chart_of
from electorate.costs.measure import CostRow, Figure, Measure, MeasuredProtocol
from electorate.costs.table import lines_of_table, object_of

__all__ = [
    "Case",
    "CostRow",
    "Extreme",
    "Figure",
    "Measure",
    "MeasuredProtocol",
    "cases_of",
    "chart_of",
    "lines_of_table",
    "object_of",
]
