"""How commands end."""

EXIT_DONE = 0
EXIT_BROKEN = 1
EXIT_USAGE = 2
EXIT_UNKNOWN = 3


class UsageError(Exception):
    """Bad usage or input: told in one line, exit code 2."""
