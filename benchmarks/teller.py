"""A member of a cluster that serves until whoever started it is gone.

python -m benchmarks.teller FILE NAME
"""

import sys
from pathlib import Path

from electorate.sync import Node
from electorate.transactions.config import arguments


def main() -> int:
    """Say that it serves, and wait for the end of standard input."""
    with Node(**arguments(Path(sys.argv[1]), sys.argv[2])):
        print("serves", flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
