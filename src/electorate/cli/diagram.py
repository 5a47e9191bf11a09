"""`electorate diagram`: the state diagram of a protocol, found in all runs of a small model."""

import argparse

import msgspec

from electorate.check.column import ModelError
from electorate.check.stages import Edges, Role, budgets_of, edges_of, first_states, mermaid_of
from electorate.check.start import StartError
from electorate.cli.error import EXIT_DONE, EXIT_UNKNOWN, UsageError
from electorate.cli.protocol import add_protocol_arguments, attributes_of, find
from electorate.trace import Setting

NAME = "diagram"
SUMMARY = "Find the state diagram of a protocol, for each role, and print it as Mermaid."
EXAMPLES = """examples:
  electorate diagram three-phase
  electorate diagram two-phase --role coordinator
  electorate diagram three-phase-as-printed --rule inner.first=1
  electorate diagram bully --json

All runs with one crash, and all with one pause, are searched, every delay being T. A transaction is
shown by how far a node has come, an election by whether a node leads, follows or is at an election;
an arrow names the messages, timers and requests that cause it.
exit code: 0 done, 2 bad usage or input, 3 a bound of the search hid some runs"""

STATES_MAX = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `diagram`."""
    add_protocol_arguments(parser)
    parser.add_argument("--role", choices=[str(role) for role in Role], help="only this one")
    parser.add_argument(
        "--states-max", type=int, default=STATES_MAX, metavar="K", help=f"default {STATES_MAX:,}"
    )


def run(options: argparse.Namespace) -> int:
    """Search, and print a diagram for each role."""
    protocol = find(options.protocol, options.form)
    ids = tuple(range(1, options.nodes + protocol.kind.extra_nodes + 1))
    setting = Setting(
        protocol.spelled(),
        ids,
        tuple(options.rule),
        options.strongest,
        attributes=attributes_of(options.attribute, ids),
        delay_min=1,
    )
    machine = protocol.machine(setting)
    protocol.warn(machine)
    firsts = first_states(machine)
    roles = [role for role in Role if role in firsts and options.role in (None, role)]
    if not roles:
        known = ", ".join(firsts)
        raise UsageError(f"{protocol.name} has no {options.role}; its roles are: {known}")
    try:
        edges, complete = edges_of(machine, setting, options.states_max, budgets_of(machine))
    except (StartError, ModelError) as error:
        raise UsageError(f"{protocol.name}: {error}") from None
    if options.json:
        objects = {role: _objects(edges, role, firsts[role]) for role in roles}
        print(msgspec.json.encode({"complete": complete, "roles": objects}).decode())
    else:
        seen = "all runs" if complete else "those runs that the bounds of the search let through,"
        faults = f"{options.nodes} nodes with one crash, or with one pause"
        for role in roles:
            print(f"%% {protocol.name}, {role}: as found in {seen} of {faults}")
            print(mermaid_of(edges, role, firsts[role]))
    return EXIT_DONE if complete else EXIT_UNKNOWN


def _objects(edges: Edges, role: Role, first: str) -> dict[str, object]:
    mine = sorted(edge for edge in edges if edge.role is role)
    arrows = [
        {"from": edge.before, "to": edge.after, "causes": sorted(edges[edge])} for edge in mine
    ]
    return {"first": first, "edges": arrows}
