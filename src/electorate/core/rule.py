"""Rules as data: the constructor parameters of a machine, readable from text.

A machine's `Rules` names every choice that tells one form of the protocol from another, and
the length of every timer, so that each can be switched on any command with `--rule name=value`.
The rules of a machine inside another are nested, and named `inner.guard`.
"""

from collections.abc import Iterable
from typing import Any, Self, get_type_hints

import msgspec

from electorate.core.timing import Span
from electorate.core.value import Value


class Rules(Value):
    """The choices of one machine. A machine without choices uses this as it is."""

    def with_texts(self, assignments: Iterable[str]) -> Self:
        """These rules, changed by texts such as `guard=2T`."""
        changed = self
        for assignment in assignments:
            name, equals, text = assignment.partition("=")
            if not equals:
                raise ValueError(f"rule {assignment!r} has no value: write name=value")
            changed = changed._with(name, text)
        return changed

    def _with(self, name: str, text: str) -> Self:
        outer, dot, inner = name.partition(".")
        nested = getattr(self, outer, None)
        value: Any
        if dot and isinstance(nested, Rules):
            name, value = outer, nested._with(inner, text)
        elif name in self.__struct_fields__ and not isinstance(nested, Rules):
            value = self._read(name, text)
        else:
            known = ", ".join(self.texts()) or "none"
            raise ValueError(f"unknown rule {name!r}; the rules are: {known}")
        return msgspec.structs.replace(self, **{name: value})

    def _read(self, name: str, text: str) -> object:
        kind = get_type_hints(type(self))[name]
        if kind is Span:
            return Span.parse(text)
        try:
            return msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError as error:
            raise ValueError(f"rule {name}={text}: {error}") from None

    def texts(self) -> dict[str, str]:
        """Every rule with its value, as `--rule` takes them."""
        texts: dict[str, str] = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Rules):
                texts |= {f"{name}.{inner}": text for inner, text in value.texts().items()}
            else:
                texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return texts
