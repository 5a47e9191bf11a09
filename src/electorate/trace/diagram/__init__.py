"""A run as what a space-time diagram shows: flights of messages, lives of nodes, a time axis.

Nothing here knows how it is drawn. Places in a run are numbers of steps; BEFORE stands for
whatever was there when the record began, and the number of all steps for what never ended.
"""

from electorate.trace.diagram.axis import Axis, Instant
from electorate.trace.diagram.flight import BEFORE, Fate, Flight, flights_of
from electorate.trace.diagram.life import Belief, Ending, Life, Period, Wait, lives_of
from electorate.trace.diagram.link import Severance, severances_of

__all__ = [
    "BEFORE",
    "Axis",
    "Belief",
    "Ending",
    "Fate",
    "Flight",
    "Instant",
    "Life",
    "Period",
    "Severance",
    "Wait",
    "flights_of",
    "lives_of",
    "severances_of",
]
