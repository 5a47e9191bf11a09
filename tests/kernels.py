"""Compile the loops of the table engine once: `python -m tests.kernels`.

Otherwise the first tests that need them would have each worker compile the same loops, side by
side. Numba keeps what it has compiled beside the sources: half a minute in a new clone, a second
from then on.
"""

import io
import sys
from contextlib import redirect_stdout

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE
from electorate.cli.main import main as electorate

SEARCHES = {
    "bully --nodes 2 --crashes 1 --recoveries 1": EXIT_DONE,
    "bully --nodes 2 --rule doubt=0 --crashes 1 --recoveries 1 --losses 1 --claim A2": EXIT_BROKEN,
    "invitation --nodes 2 --crashes 1": EXIT_DONE,
}
"""A goal that is reached, one that is not, and numbers that grow for ever."""


def main() -> int:
    """Search small models, and see that they end as they should."""
    for words, expected in SEARCHES.items():
        told = io.StringIO()
        with redirect_stdout(told):
            code = electorate(["check", *words.split(), "--engine", "numba"])
        if code != expected:
            print(f"kernels: check {words} ended with {code}:\n{told.getvalue()}", file=sys.stderr)
            return EXIT_BROKEN
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
