"""One scheduler for a whole cluster: APScheduler runs on whichever machine leads.

Start it three times, then stop or kill whoever leads (needs `pip install apscheduler`):

    python examples/scheduler.py a
    python examples/scheduler.py b
    python examples/scheduler.py c
"""

import os
import sys
from contextlib import suppress

from apscheduler.schedulers.background import BackgroundScheduler

import electorate

HERE = "a@127.0.0.1:7411 b@127.0.0.1:7412 c@127.0.0.1:7413"
MEMBERS = os.environ.get("MEMBERS", HERE).split()
SECRET = os.environ.get("ELECTORATE_SECRET")
"""All members need the same one if they are not on one machine."""


def send_reports(me: str, term: electorate.Term) -> None:
    """A job that must not run twice at the same time, on no two machines."""
    term.check()
    print(f"{me}: reports sent in term {term.token}")


def schedule(me: str, term: electorate.Term) -> None:
    """Run the jobs until the term ends."""
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(send_reports, "interval", seconds=1, args=[me, term])
    scheduler.start()
    print(f"{me}: the scheduler runs here now")
    try:
        term.lost.wait()
    finally:
        # This waits for jobs that are running; only then the office goes to another.
        scheduler.shutdown()
        print(f"{me}: the scheduler has stopped")


def main(me: str) -> None:
    """Stand for office as long as this process lives."""
    with electorate.sync.Node(me, MEMBERS, f"data/scheduler-{me}", secret=SECRET) as node:
        print(f"{me}: ready")
        for term in node.election("scheduler").terms():
            with term:
                schedule(me, term)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1])
