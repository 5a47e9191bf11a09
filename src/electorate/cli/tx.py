"""`electorate tx`: transactions that are not over, and what becomes of them."""

import argparse
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from electorate.cli.error import EXIT_DONE, UsageError
from electorate.errors import CredentialsError, Damaged, Refused, StoreError
from electorate.sync import Node
from electorate.transactions.admin import WARNINGS, NoNode, TransactionStatus, Wrong, ask
from electorate.transactions.config import arguments

NAME = "tx"
SUMMARY = "Run a member that takes part in transactions; see those that are not over."
EXAMPLES = """examples:
  electorate tx serve bank.toml savings          run the member savings of this cluster
  electorate tx list data/savings                what is not over at the node with this data folder
  electorate tx show data/savings atm-9f3a1c20b7de-17
  electorate tx resolve data/savings atm-9f3a1c20b7de-17 --abort --yes

A transaction in doubt has been voted for, and its coordinator has not said what was decided. It
waits: to guess may split it. `resolve` decides it by hand at this one node."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tx`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    serve = actions.add_parser("serve", help="run a member of a cluster")
    serve.add_argument("config", type=Path, metavar="FILE", help="the cluster, as TOML")
    serve.add_argument("name", metavar="NAME", help="which of its members this is")
    serve.add_argument(
        "--record", type=Path, metavar="FOLDER", help="write down there what its machines take"
    )
    for name, told in (
        ("list", "every transaction that is not over"),
        ("show", "one of them: who is asked, what it waits for"),
        ("resolve", "decide one of them by hand"),
    ):
        action = actions.add_parser(name, help=told)
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS)
        action.add_argument("data", type=Path, metavar="FOLDER", help="the node's data folder")
        if name != "list":
            action.add_argument("tx", metavar="TX", help="its name, as `list` prints it")
        if name == "resolve":
            how = action.add_mutually_exclusive_group(required=True)
            for choice, warning in WARNINGS.items():
                how.add_argument(
                    f"--{choice}", dest="how", action="store_const", const=choice, help=warning
                )
            action.add_argument("--yes", action="store_true", help="the warning has been read")
    parser.set_defaults(how=None)


def run(options: argparse.Namespace) -> int:
    """Carry out the command."""
    try:
        match options.action:
            case "serve":
                return _serve(options.config, options.name, options.record)
            case "resolve":
                return _resolve(options)
            case _:
                return _show(options)
    except (*(NoNode, Wrong, Refused, Damaged, StoreError, CredentialsError, ValueError),) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        if error.filename is None:
            raise
        raise UsageError(f"{error.filename}: {error.strerror}") from None


def _serve(config: Path, name: str, record: Path | None) -> int:
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with Node(**arguments(config, name), record=record) as node:
        print(f"{name} takes part; stop it with Ctrl-C", flush=True)
        while node.running and not stopping.wait(0.2):
            pass
    return EXIT_DONE


def _show(options: argparse.Namespace) -> int:
    answer = ask(options.data, {"do": "list"})
    found = msgspec.convert(answer["found"], list[TransactionStatus])
    if options.action == "show":
        found = [status for status in found if status.tx == options.tx]
        if not found and options.tx not in answer["lost"]:
            raise UsageError(f"there is no transaction {options.tx} here")
    if options.json:
        print(msgspec.json.encode({**answer, "found": found}).decode())
    elif options.action == "show":
        _tell(options.tx, found, answer["lost"])
    else:
        _print_table(found, answer["lost"])
    return EXIT_DONE


def _tell(tx: str, found: list[TransactionStatus], lost: dict[str, str]) -> None:
    if tx in lost:
        print(f"{tx}: others count on this node, which {lost[tx]}")
    for status in found:
        print(f"{status.tx}: {status.state}, {status.role}, for {status.seconds:g} s")
        print(f"  coordinator   {status.coordinator}")
        print(f"  participants  {', '.join(status.participants)}")
        print(f"  waits for     {status.waits_for}")
        if status.in_doubt:
            print(f"  asked         {status.asked or 'nobody: no node is elected'}")
        if status.by_hand:
            print(f"  by hand       {status.by_hand}")
        if status.damage:
            print(f"  damaged       {status.damage}")
        for change in status.missing:
            print(f"  missing       {change}")


def _print_table(found: list[TransactionStatus], lost: dict[str, str]) -> None:
    if not found and not lost:
        print("No transaction is open.")
        return
    table = Table()
    for column in ("transaction", "state", "role", "for", "waits for"):
        table.add_column(column)
    for status in found:
        state = "in doubt" if status.in_doubt else status.state
        waits = f"damaged: {status.damage}" if status.damage else status.waits_for
        table.add_row(status.tx, state, status.role, f"{status.seconds:g} s", waits)
    for tx, reason in lost.items():
        table.add_row(tx, "lost", "participant", "-", f"damaged: this node {reason}")
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _resolve(options: argparse.Namespace) -> int:
    known = ask(options.data, {"do": "list"})
    if not any(status["tx"] == options.tx for status in known["found"]):
        raise UsageError(f"there is no transaction {options.tx} here")
    print(f"electorate: warning: {WARNINGS[options.how]}", file=sys.stderr)
    if not options.yes:
        raise UsageError("nothing was done; say --yes if that is what you want")
    question: dict[str, Any] = {"do": "resolve", "tx": options.tx, "how": options.how}
    answer = ask(options.data, question)
    if options.json:
        print(msgspec.json.encode(answer).decode())
    else:
        _tell(options.tx, msgspec.convert(answer["found"], list[TransactionStatus]), {})
    return EXIT_DONE
