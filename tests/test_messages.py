"""No message that decides anything is defined outside protocols/.

What nodes say to each other outside the machines is looked for where it is read: every call that
makes values of bytes, in all modules that a node in operation loads. Each class that can come of
one is on a list here with its fields and with why it decides nothing. A new message, a new field,
or a new place that reads bytes is on no list. What this cannot see is a hand-written parser of
bytes.
"""

import ast
import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import electorate
from electorate.core import Machine, Message, Request
from tests.test_tidy import expect_none

FOLDERS = ("core", "leadership", "runtime", "testing", "transactions")
"""Where services and what carries them are; modules beside these folders are looked at, too."""
READERS = {"Decoder", "convert", "decode", "load", "loads"}
LIBRARIES = {"json", "marshal", "msgspec", "pickle"}

NOT_FROM_NODES = {
    "core.codec.Codec.__init__: declared_messages(machine)": "messages of machines",
    "core.codec.Codec.__init__: machine.stable_type": "a node's own store",
    "core.codec.Codec.__init__: machine.state_type": "a state is never sent",
    "core.rule.Rules._read: kind": "a rule on the command line",
    "dossier._read: Dossier": "a file that people write",
    "leadership.directory.Directory._saved: OlderRecord": "a node's own store",
    "leadership.elections.Elections.begin: int": "a node's own store",
    "leadership.register.Register._saved: MandateStable[Stable]": "a node's own store",
    "transactions.admin.AdminSocket._serve: anything": "a question of a person at an admin door",
    "transactions.admin.ask: anything": "the answer to that",
    "transactions.config.Config.read: cls": "a file that people write",
    "transactions.letter: LoggedTransaction": "a node's own store",
    "transactions.sqlite: PreparedWork": "the database of a node",
}
"""Calls that make values of what no other node has sent, and whence they have it."""

DECIDES_NOTHING = {
    # Handshake and beat.
    "runtime.frame.Hello(cluster, node, to, store, incarnation, process, sent, member, meant, "
    "cluster_name, saves)": "the handshake: who speaks, with which memory and in which life; "
    "who is let in, and whose votes count, Known says",
    "runtime.frame.Welcome(member)": "the handshake: who answers",
    "runtime.frame.Refusal(reason, taken, news)": "the handshake: why there is no connection; "
    "what `news` holds is on these lists by itself",
    "runtime.frame.Beat(hears, sent, at, echo, held, saves)": "a sign of life for the detector, "
    "which may be wrong; times, by which the log says that a network is slow; a count by which a "
    "restored copy is known, as admission decides; and "
    "a count that shows a loss, after which a node may begin anew, as after a crash",
    "runtime.frame.Ping()": "whether the connection of a node is still the one that it speaks on: "
    "only one is listened to, and a lost one loses what any broken connection does",
    "runtime.frame.Pong()": "the answer to that",
    # Envelopes.
    "runtime.frame.Letter(said, before, counted)": "an envelope, and a count like that of Beat",
    "runtime.frame.Said(to, number, body)": "an envelope: for whom it is",
    "transactions.recovery.RecoveryEnvelope(edition, body)": "an envelope: in which election it "
    "was sent",
    "transactions.letter.TransactionEnvelope(parts, body)": "an envelope: among whom the machine "
    "inside decides, so that an instance can be made of it where there is none; by which log that "
    "boots, and what it answers, the machine says",
    "transactions.letter.Parties(coordinator, participants)": "the members of that instance; "
    "whoever else speaks is a stranger, and the machine hears none",
    "transactions.letter.Party(node, store, incarnation, name)": "an address: for which memory a "
    "number stands. It says as whom a node speaks, and for whom an envelope is, as the handshake "
    "does for elections",
    # The payload of an application.
    "transactions.letter.Work(tx, number, statement, values, named)": "a statement, or the name of "
    "one, to be done before anybody is asked to vote",
    "transactions.letter.Worked(tx, number, answer)": "the rows of that statement",
    "transactions.resource.Answer(rows, count)": "rows",
    "transactions.letter.Failed(tx, number, reason)": "the error of a statement, or of all: the "
    "application raises it, and does not begin to commit",
    "transactions.letter.Leave(tx)": "the statement to roll back: the application has not begun "
    "to commit and never will; who has voted does not heed it, who hears nothing does so in time",
    "transactions.letter.Word(tx, reason)": "the words beside a no: the machine says no itself",
    "transactions.letter.PromiseLost(tx, reason)": "damage, shown to people: no machine hears of "
    "it",
}
"""What nodes say to each other outside the machines, and why it decides nothing."""

