"""Numbers that grow for ever, renamed: a run that goes round and counts is seen to go round.

A machine declares such numbers in its types (core/growing.py). In every row that is met

- a Serial is replaced by its place among those of the same owner in the row. Its owner makes the
  next one by adding one to the largest, so that is done only where the owner knows the largest;
- the smallest of the Ordinals in a row is subtracted from all of them.

Rows that differ by such a renaming have the same moves, up to the same renaming, if the machine
compares its numbers as it says. So every turn that is asked of the machine is asked once more with
other numbers; if it does not come to the same, nothing is renamed, and the search is cut at
`--counter` instead.
"""

from collections.abc import Callable, Iterable
from typing import Any

from electorate.check.column import Columns, Row
from electorate.check.part import Channel, ChannelCard, Item, Local, LocalCard, Pool
from electorate.check.turning import Outcome, Sends, Torn
from electorate.core import Event, NodeId, Received, text_of
from electorate.core.growing import Change, Family, numbers_in, renumbered

NUMBERS_MAX = 62
"""Numbers are bits of a word, so there must be no larger ones."""

Masks = tuple[tuple[int, int], ...]
"""Some families, by number, and the numbers of each as bits."""


class NotAsDeclared(Exception):
    """The machine makes a difference between rows that differ in their numbers alone."""


class Renaming:
    """The numbers in the parts of rows, and what they are renamed to."""

    def __init__(
        self,
        columns: Columns,
        locals_: Pool[Local, LocalCard],
        channels: Pool[Channel, ChannelCard],
        families: list[Family],
    ) -> None:
        self._columns = columns
        self._locals = locals_
        self._channels = channels
        self.families = families
        self._index = {family: number for number, family in enumerate(families)}
        self._local_masks: dict[int, Masks] = {}
        self._channel_masks: dict[int, Masks] = {}
        self._renamed: dict[tuple[bool, int, Masks], int] = {}

    # --- what numbers there are ---

    def of_local(self, code: int) -> Masks:
        """The numbers that a node holds."""
        known = self._local_masks.get(code)
        if known is None:
            found = _numbers_at(self._locals.cards[code].value)
            known = self._local_masks[code] = self._masks(found)
        return known

    def of_channel(self, code: int) -> Masks:
        """The numbers on a channel."""
        known = self._channel_masks.get(code)
        if known is None:
            items = self._channels.cards[code].value
            each = (numbers_in(item.message, item.sender) for item in items)
            known = self._channel_masks[code] = self._masks(_joined(each))
        return known

    def largest(self, code: int) -> int:
        """The largest number that a node holds."""
        return max((mask.bit_length() - 1 for _, mask in self.of_local(code)), default=0)

    def _masks(self, found: dict[Family, set[int]]) -> Masks:
        masks = []
        for family, numbers in found.items():
            if family not in self._index:
                raise NotAsDeclared(f"there is a number of {family.owner}, which is no member")
            if not 0 <= min(numbers) <= max(numbers) <= NUMBERS_MAX:
                raise NotAsDeclared(f"numbers must be from 0 to {NUMBERS_MAX}")
            masks.append((self._index[family], sum(1 << number for number in numbers)))
        return tuple(sorted(masks))

    # --- rows ---

    def needed(self, row: Row) -> Masks:
        """The families that are to be renamed in a row, each with all its numbers there."""
        n = self._columns.n
        union: dict[int, int] = {}
        for code in row[:n]:
            for family, mask in self.of_local(code):
                union[family] = union.get(family, 0) | mask
        for column, _ in self._columns.channel_columns:
            for family, mask in self.of_channel(row[column]):
                union[family] = union.get(family, 0) | mask
        return tuple((f, mask) for f, mask in sorted(union.items()) if self._is_due(row, f, mask))

    def _is_due(self, row: Row, family: int, mask: int) -> bool:
        owner = self.families[family].owner
        if owner is None:
            return mask & 1 == 0
        if mask & (mask + 1) == 0 or owner not in self._columns.ids:
            return False
        # Only who knows the largest of its numbers is sure to make a new one next.
        local = row[self._columns.ids.index(owner)]
        own = dict(self.of_local(local)).get(family, 0)
        return own.bit_length() == mask.bit_length() or not self.can_count(local)

    def can_count(self, code: int) -> bool:
        """Whether such a node may ever make another number."""
        value = self._locals.cards[code].value
        return value.state is not None or value.stable is not None

    def normal(self, row: Row) -> Row:
        """The row with its numbers renamed."""
        needed = self.needed(row)
        if not needed:
            return row
        changed = list(row)
        for place in range(self._columns.n):
            changed[place] = self.local(row[place], needed)
        for column, _ in self._columns.channel_columns:
            changed[column] = self.channel(row[column], needed)
        return tuple(changed)

    def local(self, code: int, needed: Masks) -> int:
        """A node with its numbers renamed."""
        key = (True, code, needed)
        if key not in self._renamed:
            value = self._locals.cards[code].value
            self._renamed[key] = self._locals.code(_renamed_local(value, self._change(needed)))
        return self._renamed[key]

    def channel(self, code: int, needed: Masks) -> int:
        """A channel with the numbers on it renamed."""
        key = (False, code, needed)
        if key not in self._renamed:
            items, change = self._channels.cards[code].value, self._change(needed)
            value = tuple(_renamed_item(item, change) for item in items)
            self._renamed[key] = self._channels.code(value)
        return self._renamed[key]

    def _change(self, needed: Masks) -> Change:
        masks = dict(needed)

        def change(family: Family, number: int) -> int:
            mask = masks.get(self._index[family])
            if mask is None:
                return number
            if family.owner is None:
                return number - ((mask & -mask).bit_length() - 1)
            return (mask & ((1 << number) - 1)).bit_count()

        return change


