"""What a verdict depends on, as people and programs read it: `electorate check --robust`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from electorate.check import Result, Verdict
from electorate.check.checking import KEPT
from electorate.check.robust import Change, Recheck
from electorate.trace.word import counted

GAP = "  "


class Sensitivity:
    """The defaults that were moved one by one, and what became of the claims."""

    def __init__(
        self, verdict: Verdict, changes: Sequence[Change], rechecks: Iterable[Recheck], most: int
    ) -> None:
        self._result = verdict.result
        self._changes = changes
        self._rechecks = rechecks
        self._most = most
        """How many states each check may see."""

    def as_object(self) -> list[dict[str, Any]]:
        """A line for every change, as plain data; none where nothing holds."""
        if self._result not in KEPT:
            return []
        return [
            {
                "change": found.change,
                "option": found.option,
                "claims": found.claims,
                "moves": found.moves,
                "reason": found.reason,
            }
            for found in self._rechecks
        ]

    def texts(self) -> Iterator[str]:
        """A line for every change as it is found, then what carries the verdict."""
        if self._result not in KEPT:
            yield f"\n--robust has nothing to try: the verdict is {self._result}."
            return
        if not self._changes:
            yield "\n--robust has nothing to try: runs would notice none of the defaults."
            return
        yield f"\nWith each default moved by one, within {self._most:,} states each:"
        wide = max(len(change.text) for change in self._changes)
        wide_option = max(len(change.option) for change in self._changes)
        found: list[Recheck] = []
        for recheck in self._rechecks:
            found.append(recheck)
            columns = (recheck.change.ljust(wide), recheck.option.ljust(wide_option))
            yield GAP + GAP.join((*columns, fate(recheck)))
        yield conclusion(found)


def fate(recheck: Recheck) -> str:
    """`A1 breaks in 8 moves, A2 still holds`."""
    if not recheck.tried:
        return f"not tried: {recheck.reason}"
    parts = [_broken(recheck)] if recheck.broken else []
    kept = [name for name, result in recheck.claims.items() if result in KEPT]
    if kept:
        parts.append(f"{_listed(kept)} still hold{'s' if len(kept) == 1 else ''}{recheck.within}")
    unknown = [name for name, result in recheck.claims.items() if result is Result.UNKNOWN]
    if unknown:
        parts.append(f"{_listed(unknown)} unknown: {recheck.reason}")
    return ", ".join(parts)


def conclusion(found: Sequence[Recheck]) -> str:
    """The defaults that carry the verdict, in one sentence; another for what was not decided."""
    carrying: dict[str, list[str]] = {}
    for recheck in found:
        if recheck.broken:
            broken = f"{_broken(recheck)} at {recheck.option}"
            carrying.setdefault(recheck.default, []).append(broken)
    hangs = ", ".join(f"{default} ({', '.join(texts)})" for default, texts in carrying.items())
    open_ = [recheck.option for recheck in found if not recheck.finished]
    nothing = f"Nothing that was {'decided' if open_ else 'moved'} carries it."
    sentences = [f"It hangs on: {hangs}." if hangs else nothing]
    if open_:
        sentences.append(f"Not decided: {', '.join(open_)}.")
    return " ".join(sentences)


def _broken(recheck: Recheck) -> str:
    """`A1 breaks in 13 moves and A2 in 18`."""
    first, *others = recheck.broken
    moves = recheck.moves[first]
    text = f"{first} breaks in {counted(moves, 'moves')}"
    return _listed([text, *(f"{claim} in {recheck.moves[claim]}" for claim in others)])


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
