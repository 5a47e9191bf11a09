"""Watches all the time who leads, and that never two do."""

from collections.abc import Callable, Iterable

from electorate.core import NodeId
from electorate.leadership.election import ElectionInstance, KnownLeader, QuorumElection
from electorate.leadership.groups import GroupElection
from electorate.leadership.term import Tenure
from electorate.testing.member import SimulatedMember
from electorate.testing.story import ClusterStory


class TwoLeaders(AssertionError):
    """Two terms of one election, or of one group, were held at once, or tokens do not rise."""


class Watch:
    """Called after each thing that happens at a node."""

    def __init__(
        self,
        now: Callable[[], float],
        story: ClusterStory,
        up: Callable[[], Iterable[SimulatedMember]],
    ) -> None:
        self.changed_at = 0.0
        """When some node last came to believe in another leader."""
        self.clocks_keep_their_word = True
        """Whether clocks are within their bounds: otherwise two may lead, and only tokens help."""
        self._now = now
        self._story = story
        self._up = up
        self._seen: dict[ElectionInstance, KnownLeader] = {}
        self._terms: dict[str, Tenure] = {}
        self._group_terms: dict[tuple[str, NodeId], Tenure] = {}

    def look(self, member: SimulatedMember) -> None:
        """See what has changed at this node."""
        for election in member.elections.all():
            if election.seen != self._seen.get(election, KnownLeader()):
                self._tell(member, election)
            term = election.term
            if term is not None and term.remaining() > 0 and self.clocks_keep_their_word:
                if isinstance(election, GroupElection):
                    self._judge_group(member, election, term)
                elif isinstance(election, QuorumElection):
                    self._judge(member, election, term)

    def _tell(self, member: SimulatedMember, election: ElectionInstance) -> None:
        was, now, me = self._seen.get(election, KnownLeader()), election.seen, member.elections.me
        self._seen[election] = now
        self.changed_at = self._now()
        name = member.name
        if was.leader == me:
            self._story.tell(f"{name} does not lead {election.name} any more (term {was.token})")
        if now.leader == me:
            self._story.tell(f"{name} leads {election.name} (term {now.token})")
        elif now.leader is not None:
            leader = member.elections.directory.name(now.leader)
            self._story.tell(f"{name} follows {leader} in {election.name} (term {now.token})")

    def _judge(self, member: SimulatedMember, election: QuorumElection, term: Tenure) -> None:
        last = self._terms.setdefault(election.name, term)
        if term is not last and term.token <= last.token:
            raise TwoLeaders(f"term {term.token} of {election.name} came after term {last.token}")
        self._terms[election.name] = term
        for other in self._up():
            held = other.elections.by_quorum.get(election.name)
            if other is not member and held is not None and _is_certain(held.term):
                both = f"{member.name} and {other.name}"
                raise TwoLeaders(f"{both} lead {election.name} at once, by {term} and {held.term}")

    def _judge_group(self, member: SimulatedMember, election: GroupElection, term: Tenure) -> None:
        """Each side of a partition may have its leader; no group has two."""
        name = member.name
        key = (election.name, member.elections.me)
        last = self._group_terms.setdefault(key, term)
        if term is not last and term.token <= last.token:
            raise TwoLeaders(f"{name} has led group {last.token} before group {term.token}")
        self._group_terms[key] = term
        for other in self._up():
            held = other.elections.groups.elections.get(election.name)
            if other is member or held is None or held.group != election.group:
                continue
            if _is_certain(held.term):
                both = f"{name} and {other.name}"
                raise TwoLeaders(f"{both} lead one group of {election.name} at once")


def _is_certain(term: Tenure | None) -> bool:
    return term is not None and term.remaining() > 0
