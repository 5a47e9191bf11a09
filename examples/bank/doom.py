"""Where processes die: at every step of the example, and at every point between."""

import os
import signal
import threading

from examples.bank.place import ACCOUNTS, ATM

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
STEPS = [f"step {step}" for step in range(1, 9)]
"""The cash machine has just done that step of the example."""


def points() -> list[tuple[str, str]]:
    """Everywhere that a process can die: who, and where.

    At a numbered step it is the cash machine that kills, itself or an account; at all other points
    whoever comes to it.
    """
    found = [(name, step) for name in (ATM, *ACCOUNTS) for step in STEPS]
    found += [(ATM, what) for what in (*DECIDING, "jam")]
    return found + [(name, what) for name in ACCOUNTS for what in TAKING_PART]


def step_of(what: str) -> int:
    """The numbered step at which that point is."""
    if what in STEPS:
        return STEPS.index(what) + 1
    return 8 if what == "jam" else 7


class Doom:
    """Kills a process when its own comes to a point for the so many-eth time."""

    def __init__(self) -> None:
        self._what = ""
        self._left = 0
        self._victim = os.getpid()
        self._lock = threading.Lock()

    def order(self, what: str, times: int, victim: int) -> None:
        """Let that process die there."""
        with self._lock:
            self._what, self._left, self._victim = what, times, victim

    def reached(self, what: str) -> None:
        """Something was just done."""
        with self._lock:
            if what == self._what:
                self._left -= 1
                if self._left == 0:
                    os.kill(self._victim, signal.SIGKILL)

    def watch(self, tx: str, what: str) -> None:
        """The same, as a node tells it."""
        self.reached(what)
