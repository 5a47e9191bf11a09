"""Four threads that work while this machine leads, and are all at rest before another takes over.

Start it three times, then stop or kill whoever leads:

    python examples/threads.py a
    python examples/threads.py b
    python examples/threads.py c
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import electorate

HERE = "a@127.0.0.1:7431 b@127.0.0.1:7432 c@127.0.0.1:7433"
MEMBERS = os.environ.get("MEMBERS", HERE).split()
SECRET = os.environ.get("ELECTORATE_SECRET")
"""All members need the same one if they are not on one machine."""


def work(me: str, number: int, term: electorate.Term) -> None:
    """What one thread does. Nothing can cancel a thread: it looks by itself."""
    while not term.lost.wait(0.5):
        print(f"{me}: thread {number} works in term {term.token}\n", end="")


def main(me: str) -> None:
    """Stand for office as long as this process lives."""
    with electorate.sync.Node(me, MEMBERS, f"data/threads-{me}", secret=SECRET) as node:
        print(f"{me}: ready")
        for term in node.election("threads").terms():
            # The pool waits for its threads, and only then the office is given up.
            with term, ThreadPoolExecutor() as pool:
                for number in range(1, 5):
                    pool.submit(work, me, number, term)
                try:
                    term.lost.wait()
                finally:
                    term.ask_to_end()  # After Ctrl-C it is we who tell the threads.
            print(f"{me}: all threads rest")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1])
