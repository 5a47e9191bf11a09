"""Which column of a row holds what.

A row has one column per node, per channel and, if the machine uses views, per failure detector;
one for the links that are cut, if any can be; one for what claims remember, if they do; and one
for the budget that is left.
"""

from collections.abc import Sequence
from typing import Any

from electorate.check.model import Detector, Model
from electorate.core import Machine
from electorate.trace import Order

Row = tuple[int, ...]

LINKS_MAX = 31
"""The links that are cut are the bits of one column."""


class ModelError(ValueError):
    """A combination that the checker cannot explore."""


class Columns:
    """The columns of one machine's rows under one model."""

    def __init__(self, machine: Machine[Any], model: Model, remembers: bool) -> None:
        self.ids = machine.members.ids
        self.n = len(self.ids)
        every, linked = range(self.n), model.setting.linked
        pairs = [
            (a, b) for b in every for a in every if a != b and linked(self.ids[a], self.ids[b])
        ]
        if model.setting.order in (Order.GLOBAL, Order.SET):
            self.of_channel = {(a, b): self.n + b for a, b in pairs}
            self.channels = [(self.n + to, to) for to in every]
        else:
            self.of_channel = {pair: self.n + k for k, pair in enumerate(pairs)}
            self.channels = [(column, b) for (_, b), column in self.of_channel.items()]
        """The column of each channel, and the index of its receiver."""
        self.watch_column = self.n + len(self.channels)
        self.links_column = self.watch_column + (self.n if machine.uses_views else 0)
        self.has_cuts = model.has_cuts
        self.memory_column = self.links_column + self.has_cuts
        self.remembers = remembers
        self.width = self.memory_column + remembers + 1
        self.links = [(a, b) for a, b in pairs if a < b]
        numbers = {pair: number for number, pair in enumerate(self.links)}
        self.link = {(a, b): numbers[min(a, b), max(a, b)] for a, b in pairs}
        """The number of the link between two nodes, either way."""
        self.link_of_channel = {column: self.link[pair] for pair, column in self.of_channel.items()}
        if self.has_cuts:
            self._expect_cuttable(model)
        if model.detector is Detector.INCOMPLETE and machine.uses_views and not model.bounded:
            raise ModelError(
                "without bounds on time every detector is as late as it likes: "
                "an incomplete one needs --timing bounded or clocks"
            )
        if model.bounds.blocks and model.bounded:
            raise ModelError("a node that is blocked cannot keep its time: --timing unbounded")

    def _expect_cuttable(self, model: Model) -> None:
        if model.setting.order in (Order.GLOBAL, Order.SET):
            raise ModelError("cuts need a channel for each pair of nodes: --order fifo or bag")
        if len(self.links) > LINKS_MAX:
            raise ModelError(f"cuts need at most {LINKS_MAX} links, not {len(self.links)}")

    def cut_links(self, row: Sequence[int]) -> int:
        """The links that are cut, as bits."""
        return row[self.links_column] if self.has_cuts else 0

    def memory(self, row: Row) -> int | None:
        """What claims remember, if they do."""
        return row[self.memory_column] if self.remembers else None

    def reach(self, row: Sequence[int], one: int, other: int) -> bool:
        """Whether two nodes are linked now."""
        link = self.link.get((one, other))
        return link is not None and not self.cut_links(row) >> link & 1

    def is_severed(self, row: Sequence[int], column: int) -> bool:
        """Whether the link of a channel has been cut."""
        cut = self.cut_links(row)
        return bool(cut and cut >> self.link_of_channel[column] & 1)
