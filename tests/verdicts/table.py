"""The reviewed table: a line for every command, with what it finds."""

from tests.verdicts.ask import Answer
from tests.verdicts.plan import FOLDER

FILE = FOLDER / "table.txt"
HEAD = """\
# What the checker finds, one command on each line. `make verdicts` writes it anew and shows what
# has changed; whoever changes it says why. Numbers of moves are those of the shortest run.
"""
ARROW = " => "

Table = dict[str, Answer]


def read() -> Table:
    """The table as it was reviewed; nothing if there is none yet."""
    if not FILE.is_file():
        return {}
    lines = FILE.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(ARROW) for line in lines if line and not line.startswith("#"))
    return {command: Answer.parse(found) for command, found in pairs}


def text(table: Table) -> str:
    """The whole file."""
    lines = (f"{command}{ARROW}{found}\n" for command, found in sorted(table.items()))
    return HEAD + "\n" + "".join(lines)
