"""The contract: what a protocol is, and all that a protocol file needs to import."""

from electorate.core.anyone import Anyone, Name
from electorate.core.choice import Choice
from electorate.core.decision import Applied, Begin, Decision, Stage, Vote, Wants
from electorate.core.effect import CancelTimer, Effect, Send, SetTimer
from electorate.core.event import Asked, Event, Received, TimedOut, Viewed
from electorate.core.foremost import Foremost
from electorate.core.growing import Ordinal, Serial
from electorate.core.lift import Lift
from electorate.core.machine import Assumption, Machine, Result, Timer, Topic
from electorate.core.member import Members, Strongest
from electorate.core.over import Over, OverRules
from electorate.core.rule import Rules
from electorate.core.standing import Standing, Status
from electorate.core.timing import P, Span, T, Timing
from electorate.core.turn import ProtocolError, Turn, Turns
from electorate.core.value import Message, NodeId, Request, Stable, State, Value, text_of

__all__ = [
    "Anyone",
    "Applied",
    "Asked",
    "Assumption",
    "Begin",
    "CancelTimer",
    "Choice",
    "Decision",
    "Effect",
    "Event",
    "Foremost",
    "Lift",
    "Machine",
    "Members",
    "Message",
    "Name",
    "NodeId",
    "Ordinal",
    "Over",
    "OverRules",
    "P",
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
    "Vote",
    "Wants",
    "text_of",
]
