"""What scripts and commands name as `path.py:NAME` or `module:NAME`: protocols and claims."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


class SourceError(ValueError):
    """A file or module that cannot be used: told in one line."""


def loaded(source: str, what: str) -> ModuleType:
    """The module in a file, or of that name; `what` is what the caller looks for in it."""
    return _file(source, what) if source.endswith(".py") else _module(source)


_files: dict[Path, tuple[bytes, ModuleType]] = {}
"""Files that have been loaded, each with what was in it."""


def _file(source: str, what: str) -> ModuleType:
    """The module in a file; the same as before if the file is the same.

    A file that was loaded twice would have two types of everything, and states of the one would be
    strangers to the other.
    """
    path = Path(source)
    if not path.is_file():
        raise SourceError(f"no {what} file {source}")
    content, known = path.read_bytes(), _files.get(path.resolve())
    if known is not None and known[0] == content:
        return known[1]
    module = _execute(path, source)
    _files[path.resolve()] = content, module
    return module


def _execute(path: Path, source: str) -> ModuleType:
    name = f"electorate_protocol_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SourceError(f"{source} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SourceError(failure(f"{source} fails to load", error)) from error
    return module


def _module(source: str) -> ModuleType:
    try:
        return importlib.import_module(source)
    except (Exception, SystemExit) as error:
        raise SourceError(failure(f"module {source} cannot be imported", error)) from error


def failure(what: str, error: BaseException) -> str:
    """An error in somebody else's file, in one line."""
    return f"{what}: {type(error).__name__}: {' '.join(str(error).split())}"
