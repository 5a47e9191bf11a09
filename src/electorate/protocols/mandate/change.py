"""Changes of the list of members: only a holder makes them, one at a time.

If the list is that of another office, nobody here makes any: see `Adopt`. A change is proposed with
a round of renewals, and is decided when majorities of the old list *and* of the new one have
answered that round. Until then every claim and every renewal needs both.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from electorate.core import Effect, NodeId, Result, Send
from electorate.protocols.mandate.message import Listed, Poll
from electorate.protocols.mandate.rule import Parameters
from electorate.protocols.mandate.state import OWN, AnyState, Phase, Roster


def add(parameters: Parameters, s: AnyState, j: NodeId) -> Result[AnyState]:
    """Ask the newcomer whether it is there: an absent one would cost a majority of its own."""
    is_new = j in parameters.members and j not in s.stable.roster.everybody
    if not (is_new and _may_change(parameters, s)):
        return s, []
    return replace(s, joining=j), [Send(j, Poll())]


def welcome(parameters: Parameters, s: AnyState, j: NodeId) -> AnyState:
    """The newcomer has answered: propose it."""
    if _is_asking(parameters, s) or not _may_change(parameters, s):
        return replace(s, joining=None)
    return _propose(s, (*s.stable.roster.new, j))


def remove(parameters: Parameters, s: AnyState, j: NodeId) -> AnyState:
    """Propose to go on without a member; a holder that leaves hands its office over first."""
    roster = s.stable.roster
    if (
        j == s.me
        or j not in roster.new
        or _is_asking(parameters, s)
        or not _may_change(parameters, s)
    ):
        return s
    return _propose(s, (member for member in roster.new if member != j))


def take_over(s: AnyState) -> AnyState:
    """Finish under my own token what a holder before me has begun."""
    roster = s.stable.roster
    version = (s.stable.promise.epoch, 1)
    return _with(s, replace(roster, version=version)) if roster.is_pending else s


def take_up(parameters: Parameters, s: AnyState, roster: Roster) -> AnyState:
    """Propose as my own what a holder before me has begun, and told only some that refuse me now.

    I have come into office without a vote of theirs: nobody will ever decide it under that token.
    """
    mine = s.stable.roster
    is_left_over = roster.is_newer(mine) and roster.version[0] < s.stable.promise.epoch
    follows = roster.is_pending and roster.old == mine.new
    if not (is_left_over and follows and _may_change(parameters, s)):
        return s
    return _propose(s, roster.new)


def decide(parameters: Parameters, s: AnyState) -> Result[AnyState]:
    """Majorities of both lists have answered a round under the new one: tell those that left."""
    roster = s.stable.roster.decided()
    gone = sorted({*s.stable.roster.old} - {*roster.new, s.me})
    effects: list[Effect] = [Send(j, Listed(roster)) for j in gone if j in parameters.members]
    return _with(s, roster), effects


def adopt(s: AnyState, roster: Roster) -> AnyState:
    """Use a list that is newer than mine."""
    return _with(s, roster) if roster.replaces(s.stable.roster) else s


def is_heeded(parameters: Parameters, s: AnyState, roster: Roster) -> bool:
    """Whether I adopt a list that I am shown: it is newer, and my office has none of its own."""
    in_office = s.phase in OWN and s.phase is not Phase.CLAIMING
    mine = s.stable.roster
    if parameters.rules.changes == "told":
        return roster.replaces(mine)
    return roster.is_newer(mine) and not in_office


def _may_change(parameters: Parameters, s: AnyState) -> bool:
    """Whether I hold an office that may change the members now, and no change is undecided."""
    roster, rules = s.stable.roster, parameters.rules
    if rules.changes == "told" or s.phase is not Phase.HOLDING or roster.is_fixed:
        return False
    if rules.per_term and _made(s) >= rules.per_term:
        return False
    if parameters.waits_to_change() and not s.settled:
        return False
    return not roster.is_pending or rules.next_change == "any"


def _is_asking(parameters: Parameters, s: AnyState) -> bool:
    """Whether a round is open: a change would drop it, and my lease may end before the next one."""
    return bool(s.votes) and parameters.rules.next_change == "decided"


def _made(s: AnyState) -> int:
    """How many changes I have proposed in this term."""
    token, number = s.stable.roster.version
    return number if token == s.stable.promise.epoch else 0


def _propose(s: AnyState, members: Iterable[NodeId]) -> AnyState:
    version = (s.stable.promise.epoch, _made(s) + 1)
    return replace(_with(s, s.stable.roster.changed(version, members)), joining=None)


def _with(s: AnyState, roster: Roster) -> AnyState:
    return replace(s, stable=replace(s.stable, roster=roster))
