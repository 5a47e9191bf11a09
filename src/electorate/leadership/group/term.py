"""The term of a group: as long as the group is the same, whatever there is elsewhere."""

import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Protocol

from electorate.leadership.term import Granted, Term

OnMerge = Callable[[Term, dict[str, str]], Awaitable[object] | object]
"""Called with the term of a merged group, and with who has come from which leader's group."""


class Forming(Granted, Protocol):
    """Who has formed the group."""

    def reconciled(self, term: "GroupTerm") -> None:
        """Whoever has come from another group has been dealt with; called in any thread."""


class GroupTerm(Term):
    """From when a group is complete until somebody joins or leaves it, or it merges with another.

    On the other side of a partition there may be another term of this election at the same time.
    So `token` fences nothing: it counts the groups that this node has formed, and only together
    with the name of this node it names one. `check()` raises once this node knows that the group
    is over; nothing runs out before that, and `remaining()` has no end.
    """

    def __init__(
        self,
        election: str,
        token: int,
        forming: Forming,
        clock: Callable[[], float],
        members: tuple[str, ...],
        others: dict[str, str],
    ) -> None:
        super().__init__(election, token, forming, math.inf, clock, members)
        self.others = others
        """Who of the members was in another group before, and who led that."""
        self._forming = forming

    def __repr__(self) -> str:
        state = "over" if self.remaining() <= 0 else f"leads {', '.join(self.members)}"
        return f"<GroupTerm {self.token} of {self.election}: {state}>"

    async def reconcile(self, hook: OnMerge | None) -> bool:
        """Have the application deal with who has come; False if the group is over before that."""
        if hook is not None and self.others:
            self._guard()
            try:
                answer = hook(self, dict(self.others))
                if inspect.isawaitable(answer):
                    await answer
            except BaseException as error:
                self.finish()
                if self._unguard(error):
                    return False
                raise
            self._unguard(None)
        return self._is_reconciled()

    def reconcile_in_thread(self, hook: OnMerge | None) -> bool:
        """The same without asyncio: nothing can interrupt the hook, so it looks at the term."""
        if hook is not None and self.others:
            try:
                hook(self, dict(self.others))
            except BaseException as error:
                self.finish()
                if self._is_loss(error):
                    return False
                raise
        return self._is_reconciled()

    def _is_reconciled(self) -> bool:
        if self.lost.is_set():
            self.finish()
            return False
        self._forming.reconciled(self)
        return True
