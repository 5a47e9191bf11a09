"""What a node does at one moment: first all of it is kept, with one sync, then it has effects.

Nothing leaves the node in between: no letter, no term, no news. A node whose store fails, or that
crashes before, has said and given nothing: to everybody else it has taken none of these turns.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from electorate.core import NodeId
from electorate.leadership.letter import Letter, Said, bundles

Effect = Callable[..., object]


class Keeper(Protocol):
    """The store, as far as it is needed here."""

    def save(self, records: Mapping[str, bytes]) -> None:
        """Make these records durable, all together, before returning."""


class Moment:
    """Collects what elections want kept, said and done; the end of the moment carries it out."""

    def __init__(self, store: Keeper, send: Callable[[NodeId, Letter], None]) -> None:
        self._store = store
        self._send = send
        self._is_open = False
        self._forget()

    def spend(self, act: Callable[..., object], *given: Any) -> None:
        """Do this, and what follows from it; what is done within belongs to the same moment."""
        if self._is_open:
            act(*given)
            return
        self._is_open = True
        try:
            act(*given)
        except BaseException:
            self._forget()
            raise
        finally:
            self._is_open = False
        self._carry_out()

    def keep(self, name: str, record: bytes) -> None:
        """Have it on disk before anything else comes of this moment."""
        self._expect_open()
        self._records[name] = record

    def say(self, to: NodeId, letter: Letter) -> None:
        """Bring a letter on its way then."""
        self._expect_open()
        self._letters.append((to, letter))

    def put(self, to: NodeId, said: Said) -> None:
        """Put it to what else is said to that node about elections."""
        self._expect_open()
        self._said.setdefault(to, []).append(said)

    def then(self, effect: Effect, *given: Any) -> None:
        """Do this after everything has been kept and said."""
        self._expect_open()
        self._effects.append((effect, given))

    def _carry_out(self) -> None:
        records, letters, said, effects = self._records, self._letters, self._said, self._effects
        self._forget()
        if records:
            self._store.save(records)
        for to, letter in letters:
            self._send(to, letter)
        for to, all_said in said.items():
            for bundle in bundles(all_said):
                self._send(to, bundle)
        for effect, given in effects:
            effect(*given)

    def _forget(self) -> None:
        self._records: dict[str, bytes] = {}
        self._letters: list[tuple[NodeId, Letter]] = []
        self._said: dict[NodeId, list[Said]] = {}
        self._effects: list[tuple[Effect, tuple[Any, ...]]] = []

    def _expect_open(self) -> None:
        if not self._is_open:
            raise RuntimeError("a turn was taken while the node did nothing: nobody keeps it")
