"""Transactions over several databases: all of their work becomes visible, or none of it."""
