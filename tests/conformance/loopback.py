"""Real time and real addresses: how to wait for something, and where to listen."""

import time
from collections.abc import Callable

from electorate.cli.supervisor import free_ports

T_MS = 60
BEAT_MS = 40.0
TIMEOUT_MS = 500.0
PATIENCE_S = 30.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until something is the case, but not for ever."""
    assert came_about(condition, PATIENCE_S), "it never came about"


def came_about(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether something is the case, at the latest after so long."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.003)
    return True


def free_addresses(count: int) -> list[tuple[str, int]]:
    """Addresses on loopback that nobody listens on at the moment, nor gets by connecting."""
    return [("127.0.0.1", port) for port in free_ports(count)]
