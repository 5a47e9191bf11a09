"""The door of a node: whom it lets in."""

import logging

from electorate.leadership.members.acquaintance import Net
from electorate.leadership.members.directory import Directory
from electorate.leadership.members.place import number
from electorate.runtime.frame import Hello

LOST = "%s has lost its memory: its votes do not count until it is replaced"
ANOTHER = (
    "{} is known here by another data folder; for this node to take its place, empty its folder, "
    "start it with join=True, and have a member replace {}"
)

log = logging.getLogger("electorate")


class Door:
    """Lets in whoever has promised what it is known to have promised, and nobody in its place."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._doubted: set[str] = set()

    def begin(self, net: Net) -> None:
        """The network knows who answers where."""
        self._net = net

    def objection(self, hello: Hello) -> str:
        """Why a node is not to be let in; empty if it is."""
        directory, lines = self._directory, self._directory.lines
        line, member, speaker = hello.node, hello.member, lines.speaker(hello.node)
        name = lines.called(line)
        if hello.meant not in (0, directory.number):
            return f"{name} takes {directory.me.name} for one with another data folder"
        known = directory.known.get(member)
        if known is not None and known.line != line:
            return f"{directory.name(member)} and {name} clash: rename one of them"
        if line in lines.awaited and speaker is None:
            is_known = self._net.answers(line, member) and self._has_its_memory(hello)
        elif speaker == member:
            is_known = self._has_its_memory(hello)
        else:
            is_known = line not in lines.awaited and not directory.is_sure_of(speaker)
        return "" if is_known else ANOTHER.format(name, name)

    def recognise(self, hello: Hello) -> None:
        """A node was let in."""
        directory = self._directory
        directory.join(hello.cluster, directory.lines.called(hello.node))
        directory.meet(hello.node, hello.member, hello.store)

    def _has_its_memory(self, hello: Hello) -> bool:
        """Whether it is the memory that is known. Who has joined has a number that shows it."""
        known, _ = self._directory.memory(hello.member)
        name = self._directory.lines.called(hello.node)
        if hello.member != hello.node and hello.member != number(f"{name} {hello.store}"):
            return False
        if known in ("", hello.store):
            return True
        if hello.store not in self._doubted:
            self._doubted.add(hello.store)
            log.error(LOST, name)
        return False
