"""Invitation with other counters: folded, so that a loop in which they only grow is one; or lost.

Group numbers are compared for equality alone. Counted round in a ring they mean the same as long
as a number that comes round again is nowhere in use by then; where the counters come to rest by
themselves both count as many states, which tests/check/test_invitation.py checks.
"""

from msgspec.structs import replace

from electorate.core import Growth, NodeId, Result
from electorate.protocols.invitation import Invitation, InvitationStable, InvitationState, Phase

ROUND = 4


class Folded(Invitation):
    """The same algorithm; the fifth group of a node has the number of its first."""

    growing: dict[str, Growth] = {}

    def _forming(self, s: InvitationState, phase: Phase) -> InvitationState:
        formed = super()._forming(s, phase)
        counter = (formed.stable.counter - 1) % ROUND + 1
        return replace(formed, stable=InvitationStable(counter), group=(s.me, counter))


class Forgetful(Invitation):
    """Its counter is lost in a crash, so its groups have numbers that there were before."""

    def boot(self, me: NodeId, stable: InvitationStable | None) -> Result[InvitationState]:
        return super().boot(me, None)
