"""Atomic commitment: what all commit protocols share, and the protocols themselves."""
