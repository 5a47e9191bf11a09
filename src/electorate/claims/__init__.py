"""Claims: the specifications as named predicates that return a witness, not a bool."""

from electorate.claims.admission import CLAIMS as ADMISSION_CLAIMS
from electorate.claims.claim import Claim, Fold, Following, Kind, Premise, Row, Sight, Witness
from electorate.claims.commit import CLAIMS as COMMIT_CLAIMS
from electorate.claims.consensus import CLAIMS as CONSENSUS_CLAIMS
from electorate.claims.election import CLAIMS as ELECTION_CLAIMS
from electorate.claims.founding import CLAIMS as FOUNDING_CLAIMS
from electorate.claims.group import CLAIMS as GROUP_CLAIMS
from electorate.claims.mandate import CLAIMS as MANDATE_CLAIMS
from electorate.claims.task import CLAIMS as TASK_CLAIMS
from electorate.claims.view import CLAIMS as VIEW_CLAIMS

CLAIMS: dict[str, Claim] = {
    **ELECTION_CLAIMS,
    **GROUP_CLAIMS,
    **VIEW_CLAIMS,
    **TASK_CLAIMS,
    **COMMIT_CLAIMS,
    **CONSENSUS_CLAIMS,
    **MANDATE_CLAIMS,
    **ADMISSION_CLAIMS,
    **FOUNDING_CLAIMS,
}

__all__ = ["CLAIMS", "Claim", "Fold", "Following", "Kind", "Premise", "Row", "Sight", "Witness"]
