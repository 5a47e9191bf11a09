"""Style as a unit test: what neither the formatter nor the linter can say about this repository."""

import ast
import importlib
import inspect
import io
import pkgutil
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from electorate.core import Machine
from electorate.protocols.registry import INSIDE, REGISTRY
from electorate.runs import run_names

SPREAD = re.MULTILINE | re.DOTALL
ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
PACKAGE = SOURCES / "electorate"

FUNCTION_LINES_MAX = 60
PURE_LAYERS = ("core", "protocols", "claims")
EMPTY_NAMES = {"utils", "helpers", "common", "base", "manager"}

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
PATH = re.compile(r"(?<![\w/.-])(?:tests|src|docs|examples)/(?:[\w./*<>-]*[\w/*>])?")
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:home|root|work|Users)/")


def test_functions_stay_short() -> None:
    expect_none(
        f"Split these functions, which are longer than {FUNCTION_LINES_MAX} lines",
        (
            f"{name(file)}:{node.lineno} {node.name}: {lines} lines"
            for file in modules()
            for node in ast.walk(ast.parse(read(file)))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
        ),
    )


def test_every_module_starts_with_a_docstring() -> None:
    expect_none(
        "Give these modules a head that says what they are",
        (name(file) for file in modules() if not head(file)),
    )


def test_every_protocol_names_its_source_and_its_needs() -> None:
    expect_none(
        "Name these in the head of the protocol",
        (
            f"{name(file)}: {word}"
            for file in protocols()
            for word in ("Source:", "Needs:")
            if not re.search(rf"^{word} \S", head(file), re.MULTILINE)
        ),
    )


def test_every_machine_in_the_folder_of_protocols_has_a_name() -> None:
    known = {each.machine for each in REGISTRY.values()}
    parts = {part.kind for each in known for part in getattr(each, "parts", {}).values()}
    named = {base for each in known | parts for base in each.__mro__}
    expect_none(
        "Name these in the registry",
        (
            f"{each.__module__}: {each.__name__}"
            for each in machines("protocols")
            if each not in named and each not in INSIDE.values()
        ),
    )


def test_core_has_no_machine_of_its_own() -> None:
    expect_none(
        "These are protocols, not the contract",
        (f"{each.__module__}: {each.__name__}" for each in machines("core")),
    )


def machines(folder: str) -> Iterator[type[Machine[Any]]]:
    """Every class in a folder that can be run, whatever it is put over."""
    package = importlib.import_module(f"electorate.{folder}")
    for found in pkgutil.walk_packages(package.__path__, f"electorate.{folder}."):
        for each in vars(importlib.import_module(found.name)).values():
            is_machine = isinstance(each, type) and issubclass(each, Machine)
            if is_machine and each.__module__ == found.name and not inspect.isabstract(each):
                yield each


def test_every_protocol_has_golden_scripts() -> None:
    folders = [ROOT / "src" / "electorate" / "runs" / protocol(file) for file in protocols()]
    expect_none(
        "Write at least one golden script (*.txt) in these folders",
        (name(folder) for folder in folders if not any(folder.glob("*.txt"))),
    )


def test_every_protocol_has_a_page_in_the_docs() -> None:
    pages = [ROOT / "docs" / "protocols" / f"{protocol(file)}.md" for file in protocols()]
    expect_none("Write these pages", (name(page) for page in pages if not page.is_file()))


def test_every_path_that_is_mentioned_exists() -> None:
    expect_none(
        "These paths are mentioned and do not exist",
        (
            f"{name(file)}:{line}: {path}"
            for file in repository_files()
            for line, text in prose(file)
            for path in PATH.findall(text)
            if not exists(path)
        ),
    )


def test_every_run_that_is_mentioned_exists() -> None:
    folders = "|".join(sorted({run.partition("/")[0] for run in run_names()}))
    mentioned = re.compile(rf"(?<![\w/.-])(?:`|run |replay )((?:{folders})/\w+)(?![\w/.*-])")
    expect_none(
        "These runs are mentioned and do not exist",
        (
            f"{name(file)}:{line}: {run}"
            for file in repository_files()
            for line, text in prose(file)
            for run in mentioned.findall(text)
            if run not in run_names() and not (ROOT / "src" / "electorate" / run).exists()
        ),
    )


def test_every_module_is_where_a_newcomer_looks_for_it() -> None:
    """The page on the architecture names every module, under the folder in which it lies."""
    page = read(ROOT / "docs" / "architecture.md").partition("## The modules")[2]
    rooms = {
        found[1]: found[0] for found in re.finditer(r"^\*\*(\w+)\*\*.*?(?=^\*\*|\Z)", page, SPREAD)
    }
    everywhere = {protocol(file) for file in protocols()}  # Every protocol has many files.
    expect_none(
        "Say in docs/architecture.md what these are for",
        (
            name(file)
            for file in modules()
            if file.stem not in ("__init__", "__main__")
            and file.parts[-2] != "electorate"
            and file.stem not in everywhere
            and not re.search(rf"`(?:\w+/)*{file.stem}`", rooms.get(room(file), ""))
        ),
    )


def room(file: Path) -> str:
    """The folder of electorate in which a module lies, also if deeper."""
    return file.relative_to(ROOT / "src" / "electorate").parts[0]


