"""Claims: the specifications as named predicates that return a witness, not a bool."""

from electorate.claims.claim import Claim, Kind, Row, Witness
from electorate.claims.election import CLAIMS

__all__ = ["CLAIMS", "Claim", "Kind", "Row", "Witness"]
