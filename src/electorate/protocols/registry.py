"""Every protocol that comes with electorate, by name, written out."""

from typing import Any, NamedTuple

from electorate.core import Machine
from electorate.protocols.bully import Bully
from electorate.protocols.invitation import Invitation


class Entry(NamedTuple):
    """A protocol and the form in which a name means it."""

    machine: type[Machine[Any]]
    form: str = "sound"


REGISTRY: dict[str, Entry] = {
    "bully": Entry(Bully),
    "bully-as-printed": Entry(Bully, form="printed"),
    "invitation": Entry(Invitation),
    "invitation-as-printed": Entry(Invitation, form="printed"),
}
