"""How fast a node goes, in elections and in transactions, and what is promised about clocks.

An application gives and gets all times in seconds, as in asyncio. The machines count whole
milliseconds: `in_ms` is how many those are.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

from electorate.core import Span, Timing
from electorate.protocols.mandate.rule import MandateRules

MAY_BE_ZERO = ("P", "preempt_delay", "settle_timeout")

WERE_IN_MS = {
    "T_ms": "T",
    "P_ms": "P",
    "grace_ms": "grace",
    "preempt_delay_ms": "preempt_delay",
    "beat_ms": "beat",
    "timeout_ms": "timeout",
    "work_ms": "work_timeout",
    "votes_ms": "votes_timeout",
    "patience_ms": "decision_timeout",
    "again_ms": "retry_every",
    "idle_ms": "idle_timeout",
    "settle_ms": "settle_timeout",
    "sweep_ms": "sweep_every",
}
"""What the lengths were called in an older version."""


def in_ms(seconds: float) -> int:
    """A length of time in the whole milliseconds that the machines count."""
    return round(1000 * seconds)


@dataclass(frozen=True, kw_only=True)
class Pace:
    """Lengths of time in seconds; nodes that differ in T, P or drift refuse each other.

    Two leaders at once are ruled out whatever the network does, as long as no clock is off by more
    than `drift`. T and P only decide how soon an office is filled again, and how much delay a
    leader survives: a term lasts 8T + 6P from when it was last asked for, and a leader asks every
    3T + 2P. No promise about transactions depends on any of these.
    """

    T: float = 0.05
    """Messages usually arrive within that time."""
    P: float = 0.025
    """They are usually answered within that time; a voter writes to its disk first."""
    drift: float = 0.01
    """How far the speed of a clock may be off: 0.01 is a hundredth."""
    grace: float = 5.0
    """How long the work of a leader that steps down may take to end."""
    preempt_delay: float = 5.0
    """How long a node follows a leader of a lower priority before it asks for the office."""
    trust_close: bool = False
    """Whether the end of a connection is believed to be the end of the leader's process.

    Then its successor need not wait until its term has run out. That is safe only where nothing
    between the nodes can end a connection in their place (no proxy, no balancer, no NAT), and
    where no child of a process shares its connections or does its work (no fork without exec).
    """
    beat: float = 0.1
    """How often nodes show each other that they are alive."""
    timeout: float = 0.45
    """A node that has been silent for that long is suspect."""

    work_timeout: float = 10.0
    """How long one piece of work of a transaction may take; after that the transaction aborts."""
    votes_timeout: float = 10.0
    """How long all votes of a transaction may take, from when they are asked for; after that it is
    aborted."""
    decision_timeout: float = 3.0
    """How long a participant that has voted waits for the decision before the elected node finds it
    out."""
    retry_every: float = 1.0
    """How long to wait before asking again for a decision, or for an acknowledgement."""
    idle_timeout: float = 20.0
    """How long a participant waits for the next piece of work of a transaction before it undoes
    all."""
    settle_timeout: float = 2.0
    """How long a commit waits, once decided, until all have applied it."""
    sweep_every: float = 0.5
    """How often to say again what may have been lost, and to look for orphans."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Name the new argument for one that was in milliseconds; `__init__` explains the rest."""
        for name, value in given.items():
            if name in WERE_IN_MS:
                now = f"{WERE_IN_MS[name]}={_seconds(value)}"
                raise TypeError(f"Pace is in seconds: say {now} instead of {name}={value!r}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name in WERE_IN_MS.values():
            self._expect_length(name, getattr(self, name))
        if not 2 * in_ms(self.beat) <= in_ms(self.timeout):
            raise ValueError(
                f"beat={self.beat} is more than half of timeout={self.timeout}: "
                "a node would be suspect between two signs of life"
            )
        lease_ms, granted_ms = in_ms(self.lease), in_ms(self.granted)
        drift_max = (granted_ms - lease_ms) / (granted_ms + lease_ms)
        if not 0 <= self.drift <= drift_max:
            free_s = (granted_ms - lease_ms) / 1000
            raise ValueError(
                f"drift={self.drift} is not between 0 and {drift_max:.3f}: with T={self.T} and "
                f"P={self.P} a voter is free {free_s:g} s after a term has ended, and no "
                "clock may be off by more than that"
            )

    def _expect_length(self, name: str, seconds: Any) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise TypeError(f"{name} is a number of seconds, not {seconds!r}")
        least = 0 if name in MAY_BE_ZERO else 0.001
        if not least <= seconds < math.inf:
            raise ValueError(f"{name}={seconds} is not a length of time of {least} s or more")

    # --- what follows from it, in seconds ---

    @property
    def lease(self) -> float:
        """How long a term lasts from when it was last asked for."""
        return MandateRules().lease.of(self.timing) / 1000

    @property
    def granted(self) -> float:
        """How long a voter is bound, and how long an office may be vacant after a crash."""
        return MandateRules().granted.of(self.timing) / 1000

    # --- what the machines take, in whole milliseconds ---

    @property
    def timing(self) -> Timing:
        """The timing of the machine."""
        return Timing(in_ms(self.T), in_ms(self.P), self.drift)

    @property
    def lengths(self) -> dict[str, Span]:
        """The rules of the mandate that are no bounds of safety."""
        return {
            "grace": Span(ticks=in_ms(self.grace)),
            "preempt_delay": Span(ticks=in_ms(self.preempt_delay)),
        }

    @property
    def group_timing(self) -> Timing:
        """The timing of groups: a message is handled within T, all included."""
        return Timing(in_ms(self.T) + in_ms(self.P), drift=self.drift)

    @property
    def transaction_timing(self) -> Timing:
        """The timing of the recovery election: it takes T for a bound, so T is wide."""
        return Timing(4 * in_ms(self.T) + 2 * in_ms(self.P))

    @property
    def transaction_lengths(self) -> dict[str, Span]:
        """The rules of a commit protocol that say how long its timers take."""
        return {
            "votes": Span(ticks=in_ms(self.votes_timeout)),
            "patience": Span(ticks=in_ms(self.decision_timeout)),
            "retry": Span(ticks=in_ms(self.retry_every)),
            "resend": Span(ticks=in_ms(self.retry_every)),
        }

    @property
    def agreed(self) -> str:
        """What members must have in common: all lengths that bind them follow from it."""
        return f"T={in_ms(self.T) / 1000:g} s, P={in_ms(self.P) / 1000:g} s, drift={self.drift:g}"


def _seconds(value: Any) -> str:
    return f"{value / 1000:g}" if isinstance(value, int | float) else "…"
