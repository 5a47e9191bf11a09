"""Since when the goals of a run have been true, and whether that is long enough."""

from collections.abc import Collection, Iterable

from electorate.simulate.scenario import Scenario


class Goals:
    """The goals of one run, which come true and may be lost again."""

    def __init__(self, names: Iterable[str], scenario: Scenario) -> None:
        self._scenario = scenario
        self._true_since: dict[str, int | None] = dict.fromkeys(names, 0)

    def note(self, broken: Collection[str], now: int) -> None:
        """Note which of them are not true now."""
        for name, since in self._true_since.items():
            if name in broken:
                self._true_since[name] = None
            elif since is None:
                self._true_since[name] = now

    @property
    def missed(self) -> list[str]:
        """Those that are not true."""
        return [name for name, since in self._true_since.items() if since is None]

    def settled_since(self) -> int | None:
        """Since when all of them have been true; None if one is not."""
        if self.missed:
            return None
        return max((since for since in self._true_since.values() if since is not None), default=0)

    def deadline(self) -> int:
        """When the stable phase ends: they have been true for long enough, or its time is over."""
        scenario, since = self._scenario, self.settled_since()
        last = scenario.safety + scenario.stable
        return last if since is None else min(last, max(since, scenario.safety) + scenario.stay)

    def fleeting(self) -> frozenset[str]:
        """The goals that were not true for as long as they are watched, at the deadline."""
        latest = self.deadline() - self._scenario.watched
        since = self._true_since.items()
        return frozenset(name for name, time in since if time is not None and time > latest)
