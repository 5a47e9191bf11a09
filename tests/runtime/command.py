"""`electorate node` as a process of its own."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from electorate.runtime.environment import Address

PATIENCE_S = 20.0


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    err: list[str]


def node_words(
    node: int, addresses: dict[int, Address], data: Path, *more: str, timeout_ms: int = 250
) -> list[str]:
    """The command line of one node."""
    words = [sys.executable, "-m", "electorate.cli.main", "node", "bully", "--id", str(node)]
    words += ["--data", str(data), "--T", "60", "--beat", "30", "--timeout", str(timeout_ms)]
    for member, (host, port) in addresses.items():
        words += ["--member", f"{member}@{host}:{port}"]
    return [*words, *more]


def ended(words: Sequence[str]) -> Ended:
    """Run a command that should end by itself."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return Ended(done.returncode, done.stderr.splitlines())


@contextmanager
def started(words: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a command in the background; its first line on stdout shows that it is at work."""
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        try:
            yield process
        finally:
            process.kill()
            process.wait()
