"""Every protocol that comes with electorate, by name, written out."""

from typing import Any, NamedTuple

from electorate.core import Machine
from electorate.protocols.bully import Bully
from electorate.protocols.park import Park
from electorate.protocols.park_printed import ParkLiteral, ParkPrinted


class Entry(NamedTuple):
    """A protocol and the form in which a name means it."""

    machine: type[Machine[Any]]
    form: str = "sound"


REGISTRY: dict[str, Entry] = {
    "bully": Entry(Bully),
    "bully-as-printed": Entry(Bully, form="printed"),
    "park": Entry(Park),
    "park-as-printed": Entry(ParkPrinted, form="printed"),
    "park-literal": Entry(ParkLiteral, form="literal"),
}
