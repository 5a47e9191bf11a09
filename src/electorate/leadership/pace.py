"""How fast elections go, and what is promised about clocks."""

import msgspec

from electorate.core import Span, Timing
from electorate.protocols.invitation import InvitationRules
from electorate.protocols.mandate.rule import MandateRules


class Pace(msgspec.Struct, frozen=True):
    """Lengths of time in milliseconds; nodes that differ in T, P or drift refuse each other.

    Two leaders at once are ruled out whatever the network does, as long as no clock is off by more
    than `drift`. T and P only decide how soon an office is filled again, and how much delay a
    leader survives: a term lasts 8T + 6P from when it was last asked for, which a leader does every
    3T + 2P.
    """

    T_ms: int = 50
    """Messages usually arrive within that time."""
    P_ms: int = 25
    """They are usually answered within that time; a voter writes to its disk first."""
    drift: float = 0.01
    """How far the speed of a clock may be off: 0.01 is a hundredth."""
    grace_ms: int = 5_000
    """How long the work of a leader that steps down may take to end."""
    preempt_delay_ms: int = 5_000
    """How long a node follows a leader of a lower priority before it asks for the office."""
    trust_close: bool = False
    """Whether the end of a connection is believed to be the end of the leader's process.

    Then its successor need not wait until its term has run out. That is safe only where nothing
    between the nodes can end a connection in their place (no proxy, no balancer, no NAT), and
    where no child of a process shares its connections or does its work (no fork without exec).
    """
    beat_ms: int = 100
    """How often nodes show each other that they are there."""
    timeout_ms: int = 450
    """A node that has shown nothing for that long is suspect."""

    def __post_init__(self) -> None:
        if not 1 <= self.beat_ms <= self.timeout_ms // 2:
            raise ValueError(
                f"beat_ms={self.beat_ms} is not between 1 and {self.timeout_ms // 2}, half of "
                "timeout_ms: a node would be suspect between two signs of life"
            )
        drift_max = (self.granted_ms - self.lease_ms) / (self.granted_ms + self.lease_ms)
        if not 0 <= self.drift <= drift_max:
            raise ValueError(
                f"drift={self.drift} is not between 0 and {drift_max:.3f}: with T_ms={self.T_ms} "
                f"and P_ms={self.P_ms} a voter is free {self.granted_ms - self.lease_ms} ms after "
                "a term has ended, and no clock may be off by more than that"
            )

    @property
    def timing(self) -> Timing:
        """What the machine is told about time."""
        return Timing(self.T_ms, self.P_ms, self.drift)

    @property
    def lengths(self) -> dict[str, Span]:
        """The rules of the mandate that are no bounds of safety."""
        return {
            "grace": Span(ticks=self.grace_ms),
            "preempt_delay": Span(ticks=self.preempt_delay_ms),
        }

    @property
    def group_timing(self) -> Timing:
        """The same for groups: a message is handled within T, whatever that takes."""
        return Timing(self.T_ms + self.P_ms, drift=self.drift)

    @property
    def alone_ms(self) -> int:
        """How long a node that is alone looks for others: by then they have usually found it."""
        rules = InvitationRules()
        return (rules.check + rules.answers + rules.accepts).of(self.group_timing)

    @property
    def agreed(self) -> str:
        """What members must have in common: how long they are bound, and lead, follows from it."""
        return f"T={self.T_ms} P={self.P_ms} drift={self.drift}"

    @property
    def probe_ms(self) -> int:
        """How soon a node answers that is asked because a connection broke."""
        return 2 * self.T_ms

    @property
    def lease_ms(self) -> int:
        """How long a term lasts from when it was last asked for."""
        return MandateRules().lease.of(self.timing)

    @property
    def granted_ms(self) -> int:
        """How long a voter is bound; so long an office may be vacant after its leader crashed."""
        return MandateRules().granted.of(self.timing)
