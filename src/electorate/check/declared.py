"""Is a number compared as the machine's types say? Every turn is taken once more to find out.

The second time the numbers are others, and they are watched: a number that is held against a
constant, or against one of another family, or calculated with otherwise than by counting, tells.
Wherever a machine looks at more than it declares, nothing is renamed (check/renaming.py).
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from electorate.check.interned import Local
from electorate.check.model import Model
from electorate.check.node_step import NodeSteps, Outcome, Sends, Torn
from electorate.claims import CLAIMS, Claim
from electorate.core import Event, Machine, NodeId, Received, Standing, State, text_of
from electorate.core.growing import Change, Family, numbers_in, renumbered
from electorate.core.turn import TrustedTurns, Turn

SHIFT, STRIDE = 1009, 3
"""The numbers of the first family in a turn become 1009, 1012, 1015 …, those of the second 2018,
2021 …: no two families agree, and no number follows another."""


class NotAsDeclared(Exception):
    """The machine makes a difference between rows that differ in their numbers alone."""


class Watched:
    """A number that is compared with others of its family, and tells if anything else is done.

    It is no int: what Python does with those without asking them, as a slice does, it cannot do
    with this.
    """

    __slots__ = ("family", "size")

    def __init__(self, family: Family, size: int) -> None:
        self.family = family
        self.size = size

    def _beside(self, other: object) -> int:
        """The size of a number that this one may be held against."""
        if isinstance(other, Watched) and other.family == self.family:
            return other.size
        return int(self._tell(f"is held against {other!r}"))

    def _tell(self, what: str) -> Any:
        kind = "An ordinal" if self.family.owner is None else "A serial number"
        raise NotAsDeclared(f"{kind} {what}")

    def __hash__(self) -> int:
        # Whether a set of constants has it in it, it would not be asked.
        return int(self._tell("is looked up in a set or a dict"))

    def __eq__(self, other: object) -> bool:
        return other is not None and self.size == self._beside(other)

    def __lt__(self, other: object) -> bool:
        return self.size < self._beside(other)

    def __le__(self, other: object) -> bool:
        return self.size <= self._beside(other)

    def __gt__(self, other: object) -> bool:
        return self.size > self._beside(other)

    def __ge__(self, other: object) -> bool:
        return self.size >= self._beside(other)

    def __add__(self, other: object) -> "Watched":
        if type(other) is int:
            return Watched(self.family, self.size + other)
        return Watched(self.family, self._tell("is added to something else than a count"))

    __radd__ = __add__

    def __sub__(self, other: object) -> "int | Watched":
        if self.family.owner is not None:
            return int(self._tell("is calculated with"))
        if type(other) is int:
            return Watched(self.family, self.size - other)
        return self.size - self._beside(other)

    def __getattr__(self, name: str) -> Any:
        return self._tell(f"is asked for its {name}")

    def _calculated(self, *others: object) -> Any:
        return self._tell("is calculated with")

    __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = _calculated
    __truediv__ = __rtruediv__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _calculated
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = _calculated
    __rshift__ = __rlshift__ = __rrshift__ = __neg__ = __pos__ = __abs__ = _calculated
    __invert__ = __round__ = __trunc__ = __floor__ = __ceil__ = _calculated
    __index__ = __int__ = __float__ = __complex__ = __bool__ = _calculated
    __format__ = __str__ = __repr__ = _calculated


class TurnsAfresh(TrustedTurns):
    """Turns that are not remembered: whoever looks one up asks its numbers for their hash."""

    def step(self, state: State, event: Event) -> Turn:
        """The turn that `event` leads to in `state`."""
        where, run = "state {}, event {}", self.machine.step
        return self._handled(where, (state, event), run, partial(self._turn, state.me))


class Trial:
    """Takes turns a second time, with watched numbers."""

    def __init__(
        self,
        machine: Machine[Any],
        node_steps: Callable[[TrustedTurns], NodeSteps],
        *,
        may_show: bool = True,
    ) -> None:
        """`may_show`: whether a view may show numbers: it is known what is done with them."""
        self._machine = machine
        self._node_steps = node_steps(TurnsAfresh(machine))
        self._may_show = may_show

    def verify(
        self, local: Local, me: NodeId, event: Event | None, outcome: Outcome, *, comes_back: bool
    ) -> None:
        """Take a turn, or a boot, with other numbers; NotAsDeclared if it comes to something else.

        `comes_back`: whether a node may crash and boot again, with what it has saved.
        """
        _verify_memory(local, me, outcome, comes_back=comes_back)
        what = "a boot" if event is None else text_of(event)
        try:
            assert outcome.local.state is not None
            self._verify_view(outcome.local.state)
            # The first numbers of all come out of nothing.
            if event is not None or local.stable is not None:
                self._verify_turn(what, local, me, event, outcome)
        except NotAsDeclared:
            raise
        except Exception as error:
            raise NotAsDeclared(f"with other numbers {what} fails: {error}") from error

    def _verify_turn(
        self, what: str, local: Local, me: NodeId, event: Event | None, outcome: Outcome
    ) -> None:
        sent = numbers_in(event.message, event.sender) if isinstance(event, Received) else {}
        renumbering = Renumbering(what, me, joined([numbers_at(local), sent]))
        given = renamed_local(local, renumbering.watched)
        if isinstance(event, Received):
            message = renumbered(event.message, event.sender, renumbering.watched)
            event = Received(event.sender, message)
        if event is None:
            found = self._node_steps.boot(me, given.stable)
        else:
            found = self._node_steps.step(given, event)
        if _shape(found, me, _unwatched) != _shape(outcome, me, renumbering.changed):
            raise NotAsDeclared(f"with other numbers {what} leads elsewhere")

    def _verify_view(self, state: State) -> None:
        """An application must see the same, but for the numbers, and may do the same."""
        renumbering = Renumbering("a view", state.me, numbers_in(state, state.me))
        other = renumbered(state, state.me, renumbering.watched)
        views = self._machine.view(state), self._machine.view(other)
        for one, watched in zip(*map(_parts, views), strict=True):
            if isinstance(watched, Watched):
                if not self._may_show:
                    raise NotAsDeclared("a view shows a number that a claim may hold against any")
                if renumbering.changed(watched.family, one) != watched.size:
                    raise NotAsDeclared("with other numbers a view shows others")
            elif one != watched:
                raise NotAsDeclared("with other numbers a view is another")
        if self._machine.task(state) != self._machine.task(other):
            raise NotAsDeclared("with other numbers the work is elsewhere")
        for asks in (self._machine.may_ask, self._machine.must_ask):
            if asks(views[0]) != asks(views[1]):
                raise NotAsDeclared("with other numbers something else may be asked")


def trial_of(machine: Machine[Any], model: Model, claims: Iterable[Claim]) -> Trial:
    """The trial of a machine whose numbers may be seen by these claims."""
    # What a claim of somebody's own does with the numbers in a view is not known.
    own = any(not claim.compares and CLAIMS.get(claim.name) is not claim for claim in claims)
    return Trial(machine, lambda trusted: NodeSteps(trusted, model), may_show=not own)


class Renumbering(NamedTuple):
    """What the numbers that are known in a turn become."""

    what: str
    me: NodeId
    known: dict[Family, set[int]]

    def changed(self, family: Family, number: int) -> int:
        """The number instead of one that the turn began with, or has led to."""
        if family not in self.known:
            raise NotAsDeclared(f"{self.what} leads to the number {number} out of nothing")
        shift = SHIFT * (1 + sorted(self.known, key=repr).index(family))
        if family.owner is None:
            return number + shift
        numbers = sorted(self.known[family])
        if number in numbers:
            return shift + STRIDE * numbers.index(number)
        # Nobody else knows which are taken.
        if number == numbers[-1] + 1 and family.owner == self.me:
            return shift + STRIDE * (len(numbers) - 1) + 1
        raise NotAsDeclared(f"{self.what} leads to the number {number} out of nothing")

    def watched(self, family: Family, number: int) -> Any:
        """The same, watched."""
        return Watched(family, self.changed(family, number))


def _verify_memory(local: Local, me: NodeId, outcome: Outcome, *, comes_back: bool) -> None:
    """A node that counts must not forget how far it is: it would make the same number again."""
    for family, before in numbers_at(local).items():
        after = numbers_at(outcome.local).get(family, set())
        if family.owner == me and max(after, default=-1) < max(before):
            raise NotAsDeclared("a node forgets the largest number that it has made")
    for turn in outcome.turns if comes_back else ():
        saved = numbers_in(turn.state.stable, me)
        for family, known in numbers_in(turn.state, me).items():
            if family.owner == me and max(saved.get(family, set()), default=-1) < max(known):
                raise NotAsDeclared("a node does not save the largest number that it has made")


def _parts(view: Standing) -> Iterable[Any]:
    """All that a view shows."""
    for name in view.__struct_fields__:
        value = getattr(view, name)
        yield from (len(value), *value) if isinstance(value, tuple) else (value,)


def _unwatched(family: Family, number: Any) -> int:
    """The number itself; one that the turn has made out of nothing was never watched."""
    return number.size if isinstance(number, Watched) else int(number)


def _shape(outcome: Outcome, me: NodeId, change: Change) -> Any:
    """What an outcome comes to, with its numbers changed."""

    def sends(each: Sends) -> Any:
        return {to: tuple(renumbered(m, me, change) for m in given) for to, given in each.items()}

    def torn(each: Torn) -> Any:
        return renamed_local(each.local, change), sends(each.sends), each.sent, each.turn

    local = renamed_local(outcome.local, change)
    return local, sends(outcome.sends), tuple(map(torn, outcome.torn))


def renamed_local(value: Local, change: Change) -> Local:
    """A node with its numbers changed."""
    holder = _holder(value)
    state = renumbered(value.state, holder, change)
    return value._replace(state=state, stable=renumbered(value.stable, holder, change))


def numbers_at(value: Local) -> dict[Family, set[int]]:
    """The numbers that a node holds or, while it is down, has saved."""
    return numbers_in(value.stable if value.state is None else value.state, _holder(value))


def _holder(value: Local) -> NodeId:
    """The node that a local state is of; one that has saved nothing holds no numbers either."""
    if value.state is not None:
        return value.state.me
    return -1 if value.me is None else value.me


def joined(each: Iterable[dict[Family, set[int]]]) -> dict[Family, set[int]]:
    """All numbers of several finds, by family."""
    together: dict[Family, set[int]] = {}
    for found in each:
        for family, numbers in found.items():
            together.setdefault(family, set()).update(numbers)
    return together
