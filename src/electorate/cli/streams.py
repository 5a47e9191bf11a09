"""The standard streams of a command, also where they are closed or cannot write what we say."""

import codecs
import os
import sys
from typing import TextIO

STREAMS = {"stdin": 0, "stdout": 1, "stderr": 2}


def prepare() -> None:
    """Have all three streams, and have them take whatever text there is.

    What was closed (`>&-`) would be taken by the next file that is opened, and get what is printed.
    """
    for name, number in STREAMS.items():
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_RDONLY if number == 0 else os.O_WRONLY
            opened = os.open(os.devnull, mode)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w", closefd=False))
    codecs.register_error("electorate.escape", _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="electorate.escape")


def give_up(stream: TextIO) -> None:
    """Nobody takes what is still to be printed: the interpreter must not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """As JSON writes it (\\u03c4), so that what is JSON stays JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end