# --- is it as the machine says? ---

SHIFT, STRIDE = 1000, 3
"""The numbers of a turn become 1000, 1003, 1006 … to see whether that makes a difference: so large
that a machine which begins anew somewhere is found out."""


def verify(
    local: Local,
    event: Event | None,
    outcome: Outcome,
    step: Callable[[Local, Event | None], Outcome],
) -> None:
    """Take a turn, or a boot, with other numbers; NotAsDeclared if it comes to something else."""
    what = "a boot" if event is None else text_of(event)
    sent = numbers_in(event.message, event.sender) if isinstance(event, Received) else {}
    known = _joined([_numbers_at(local), sent])
    ranks = {family: sorted(numbers) for family, numbers in known.items()}

    def change(family: Family, number: int) -> int:
        if family.owner is None and family in ranks:
            return number + SHIFT
        if family in ranks:
            numbers = ranks[family]
            if number in numbers:
                return SHIFT + STRIDE * numbers.index(number)
            if number == numbers[-1] + 1:
                return SHIFT + STRIDE * (len(numbers) - 1) + 1
        raise NotAsDeclared(f"{what} leads to the number {number} out of nothing")

    other = event
    if isinstance(event, Received):
        other = Received(event.sender, renumbered(event.message, event.sender, change))
    try:
        found = step(_renamed_local(local, change), other)
    except Exception as error:
        raise NotAsDeclared(f"with other numbers {what} fails: {error}") from error
    if _shape(found) != _shape(outcome, change):
        raise NotAsDeclared(f"with other numbers {what} leads elsewhere")


def _shape(outcome: Outcome, change: Change | None = None) -> Any:
    """What an outcome comes to, with its numbers changed if that is asked for."""
    me = outcome.turns[0].state.me

    def sends(each: Sends) -> Any:
        return {to: tuple(_changed(m, me, change) for m in given) for to, given in each.items()}

    def torn(each: Torn) -> Any:
        return _changed_local(each.local, change), sends(each.sends), each.sent, each.turn

    local = _changed_local(outcome.local, change)
    return local, sends(outcome.sends), tuple(map(torn, outcome.torn))


def _changed(value: Any, holder: NodeId, change: Change | None) -> Any:
    return value if change is None else renumbered(value, holder, change)


def _changed_local(value: Local, change: Change | None) -> Local:
    return value if change is None else _renamed_local(value, change)


def _renamed_local(value: Local, change: Change) -> Local:
    holder = _holder(value)
    state = renumbered(value.state, holder, change)
    return value._replace(state=state, stable=renumbered(value.stable, holder, change))


def _renamed_item(item: Item, change: Change) -> Item:
    return item._replace(message=renumbered(item.message, item.sender, change))


def _numbers_at(value: Local) -> dict[Family, set[int]]:
    return numbers_in(value.stable if value.state is None else value.state, _holder(value))


def _holder(value: Local) -> NodeId:
    """The node that a local state is of; one that has saved nothing holds no numbers either."""
    if value.state is not None:
        return value.state.me
    return -1 if value.me is None else value.me


def _joined(each: Iterable[dict[Family, set[int]]]) -> dict[Family, set[int]]:
    joined: dict[Family, set[int]] = {}
    for found in each:
        for family, numbers in found.items():
            joined.setdefault(family, set()).update(numbers)
    return joined