NO_MESSAGES = {
    "core.codec.Nothing": "stands in where a machine has no message, and is never sent",
    "core.ensemble.Ensemble": "machines side by side",
    "core.machine.Machine": "the contract",
    "core.lift.Over": "a machine over another",
    "core.value.Message": "the contract",
    "core.value.Request": "the contract",
}
"""Machines, messages and requests that are not in protocols/."""


class Site(NamedTuple):
    """A call that makes values of bytes or of plain data."""

    module: str
    within: str
    """The classes and functions around it, each with a dot before it."""
    type_text: str
    """The type that it makes, as it is written; `anything` if none is."""

    def __str__(self) -> str:
        return f"{self.module}{self.within}: {self.type_text}"


def test_whatever_reads_bytes_is_known() -> None:
    found = Counter(str(site) for site in found_sites())
    expect_none(
        "Have these make records, of a class that can be looked up in the module, or say in "
        "NOT_FROM_NODES where the bytes come from",
        sorted({str(site) for site in found_sites() if unresolved(site)} - NOT_FROM_NODES.keys()),
    )
    expect_none(
        "Strike these from NOT_FROM_NODES: nothing reads so", sorted(NOT_FROM_NODES.keys() - found)
    )
    expect_none(
        "Each of these was reviewed once, and is there more often",
        (site for site in NOT_FROM_NODES if found[site] > 1),
    )


def test_nothing_that_decides_is_said_outside_protocols() -> None:
    found = set(said())
    known = DECIDES_NOTHING.keys()
    expect_none(
        "Nodes say this to each other outside protocols/. Let a machine say it, or, if it decides "
        "nothing, put it on the list DECIDES_NOTHING with the reason",
        sorted(found - known),
    )
    expect_none("Strike these from the lists: nobody says so any more", sorted(known - found))


def test_machines_and_what_they_say_are_in_protocols() -> None:
    found = {
        f"{short(each.__module__)}.{each.__name__}"
        for name in modules()
        for each in vars(importlib.import_module(name)).values()
        if inspect.isclass(each) and issubclass(each, Machine | Message | Request)
        if each.__module__ == name
    }
    expect_none("Move these to protocols/", sorted(found - NO_MESSAGES.keys()))
    assert not NO_MESSAGES.keys() - found


class Demotion(msgspec.Struct, tag=True):
    """You do not lead any more."""

    office: str


class Envelope(msgspec.Struct, tag=True):
    """It holds something else."""

    inside: list[Demotion | None]


@pytest.mark.parametrize(
    "text",
    [
        "_decoder = msgspec.msgpack.Decoder(Envelope | Nothing)",
        "def read(body): return msgspec.json.decode(body, type=Envelope)",
        "class Reader:\n    decoder = msgspec.msgpack.Decoder(type=Envelope)",
    ],
)
def test_a_new_message_is_found_wherever_it_is_read(text: str) -> None:
    (site,) = sites("leadership.new", text)
    namespace = {"Envelope": Envelope, "Nothing": int}
    found = {described(each) for each in structs(eval(site.type_text, namespace))}
    assert found == {
        "tests.test_messages.Envelope(inside)",
        "tests.test_messages.Demotion(office)",
    }


