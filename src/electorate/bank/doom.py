"""Where processes die: at every step of the example, and at every point between."""

import os
import signal
import threading

from electorate.bank.place import ACCOUNTS, ATM

DECIDING = ("saved uncertain", "sent Prepare", "saved committed", "sent Commit", "sent Forget")
"""What the cash machine does at step 7, as coordinator."""
TAKING_PART = (
    "did prepare",
    "saved uncertain",
    "sent Yes",
    "saved committed",
    "did commit",
    "sent Done",
    "forgot",
)
"""What an account does at step 7, as participant."""
WORK = {
    "savings": {"worked 1": 1, "worked 2": 1},
    "checking": {"worked 1": 2, "worked 2": 2, "worked 3": 4, "worked 4": 5, "worked 5": 6},
    "moneymkt": {"worked 1": 3, "worked 2": 3},
}
"""Before an account answers: to which step its work belongs."""


def points() -> list[tuple[str, str]]:
    """Everywhere that a process can die: who, and where."""
    found = [(ATM, f"step {step}") for step in range(1, 9)]
    found += [(ATM, "jam"), *((ATM, what) for what in DECIDING)]
    for name in ACCOUNTS:
        found += [(name, what) for what in (*WORK[name], *TAKING_PART)]
    return found


def step_of(name: str, what: str) -> int:
    """The numbered step at which that point is."""
    if what.startswith("step "):
        return int(what.removeprefix("step "))
    if what == "jam":
        return 8
    return WORK.get(name, {}).get(what, 7)


class Doom:
    """Kills its own process when it comes to a point for the so many-eth time."""

    def __init__(self) -> None:
        self._what = ""
        self._left = 0
        self._lock = threading.Lock()

    def order(self, what: str, times: int) -> None:
        """Die there."""
        with self._lock:
            self._what, self._left = what, times

    def reached(self, what: str) -> None:
        """Something was just done."""
        with self._lock:
            if what == self._what:
                self._left -= 1
                if self._left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, tx: str, what: str) -> None:
        """The same, as a node tells it."""
        self.reached(what)
