"""The table engine: the same search as the reference explorer, at native speed."""
