"""The one clock of a node: it never goes back, and it runs on while the machine sleeps."""

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> float:
    """Milliseconds since some fixed time in the past."""
    return time.clock_gettime_ns(_CLOCK) / 1e6
