"""The reviewed table: a line for every row that is asked about, with its answer."""

from electorate.cli.dossier import ARROW, RowAnswer
from tests.verdicts.plan import FOLDER

FILE = FOLDER / "table.txt"
STATES_MAX = 1_000_000
"""Where a search ends unless its row says otherwise, so that no answer depends on the machine."""
HEAD = f"""\
# What the checker finds. Before the arrow are a protocol and its options, after it every claim and
# how many states there are. A line is repeated by
#   electorate check LINE --keep-going --states-max {STATES_MAX} --claim A1 --claim A2 ...
# with one goal (A2, P2, C4, C5) at a time. Three nodes unless it says otherwise. Moves are those of
# the shortest run. The most nodes are left out where they have more than {STATES_MAX:,} states.
# `make verdicts` writes this file anew and shows what has changed; whoever commits that says why.
"""

Table = dict[str, RowAnswer]


def read() -> Table:
    """The table as it was reviewed; empty if there is none yet."""
    return parse(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


def parse(text: str) -> Table:
    """Read what `line` writes."""
    lines = (line for line in text.splitlines() if ARROW in line)
    pairs = (line.split(ARROW) for line in lines)
    return {row: RowAnswer.parse(found) for row, found in pairs}


def line(row: str, found: RowAnswer) -> str:
    """One line of the table."""
    return f"{row}{ARROW}{found}\n"


def text(table: Table) -> str:
    """The whole file; a gap wherever another protocol begins."""
    parts = [HEAD]
    protocol = ""
    for row, found in sorted(table.items()):
        parts += ["\n"] if row.split()[0] != protocol else []
        protocol = row.split()[0]
        parts.append(line(row, found))
    return "".join(parts)
