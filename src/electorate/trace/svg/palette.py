"""Colours that people with any kind of sight can tell apart, as far as there are so many.

Leaders have pale ones, for bands with dark text on them; messages strong ones, for thin lines on
white paper. Whatever a colour says is also said by a text or a shape.
"""

from collections.abc import Iterable
from zlib import crc32

from electorate.core import NodeId, Stage

INK = "#1d2430"
SOFT = "#6b7280"
GRID = "#d5d9e0"
INSTANT = "#eef1f6"
UNKNOWN = "#e7e7e7"
ALARM = "#b3001b"

ROLES = {"ink": INK, "alarm": ALARM, "paper": "#ffffff", "none": "none"}
"""What signs call their colours."""

LEADERS = (
    "#8fbbe8",
    "#f2a67f",
    "#7fd1b3",
    "#f0de8a",
    "#f7b3c8",
    "#c3d15c",
    "#a9e2f5",
    "#c4b0e3",
    "#c9c08b",
    "#d9b99b",
    "#9fb4c0",
    "#d8a3c4",
)
STAGES = {
    Stage.WORKING: "#ffffff",
    Stage.UNCERTAIN: "#f0de8a",
    Stage.COMMITTABLE: "#c8e6b0",
    Stage.ABORTABLE: "#f7cdb8",
    Stage.COMMITTED: "#7fd1b3",
    Stage.ABORTED: "#f2a67f",
}
"""How far a node has come with a transaction."""
MESSAGES = (
    "#00788c",
    "#0060a8",
    "#00805c",
    "#a13b8c",
    "#8a6a00",
    "#3b2a91",
    "#7c1d3f",
    "#c64600",
)


def leader_colours(nodes: Iterable[NodeId]) -> dict[NodeId, str]:
    """One colour for each node."""
    return {node: LEADERS[n % len(LEADERS)] for n, node in enumerate(sorted(nodes))}


def message_colours(kinds: Iterable[str]) -> dict[str, str]:
    """One colour for each kind of message, the same in most diagrams that have it."""
    colours: dict[str, str] = {}
    for kind in sorted(set(kinds)):
        first = crc32(kind.encode())
        wanted = [MESSAGES[(first + n) % len(MESSAGES)] for n in range(len(MESSAGES))]
        free = (colour for colour in wanted if colour not in colours.values())
        colours[kind] = next(free, wanted[0])
    return colours
