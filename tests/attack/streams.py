"""Runs commands whose standard output is closed, is not read, or takes ASCII only.

Python is started once: a process is forked for each command, opens its streams anew as Python does
at its start, and ends as any process ends. So what the interpreter says at its end is heard, too.
"""

import io
import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path

from electorate.cli.main import COMMANDS, main

PATIENCE_S = 120.0
READY = "starts with an empty store"
"""What a node says once signals end it in an orderly way."""


def run_all(cases: list[tuple[str, list[str]]], folder: Path) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each; a node whose output is read gets a SIGTERM."""
    pids = []
    for number, (state, words) in enumerate(cases):
        pid = os.fork()
        if not pid:
            begin(state, folder / f"{number}.out", folder / f"{number}.err")
            sys.exit(main(words))
        pids.append(pid)
    return [
        ended(pid, folder / f"{number}", is_told=cases[number][0] == "unread")
        for number, pid in enumerate(pids)
    ]


def begin(state: str, out: Path, err: Path) -> None:
    """Open the streams of a new process."""
    os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT), 2)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    if state == "closed":
        os.close(1)
        sys.stdout = None
        return
    if state == "unread":
        reader, writer = os.pipe()
        os.close(reader)
    else:
        writer = os.open(out, os.O_WRONLY | os.O_CREAT)
    os.dup2(writer, 1)
    encoding = "ascii" if state == "ascii" else "utf-8"
    buffer = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    sys.stdout = io.TextIOWrapper(buffer, encoding)


def ended(pid: int, files: Path, *, is_told: bool) -> tuple[int, str, str]:
    """How a process has ended, and what it said."""
    out, err = files.with_suffix(".out"), files.with_suffix(".err")
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if not is_told and err.exists() and READY in err.read_text():
            os.kill(pid, signal.SIGTERM)
            is_told = True
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    said = out.read_text(encoding="utf-8") if out.exists() else ""
    return os.waitstatus_to_exitcode(status), said, err.read_text()


if __name__ == "__main__":
    for name in COMMANDS:
        import_module(f"electorate.cli.{name}")
    print(json.dumps(run_all(json.loads(sys.argv[1]), Path(sys.argv[2]))))
