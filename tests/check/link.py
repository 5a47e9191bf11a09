"""Nodes that write to each other over links that may be cut, and how to look at them."""

from electorate.check.column import Row
from electorate.trace import Connections
from tests.check.probe import Probe

A, B, C = "heard a", "heard b", "heard c"
LETTER = {"1 boot": "send 2 a", "any again": ""}
LETTERS = {
    "1 boot": "send 2 a; set x 1",
    "1 fired x": "send 2 b; set y 1",
    "1 fired y": "send 2 c",
}
LINE = ((1, 2), (2, 3))
DIE = Connections.DIE


def after(probe: Probe, row: Row | None, kind: str, *who: int) -> Row:
    """The row after this move, made as a whole: of a node, or of the link between two."""
    where = who[0] - 1
    if len(who) == 2:
        where = probe.columns.links.index((who[0] - 1, who[1] - 1))
    moves = probe.successors(probe.rows[0] if row is None else row)
    return next(r for m, r in moves if (m.kind, m.where, m.torn) == (kind, where, None))


def ticked(probe: Probe, row: Row, ticks: int = 1) -> Row:
    for _ in range(ticks):
        row = next(r for move, r in probe.successors(row) if move.kind == "tick")
    return row


def on_their_way(probe: Probe, row: Row, sender: int, to: int) -> int:
    column = probe.columns.of_channel[sender - 1, to - 1]
    return len(probe.space.channels.cards[row[column]].value)


def ends_of(probe: Probe, row: Row, node: int) -> set[tuple[str, ...] | None]:
    """What the node may have written in the end, whatever happens from this row on."""
    return {probe.diary(t.after, node) for t in probe.walk(row) if probe.is_end(t.after)}
