"""Things to do for many instances, a few at a time.

A host that hears nobody while it is busy with a thousand elections has stood still, as far as it
and the others can tell: connections break over it, and everything begins anew.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from electorate.runtime.timers import AT_ONCE

Each = TypeVar("Each")


class ChunkedWork(Generic[Each]):
    """Does one thing for every one of many; the node does other things in between."""

    def __init__(self, enter: Callable[..., None], act: Callable[[Each], object]) -> None:
        self._enter = enter
        self._act = act
        self._left: dict[Each, None] = {}

    def over(self, items: Iterable[Each]) -> None:
        """Begin with the first few at once. Whose turn is still to come gets no second one."""
        is_under_way = bool(self._left)
        self._left.update(dict.fromkeys(items))
        if not is_under_way:
            self._go_on()

    def _go_on(self) -> None:
        for each in list(self._left)[:AT_ONCE]:
            del self._left[each]
            self._act(each)
        if self._left:
            asyncio.get_running_loop().call_soon(self._enter, self._go_on)