@pytest.mark.parametrize(
    "text",
    [
        "def read(body): return msgspec.msgpack.decode(body)",
        "def read(body): return json.loads(body)",
        "def read(body): return msgspec.msgpack.decode(body, type=dict[str, int])",
        "from msgspec.msgpack import Decoder",
        "from msgspec import msgpack",
        "import pickle as p",
    ],
)
def test_what_reads_anything_is_found(text: str) -> None:
    (site,) = sites("leadership.new", text)
    assert unresolved(site)


# --- where bytes are read ---


def modules() -> Iterator[str]:
    """All modules of these folders, and those beside them."""
    for found in pkgutil.walk_packages(electorate.__path__, "electorate."):
        _, first, *_ = found.name.split(".")
        is_beside = found.name.count(".") == 1 and not found.ispkg
        if first in FOLDERS or is_beside:
            yield found.name


def source(module: str) -> str:
    return Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")


def found_sites() -> Iterator[Site]:
    return (site for name in modules() for site in sites(name, source(name)))


def sites(module: str, text: str) -> Iterator[Site]:
    """Every call in this source that makes values of bytes; an import that would hide one, too."""
    return (Site(short(module), *each) for each in read_in(ast.parse(text), ""))


def read_in(tree: ast.AST, within: str) -> Iterator[tuple[str, str]]:
    """Around which calls is what, and which types they make."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr) as called) if attr in READERS:
                if ast.unparse(called).partition(".")[0] in LIBRARIES:
                    yield within, type_text(attr, node)
            case ast.ImportFrom(module=library, names=names) if library is not None:
                is_hidden = library.partition(".")[0] in LIBRARIES
                if is_hidden and {each.name for each in names} & {*READERS, "msgpack", "json"}:
                    yield within, ast.unparse(node)
            case ast.Import(names=names):
                for each in names:
                    if each.asname and each.name.partition(".")[0] in LIBRARIES:
                        yield within, ast.unparse(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from read_in(node, f"{within}.{node.name}")
        else:
            yield from read_in(node, within)


def type_text(reader: str, call: ast.Call) -> str:
    """The type that a call makes, as it is written."""
    named = [each.value for each in call.keywords if each.arg == "type"]
    place = {"Decoder": 0, "convert": 1}.get(reader)
    given = call.args[place : place + 1] if place is not None else []
    types = [*named, *given]
    return ast.unparse(types[0]) if types else "anything"


def unresolved(site: Site) -> bool:
    """Whether this test cannot say which records come of a call, or it makes something else."""
    try:
        made = msgspec.inspect.type_info(looked_up(site))
    except (NameError, SyntaxError, AttributeError, ModuleNotFoundError):
        return True
    kinds = made.types if isinstance(made, msgspec.inspect.UnionType) else (made,)
    return not all(isinstance(each, msgspec.inspect.StructType) for each in kinds)


def looked_up(site: Site) -> Any:
    return eval(site.type_text, vars(importlib.import_module(f"electorate.{site.module}")))


# --- what comes of them ---


def said() -> Iterator[str]:
    """Every class outside protocols/ that another node can have sent."""
    for site in found_sites():
        if str(site) not in NOT_FROM_NODES and not unresolved(site):
            for kind in structs(looked_up(site)):
                if not kind.__module__.startswith("electorate.protocols."):
                    yield described(kind)


def structs(kind: Any) -> set[type[Any]]:
    """All records in values of this type."""
    found: set[type[Any]] = set()
    waiting = [msgspec.inspect.type_info(kind)]
    while waiting:
        each = waiting.pop()
        if isinstance(each, msgspec.inspect.StructType):
            if each.cls in found:
                continue
            found.add(each.cls)
            waiting += [field.type for field in each.fields]
        else:
            waiting += parts(each)
    return found


def parts(kind: msgspec.inspect.Type) -> Iterable[msgspec.inspect.Type]:
    """The types that this one is made of."""
    for name in kind.__struct_fields__:
        value = getattr(kind, name)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, msgspec.inspect.Type):
                yield each


def described(kind: type[Any]) -> str:
    return f"{short(kind.__module__)}.{kind.__name__}({', '.join(kind.__struct_fields__)})"


def short(module: str) -> str:
    return module.removeprefix("electorate.")
