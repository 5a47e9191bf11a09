"""Finding a protocol: by registry name, entry point, `module:Class` or `path.py:Class`."""

import argparse
import difflib
import re
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, NamedTuple

from electorate.claims import CLAIMS
from electorate.cli.error import UsageError
from electorate.core import Ensemble, Machine, NodeId, Over, Rules, Topic
from electorate.protocols.registry import INSIDE, REGISTRY
from electorate.trace import Setting, Storage
from electorate.trace.setting import NODES_MAX, Links, graph_of
from electorate.trace.source import SourceError, failure, loaded

GROUP = "electorate.protocols"
NODES_HELP = "default 3; a coordinator that takes no part itself is one more"
OVER = "-over-"
"""Between two names, as in `mandate-over-bully`."""


class Protocol(NamedTuple):
    """A protocol as it was named to a command."""

    name: str
    kind: type[Machine[Any]]
    form: str

    def spelled(self) -> str:
        """The name that scripts use: it finds this protocol in this form again."""
        if self.form == _default_form(self.name):
            return self.name
        return f"{self.name}/{self.form}"

    def rules(self, assignments: list[str]) -> Rules:
        """The rules of this form, changed by `--rule` arguments."""
        try:
            return self.kind.form(self.form).with_texts(assignments)
        except ValueError as error:
            raise UsageError(f"{self.name}: {error}") from None

    def verify_that_it_begins_by_itself(self, machine: Machine[Any]) -> None:
        """A machine that waits to be asked would wait for ever if nobody can ask."""
        waits = self._waits_for(machine)
        if waits is None:
            return
        check = f"`electorate check {self.name} --asks 1`"
        advice = f"{check} searches what happens if somebody does"
        if Topic.DECISIONS in machine.tells:
            advice = f"`electorate tx serve` runs transactions, {check} searches one"
        elif isinstance(machine, Over) and machine.begins_by == machine.lift.requests:
            advice = f"run it over an election, as in {self.name}{OVER}bully"
        raise UsageError(f"{waits}, and nobody can here: {advice}")

    def verify_that_somebody_asks(self, machine: Machine[Any], asks: int) -> None:
        """If nobody asks for anything, promises would be kept by doing nothing."""
        waits = self._waits_for(machine)
        if waits is not None and not asks:
            raise UsageError(
                f"{waits}, and nobody does: give --asks 1 or more, or name with --claim "
                "what is to be judged all the same"
            )

    def _waits_for(self, machine: Machine[Any]) -> str | None:
        """The request that everything begins with, if there is one, in words for the user."""
        kinds = machine.begins_by
        if isinstance(machine, Over) and kinds == machine.lift.requests:
            kinds = machine.lift.inner.begins_by
        elif isinstance(machine, Ensemble):
            kinds = machine.lifts[machine.focus].inner.begins_by
        words = " or ".join(request.__name__ for request in kinds)
        return f"{self.name} does nothing before somebody asks for {words}" if words else None

    def warn(self, machine: Machine[Any]) -> None:
        """Print on stderr what is easily overlooked about these rules: it is no error."""
        for caution in machine.cautions():
            print(f"electorate: mind that in {self.name} {caution}", file=sys.stderr)

    def machine(self, setting: Setting) -> Machine[Any]:
        """The machine for a setting."""
        if issubclass(self.kind, Over) and self.kind.inner_kind is None:
            raise UsageError(
                f"{self.name} runs over another protocol: say over which, as in "
                f"{self.name}{OVER}bully"
            )
        self.rules(list(setting.rules))
        try:
            return setting.machine(self.kind, self.form)
        except ValueError as error:
            raise UsageError(f"{self.name}: {error}") from None
        except Exception as error:
            raise _failed(f"{self.name} cannot be built", error) from error


def find(name: str, form: str | None = None) -> Protocol:
    """The protocol of that name (`name/form` names a form, too), or a UsageError."""
    if form is None and "/" in name:
        stem, _, last = name.rpartition("/")
        if stem in REGISTRY or ":" in stem or OVER in stem:
            name, form = stem, last
    if name in REGISTRY:
        entry = REGISTRY[name]
        return _in_form(name, entry.machine, form or entry.form)
    outer, over, inner = name.partition(OVER)
    if over and (outer in REGISTRY or ":" in outer):
        within = Protocol(inner, INSIDE[inner], "sound") if inner in INSIDE else find(inner)
        return _in_form(name, _over(find(outer), within), form or _default_form(name))
    for installed in entry_points(group=GROUP, name=name):
        try:
            loaded = installed.load()
        except Exception as error:
            raise _failed(f"{installed.value} cannot be loaded", error) from error
        return _in_form(name, _machine_class(name, loaded), form or "sound")
    source, colon, class_name = name.rpartition(":")
    if not colon:
        if name.endswith(".py"):
            raise UsageError(f"{name}: name the class too, as in {name}:Class")
        near = difflib.get_close_matches(name, REGISTRY, 1)
        hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(REGISTRY)
        raise UsageError(f"no protocol {name!r}: {hint} (or give path.py:Class)")
    module = _load(source)
    if not hasattr(module, class_name):
        raise UsageError(f"{source} has no class {class_name!r}")
    return _in_form(name, _machine_class(name, getattr(module, class_name)), form or "sound")


