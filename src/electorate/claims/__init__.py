"""Claims: the specifications as named predicates that return a witness, not a bool."""

from electorate.claims.claim import Claim, Fold, Following, Kind, Row, Sight, Witness
from electorate.claims.election import CLAIMS

__all__ = ["CLAIMS", "Claim", "Fold", "Following", "Kind", "Row", "Sight", "Witness"]
