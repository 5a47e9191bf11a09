"""Numbers that grow for ever, as the plain explorer sees them: found and renamed by definition.

It goes by what core/growing.py says of Serial and Ordinal, and shares no code with what the checker
does about them.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from electorate.core import NodeId
from electorate.core.growing import Ordinal, Serial
from tests.check.place import Place


class Family(NamedTuple):
    """Numbers of one name and one owner; an Ordinal has none."""

    name: str
    owner: NodeId | None


Change = Callable[[Family, int], int]


def changed(value: Any, holder: NodeId, change: Change) -> Any:
    """A record with every number in it changed that its type declares."""
    if value is None:
        return None
    kind: Any = type(value)
    hints = _hints(kind)
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    new = {name: _part(fields[name], hints[name], fields, holder, change) for name in fields}
    return kind(**new)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _part(value: Any, hint: Any, beside: Any, holder: NodeId, change: Change) -> Any:
    origin, inside = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (Union, UnionType):
        (kind,) = (each for each in inside if each is not type(None))
        return _part(value, kind, beside, holder, change)
    if origin is Annotated:
        (mark,) = hint.__metadata__
        if isinstance(mark, Ordinal):
            return change(Family(mark.name, None), value)
        assert isinstance(mark, Serial)
        return change(Family(mark.name, holder if mark.of is None else beside[mark.of]), value)
    if origin is tuple and inside[-1:] == (...,):
        return tuple(_part(each, inside[0], value, holder, change) for each in value)
    if origin is tuple:
        pairs = zip(value, inside, strict=True)
        return tuple(_part(each, kind, value, holder, change) for each, kind in pairs)
    return changed(value, holder, change) if isinstance(value, msgspec.Struct) else value


@lru_cache(10_000)
def numbers(value: Any, holder: NodeId) -> tuple[tuple[Family, int], ...]:
    """Every number in a record."""
    found: list[tuple[Family, int]] = []

    def note(family: Family, number: int) -> int:
        found.append((family, number))
        return number

    changed(value, holder, note)
    return tuple(found)


def of_node(place: Place, me: NodeId) -> tuple[tuple[Family, int], ...]:
    """The numbers that a node holds or, while it is down, has saved."""
    node = place.nodes[me]
    return numbers(node.stable if node.state is None else node.state, me)


def largest(place: Place, *nodes: NodeId) -> int:
    """The largest number that one of these nodes holds."""
    return max((n for me in nodes for _, n in of_node(place, me)), default=0)


def rename(place: Place) -> None:
    """Rename the numbers of a place.

    The smallest Ordinal is subtracted from all. A Serial becomes its place among those of its
    owner, if its owner knows the largest of them or will never make another.
    """
    met = {pair for me in place.nodes for pair in of_node(place, me)}
    met |= {pair for mail in place.mail for pair in numbers(mail.message, mail.sender)}
    new: dict[tuple[Family, int], int] = {}
    for family in {family for family, _ in met}:
        known = sorted(n for other, n in met if other == family)
        if family.owner is None:
            new |= {(family, n): n - known[0] for n in known}
        elif knows(place, family.owner, (family, known[-1])):
            new |= {(family, n): at for at, n in enumerate(known)}

    def change(family: Family, number: int) -> int:
        return new.get((family, number), number)

    for me, node in place.nodes.items():
        node.state, node.stable = changed(node.state, me, change), changed(node.stable, me, change)
    mail = (m._replace(message=changed(m.message, m.sender, change)) for m in place.mail)
    place.mail = list(mail)


def knows(place: Place, owner: NodeId, largest_of_all: tuple[Family, int]) -> bool:
    """Whether a node knows the largest of its numbers, or will never make another."""
    node = place.nodes[owner]
    is_gone = node.state is None and node.stable is None
    return is_gone or largest_of_all in of_node(place, owner)
