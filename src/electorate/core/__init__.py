"""The contract: what a protocol is, and all that a protocol file needs to import."""

from electorate.core.ensemble import Ensemble, EnsembleRules, Part, Wire
from electorate.core.event import (
    Asked,
    CancelTimer,
    Effect,
    Event,
    Received,
    Send,
    SetTimer,
    TimedOut,
    Viewed,
)
from electorate.core.growing import Ordinal, Serial
from electorate.core.lift import Lift, Over, OverRules
from electorate.core.machine import Assumption, Machine, Result, Timer, Topic
from electorate.core.member import Members, Strongest
from electorate.core.rule import Rules
from electorate.core.standing import Choice, Decision, GroupStanding, Stage, Standing, Status, Wants
from electorate.core.timing import P, Span, T, Timing
from electorate.core.turn import ProtocolError, Turn, Turns
from electorate.core.value import Message, NodeId, Request, Stable, State, Value, text_of

__all__ = [
    "Asked",
    "Assumption",
    "CancelTimer",
    "Choice",
    "Decision",
    "Effect",
    "Ensemble",
    "EnsembleRules",
    "Event",
    "GroupStanding",
    "Lift",
    "Machine",
    "Members",
    "Message",
    "NodeId",
    "Ordinal",
    "Over",
    "OverRules",
    "P",
    "Part",
    "ProtocolError",
    "Received",
    "Request",
    "Result",
    "Rules",
    "Send",
    "Serial",
    "SetTimer",
    "Span",
    "Stable",
    "Stage",
    "Standing",
    "State",
    "Status",
    "Strongest",
    "T",
    "TimedOut",
    "Timer",
    "Timing",
    "Topic",
    "Turn",
    "Turns",
    "Value",
    "Viewed",
    "Wants",
    "Wire",
    "text_of",
]