def test_file_names_say_what_is_inside() -> None:
    expect_none(
        "Name these files after the thing that they define",
        (
            name(file)
            for file in repository_files()
            if any(
                EMPTY_NAMES & set(re.split(r"[^a-z]+", part.lower()))
                for part in file.relative_to(ROOT).parts
            )
        ),
    )


def test_the_source_leaves_nothing_for_later() -> None:
    expect_none(
        "Do these, or drop them",
        (
            f"{name(file)}:{number}: {line.strip()}"
            for file in modules()
            for number, line in enumerate(read(file).splitlines(), start=1)
            if re.search(r"\b(?:TODO|FIXME|XXX)\b", line)
        ),
    )


def test_no_file_names_a_path_of_one_machine() -> None:
    expect_none(
        "Make these paths relative to the repository",
        (
            f"{name(file)}:{number}: {line.strip()}"
            for file in repository_files()
            for number, line in enumerate(read(file).splitlines(), start=1)
            if MACHINE_PATH.search(line)
        ),
    )


def test_a_class_name_means_one_thing() -> None:
    """Protocols may share names: each is read alone. `sync` has the names that it mirrors."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for file in modules():
        if room(file) not in ("protocols", "sync.py"):
            for node in ast.parse(read(file)).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(name(file))
    expect_none(
        "Rename all of these but one, so that each name says which of them it is",
        (f"{each}: {' and '.join(files)}" for each, files in homes.items() if len(files) > 1),
    )


def test_a_node_is_never_called_a_peer() -> None:
    expect_none(
        "Say node",
        (
            f"{name(file)}:{token.start[0]}: {token.string}"
            for file in modules()
            for token in tokens(file)
            if token.type == tokenize.NAME
            and {"peer", "peers"} & set(re.findall(r"[a-z]+", snake_case(token.string)))
        ),
    )


def test_pure_layers_import_nothing_but_the_standard_library_and_msgspec() -> None:
    allowed = sys.stdlib_module_names | {"electorate", "msgspec"}
    expect_none(
        "These imports do not belong in a pure layer",
        (
            f"{name(file)}:{line}: {module}"
            for file in pure_modules()
            for line, module in imports(file)
            if module.split(".")[0] not in allowed
        ),
    )


def test_pure_layers_neither_print_nor_open_files() -> None:
    expect_none(
        "These calls do not belong in a pure layer",
        (
            f"{name(file)}:{node.lineno}: {node.func.id}"
            for file in pure_modules()
            for node in ast.walk(ast.parse(read(file)))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"breakpoint", "input", "open", "print"}
        ),
    )


def test_constraints_are_names_and_versions_only() -> None:
    lines = read(ROOT / "constraints.txt").splitlines()
    expect_none(
        "Write these lines of constraints.txt as name==version",
        (line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line)),
    )


def expect_none(advice: str, offenders: Iterable[str]) -> None:
    found = list(offenders)
    if found:
        pytest.fail("\n  ".join([f"{advice}:", *found]), pytrace=False)


def modules() -> list[Path]:
    found = sorted(PACKAGE.rglob("*.py"))
    assert found, f"no Python file under {PACKAGE}"
    return found


def pure_modules() -> list[Path]:
    return [file for file in modules() if file.relative_to(PACKAGE).parts[0] in PURE_LAYERS]


def protocols() -> list[Path]:
    """Every protocol that has a name: the file of its machine."""
    named = {each.machine.__module__.replace(".", "/") for each in REGISTRY.values()}
    return [
        file for file in modules() if file.relative_to(SOURCES).with_suffix("").as_posix() in named
    ]


def protocol(file: Path) -> str:
    """The name that a protocol's golden folder and page have."""
    return file.parent.name if file.stem == "machine" else file.stem


def repository_files() -> Iterator[Path]:
    """All files that are written by hand; hidden folders other than .ci hold none."""
    folders = [ROOT / folder for folder in (".ci", "docs", "examples", "src", "tests")]
    for file in sorted([*ROOT.iterdir(), *(file for f in folders for file in f.rglob("*"))]):
        # In a worktree .git is a file, and git writes it.
        if file.is_file() and not {".git", "__pycache__"} & {*file.parts} and is_text(file):
            yield file


def is_text(file: Path) -> bool:
    return b"\0" not in file.read_bytes()[:1024]


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def head(file: Path) -> str:
    return ast.get_docstring(ast.parse(read(file))) or ""


def tokens(file: Path) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(read(file)).readline)


def imports(file: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(read(file))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""


def prose(file: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines that speak to a reader: pages, comments and docstrings."""
    if file.suffix == ".py":
        yield from ((t.start[0], t.string) for t in tokens(file) if t.type == tokenize.COMMENT)
        for node in ast.walk(ast.parse(read(file))):
            if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node, clean=False)):
                yield from enumerate(text.splitlines(), start=node.body[0].lineno)
    elif file.suffix == ".md":
        yield from enumerate(read(file).splitlines(), start=1)
    elif file.suffix == ".toml" or file.name == "Makefile" or file.parent.name == ".ci":
        comments = (line.partition("#")[2] for line in read(file).splitlines())
        yield from enumerate(comments, start=1)


def exists(path: str) -> bool:
    """Whether a path leads to a file; a placeholder such as <protocol> stands for any name."""
    return any(ROOT.glob(re.sub(r"<[^>]*>", "*", path)))


def snake_case(identifier: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier).lower()
