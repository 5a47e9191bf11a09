"""What has happened in a simulated cluster, as lines to read."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from electorate.core import Message
from electorate.core.value import text_of
from electorate.leadership.elections import Elections
from electorate.protocols.invitation.machine import AreYouLeader, AreYouThere, Here
from electorate.protocols.invitation.ranked_invitation import Said
from electorate.protocols.mandate.admission import Edition
from electorate.protocols.mandate.message import Claim, Decree, Grant, Poll
from electorate.runtime.frame import HEADER, Letter, unpack
from electorate.testing.network import LOST

LINES_MAX = 100_000


class ToldLetter:
    """A message from one node to another, decoded only if somebody wants to read it."""

    def __init__(
        self, elections: Elections, sender: str, receiver: str, packed: bytes, fate: str
    ) -> None:
        self._elections = elections
        self._sender = sender
        self._receiver = receiver
        self._packed = packed
        self._fate = fate

    @property
    def is_routine(self) -> bool:
        """Whether this is said all the time, as reminders and renewals are."""
        return all(self._is_usual(message) for _, message in self._read())

    def _is_usual(self, message: Any) -> bool:
        match message:
            case Edition():
                return True
            case Poll(silent):
                return silent
            case Said(message=AreYouThere() | Here() | AreYouLeader()):
                return True
            case Claim() | Decree() | Grant():
                return message.round > 0 and self._fate != LOST
        return False

    def __str__(self) -> str:
        told = ", ".join(self._told(name, message) for name, message in self._read())
        fate = f" ({self._fate})" if self._fate else ""
        return f"{self._sender} → {self._receiver}  {told}{fate}"

    def _told(self, name: str, message: Any) -> str:
        if isinstance(message, Said):
            return f"{name}: {self._text(message.message)}, standing with {message.priority}"
        return f"{name}: {self._text(message)}" if name else text_of(message)

    def _text(self, message: Message) -> str:
        """The message, with names for the nodes that the numbers of groups stand for."""
        text = text_of(message)
        directory = self._elections.directory
        for node in directory.ids:
            text = text.replace(f"({node}, ", f"({directory.name(node)}, ")
        return text

    def _read(self) -> list[tuple[str, Any]]:
        """The elections that the letter is about, and what it says of each."""
        found = []
        letter = unpack(self._packed[HEADER.size :])
        for said in letter.said if isinstance(letter, Letter) else ():
            kind, _, name = said.to.partition(" ")
            message = self._elections.decode(kind, bytes(said.body))
            found.append((name, message))
        return found


class StoryLine(NamedTuple):
    """One thing that has happened."""

    at_s: float
    text: ToldLetter | str

    def __str__(self) -> str:
        return f"{self.at_s:9.3f} s  {self.text}"

    @property
    def is_routine(self) -> bool:
        """Whether it happens all the time."""
        return isinstance(self.text, ToldLetter) and self.text.is_routine


class ClusterStory:
    """All that has happened, the latest last; the beginning of a long story is dropped."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ended = False
        self._lines: deque[StoryLine] = deque(maxlen=LINES_MAX)

    def tell(self, text: ToldLetter | str) -> None:
        """This happens now."""
        if not self._ended:
            self._lines.append(StoryLine(self._now(), text))

    def end(self) -> None:
        """From now on nothing is worth telling."""
        self._ended = True

    def __iter__(self) -> Iterator[str]:
        return map(str, list(self._lines))

    def last(self, count: int) -> list[str]:
        """The latest lines, without letters that are written all the time."""
        news = (line for line in reversed(self._lines) if not line.is_routine)
        return [str(line) for line in islice(news, count)][::-1]
