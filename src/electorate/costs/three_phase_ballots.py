"""What three-phase commit by ballots costs: the same messages as without, as its authors promise.

I. Keidar and D. Dolev, "Increasing the Resilience of Atomic Commit, at No Additional Cost", 1995.
Everybody who is polled writes down its vote in the ballot, and whoever is ready already writes down
the number of the new attempt.
"""

from msgspec.structs import replace

from electorate.costs import three_phase
from electorate.costs.case import WRITES, Case

MORE = {
    "the coordinator crashes, and all are uncertain": "3N",
    "the coordinator crashes, and one is committable": "3N+1",
}
"""What recoveries write."""


def _with_ballots(case: Case) -> Case:
    more = {WRITES: MORE[case.name]} if case.name in MORE else {}
    return replace(case, formulas={**case.formulas, **more})


CASES = tuple(map(_with_ballots, three_phase.CASES))
