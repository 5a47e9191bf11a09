"""How much the tests of the network driver throw at it."""

import os

import pytest


@pytest.fixture(scope="session")
def frames_to_mangle() -> int:
    """How many mangled frames; `make fuzz` sets FRAMES."""
    return int(os.environ.get("FRAMES", "5000"))
