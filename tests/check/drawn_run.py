"""Draw machines until so many have been compared: the checker against the plain explorer.

    python -m tests.check.drawn_run 10000

Stops with exit code 1 where the two do not say the same, and shows what each said. `--from SEED`
goes on at a seed; `--only SEED` looks at one.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import NamedTuple

from tests.check.agree import PLACES_MAX, Compared, Disagreement, compare
from tests.check.drawing import Case, case_of

EVERY = 250
"""After so many machines that were compared a line says how far it has come."""
COMPILED_EVERY = 4
"""Of so many machines one is looked at by the table engine too: on small ones it takes longer."""


class Tally(NamedTuple):
    """How far a run has come."""

    kinds: Counter[str]
    """How many machines of each kind were compared."""
    ways: Counter[str]
    """In how many ways."""

    def take(self, seed: int, case: Case, compared: Compared) -> bool:
        """Count one machine; says whether there was anything to compare."""
        for way, done in compared._asdict().items():
            self.ways[way] += bool(done)
        done = compared.raw or compared.renamed
        self.kinds[case.kind] += done
        self.ways["too large"] += not any(compared)
        self.ways["by both engines"] += done and is_compiled(seed)
        return done

    @property
    def total(self) -> int:
        return self.kinds.total()

    def line(self, seed: int, seconds: float) -> str:
        ways = ", ".join(f"{way} {n:,}" for way, n in self.ways.items() if n)
        return f"{self.total:,} compared up to seed {seed} in {seconds:.0f} s of CPU: {ways}"


def is_compiled(seed: int) -> bool:
    """Whether the table engine looks at this one too; every kind gets its turn."""
    return seed % COMPILED_EVERY == 0


def engines(seed: int) -> tuple[str, ...]:
    return ("python", "numba") if is_compiled(seed) else ("python",)


def run(seeds: Iterator[int], wanted: int, say: Callable[[str], None]) -> bool:
    """Whether so many machines were compared without a disagreement."""
    tally = Tally(Counter(), Counter())
    began = time.process_time()
    for seed in seeds:
        case = case_of(seed)
        try:
            compared = compare(case.machine, case.model, engines(seed), counts=case.counts)
        except Exception as error:
            found = str(error) if isinstance(error, Disagreement) else repr(error)
            say(f"seed {seed}, a {case.kind} machine: {found}")
            say(f"  {case.model}")
            say(tally.line(seed, time.process_time() - began))
            return False
        if tally.take(seed, case, compared) and (tally.total % EVERY == 0 or tally.total == wanted):
            say(tally.line(seed, time.process_time() - began))
        if tally.total >= wanted:
            break
    say("kinds: " + ", ".join(f"{kind} {n:,}" for kind, n in sorted(tally.kinds.items())))
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", type=int, nargs="?", default=10_000)
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", type=int, metavar="SEED")
    given = parser.parse_args()
    seeds = iter([given.only]) if given.only is not None else count(given.first)
    print(f"machines of at most {PLACES_MAX} states, from seed {given.first} on", flush=True)
    return 0 if run(seeds, given.machines, lambda line: print(line, flush=True)) else 1


if __name__ == "__main__":
    sys.exit(main())
