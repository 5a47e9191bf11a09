"""Notices that answers take longer than the pace of this node allows, and names one that would do.

Terms do not depend on it: where answers are late nobody leads, and nothing else would say why.
"""

import math
from collections.abc import Callable, Collection, Mapping

from electorate.core import NodeId
from electorate.pace import Pace, in_ms
from electorate.protocols.mandate.rule import MandateRules
from electorate.runtime.timers import Recurrence

MARGIN = 1.5
"""How much longer than today answers may take at the pace that is named."""
STEP_S = 0.05
"""T of the pace that is named is a multiple of this."""
SLOW = "%s: answers from %s take %d ms, and this pace allows %d ms: %s; use %s at all nodes"
NOBODY, SOME = "nobody can lead from here", "their votes come too late"


def allowed_s(pace: Pace) -> float:
    """How long a candidate and a leader wait for answers."""
    return MandateRules().answer.of(pace.timing) / 1000


def slower(took_ms: float) -> str:
    """A pace at which answers that take so long come in time, as one writes it."""
    needed_s = MARGIN * took_ms / 1000
    T = STEP_S * math.ceil(needed_s / allowed_s(Pace(T=1, P=0.5)) / STEP_S)
    return f"Pace(T={T:g}, P={T / 2:g})"


class AnswerTimes:
    """How long other nodes take to answer, seen at regular times."""

    def __init__(self, me: str, pace: Pace, called: Callable[[NodeId], str]) -> None:
        self._me = me
        self._called = called
        self._allowed_ms = in_ms(allowed_s(pace))
        self._recurrence = Recurrence()

    def look(
        self, took_ms: Mapping[NodeId, float], members: Collection[NodeId], me: NodeId
    ) -> tuple[object, ...] | None:
        """What to log about it, if it is time to; `took_ms` has all that have answered."""
        late = {node: ms for node, ms in took_ms.items() if ms > self._allowed_ms}
        late = {node: ms for node, ms in late.items() if node in members}
        if not self._recurrence.is_time_to_say(bool(late)):
            return None
        in_time = {me, *took_ms} & {*members} - {*late}
        names = ", ".join(sorted(map(self._called, late)))
        outcome = SOME if 2 * len(in_time) > len(members) else NOBODY
        worst_ms = max(late.values())
        return self._me, names, round(worst_ms), self._allowed_ms, outcome, slower(worst_ms)
