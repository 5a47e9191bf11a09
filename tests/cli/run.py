"""Running the command line as a user does, in this process."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from electorate.cli.main import main


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Run = Callable[..., Ran]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `electorate` with the given words."""

    def run(*words: str) -> Ran:
        try:
            code = main(words)
        except SystemExit as ended:  # argparse ends this way
            code = int(ended.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
