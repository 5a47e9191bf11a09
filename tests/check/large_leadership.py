"""Search what a node of an application runs as far as memory carries, one case after the other.

    python -m tests.check.large_leadership --memory 20G

Each case has a process of its own, and a line when it is done. `--only WORD` takes the cases in
which the word occurs, `--states N` gives each up beyond so many states, `--list` names them.
Exits with 1 if a promise is broken.
"""

import argparse
import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from electorate.check import Budget, Verdict
from electorate.check.effort import parse, text_of
from electorate.check.model import Model
from tests.check.leading import PATH, Case, judged, model_of

BACK = Budget(crashes=1, recoveries=1)
BACK_ASK = Budget(crashes=1, recoveries=1, asks=1)
CHANGE = ("1:members.request(Change(3",)
RIVALS = ("3:members.request(Change(2", "2:members.request(Change(3")
TWO_OF_THREE = "members.inner.base=2 election.base=2"
THREE_OF_FOUR = "members.inner.base=3 election.base=3"

CASES = (
    Case(2, BACK_ASK),
    Case(2, BACK_ASK, delay_min=0),
    Case(2, Budget(asks=2)),
    Case(2, Budget(losses=1, asks=1), delay_min=0),
    Case(2, Budget(crashes=2, recoveries=2, asks=1)),
    Case(3, BACK),
    Case(3, BACK, delay_min=0),
    Case(3, Budget(asks=1)),
    Case(3, Budget(crashes=1, asks=1)),
    Case(3, BACK_ASK, asked=CHANGE),
    Case(3, BACK_ASK, TWO_OF_THREE, asked=CHANGE),
    Case(3, BACK_ASK),
    Case(3, Budget(asks=1), asked=CHANGE, delay_min=0),
    Case(3, Budget(asks=2)),
    Case(3, Budget(asks=2), asked=RIVALS, graph=PATH),
    Case(3, Budget(asks=2), asked=RIVALS, graph=PATH, delay_min=0),
    Case(3, Budget(crashes=1, recoveries=1, asks=2), asked=RIVALS, graph=PATH),
    Case(3, Budget(losses=1, asks=2), asked=RIVALS, graph=PATH),
    Case(4, Budget(asks=1), THREE_OF_FOUR, asked=("1:members.request(Change(4",)),
    Case(4, Budget(crashes=1), THREE_OF_FOUR),
)
"""From small to large within each group; delays T unless the case says 0..T."""
STATES_MAX = 1_000_000_000


def searched(case: Case, states_max: int, memory: int | None) -> tuple[str, bool]:
    """What is to be said of a case, and whether a promise is broken."""
    begun = time.perf_counter()
    verdict = judged(case, states_max, memory=memory)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return line(case, verdict, time.perf_counter() - begun, peak), bool(verdict.violations)


def line(case: Case, verdict: Verdict, seconds: float, peak: int) -> str:
    """All that a verdict depends on, how far the search came, and what it took."""
    model: Model = model_of(case)
    cuts = [f"{bound} cut {count:,} times" for bound, count in model.bounds.named(verdict.cuts)]
    live = f", {verdict.liveness}" if verdict.liveness else ""
    tau = f" within {verdict.tau}T" if verdict.tau is not None else ""
    ways = (("reduced", verdict.reduced), ("numbers renamed", verdict.renamed))
    broken = [f"{each.claim} in {each.length} moves" for each in verdict.violations]
    return "; ".join(
        [
            f"{case}: {verdict.result}{live}{tau}",
            *([f"because of {verdict.reason}"] if verdict.reason else []),
            *broken,
            f"{verdict.states:,} states, {verdict.transitions:,} transitions",
            f"depth {verdict.depth}",
            ", ".join([name for name, used in ways if used] or ["no reduction"]),
            ", ".join(cuts) or "no bound cut",
            f"{seconds:.0f} s, {text_of(peak)}",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", metavar="WORD", help="cases in which it occurs")
    parser.add_argument("--states", type=int, default=STATES_MAX, metavar="N")
    parser.add_argument("--memory", type=parse, metavar="SIZE", help="as in 800M or 20G")
    parser.add_argument("--list", action="store_true", help="name the cases, and search nothing")
    options = parser.parse_args()
    chosen = [case for case in CASES if options.only in str(case)]
    if options.list:
        print("\n".join(map(str, chosen)))
        return 0
    context, found = get_context("spawn"), []
    for case in chosen:
        with ProcessPoolExecutor(1, context) as pool:
            given = case, options.states, options.memory
            told, is_broken = pool.submit(searched, *given).result()
        print(told, flush=True)
        found.append(is_broken)
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
