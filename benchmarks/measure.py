"""One search by electorate in a process of its own: its figures, as one line of JSON.

python -m benchmarks.measure ring 8 numba 2
"""

import json
import sys
import time

from benchmarks.case import Case
from electorate.check import Verdict, check
from electorate.claims import CLAIMS

STATES_MAX = 100_000_000
WARM_UP = Case("ring", 8)


def main() -> int:
    """Search, and print what it took; what is compiled or loaded first is timed apart."""
    name, size, engine, cores = sys.argv[1:]
    began = time.perf_counter()
    if engine == "numba":
        searched(WARM_UP, engine, int(cores))
    warm = time.perf_counter()
    used = time.process_time()
    found = searched(Case(name, int(size)), engine, int(cores))
    figures = {
        "states": found.states,
        "transitions": found.transitions,
        "seconds": found.effort.seconds,
        "cpu_seconds": time.process_time() - used,
        "compile_seconds": warm - began,
        "bytes_per_state": found.effort.bytes_per_state,
        "hit_rate": found.effort.hit_rate,
    }
    print(json.dumps(figures))
    return 0


def searched(case: Case, engine: str, cores: int) -> Verdict:
    """The verdict on a whole search: A1 is judged in every state, and traces are kept."""
    machine, model = case.machine()
    found = check(
        machine,
        model,
        [CLAIMS["A1"]],
        STATES_MAX,
        engine=engine,
        threads=cores,
        tidy=False,
        keep_going=True,
    )
    if found.reason is not None:
        raise SystemExit(f"measure: {case.title}: {found.reason}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
