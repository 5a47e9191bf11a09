"""What three-phase commit by ballots costs: the same as without, as its authors promise.

I. Keidar and D. Dolev, "Increasing the Resilience of Atomic Commit, at No Additional Cost", 1995.
A vote in a ballot is written down, too; the messages are the same.
"""

from electorate.costs.three_phase import CASES as CASES
