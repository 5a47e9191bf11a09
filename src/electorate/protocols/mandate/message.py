"""What nodes say to each other about mandates, and what an application may ask for."""

from typing import Annotated

from msgspec import Meta

from electorate.core import Message, NodeId, Request
from electorate.protocols.mandate.state import Count, Roster, Token

PRIORITY_MAX = (1 << 31) - 1
Priority = Annotated[int, Meta(ge=-PRIORITY_MAX, le=PRIORITY_MAX)]
"""An application asks for none below 0; a search may begin with any attributes."""


class Poll(Message):
    """Are you free? And if I am silent: I reach no majority, so leave me out of your election."""

    silent: bool = False


class Free(Message):
    """You may claim; this is the highest epoch that I have promised."""

    epoch: Token


class Bound(Message):
    """Not now: I am bound to somebody."""


class Back(Message):
    """I reach a majority again: take me back into your election."""


class Claim(Message):
    """Grant me this epoch, or, as it is held, go on granting it; I count how often I ask.

    And this is the priority with which I stand, in case that you have missed a `Stands`.
    """

    epoch: Token
    round: Count
    held: bool = False
    priority: Priority = 0


class Grant(Message):
    """The epoch is yours: I am bound to you since I heard you ask in that round."""

    epoch: Token
    round: Count


class Decree(Message):
    """The same; and these are the members."""

    epoch: Token
    round: Count
    roster: Roster
    held: bool = False
    priority: Priority = 0


class Listed(Message):
    """Your list of members is out of date: this is mine."""

    roster: Roster


class Release(Message):
    """My term of that epoch is over: be free, or bound to my heir."""

    epoch: Token
    heir: NodeId | None = None


class Offer(Message):
    """Will you take over from me?"""

    epoch: Token


class Wish(Message):
    """Hand your office over to me: I stand with this priority."""

    epoch: Token
    priority: Priority


class Resign(Message):
    """Step down from your term of that epoch, or hand it over to this heir: so I was asked."""

    epoch: Token
    heir: NodeId | None = None


class Stands(Message):
    """I stand for the office with this priority, 0: I only vote. And you, if I ask?"""

    priority: Priority
    asks: bool = False


class Stand(Request):
    """Stand for the office with this priority from now on; 0: only vote."""

    priority: int


class StepDown(Request):
    """Give up the office as soon as the work has ended."""


class Transfer(Request):
    """Hand the office over to this node, if it will have it."""

    heir: NodeId


class Order(Request):
    """Have the node that is in office step down, or hand over to this heir."""

    heir: NodeId | None = None


class Ended(Request):
    """The work has ended: the office may go."""


class Add(Request):
    """Make this node a member, if it is there."""

    node: NodeId


class Remove(Request):
    """Go on without this member."""

    node: NodeId


class Adopt(Request):
    """These are the members now: somebody else has changed the list."""

    roster: Roster


class Confirm(Request):
    """Ask all voters for more time at once: is my term still granted?"""


class Found(Request):
    """The cluster is founded: these are its first members."""

    roster: Roster


MESSAGES = (
    Poll,
    Free,
    Bound,
    Back,
    Claim,
    Grant,
    Release,
    Offer,
    Wish,
    Decree,
    Listed,
    Stands,
    Resign,
)
REQUESTS = (StepDown, Transfer, Ended, Add, Remove, Adopt, Stand, Order, Confirm, Found)
