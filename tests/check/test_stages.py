"""The diagrams of stages on the pages are what nodes do in all runs of a small model.

`pytest --rewrite` writes them anew.
"""

import re
from pathlib import Path

import pytest

from electorate.check.stages import Role, budgets_of, edges_of, first_states, mermaid_of
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting
from tests.script import ROOT

DIAGRAM = re.compile(r"(```mermaid\n)(stateDiagram-v2\n.*?)(```\n)", re.S)
NAMES = ["two-phase", "three-phase", "three-phase-ballots"]
ROLES = (Role.VOTER, Role.COORDINATOR)
"""In the order of the pages."""


@pytest.mark.parametrize("name", NAMES)
def test_the_golden_diagrams_of_stages_are_what_nodes_do(name: str, rewrite: bool) -> None:
    page = Path(ROOT / "docs" / "protocols" / f"{name.replace('-', '_')}.md")
    text = page.read_text(encoding="utf-8")
    found = list(DIAGRAM.finditer(text))
    assert len(found) == len(ROLES), f"{page.name} needs a diagram of stages for each role"
    setting = Setting(name, (1, 2, 3, 4), ("inner.first=1", "acknowledge=never"), delay_min=1)
    machine = setting.machine(*REGISTRY[name])
    edges, complete = edges_of(machine, setting, 100_000, budgets_of(machine))
    assert complete
    firsts = first_states(machine)
    diagrams = [mermaid_of(edges, role, firsts[role]) for role in ROLES]
    if rewrite:
        for old, new in reversed(list(zip(found, diagrams, strict=True))):
            text = text[: old.start(2)] + new + text[old.end(2) :]
        page.write_text(text, encoding="utf-8")
    else:
        assert [old[2] for old in found] == diagrams
