"""What five documents say and ask about elections, item by item, with the commands that answer.

Each document is a TOML file in this folder. `electorate lecture` reads them, and runs the commands.
"""

from electorate.lectures.document import (
    Document,
    LectureError,
    LectureItem,
    LectureRun,
    RuleChange,
    documents,
    item_of,
    run_of,
)

__all__ = [
    "Document",
    "LectureError",
    "LectureItem",
    "LectureRun",
    "RuleChange",
    "documents",
    "item_of",
    "run_of",
]
