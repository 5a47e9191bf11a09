"""What a host does in one wake-up: first all of it is kept, with one sync, then it has effects.

Nothing leaves the host in between: no letter, no term, no news. A host whose store fails, or that
crashes before, has said and given nothing: to everybody else it has taken none of these turns.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from electorate.core import NodeId
from electorate.runtime.frame import Said

Effect = Callable[..., object]


class Keeper(Protocol):
    """The store, as far as it is needed here."""

    def save(self, records: Mapping[str, bytes | None]) -> None:
        """Make these records durable, all together, before returning; None is none any more."""


class GroupCommit:
    """Collects what instances want kept, said and done; the end of the wake-up carries it out."""

    def __init__(self, store: Keeper, send: Callable[[NodeId, list[Said]], None]) -> None:
        self.write_down: Callable[[], None] | None = None
        """Writes down what was gone through, before anything comes of it; nobody may care to."""
        self.count = 0
        """How many wake-ups there have been."""
        self._store = store
        self._send = send
        self._is_open = False
        self._forget()

    def run(self, act: Callable[..., object], *given: Any) -> None:
        """Do this, and what follows from it; what is done within belongs to the same wake-up."""
        if self._is_open:
            act(*given)
            return
        self._is_open = True
        self.count += 1
        try:
            act(*given)
        except BaseException:
            self._forget()
            raise
        finally:
            self._is_open = False
        self._carry_out()

    def keep(self, name: str, record: bytes | None) -> None:
        """Have it on disk, or gone from there, before anything else comes of this wake-up."""
        self._expect_open()
        self._records[name] = record

    def say(self, to: NodeId, said: Said) -> None:
        """Say this to a node, together with what else there is to say to it."""
        self._expect_open()
        if to in self._said:
            self._said[to].append(said)
        else:
            self._said[to] = [said]

    def once_kept(self, effect: Effect, *given: Any) -> None:
        """Do this when everything has been kept, and nothing has been said."""
        self._expect_open()
        self._kept.append((effect, given))

    def once_said(self, to: NodeId | None, effect: Effect, *given: Any) -> None:
        """Do this when what there is to say to that node has been said."""
        self._expect_open()
        self._told.append((to, effect, given))

    def then(self, effect: Effect, *given: Any) -> None:
        """Do this when everything has been kept and said."""
        self._expect_open()
        self._effects.append((effect, given))

    def _carry_out(self) -> None:
        records, kept, said = self._records, self._kept, self._said
        told, effects = self._told, self._effects
        self._forget()
        if self.write_down is not None and (records or said or kept or told or effects):
            self.write_down()
        if records:
            self._store.save(records)
        for effect, given in kept:
            effect(*given)
        for to, all_said in said.items():
            self._send(to, all_said)
            for hearer, effect, given in told:
                if hearer == to:
                    effect(*given)
        for effect, given in effects:
            effect(*given)

    def _forget(self) -> None:
        self._records: dict[str, bytes | None] = {}
        self._kept: list[tuple[Effect, tuple[Any, ...]]] = []
        self._said: dict[NodeId, list[Said]] = {}
        self._told: list[tuple[NodeId | None, Effect, tuple[Any, ...]]] = []
        self._effects: list[tuple[Effect, tuple[Any, ...]]] = []

    def _expect_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("a turn was taken while the host did nothing: nobody keeps it")
