"""Groups that merge: Garcia-Molina's Invitation, and with it priorities that change."""

from electorate.protocols.invitation.machine import (
    Begin,
    Group,
    Invitation,
    InvitationRules,
    InvitationStable,
    InvitationState,
    Tasks,
)
from electorate.protocols.invitation.ranked_invitation import RankedInvitation

__all__ = [
    "Begin",
    "Group",
    "Invitation",
    "InvitationRules",
    "InvitationStable",
    "InvitationState",
    "RankedInvitation",
    "Tasks",
]
