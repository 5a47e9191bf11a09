"""Whether processes that a test has started are still there."""

from pathlib import Path

import pytest

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended; stopped ones count."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"
