"""`electorate`: the sub-commands, and how each of them ends.

Exit code 0 = holds or done, 1 = a claim is broken, 2 = bad usage or input, 3 = unknown.
"""

import argparse
import errno
import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

from electorate import __version__
from electorate.cli.error import EXIT_DONE, EXIT_UNKNOWN, EXIT_USAGE, UsageError
from electorate.cli.streams import give_up, prepare
from electorate.core import ProtocolError

COMMANDS = (
    "up",
    "check",
    "simulate",
    "costs",
    "dossier",
    "timeouts",
    "replay",
    "lecture",
    "protocols",
    "diagram",
    "graph",
    "node",
    "tx",
    "certs",
)
"""Each is a module of its own in this folder."""
INTERRUPTED = "electorate: interrupted"


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one clear line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where to read on."""
        self.exit(EXIT_USAGE, f"{self.prog}: {message}; see {self.prog} --help\n")


def parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line, with these commands."""
    top = OneLineParser(prog="electorate", description="Leader election, simulated and checked.")
    top.add_argument("--version", action="version", version=f"electorate {__version__}")
    subparsers = top.add_subparsers(metavar="COMMAND", required=True, parser_class=OneLineParser)
    for name in commands:
        command = importlib.import_module(f"electorate.cli.{name}")
        added = subparsers.add_parser(
            command.NAME,
            help=command.SUMMARY,
            description=command.SUMMARY,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(added)
        json_help = getattr(command, "JSON_HELP", "print one JSON object on stdout")
        added.add_argument("--json", action="store_true", help=json_help)
        added.set_defaults(run=command.run)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    prepare()
    words = sys.argv[1:] if arguments is None else list(arguments)
    # A command does not load what only the others need: a node is up in half the time.
    meant = [name for name in COMMANDS if name in words[:1]]

    try:
        options = parser(meant or COMMANDS).parse_args(words)
    except SystemExit as said:  # It was a call for help, or bad usage: that is printed.
        code = EXIT_USAGE if said.code else EXIT_DONE
        raise SystemExit(exit_code(lambda: code)) from None
    except BrokenPipeError:
        return exit_code(lambda: EXIT_UNKNOWN)
    return exit_code(lambda: options.run(options))


def exit_code(run: Callable[[], int]) -> int:
    """Run something and turn every expected failure into one line."""
    code, told = _ended(run)
    try:
        if told:
            print(told, file=sys.stderr)
    except OSError:
        code = EXIT_UNKNOWN if code == EXIT_DONE else code
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            give_up(stream)
    return code


def _ended(run: Callable[[], int]) -> tuple[int, str]:
    """How it ends: the exit code, and what is to be said about that."""
    try:
        code = run()
        sys.stdout.flush()
        return code, ""
    except (UsageError, ProtocolError) as error:
        return EXIT_USAGE, f"electorate: {error}"
    except KeyboardInterrupt:
        return EXIT_UNKNOWN, INTERRUPTED
    except BrokenPipeError:  # Nobody reads what we print.
        return EXIT_UNKNOWN, ""
    except OSError as error:
        return EXIT_USAGE, f"electorate: {error.strerror or error}{_advice(error)}"
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # Rich ends so.
            return EXIT_UNKNOWN, ""
        # No command ends so by itself, and what a given file ends with is no verdict.
        ended = f"a file that it was given ended the program (exit {stop.code!r})"
        return EXIT_USAGE, f"electorate: {ended}"
    except Exception:
        # Python's own exit code for this is 1, which would say that a claim is broken.
        fault = "electorate: a fault in it, or in a file that it was given"
        return EXIT_UNKNOWN, f"{traceback.format_exc()}{fault}"


def _advice(error: OSError) -> str:
    """What to do about it."""
    return ": raise the limit (ulimit -n)" if error.errno == errno.EMFILE else ""


if __name__ == "__main__":
    raise SystemExit(main())
