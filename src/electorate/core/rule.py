"""Rules as data: the constructor parameters of a machine, readable from text.

A machine's `Rules` names every choice that tells one form of the protocol from another, and
the length of every timer, so that each can be switched on any command with `--rule name=value`.
The rules of a machine inside another are nested, and named `inner.guard`.
"""

from collections.abc import Iterable
from typing import Literal, Self, get_args, get_origin, get_type_hints

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
            if name not in self.texts():
                known = ", ".join(self.texts()) or "none"
                raise ValueError(f"unknown rule {name!r}; the rules are: {known}")
            try:
                changed = changed._with(name, text)
            except ValueError as error:
                raise ValueError(f"rule {assignment}: {error}") from None
        return changed

    def _with(self, name: str, text: str) -> Self:
        outer, _, inner = name.partition(".")
        nested = getattr(self, outer)
        value = nested._with(inner, text) if isinstance(nested, Rules) else self._read(name, text)
        return msgspec.structs.replace(self, **{outer: value})

    def _read(self, name: str, text: str) -> object:
        kind = get_type_hints(type(self))[name]
        if kind is Span:
            span = Span.parse(text)
            if min(span.T, span.P) < 0 or (not span.T and not span.P and span.ticks < 0):
                raise ValueError(f"{text!r} is less than no time at all")
            return span
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        if choices and text not in choices:
            raise ValueError(f"must be one of {', '.join(map(str, choices))}")
        return msgspec.convert(text, kind, strict=False)

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
