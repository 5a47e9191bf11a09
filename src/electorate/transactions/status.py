"""How a transaction stands, in words: who takes part, what it waits for, what is wrong."""

import time

import msgspec

from electorate.core import Decision, NodeId, Stage, Wants
from electorate.transactions.clerk import Clerk
from electorate.transactions.deal import Deal


class Status(msgspec.Struct, frozen=True):
    """One transaction at one node."""

    tx: str
    state: str
    role: str
    waits_for: str
    seconds: float
    """How long it has been in the log."""
    coordinator: str
    participants: list[str]
    asked: str | None = None
    """Who is to find out the decision, if it is in doubt."""
    damage: str | None = None
    by_hand: str | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether it must neither be committed nor aborted of this node's own accord."""
        return self.role == "participant" and Stage(self.state).is_in_doubt


def statuses(clerk: Clerk) -> list[Status]:
    """Every transaction that is not over, the oldest first; and those that were lost."""
    found = [status_of(clerk, deal) for deal in clerk.deals.values()]
    return sorted(found, key=lambda status: -status.seconds)


def status_of(clerk: Clerk, deal: Deal) -> Status:
    """How one transaction stands."""
    view, parts = deal.view, deal.parts
    doubtful = view.state.is_in_doubt and not view.coordinates
    asked = clerk.name_of(view.leader) if doubtful and view.leader else None
    return Status(
        deal.tx,
        str(view.state),
        "coordinator" if view.coordinates else "participant",
        _waits_for(clerk, deal, view),
        round(time.time() - deal.began, 1),
        clerk.name_of(parts.coordinator.node),
        [clerk.name_of(part.node) for part in parts.participants],
        asked,
        deal.damage,
        deal.by_hand,
    )


def _waits_for(clerk: Clerk, deal: Deal, view: Decision) -> str:
    coordinator = deal.parts.coordinator.node
    silent = [part.node for part in deal.parts.participants if part.node not in deal.state.heard]
    match view:
        case Decision(coordinates=True, state=Stage.UNCERTAIN):
            return f"the votes of {_names(clerk, silent)}"
        case Decision(coordinates=True):
            return f"{_names(clerk, silent)} to have {view.state} it"
        case Decision(wants=wants) if wants is not Wants.NOTHING:
            trouble = f", which says: {deal.trouble}" if deal.trouble else ""
            return f"the database to {wants}{trouble}"
        case Decision(state=Stage.UNCERTAIN):
            return f"the decision of {_names(clerk, [coordinator])}"
    return f"{_names(clerk, [coordinator])} to say that all have {view.state} it"


def _names(clerk: Clerk, nodes: list[NodeId]) -> str:
    """Their names, and which of them cannot be reached."""
    alive = clerk.host.network.alive()
    told = [clerk.name_of(node) + ("" if node in alive else " (unreachable)") for node in nodes]
    return ", ".join(told) or "nobody"
