"""Leadership: what a node of an application runs, its members and an election, as one protocol.

What is changed for a search: everybody is a member, stands from the beginning, and counts the
rounds of its term by two. A node in operation is told who the members are and where to stand.

Every node changes the list of members by `members`, and its election goes by the list that this has
saved. A node of an application has many elections, each with a wire of its own; what they have to
do with each other is that list alone, so one of them is enough to look at all that can happen.

Source: this project's own design, told in docs/protocols/leadership.md.
Needs: what the mandate needs.
"""

from typing import Any, ClassVar

from electorate.core import Assumption, Ensemble, Part, Topic, Wire
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.founding import Founding
from electorate.protocols.mandate.membership import Membership
from electorate.protocols.mandate.message import Adopt, Found
from electorate.protocols.strongest_alive import StrongestAlive

Election = Mandate.over(StrongestAlive)
Register = Membership.over(Election, "register")
TO_ELECTIONS = Wire("members", "roster", "election", Adopt)
"""What every election is told: the list of members."""
TO_REGISTER = Wire("founding", "roster", "members", Found)
"""What the register is told first of all: the members with which the cluster is founded."""


class Leadership(Ensemble):
    """The members and one election, in which all stand at first unless ranks say otherwise."""

    parts = {
        "members": Part(Register, rules="inner.rounds=2"),
        "election": Part(Election, "application", "first=1 rounds=2"),
    }
    wires: ClassVar[tuple[Wire, ...]] = (TO_ELECTIONS,)
    focus = "election"
    strongest = "highest"
    promises = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9")
    assumptions = (Assumption.BOUNDED_CLOCKS, Assumption.BOUNDED_DELAY)

    def cautions(self) -> tuple[str, ...]:
        return (*super().cautions(), *_cautions(self.rules))


class FirstStart(Ensemble):
    """The same from before the cluster is founded: nobody has a list of members yet.

    `leadership` begins founded, and so do all other searches: founding costs nothing once it is
    over. That somebody comes into office is not promised here: a founder that is gone for good is
    waited for.
    """

    parts = {
        "founding": Part(Founding),
        "members": Part(Register, rules="inner.rounds=2 inner.begins=unfounded"),
        "election": Part(Election, "application", "first=1 rounds=2 begins=unfounded"),
    }
    wires: ClassVar[tuple[Wire, ...]] = (TO_REGISTER, TO_ELECTIONS)
    focus = "election"
    strongest = "highest"
    tells = frozenset({Topic.FOUNDERS})
    promises = ("M1", "M2", "M3", "M4", *Founding.promises)
    assumptions = (Assumption.BOUNDED_CLOCKS,)

    def cautions(self) -> tuple[str, ...]:
        return (*super().cautions(), *_cautions(self.rules))


def _cautions(rules: Any) -> tuple[str, ...]:
    """What is not as in operation."""
    counted = (
        "rounds begin again after 2, so that a search comes to an end; a node in operation "
        "counts on, and where messages may take any time that matters: add "
        "--rule members.inner.rounds=0 --rule election.rounds=0"
    )
    return (counted,) if rules.members.inner.rounds or rules.election.rounds else ()
