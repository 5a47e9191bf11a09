"""What a machine could remember outside its states, watched so that it remembers nothing.

All nodes share one machine: whatever it kept would reach other nodes without a message, and
outlive crashes without a disk.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from electorate.core.machine import Machine


class Memory:
    """The attributes of a machine, of its classes, and of the objects that it holds."""

    def __init__(self, machine: Machine[Any]) -> None:
        self._owners: list[object] = []
        self._find(machine)
        self._known = [
            (len(vars(owner)), {name: _still(vars(owner)[name]) for name in _names(vars(owner))})
            for owner in self._owners
        ]

    def has_changed(self) -> bool:
        """Whether any attribute is not what it was; what Python keeps for itself does not count."""
        for owner, (count, known) in zip(self._owners, self._known, strict=True):
            now = vars(owner)
            if len(now) != count and _names(now) != known.keys():
                return True
            for name, value in known.items():
                found = now.get(name, self)
                if found is not value and _still(found) != value:
                    return True
        return False

    def _find(self, thing: object) -> None:
        if any(owner is thing for owner in self._owners):
            return
        self._owners.append(thing)
        kinds = type(thing).__mro__ if isinstance(thing, Machine) else ()
        self._owners += [kind for kind in kinds if issubclass(kind, Machine)]
        for value in vars(thing).values():
            if hasattr(value, "__dict__") and not (
                callable(value) or isinstance(value, ModuleType)
            ):
                self._find(value)


def _names(attributes: Mapping[str, object]) -> set[str]:
    return {name for name in attributes if name[:2] != "__"}


def _still(value: object) -> object:
    """The value, or a copy if it is a container that could change under our eyes."""
    if isinstance(value, dict):
        return {key: _still(inside) for key, inside in value.items()}
    if isinstance(value, list | set):
        return [_still(inside) for inside in value]
    return value