def _default_form(name: str) -> str:
    """The form that a name means by itself."""
    outer = name.partition(OVER)[0]
    return REGISTRY[outer].form if outer in REGISTRY else "sound"


def _over(outer: Protocol, inner: Protocol) -> type[Machine[Any]]:
    if not issubclass(outer.kind, Over):
        raise UsageError(f"{outer.name} does not run over another protocol")
    return outer.kind.over(inner.kind, inner.form)


def _in_form(name: str, kind: type[Machine[Any]], form: str) -> Protocol:
    try:
        kind.form(form)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Protocol(name, kind, form)


def _machine_class(name: str, found: object) -> type[Machine[Any]]:
    if not (isinstance(found, type) and issubclass(found, Machine)):
        raise UsageError(f"{name} is not a subclass of electorate.core.Machine")
    missing = sorted(found.__abstractmethods__)
    if missing:
        raise UsageError(f"{name} does not define {', '.join(missing)}")
    if not hasattr(found, "state_type"):
        raise UsageError(f"{name} does not declare its state_type")
    return found


def _load(source: str) -> ModuleType:
    try:
        return loaded(source, "protocol")
    except SourceError as error:
        raise UsageError(str(error)) from error


def _failed(what: str, error: BaseException) -> UsageError:
    return UsageError(failure(what, error))


def add_protocol_arguments(parser: argparse.ArgumentParser, unless: str = "") -> None:
    """Add the arguments of every command about one protocol; `unless`: why it may be missing."""
    add_name_argument(parser, unless)
    parser.add_argument("--nodes", type=node_count, default=3, metavar="N", help=NODES_HELP)
    add_rule_arguments(parser)


def add_name_argument(parser: argparse.ArgumentParser, unless: str = "") -> None:
    """Add the argument for the protocol itself."""
    help_ = ", ".join(
        ["a name from `protocols`", "or path.py:Class", *([unless] if unless else [])]
    )
    parser.add_argument("protocol", nargs="?" if unless else None, metavar="P", help=help_)


def add_form_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose a form of the protocol."""
    parser.add_argument("--form", help="a named set of rules, e.g. printed")
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change one rule; may be repeated",
    )


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose a form, and say which rank is stronger."""
    add_form_arguments(parser)
    parser.add_argument(
        "--strongest",
        choices=("lowest", "highest"),
        help="which rank wins; default: the protocol's",
    )
    parser.add_argument(
        "--attribute",
        action="append",
        default=[],
        type=_attribute,
        metavar="ID=VALUE",
        help="rank this node by this number before its id (0 if not given); may be repeated",
    )


def _attribute(text: str) -> tuple[NodeId, int]:
    found = re.fullmatch(r"(\d{1,9})=([+-]?\d{1,9})", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"must be ID=VALUE, two whole numbers, not {text}")
    return int(found[1]), int(found[2])


def attributes_of(given: Sequence[tuple[NodeId, int]], ids: Sequence[NodeId]) -> tuple[int, ...]:
    """The attributes of these nodes, as a setting has them; none if no `--attribute` was given."""
    attributes = dict(given)
    strangers = sorted(set(attributes) - set(ids))
    if strangers:
        raise UsageError(f"--attribute names {strangers[0]}, which is not a node")
    if len(attributes) != len(given):
        raise UsageError("two --attribute arguments are about the same node")
    return tuple(attributes.get(node, 0) for node in ids) if attributes else ()


def add_equal_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for nodes that a comparison cannot tell apart."""
    parser.add_argument(
        "--equal",
        type=ids_given,
        default=(),
        metavar="IDS",
        help="drop unique ids: these nodes compare as equal, 1,2; messages still tell them apart",
    )


def ids_given(text: str) -> tuple[int, ...]:
    """Some nodes, as in `1,2,3`."""
    words = text.split(",")
    if not all(word.isdecimal() and len(word) < 10 for word in words):
        raise argparse.ArgumentTypeError(f"must be ids with commas between, not {text}")
    return tuple(sorted({int(word) for word in words}))


def add_claim_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for the claims to judge."""
    parser.add_argument(
        "--claim",
        action="append",
        metavar="NAME",
        help=f"{', '.join(CLAIMS)} (`protocols` says what each means), or path.py:NAME for one of "
        "your own; may be repeated; default: the claims that the protocol promises",
    )


def add_graph_argument(parser: argparse._ArgumentGroup) -> None:
    """Add the argument for links."""
    parser.add_argument(
        "--graph", metavar="G", help="path:4, cycle:4 or star:4 nodes, or a list of links: 1-2,2-3"
    )


def add_storage_argument(parser: argparse._ArgumentGroup) -> None:
    """Add the argument for what survives a crash."""
    parser.add_argument(
        "--storage",
        choices=list(Storage),
        default=Storage.KEPT,
        help="lost: a node that comes back knows nothing, as if another had its id; default kept",
    )


def graph_given(text: str | None, nodes: int) -> tuple[int, Links | None]:
    """Add the arguments for the number of nodes, and the links if not all have one."""
    if text is None:
        return nodes, None
    try:
        count, links = graph_of(text)
    except ValueError as error:
        raise UsageError(f"--graph {text}: {error}") from None
    return count or nodes, links


def node_count(text: str) -> int:
    """A number of nodes that a command can work with."""
    if not text.isdecimal() or not 1 <= int(text) <= NODES_MAX:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from 1 to {NODES_MAX}, not {text}"
        )
    return int(text)
