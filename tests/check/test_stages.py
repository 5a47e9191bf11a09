"""The diagrams of stages on the pages are what nodes do in all runs of a small model.

`pytest --rewrite` writes them anew.
"""

import re
from pathlib import Path

import pytest

from electorate.check import Budget, Model
from electorate.check.limit import Limits
from electorate.check.search import Search
from electorate.check.world import Move, World
from electorate.core import Decision, NodeId, Stage, text_of
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting
from tests.script import ROOT

DIAGRAM = re.compile(r"(## Stages\n.*?```mermaid\n)(.*?)(```\n)", re.S)
NAMES = ["two-phase", "three-phase", "three-phase-ballots"]

Edges = dict[tuple[str, str], set[str]]


def cause_of(world: World, row: tuple[int, ...], move: Move) -> str:
    """What a move brings to its node, by the name of its kind."""
    if move.kind == "deliver":
        message = world.channels.cards[row[move.where]].value[move.what].message
        return type(message).__name__
    return text_of(move.what)


def edges_of(name: str, budget: Budget, found: Edges) -> None:
    """Every change of a voter's stage, with what causes it."""
    setting = Setting(name, (1, 2, 3, 4), ("inner.first=1", "acknowledge=never"), delay_min=1)
    machine = setting.machine(*REGISTRY[name])
    search = Search(machine, Model(setting, budget), [], Limits(100_000))
    assert search.run(lambda progress: None)
    world = search.world

    def stage(row: tuple[int, ...], node: NodeId) -> Stage | None:
        view = world.locals.cards[row[world.ids.index(node)]].standing
        return view.state if isinstance(view, Decision) and not view.coordinates else None

    for row in search.rows:
        for move, after in world.successors(row):
            for node in world.ids:
                old, new = stage(row, node), stage(after, node)
                if old is not None and new is not None and old is not new:
                    found.setdefault((old, new), set()).add(cause_of(world, row, move))


def diagram_of(edges: Edges) -> str:
    order = [str(stage) for stage in Stage]
    lines = [
        f"    {old} --> {new}: {', '.join(sorted(causes))}"
        for (old, new), causes in sorted(
            edges.items(), key=lambda edge: (order.index(edge[0][0]), order.index(edge[0][1]))
        )
    ]
    return "\n".join(["stateDiagram-v2", "    [*] --> working", *lines, ""])


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_diagram_of_stages_is_what_voters_do(name: str, rewrite: bool) -> None:
    page = Path(ROOT / "docs" / "protocols" / f"{name.replace('-', '_')}.md")
    text = page.read_text(encoding="utf-8")
    found = DIAGRAM.search(text)
    assert found, f"{page.name} has no diagram of stages"
    edges: Edges = {}
    for budget in (Budget(asks=1, crashes=1), Budget(asks=1, pauses=1)):
        edges_of(name, budget, edges)
    diagram = diagram_of(edges)
    if rewrite:
        page.write_text(text.replace(found[0], found[1] + diagram + found[3]), encoding="utf-8")
    else:
        assert found[2] == diagram
