"""Looks on all the time: who leads when, and that never two do."""

from collections.abc import Callable, Iterable

from electorate.core import NodeId
from electorate.leadership.groups import GroupOffice
from electorate.leadership.office import Office, Seat, Seen
from electorate.leadership.term import Tenure
from electorate.testing.member import SimulatedMember
from electorate.testing.story import ClusterStory


class TwoLeaders(AssertionError):
    """Two terms of one election, or of one group, were held at once, or tokens do not rise."""


class Watch:
    """Called after everything that happens at a node."""

    def __init__(
        self,
        now: Callable[[], float],
        story: ClusterStory,
        up: Callable[[], Iterable[SimulatedMember]],
    ) -> None:
        self.changed_at = 0.0
        """When some node has last changed its mind about who leads."""
        self.clocks_keep_their_word = True
        """Otherwise two may lead, and only the tokens tell who is late."""
        self._now = now
        self._story = story
        self._up = up
        self._seen: dict[Seat, Seen] = {}
        self._terms: dict[str, Tenure] = {}
        self._group_terms: dict[tuple[str, NodeId], Tenure] = {}

    def look(self, member: SimulatedMember) -> None:
        """See what has changed at this node."""
        for office in member.offices.all():
            if office.seen != self._seen.get(office, Seen()):
                self._tell(member, office)
            term = office.term
            if term is not None and term.remaining() > 0 and self.clocks_keep_their_word:
                if isinstance(office, GroupOffice):
                    self._judge_group(member, office, term)
                elif isinstance(office, Office):
                    self._judge(member, office, term)

    def _tell(self, member: SimulatedMember, office: Seat) -> None:
        was, now, me = self._seen.get(office, Seen()), office.seen, member.offices.me
        self._seen[office] = now
        self.changed_at = self._now()
        name = member.name
        if was.leader == me:
            self._story.tell(f"{name} does not lead {office.name} any more (term {was.token})")
        if now.leader == me:
            self._story.tell(f"{name} leads {office.name} (term {now.token})")
        elif now.leader is not None:
            leader = member.offices.directory.name(now.leader)
            self._story.tell(f"{name} follows {leader} in {office.name} (term {now.token})")

    def _judge(self, member: SimulatedMember, office: Office, term: Tenure) -> None:
        last = self._terms.setdefault(office.name, term)
        if term is not last and term.token <= last.token:
            raise TwoLeaders(f"term {term.token} of {office.name} came after term {last.token}")
        self._terms[office.name] = term
        for other in self._up():
            held = other.offices.offices.get(office.name)
            if other is not member and held is not None and _is_certain(held.term):
                both = f"{member.name} and {other.name}"
                raise TwoLeaders(f"{both} lead {office.name} at once, by {term} and {held.term}")

    def _judge_group(self, member: SimulatedMember, office: GroupOffice, term: Tenure) -> None:
        """Each side of a partition may have its leader; no group has two."""
        name = member.name
        key = (office.name, member.offices.me)
        last = self._group_terms.setdefault(key, term)
        if term is not last and term.token <= last.token:
            raise TwoLeaders(f"{name} has led group {last.token} before group {term.token}")
        self._group_terms[key] = term
        for other in self._up():
            held = other.offices.groups.offices.get(office.name)
            if other is member or held is None or held.group != office.group:
                continue
            if _is_certain(held.term):
                both = f"{name} and {other.name}"
                raise TwoLeaders(f"{both} lead one group of {office.name} at once")


def _is_certain(term: Tenure | None) -> bool:
    return term is not None and term.remaining() > 0
