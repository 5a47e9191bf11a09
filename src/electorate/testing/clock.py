"""The clock of one simulated machine, which may run fast or slow, jump or stop."""

import math


class Clock:
    """What a machine's clock shows, given the true time; both in seconds."""

    def __init__(self) -> None:
        self._shown = self._since = 0.0
        self._rate = 1.0

    @property
    def stopped(self) -> bool:
        """Whether it stands still."""
        return self._rate == 0

    def at(self, now: float) -> float:
        """What it shows then."""
        return self._shown + self._rate * (now - self._since)

    def when(self, shown: float) -> float:
        """The true time at which it will show that."""
        missing = shown - self._shown
        if self._rate == 0:
            return math.inf if missing > 0 else self._since
        return self._since + missing / self._rate

    def run(self, now: float, rate: float) -> None:
        """Run at another speed from now on; 0 is none at all."""
        self._shown, self._since, self._rate = self.at(now), now, rate

    def jump(self, now: float, by: float) -> None:
        """Show another time from now on."""
        self._shown, self._since = self.at(now) + by, now
