"""The runs that come with electorate: scripts by name, such as bully/weakest_starts.

A folder holds the runs of one protocol. `electorate replay NAME` runs one again.
"""

from pathlib import Path

FOLDER = Path(__file__).parent


def run_names() -> list[str]:
    """The name of every run, in order."""
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in _files())


def run_file(name: str) -> Path | None:
    """The script of a run, or None if there is no such run."""
    return FOLDER / f"{name}.txt" if name in run_names() else None


def _files() -> list[Path]:
    return list(FOLDER.glob("*/*.txt"))
