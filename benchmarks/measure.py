"""One search by electorate in a process of its own: its figures, as one line of JSON.

python -m benchmarks.measure ring 8 numba 2
"""

import json
import sys
import time
from typing import Any

from benchmarks.case import Case
from electorate.check.search import Search

STATES_MAX = 100_000_000
WARM_UP = Case("ring", 8)


def main() -> int:
    """Search, and print what it took; what is compiled or loaded first is timed apart."""
    name, size, engine, cores = sys.argv[1:]
    case = Case(name, int(size))
    began = time.perf_counter()
    if engine == "numba":
        searched(WARM_UP, engine, int(cores))
    compiled = time.perf_counter()
    used = time.process_time()
    search = searched(case, engine, int(cores))
    figures = {
        "states": search.states,
        "transitions": search.transitions,
        "seconds": time.perf_counter() - compiled,
        "cpu_seconds": time.process_time() - used,
        "compile_seconds": compiled - began,
        "bytes_per_state": getattr(search, "bytes_per_state", None),
        "hit_rate": hit_rate(search),
    }
    print(json.dumps(figures))
    return 0


def searched(case: Case, engine: str, cores: int) -> Any:
    """The search, at its end. No claim is judged: none holds in every model."""
    machine, model = case.machine()
    search: Any
    if engine == "python":
        search = Search(machine, model, [], STATES_MAX)
    else:
        from electorate.check.table.search import TableSearch

        search = TableSearch(machine, model, [], STATES_MAX, cores)
    search.run(lambda progress: None)
    return search


def hit_rate(search: Any) -> float | None:
    """The share of look-ups that found their entry in the tables, where an engine counts that."""
    stats = getattr(search, "stats", None)
    found = stats.get("hit_rate") if isinstance(stats, dict) else getattr(stats, "hit_rate", None)
    return None if found is None else float(found)


if __name__ == "__main__":
    raise SystemExit(main())
