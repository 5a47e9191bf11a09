"""Claims of one's own: about one row, about two, about a whole run, and about messages.

    electorate check bully --crashes 1 --claim examples/claims.py:NORMAL_NODES_FOLLOW_SOMEBODY
    electorate check bully --crashes 1 --claim examples/claims.py:NOBODY_SWITCHES_AT_WORK
    electorate check bully --crashes 1 --recoveries 1 --claim examples/claims.py:NOBODY_LEADS_TWICE
    electorate simulate bully --seeds 100 --claim examples/claims.py:SILENCE_IN_THE_END

The third breaks. docs/claims.md says what a claim may see.
"""

from typing import NamedTuple

from electorate.claims import Claim, Fold, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Status

# --- one row ---


def normal_nodes_follow_somebody(row: Row) -> Witness | None:
    """A judge returns None where its claim is kept; otherwise it says who breaks it, and how."""
    for node, standing in row.normal():
        if standing.leader is None:
            return Witness((node,), f"{node} is at work without a leader")
    return None


NORMAL_NODES_FOLLOW_SOMEBODY = Claim(
    "normal-nodes-follow-somebody",
    Kind.ALWAYS,
    "a node at work has a leader",
    normal_nodes_follow_somebody,
    premise=Premise("not once was anybody at work", lambda row: any(True for _ in row.normal())),
)

# --- two rows ---


def nobody_switches_at_work(before: Row, after: Row) -> Witness | None:
    """A claim of the kind step is given two rows that follow one another."""
    now = dict(after.live())
    for node, old in before.normal():
        new = now.get(node)
        if new is not None and new.status is Status.NORMAL and new.leader != old.leader:
            return Witness((node,), f"{node} followed {old.leader}, and at once {new.leader}")
    return None


NOBODY_SWITCHES_AT_WORK = Claim(
    "nobody-switches-at-work",
    Kind.STEP,
    "between two leaders a node is in an election",
    nobody_switches_at_work,
)

# --- a whole run ---


class Led(NamedTuple):
    """What is remembered: who leads now, who ever has, and who came to lead again."""

    now: frozenset[NodeId] = frozenset()
    ever: frozenset[NodeId] = frozenset()
    again: frozenset[NodeId] = frozenset()

    def then(self, row: Row) -> "Led":
        """What is remembered once this row has been seen, too."""
        now = frozenset(node for node, standing in row.normal() if standing.leader == node)
        new = now - self.now
        return Led(now, self.ever | now, self.again | (new & self.ever))


def nobody_leads_twice(row: Row, led: Led) -> Witness | None:
    """A claim with a fold is given the row, and what is remembered of the run up to it."""
    if led.again:
        return Witness(tuple(sorted(led.again)), f"{min(led.again)} leads again")
    return None


NOBODY_LEADS_TWICE = Claim(
    "nobody-leads-twice",
    Kind.ALWAYS,
    "who has led and lost it never leads again",
    nobody_leads_twice,
    Fold(Led(), Led.then),
    premise=Premise(
        "not once did anybody lead",
        lambda row: any(standing.leader == node for node, standing in row.normal()),
    ),
)

# --- more than standings ---


def silence_in_the_end(row: Row) -> Witness | None:
    """Messages are shown to claims that ask for them; so are whole states, logs and timers."""
    for sender, to, message in row.messages:
        return Witness((sender, to), f"{type(message).__name__} is on its way to {to}")
    return None


SILENCE_IN_THE_END = Claim(
    "silence-in-the-end",
    Kind.GOAL,
    "once nothing fails any more, nobody has anything left to say",
    silence_in_the_end,
    sights=frozenset({Sight.MESSAGES}),
)
