"""Every protocol that comes with electorate, by name, written out."""

from typing import Any, NamedTuple

from electorate.core import Machine
from electorate.protocols.bully import Bully
from electorate.protocols.bully_rpc import BullyRpc
from electorate.protocols.bully_textbook import BullyTextbook


class Entry(NamedTuple):
    """A protocol and the form in which a name means it."""

    machine: type[Machine[Any]]
    form: str = "sound"


REGISTRY: dict[str, Entry] = {
    "bully": Entry(Bully),
    "bully-as-printed": Entry(Bully, form="printed"),
    "bully-rpc": Entry(BullyRpc),
    "bully-rpc-as-printed": Entry(BullyRpc, form="printed"),
    "bully-textbook": Entry(BullyTextbook),
    "bully-textbook-as-printed": Entry(BullyTextbook, form="printed"),
}
