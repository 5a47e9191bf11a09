"""What a protocol file can declare and what a script can say: no page leaves any of it out."""

import re

from electorate.core import Machine
from electorate.simulate.command import COMMANDS
from electorate.trace import KINDS
from electorate.trace.setting import WORDS
from tests.docs.page import ROOT

CONTRACT = {"boot", "step", "view", "cautions", "set_timer"}
"""What the page tells elsewhere."""
ASKED = {"form", "promised", "assumed"}
"""What others ask a machine, and no machine overrides."""


def table(page: str, head: str) -> set[str]:
    """Every name in the first column of the table below a head."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"| {head} |")[2]
    rows = re.findall(r"^\| (`.*?`) \|", text.partition("\n\n")[0], re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)", row)}


def test_the_page_on_the_contract_says_when_to_declare_what() -> None:
    names = vars(Machine).keys() | Machine.__annotations__.keys()
    declared = {name for name in names if not name.startswith("_")}
    told = table("architecture.md", "declaration")
    assert declared - CONTRACT - ASKED - told == set()
    assert told - declared == {"Timer"}


def test_the_page_on_scripts_has_every_command() -> None:
    assert table("scripts.md", "command") == COMMANDS.keys() | KINDS.keys()


def test_the_page_on_scripts_has_every_key_of_a_cluster() -> None:
    keys = {"T", "P", "min", "attributes", "graph", "drift", "equal", *WORDS}
    assert keys <= table("scripts.md", "key")
