"""A protocol that runs over another one, whichever is put in: `ThreePhase.over(Bully)`.

What `over` returns is a machine class like any other: it is built from members, timing and rules,
and its rules hold those of the inner machine, named `inner.guard`.
"""

from collections.abc import Hashable, Mapping
from functools import cache
from types import new_class
from typing import Any, ClassVar

import msgspec

from electorate.core.lift import Lift
from electorate.core.machine import Assumption, Machine, S
from electorate.core.member import Members
from electorate.core.rule import Rules
from electorate.core.timing import Timing


class OverRules(Rules):
    """The rules of a machine over another one, and the inner machine's."""

    inner: Rules = Rules()


class Over(Machine[S]):
    """A machine that carries another one inside.

    Its state has the fields `inner` and `stable.inner`, as `Lift` wants them.
    """

    inner_kind: ClassVar[type[Machine[Any]] | None] = None
    """The machine inside; None in a class that can be built only by `over`."""
    outer_kind: ClassVar[type["Over[Any]"]]
    """The class from which `over` made this one."""
    rules_type: type[OverRules] = OverRules
    promises_over: ClassVar[tuple[str, ...]] = ()
    """What it also promises, over a machine that begins by itself (one without `begins_by`)."""
    form_promises_over: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """What a form promises beyond that, over such a machine."""
    assumptions_over: ClassVar[tuple[Assumption, ...]] = ()
    """What it has to assume for that."""

    def __init__(self, members: Members, timing: Timing, rules: Any = None) -> None:
        super().__init__(members, timing, rules)
        if self.inner_kind is None:
            raise ValueError("it runs over another protocol, and nothing says over which")
        self.lift = Lift(self.inner_kind(self.inside(members), timing, self.rules.inner))
        self.lift.declare(self)

    def cautions(self) -> tuple[str, ...]:
        """The cautions of the inner machine."""
        return self.lift.inner.cautions()

    def inside(self, members: Members) -> Members:
        """The members as the inner machine knows them."""
        return members

    def task(self, state: S) -> Hashable:
        return self.lift.task(state)

    @classmethod
    def over(cls, inner: type[Machine[Any]], form: str = "sound") -> "type[Over[S]]":
        """This machine over another inner one, in the named form of that one."""
        return _over(vars(cls).get("outer_kind", cls), inner, form)


@cache
def _over(outer: type[Over[Any]], inner: type[Machine[Any]], form: str) -> type[Over[Any]]:
    """Made once: machines that are built alike must share their types."""
    rules_type = msgspec.defstruct(
        outer.rules_type.__name__,
        [("inner", inner.rules_type, inner.form(form))],
        bases=(outer.rules_type,),
        module=outer.__module__,
        frozen=True,
    )
    forms: Mapping[str, Any] = {
        name: rules_type(**_own(rules)) for name, rules in outer.forms.items()
    }
    begins = not inner.begins_by
    promises = (*outer.promises, *(outer.promises_over if begins else ()))
    more = outer.form_promises_over if begins else {}
    made: type[Over[Any]] = new_class(
        f"{outer.__name__}Over{inner.__name__}",
        (outer,),
        exec_body=lambda body: body.update(
            inner_kind=inner,
            outer_kind=outer,
            rules_type=rules_type,
            forms=forms,
            promises=promises,
            form_promises={form: (*promises, *names) for form, names in more.items()},
            assumptions=(*outer.assumptions, *(outer.assumptions_over if begins else ())),
            strongest=inner.strongest,
            __module__=outer.__module__,
        ),
    )
    return made


def _own(rules: Rules) -> dict[str, Any]:
    """The rules of the outer machine itself."""
    names = set(rules.__struct_fields__) - {"inner"}
    return {name: getattr(rules, name) for name in names}
