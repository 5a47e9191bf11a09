"""Orders to step down, to be judged: what they may end, and what they may not."""

from collections.abc import Iterator

from electorate.claims import Claim, Kind, Premise, Row, Sight, Witness
from electorate.core import NodeId, Status, Topic
from electorate.protocols.mandate.message import Resign

Given = tuple[NodeId, Resign]


def orders(row: Row) -> Iterator[Given]:
    """Who is told to give up which term, by a message that is on its way."""
    for _, to, said in row.messages:
        inner = getattr(said, "message", said)  # As a part of an ensemble it is wrapped.
        if isinstance(inner, Resign):
            yield to, inner


def an_order_ends_only_the_term_it_means(before: Row, row: Row) -> Witness | None:
    """Whoever gives up its office when it is told to was told to give up that very term."""
    left = [*orders(before)]
    for given in orders(row):
        if given in left:
            left.remove(given)
    told = dict(left)
    now = dict(row.live())
    for node, standing in before.live():
        in_office = standing.leader == node and standing.status is Status.NORMAL
        gives_up = in_office and node in now and now[node].status is Status.REORGANIZATION
        if gives_up and node in told and told[node].epoch != standing.token:
            text = f"{node} gives up token {standing.token}, and was told to give up "
            return Witness((node,), f"{text}{told[node].epoch}")
    return None


ORDERED = Claim(
    "ordered",
    Kind.STEP,
    "an order ends no term but the one that it means",
    an_order_ends_only_the_term_it_means,
    sights=frozenset({Sight.MESSAGES}),
    premise=Premise("not once was an order on its way", lambda row: any(True for _ in orders(row))),
    about=frozenset({Topic.TERMS}),
)
