"""The same check finds the same, to the letter, in every process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_counts_and_runs_do_not_depend_on_the_hash_seed() -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.check.hashing"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    told = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert told[0] == told[1]
    assert "bully-as-printed" in told[0]
