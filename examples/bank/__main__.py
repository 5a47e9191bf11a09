"""Money in three databases, moved by clients while processes are killed.

python -m examples.bank --kills 60
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, UsageError
from electorate.cli.main import OneLineParser, exit_code
from electorate.cli.supervisor import any_end_is_ctrl_c
from electorate.errors import Refused
from examples.bank.crew import Stuck
from examples.bank.isolation import Tried, anomalies
from examples.bank.naive import Case, show
from examples.bank.place import Kind
from examples.bank.run import Day, Plan
from examples.bank.run import run as run_day
from examples.bank.server import NoServer

SUMMARY = "Move money between three databases while everybody is killed, and count it."
EXAMPLES = """examples:
  python -m examples.bank                   three SQLite files, 50 withdrawals, 10 kills
  python -m examples.bank --postgres        the same on three PostgreSQL databases of its own
  python -m examples.bank --kills 230 --commits 1000 --customers 20
  python -m examples.bank --no-transaction  what happens without transactions
  python -m examples.bank --anomalies --postgres
      what databases let through though each of them is serializable

A withdrawal, after the lecture notes "ACID Transactions" of Carnegie Mellon University:
  1. savings -= 100   2. checking += 100   3. moneymkt -= 300   4. checking += 300
  5. verify: checking > 350   6. checking -= 350   7. commit   8. dispense 350

exit code: 0 no money is lost or made, 1 some is, or an anomaly was let through, 2 bad usage or
input"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it as the command line says."""
    options = _parser().parse_args(arguments)
    return exit_code(lambda: run(options))


def _parser() -> argparse.ArgumentParser:
    parser = OneLineParser(
        prog="python -m examples.bank",
        description=SUMMARY,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    usual = Plan()
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL server for it")
    parser.add_argument("--no-transaction", action="store_true", help="do each step by itself")
    parser.add_argument(
        "--anomalies", action="store_true", help="weave two transactions over two databases"
    )
    for name, told in (
        ("--commits", "withdrawals, at least"),
        ("--kills", "processes to kill"),
        ("--clients", "at the same time"),
        ("--customers", "with an account each"),
        ("--seed", "decides who withdraws and who dies when"),
    ):
        default = getattr(usual, name.removeprefix("--"))
        help_text = f"{told}; {default}"
        parser.add_argument(name, type=_count, default=default, metavar="N", help=help_text)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 1_000_000:
        raise argparse.ArgumentTypeError(f"must be 0 to 1000000, not {text}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Run it."""
    kind: Kind = "postgres" if options.postgres else "sqlite"
    if options.customers < 2 or options.clients < 1:
        raise UsageError("there must be at least 2 customers and 1 client")
    if options.anomalies and options.no_transaction:
        raise UsageError("--anomalies is about transactions: leave out --no-transaction")
    with any_end_is_ctrl_c(), tempfile.TemporaryDirectory(prefix="electorate-") as spare:
        try:
            if options.anomalies:
                return _show_anomalies(list(anomalies(kind, Path(spare))), options.json)
            if options.no_transaction:
                return _show_cases(show(kind, Path(spare)), options.json)
            plan = Plan(
                kind,
                options.commits,
                options.kills,
                options.clients,
                options.customers,
                options.seed,
            )
            say = _silent if options.json or not sys.stderr.isatty() else _say
            day = run_day(plan, Path(spare), say)
        except (NoServer, Refused) as error:
            raise UsageError(str(error)) from None
        except Stuck as error:
            print(f"electorate: {error}", file=sys.stderr)
            return EXIT_BROKEN
    if options.json:
        print(msgspec.json.encode(_told(day)).decode())
    else:
        _show_day(day)
    return EXIT_DONE if day.sound else EXIT_BROKEN


def _say(text: str) -> None:
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    """Nobody looks."""


def _told(day: Day) -> dict[str, Any]:
    steps = {str(step): count for step, count in day.steps.items()}
    return {**msgspec.to_builtins(day), "steps": steps, "sound": day.sound}


def _show_day(day: Day) -> None:
    books, counts = day.books, day.counts
    kind = "PostgreSQL" if day.plan.kind == "postgres" else "SQLite"
    print(f"Three {kind} databases, {day.plan.clients} clients, {day.seconds:.0f} s:")
    killed = sum(day.kills.values())
    where = ", ".join(f"step {step}: {count}" for step, count in day.steps.items())
    print(
        f"  killed      {killed} process{'' if killed == 1 else 'es'}"
        + (f" ({where})" if where else "")
    )
    print(f"  committed   {books.commits}; the machine jammed {books.returned} times")
    print(f"  aborted     {counts.get('aborted', 0)}, and by a failed verify {counts['refused']}")
    print(f"  money       {books.initial:,} - {books.dispensed:,} dispensed = {books.left:,} left")
    for point in day.missed:
        print(f"  not killed  {point}: it did not come there in time")
    for flaw in books.flaws:
        print(f"  WRONG       {flaw}")
    if day.sound:
        seen = counts["audits"]
        audits = f"what {seen} audits saw is serializable" if seen else "no audit looked on"
        print(f"No money is lost or made, nothing is left prepared, {audits}.")


def _show_cases(cases: list[Case], as_json: bool) -> int:
    if as_json:
        print(msgspec.json.encode({"cases": cases}).decode())
    else:
        table = Table(title="without a transaction: a crash, and then everything once more")
        columns = ("crash after", "then", "lost for good", "savings", "checking", "moneymkt")
        for column in columns:
            table.add_column(column, justify="left" if column == "then" else "right")
        for case in cases:
            wrong = [f"{amount:+d}" if amount else "right" for amount in case.wrong.values()]
            table.add_row(str(case.step), case.verdict, str(case.lost_for_good), *wrong)
        Console(width=None if sys.stdout.isatty() else 100).print(table)
    broken = any(case.lost or any(case.wrong.values()) for case in cases)
    return EXIT_BROKEN if broken else EXIT_DONE


def _show_anomalies(found: list[Tried], as_json: bool) -> int:
    if as_json:
        told = [{**msgspec.to_builtins(each), "anomaly": each.is_anomaly} for each in found]
        print(msgspec.json.encode({"tried": told}).decode())
    else:
        for each in found:
            print(f"{each.story}; reads {each.reads}")
            print("".join(f"  {line}\n" for line in each.told), end="")
            if each.refused:
                print(f"  REFUSED   {each.refused}")
            for flaw in each.flaws:
                print(f"  {'ANOMALY' if each.is_anomaly else 'so far':<9} {flaw}")
        through = sum(each.is_anomaly for each in found)
        print(f"{through} of {len(found)} were let through, though each database is serializable.")
    return EXIT_BROKEN if any(each.is_anomaly for each in found) else EXIT_DONE


if __name__ == "__main__":
    raise SystemExit(main())
