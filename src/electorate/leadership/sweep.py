"""Things to do for many elections, a few at a time.

A node that hears nobody while it is busy with a thousand elections has stood still, as far as it
and the others can tell: connections break over it, and everything begins anew.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

Each = TypeVar("Each")

AT_ONCE = 100
"""Elections that are taken up in one moment: some milliseconds on a machine that has time."""


class Sweep:
    """Does something for every one of many elections; the node does other things in between."""

    def __init__(self, enter: Callable[..., None]) -> None:
        self._enter = enter

    def over(self, items: Iterable[Each], act: Callable[[Each], None]) -> None:
        """Begin with the first few at once."""
        self._go_on(deque(items), act)

    def _go_on(self, left: deque[Each], act: Callable[[Each], None]) -> None:
        for _ in range(min(AT_ONCE, len(left))):
            act(left.popleft())
        if left:
            asyncio.get_running_loop().call_soon(self._enter, self._go_on, left, act)
