"""The runs of a case: every number, set and placement that it speaks of, or a sample of them."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations, product
from math import ceil, comb, factorial, prod
from typing import NamedTuple

from electorate.core import NodeId
from electorate.costs.case import Case, Extreme, Ranks
from electorate.costs.formula import Formula, Numbers

RUNS_MAX = 5040
"""Up to this many runs, all are tried: every placement of eight nodes on a ring, for example."""
NUMBERS_MAX = 6
"""How many numbers of a range are tried if not all runs can be."""

Sets = Mapping[str, tuple[int, ...]]


class Variant(NamedTuple):
    """One run of a case."""

    numbers: Numbers
    """N and the case's own letters: what formulas are about."""
    sets: Sets
    ranks: tuple[int, ...] = ()
    """How strong each node is; if empty, nodes are ranked by their ids."""


class Batch(NamedTuple):
    """All runs that the same formulas are about."""

    numbers: Numbers
    variants: Sequence[Variant]


class Batches(NamedTuple):
    """All runs of a case at one size."""

    batches: Sequence[Batch]
    complete: bool
    """Whether every run is there, or only a sample."""


def batches_of(case: Case, nodes: int, samples: int, seed: int) -> Batches:
    """The runs for a case at one size."""
    all_numbers = list(numbers_of(case, nodes))
    if sum(_count(case, numbers) for numbers in all_numbers) <= RUNS_MAX:
        return Batches([Batch(n, list(_all(case, n))) for n in all_numbers], complete=True)
    chosen = thinned(all_numbers, NUMBERS_MAX)
    chance = random.Random(f"{seed} {nodes} {case.name}")
    each = ceil(samples / len(chosen))
    return Batches([Batch(n, _some(case, n, each, chance)) for n in chosen], complete=False)


def is_sampled(case: Case, nodes: int) -> bool:
    """Whether there are too many runs to try them all."""
    return sum(_count(case, numbers) for numbers in numbers_of(case, nodes)) > RUNS_MAX


def thinned(values: Sequence[Numbers], most: int) -> list[Numbers]:
    """At most this many of the values, evenly spread, with both ends."""
    if len(values) <= most:
        return list(values)
    places = {round(place * (len(values) - 1) / (most - 1)) for place in range(most)}
    return [values[place] for place in sorted(places)]


def span_of(text: str, numbers: Numbers) -> tuple[int, ...]:
    """The numbers of `2..N`."""
    first, dots, last = text.partition("..")
    return tuple(range(whole(first, numbers), whole(last if dots else first, numbers) + 1))


def whole(text: str, numbers: Numbers) -> int:
    """The value of a formula that must be a whole number."""
    value = Formula(text).of(numbers)
    if value.denominator != 1:
        raise ValueError(f"{text!r} is {value}, which is no whole number")
    return int(value)


def numbers_of(case: Case, nodes: int) -> Iterator[Numbers]:
    """N, with each number that the letters of a case can stand for."""
    letters = case.numbers
    spans = (span_of(text, {"N": nodes}) for text in letters.values())
    for values in product(*spans):
        yield {"N": nodes, **dict(zip(letters, values, strict=True))}


def _choice(text: str, numbers: Numbers) -> tuple[int, tuple[int, ...]]:
    """The numbers in `k of 1..N`."""
    size, of, span = text.partition(" of ")
    if not of:
        raise ValueError(f"a set is written `k of 1..N`, not {text!r}")
    return whole(size, numbers), span_of(span, numbers)


def _count(case: Case, numbers: Numbers) -> int:
    choices = (_choice(text, numbers) for text in case.sets.values())
    placements = factorial(numbers["N"] - 1) if case.ranks == "any" else 1
    return placements * prod(comb(len(span), size) for size, span in choices)


def _all(case: Case, numbers: Numbers) -> Iterator[Variant]:
    choices = [_choice(text, numbers) for text in case.sets.values()]
    for ranks in _placements(case.ranks, numbers["N"]):
        for members in product(*(combinations(span, size) for size, span in choices)):
            yield Variant(numbers, dict(zip(case.sets, members, strict=True)), ranks)


def _some(case: Case, numbers: Numbers, samples: int, chance: random.Random) -> list[Variant]:
    found = [_met(case, extreme, numbers) for extreme in (case.least, case.most) if extreme]
    for _ in range(samples):
        sets: dict[str, tuple[NodeId, ...]] = {}
        for letter, text in case.sets.items():
            size, span = _choice(text, numbers)
            sets[letter] = tuple(sorted(chance.sample(span, size)))
        found.append(Variant(numbers, sets, _drawn(case.ranks, numbers["N"], chance)))
    return found


def _met(case: Case, extreme: Extreme, numbers: Numbers) -> Variant:
    sets = {letter: span_of(extreme.sets[letter], numbers) for letter in case.sets}
    [ranks] = _placements(extreme.ranks, numbers["N"])
    return Variant(numbers, sets, ranks)


def _placements(ranks: Ranks, nodes: int) -> Iterator[tuple[int, ...]]:
    """On a ring only the cyclic order matters, so the strongest node stays where it is."""
    if ranks == "any":
        yield from ((*others, nodes) for others in permutations(range(1, nodes)))
    elif ranks == "falling":
        yield (*range(nodes - 1, 0, -1), nodes)
    else:
        yield ()


def _drawn(ranks: Ranks, nodes: int, chance: random.Random) -> tuple[int, ...]:
    if ranks != "any":
        [fixed] = _placements(ranks, nodes)
        return fixed
    return (*chance.sample(range(1, nodes), nodes - 1), nodes)
