"""Invitation with a counter that does not survive a crash."""

from electorate.core import NodeId, Result
from electorate.protocols.invitation import Invitation, InvitationStable, InvitationState


class Forgetful(Invitation[InvitationState]):
    """Its groups have numbers that there were before."""

    def boot(self, me: NodeId, stable: InvitationStable | None) -> Result[InvitationState]:
        return super().boot(me, None)
