"""The quorum mandate: its messages, rules, state, the two halves of a node, and the machine."""

from electorate.protocols.mandate.machine import Mandate

__all__ = ["Mandate"]
