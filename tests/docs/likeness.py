"""Whether what a page shows is what a command prints, and what the page should show instead.

A line that is only `…` stands for any lines, also for none. Elsewhere `…` stands for any text up to
the end of the line. What differs from one run or machine to the next is compared by its kind.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

ELISION = "…"

VARYING = (
    # What a search has taken besides time is told in the rest of the line.
    (re.compile(r"[\d.,]+ ?[KMGT]?i?B of memory.*"), "‹memory›"),
    (re.compile(r"[\d.,]+( \w+)?/s\b"), "‹rate›"),
    (re.compile(r"\b\d[\d.,]* (ms|s|min|h)\b"), "‹time›"),
    (re.compile(r"\bpid \d+"), "‹pid›"),
    (re.compile(r"(?<![\w.])/tmp/[^\s:'\"]+"), "‹path›"),
)

LEFT_OUT = 1.0
ADDED = 1.0
"""What is replaced costs both at most; a line less, the more of its words remain."""
ADDED_BESIDE_AN_ELISION = 0.25
"""A page shows so much of a line for its last words: these are kept before others are saved."""

Unlike = Callable[[str, str], float]


class Pair(NamedTuple):
    """An item that is shown, and the one that is printed in its place; either may be missing."""

    shown: str | None
    printed: str | None


def rewritten(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """What a page should show: the same if it is true, and with `…` where it has it now."""
    printed = [line.rstrip() for line in printed]
    cost, _ = _aligned(shown, printed, lambda old, new: 0.0 if is_like(old, new) else 2.0)
    if cost == 0:
        return list(shown)
    _, pairs = _aligned(shown, printed, _unlike)
    return [_rewritten_line(*pair) for pair in pairs if pair.printed is not None or _elides(pair)]


def is_like(shown: str, printed: str) -> bool:
    """Whether a line says what was printed, but for what varies."""
    parts = _steady(shown.rstrip()).split(ELISION)
    return re.fullmatch(".*".join(map(re.escape, parts)), _steady(printed)) is not None


def _steady(line: str) -> str:
    for pattern, kind in VARYING:
        line = pattern.sub(kind, line)
    return line


def _elides(pair: Pair) -> bool:
    return pair.shown is not None and pair.shown.strip() == ELISION


def _rewritten_line(shown: str | None, printed: str | None) -> str:
    if printed is None or (shown is not None and is_like(shown, printed)):
        assert shown is not None
        return shown
    if shown is None or ELISION not in shown:
        return printed
    _, pairs = _words_aligned(shown, printed)
    return "".join(pair.printed or "" if not _elides(pair) else pair.shown or "" for pair in pairs)


def _words_aligned(shown: str, printed: str) -> tuple[float, list[Pair]]:
    added = ADDED_BESIDE_AN_ELISION if ELISION in shown else ADDED
    return _aligned(_words(shown), _words(printed), _unlike_word, added)


def _words(line: str) -> list[str]:
    """Words, each with the blanks before it, and elisions."""
    return re.findall(rf"\s*{ELISION}|\s*[^\s{ELISION}]+", line)


def _unlike_word(shown: str, printed: str) -> float:
    return 0.0 if shown.strip() == printed.strip() else 2.0


def _unlike(shown: str, printed: str) -> float:
    """From 0 to 2: what share of the words of two lines has no partner in the other one."""
    if is_like(shown, printed):
        return 0.0
    old, new = _words(shown), _words(printed)
    if ELISION not in shown and not {w.strip() for w in old} & {w.strip() for w in new}:
        return 2.0
    cost, pairs = _words_aligned(shown, printed)
    seen = [word for pair in pairs for word in pair if word and word.strip() != ELISION]
    return 2 * cost / max(len(seen), 1)


def _aligned(
    shown: Sequence[str], printed: Sequence[str], unlike: Unlike, added: float = ADDED
) -> tuple[float, list[Pair]]:
    """The cheapest way to make of one list the other, where an elision costs nothing."""
    elides = [item.strip() == ELISION for item in shown]
    costs = [[added * j for j in range(len(printed) + 1)]]
    for i, item in enumerate(shown, start=1):
        above = costs[-1]
        row = [above[0] + (0 if elides[i - 1] else LEFT_OUT)]
        for j, other in enumerate(printed, start=1):
            if elides[i - 1]:
                row.append(min(above[j], row[j - 1]))
            else:
                replaced = above[j - 1] + unlike(item, other)
                row.append(min(replaced, above[j] + LEFT_OUT, row[j - 1] + added))
        costs.append(row)
    return costs[-1][-1], _path(costs, shown, printed, added)


def _path(
    costs: Sequence[Sequence[float]], shown: Sequence[str], printed: Sequence[str], added: float
) -> list[Pair]:
    """The pairs of the cheapest way; what an elision stands for is not among them."""
    elides = [item.strip() == ELISION for item in shown]
    pairs = []
    i, j = len(shown), len(printed)
    while i or j:
        here = costs[i][j]
        if i and elides[i - 1]:
            if j and costs[i][j - 1] == here:
                j -= 1
            else:
                i -= 1
                pairs.append(Pair(shown[i], None))
        elif j and costs[i][j - 1] + added == here:
            j -= 1
            pairs.append(Pair(None, printed[j]))
        elif i and costs[i - 1][j] + LEFT_OUT == here:
            i -= 1
            pairs.append(Pair(shown[i], None))
        else:
            i, j = i - 1, j - 1
            pairs.append(Pair(shown[i], printed[j]))
    return pairs[::-1]
