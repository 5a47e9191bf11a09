"""The lines of a node: which member speaks under which name, and where it is connected to."""

from electorate.core import NodeId
from electorate.leadership.members.acquaintance import Acquaintances, Net
from electorate.leadership.members.place import Place


class Lines:
    """One line for every name. Of several members that have it, the one on the latest list speaks.

    Of several on it, or none, it is the one that was proposed last.
    """

    def __init__(self, me: Place, known: Acquaintances) -> None:
        self.awaited: dict[NodeId, Place] = {}
        """Where newcomers should be; whoever answers there is let in."""
        self.newcomers: dict[NodeId, NodeId] = {}
        """Who has answered there."""
        self._me = me
        self._known = known
        self._speakers = {node: node for node in known}
        self._lines = {node: node for node in known}
        """The same the other way round: every letter needs it."""
        self._connected = {node: (_place(known, node).address, node) for node in known}

    def begin(self, number: NodeId, net: Net, members: tuple[NodeId, ...]) -> None:
        """Connect to all who are known; this node is known by that number."""
        self._number, self._net = number, net
        self.arrange(members)

    def of(self, node: NodeId) -> NodeId | None:
        """Where a member is to be reached; None if another one has its name by now."""
        return self._lines.get(node)

    def speaker(self, line: NodeId) -> NodeId | None:
        """Which member is reached there."""
        return self._speakers.get(line)

    def called(self, line: NodeId) -> str:
        """What people call whoever is there."""
        places = [Place.of(known.place) for known in self._known.values()]
        names = {place.id: place.name for place in [*places, *self.awaited.values()]}
        return names.get(line, str(line))

    def take(self, line: NodeId, member: NodeId) -> None:
        """It is this one that has connected there."""
        if line in self.awaited:
            self.newcomers[line] = member
        self._set_speakers({**self._speakers, line: member})
        self._connected[line] = (_place(self._known, member).address, member)

    def arrange(self, members: tuple[NodeId, ...]) -> None:
        """Connect to whoever speaks on each line, and to newcomers; part with all others."""
        known = self._known
        ranked = sorted(known, key=lambda node: (node in members, known[node].since, node))
        speakers = {known[node].line: node for node in ranked}
        speakers |= self.newcomers | {self._me.id: self._number}
        places = {line: _place(known, node) for line, node in speakers.items()} | self.awaited
        unknown = self.awaited.keys() - self.newcomers.keys()
        self._set_speakers({line: speakers[line] for line in speakers.keys() - unknown})
        for line in self._connected.keys() - places.keys():
            del self._connected[line]
            self._net.part(line)
        for line in places.keys() - {self._me.id}:
            self._connect(line, places[line])

    def _set_speakers(self, speakers: dict[NodeId, NodeId]) -> None:
        self._speakers = speakers
        self._lines = {node: line for line, node in speakers.items()}

    def _connect(self, line: NodeId, place: Place) -> None:
        """Anew if it is another member than before: the old one must not be taken for it."""
        end = place.address, self._speakers.get(line, 0)
        if self._connected.get(line) != end:
            self._connected[line] = end
            self._net.meet(line, place.address, place.name)


def _place(known: Acquaintances, node: NodeId) -> Place:
    return Place.of(known[node].place)
