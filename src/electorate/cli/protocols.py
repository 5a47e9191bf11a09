"""`electorate protocols`: what there is to run, and what each protocol says about itself."""

import argparse
import ast
import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import fields
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from electorate.claims import CLAIMS
from electorate.cli.error import EXIT_DONE
from electorate.cli.protocol import Protocol, find
from electorate.core import Rules, Turns
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting

NAME = "protocols"
SUMMARY = "List the protocols, or show all that one of them declares."
CARRIES = {"message", "request"}
"""The fields in which a machine hands on what is meant for a machine inside it."""
EXAMPLES = """examples:
  electorate protocols
  electorate protocols bully
  electorate protocols bully --form printed --json
  electorate protocols leadership                # also what its parts say and are asked
  electorate protocols examples/chang_roberts.py:ChangRoberts
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `protocols`."""
    parser.add_argument(
        "protocol", nargs="?", metavar="P", help="show this one: a name, or path.py:Class"
    )
    parser.add_argument("--form", help="a named set of rules, e.g. printed")


def run(options: argparse.Namespace) -> int:
    """Print the registry, or one protocol in full."""
    names = [options.protocol] if options.protocol else list(REGISTRY)
    found = [described(find(name, options.form)) for name in names]
    if options.json:
        claims = {claim.name: {"kind": claim.kind, "text": claim.text} for claim in CLAIMS.values()}
        print(msgspec.json.encode({"protocols": found, "claims": claims}).decode())
    elif options.protocol:
        show(found[0], Console())
    else:
        show_all(found, Console())
    return EXIT_DONE


def described(protocol: Protocol) -> dict[str, Any]:
    """Everything that a protocol declares, as plain data; or a ProtocolError."""
    kind = protocol.kind
    machine = Turns(protocol.machine(Setting(protocol.name, (1, 2, 3)))).machine
    head = inspect.getdoc(sys.modules[kind.__module__]) or ""
    return {
        "name": protocol.name,
        "form": protocol.form,
        "forms": sorted({"sound", *kind.forms}),
        "idea": head.partition("\n")[0],
        "source": paragraph(head, "Source"),
        "needs": paragraph(head, "Needs"),
        "rules": rule_objects(machine.rules),
        "assumptions": list(kind.assumed(protocol.form)),
        "promises": list(machine.promises),
        "strongest": kind.strongest,
        "messages": said_in(machine.messages),
        "requests": said_in(machine.requests),
        "timers": {timer.name: {"periodic": timer.periodic} for timer in machine.timers},
        "uses_views": machine.uses_views,
        "cautions": list(machine.cautions()),
    }


def said_in(kinds: Iterable[type[Any]], prefix: str = "") -> dict[str, str]:
    """What each message or request says; the names of those inside begin with their machine's."""
    found: dict[str, str] = {}
    for kind in kinds:
        inside = [field.type for field in fields(kind) if field.name in CARRIES]
        if kind.__name__.rpartition(".")[2] in CARRIES and inside:
            outer = kind.__name__.rpartition(".")[0]
            found |= said_in(get_args(inside[0]) or inside, f"{prefix}{outer}.")
        else:
            found[prefix + kind.__name__] = " ".join((inspect.getdoc(kind) or "").split())
    return found


def paragraph(head: str, word: str) -> str:
    """What the head of a protocol file says after `word:`, on one line."""
    found = re.search(rf"^{word}: (.+?)(?=\n\n|\n[A-Z]\w*: |\Z)", head, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def rule_objects(rules: Rules, prefix: str = "") -> dict[str, dict[str, Any]]:
    """Each rule with its value, the other values that it could have, and what it is about."""
    kinds, docs, texts = get_type_hints(type(rules)), field_docs(type(rules)), rules.texts()
    objects: dict[str, dict[str, Any]] = {}
    for name in rules.__struct_fields__:
        value = getattr(rules, name)
        if isinstance(value, Rules):
            objects |= rule_objects(value, f"{prefix}{name}.")
        else:
            about = {"choices": choices_of(kinds[name]), "text": docs.get(name, "")}
            objects[prefix + name] = {"value": texts[name], **about}
    return objects


def choices_of(kind: Any) -> list[str]:
    """The values that a rule can have, where they can be listed."""
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    return ["true", "false"] if kind is bool else []


def field_docs(kind: type[Rules]) -> dict[str, str]:
    """The sentence below each field, read from the source, for Python does not keep it."""
    docs: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        try:
            body = ast.parse(dedent(inspect.getsource(owner))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue  # A class that was not written in a file has no source to read.
        statements = body.body if isinstance(body, ast.ClassDef) else []
        for field, below in pairwise(statements):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    docs[name] = " ".join(text.split())
    return docs


def show_all(found: list[dict[str, Any]], console: Console) -> None:
    """One line for each protocol."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("protocol", "form", "strongest", "promises", "assumes", "idea"):
        table.add_column(title, overflow="fold", no_wrap=title == "protocol")
    for about in found:
        row = (
            about["name"],
            about["form"],
            about["strongest"],
            " ".join(about["promises"]),
            "\n".join(about["assumptions"]),
            about["idea"],
        )
        table.add_row(*map(escape, row))
    console.print(table)
    claims = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("claim", "kind", "says"):
        claims.add_column(title)
    for claim in CLAIMS.values():
        claims.add_row(*map(escape, (claim.name, claim.kind, claim.text)))
    console.print("", claims, sep="\n")
    console.print("\n`electorate protocols P` shows rules, messages and timers.", markup=False)


def show(about: dict[str, Any], console: Console) -> None:
    """All about one protocol."""
    timers = (f"{t} (periodic)" if d["periodic"] else t for t, d in about["timers"].items())
    facts = {
        "idea": about["idea"],
        "source": about["source"],
        "needs": about["needs"],
        "form": f"{about['form']} (of {', '.join(about['forms'])})",
        "strongest": f"the {about['strongest']} rank",
        "assumes": ", ".join(about["assumptions"]),
        "promises": "\n".join(map(_promise, about["promises"])),
        "detector": "used" if about["uses_views"] else "not used",
        "timers": ", ".join(timers),
        "mind that": "\n".join(about["cautions"]),
    }
    console.print(about["name"], style="bold", markup=False)
    _print_rows(console, [(name, text) for name, text in facts.items() if text])
    for title, rows in (
        ("messages", list(about["messages"].items())),
        ("requests", list(about["requests"].items())),
        ("rules", [_rule_row(name, rule) for name, rule in about["rules"].items()]),
    ):
        if rows:
            console.print(f"\n{title}", style="bold")
            _print_rows(console, rows)


def _promise(name: str) -> str:
    return f"{name}: {CLAIMS[name].text}" if name in CLAIMS else name


def _rule_row(name: str, rule: dict[str, Any]) -> tuple[str, ...]:
    others = ", ".join(choice for choice in rule["choices"] if choice != rule["value"])
    text = " ".join([rule["text"], f"(or {others})" if others else ""]).strip()
    return name, rule["value"], text


def _print_rows(console: Console, rows: Sequence[tuple[str, ...]]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
    for _ in rows[0]:
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
