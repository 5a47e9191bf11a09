"""A bank with three databases: what transactions are for, shown by killing everybody."""
