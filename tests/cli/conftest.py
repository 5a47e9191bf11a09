"""Fixtures for command line tests."""

import pytest

from tests.cli.run import Run, runner


@pytest.fixture
def electorate(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `electorate` with the given words."""
    return runner(capsys)
