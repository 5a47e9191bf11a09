"""Numbers that grow for ever, renamed: a run that goes round and counts is seen to go round.

A machine declares such numbers in its types (core/growing.py). In every row that is met

- a Serial is replaced by its place among those of the same owner in the row. Its owner makes the
  next one by adding one to the largest, so that is done only where the owner knows the largest;
- the smallest of the Ordinals in a row is subtracted from all of them.

Rows that differ by such a renaming have the same moves, up to the same renaming, if the machine
compares its numbers as it says, and if a node that counts never forgets how far it is. So every
turn that is asked of the machine is asked once more with other numbers (check/declared.py); if it
does not come to the same, nothing is renamed, and the search is cut at `--counter` instead.
"""

from electorate.check.column import Columns, Row
from electorate.check.declared import NotAsDeclared, joined, numbers_at, renamed_local
from electorate.check.interned import Channel, ChannelCard, Item, Local, LocalCard, Pool
from electorate.core.growing import Change, Family, numbers_in, renumbered

NUMBERS_MAX = 62
"""Numbers are bits of a word, so there must be no larger ones."""

Masks = tuple[tuple[int, int], ...]
"""Some families, by number, and the numbers of each as bits."""


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
            found = numbers_at(self._locals.cards[code].value)
            known = self._local_masks[code] = self._masks(found)
        return known

    def of_channel(self, code: int) -> Masks:
        """The numbers on a channel."""
        known = self._channel_masks.get(code)
        if known is None:
            items = self._channels.cards[code].value
            each = (numbers_in(item.message, item.sender) for item in items)
            known = self._channel_masks[code] = self._masks(joined(each))
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
        for column, _ in self._columns.channels:
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
        for column, _ in self._columns.channels:
            changed[column] = self.channel(row[column], needed)
        return tuple(changed)

    def local(self, code: int, needed: Masks) -> int:
        """A node with its numbers renamed."""
        key = (True, code, needed)
        if key not in self._renamed:
            value = self._locals.cards[code].value
            self._renamed[key] = self._locals.code(renamed_local(value, self._change(needed)))
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


def _renamed_item(item: Item, change: Change) -> Item:
    return item._replace(message=renumbered(item.message, item.sender, change))
