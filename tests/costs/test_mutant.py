"""One message too many, or one tick, shows in the costs."""

from typing import Any

import pytest

from electorate.core import Event, Machine, NodeId, Result, Send
from electorate.costs import CostRow, Measure, MeasuredProtocol, cases_of
from electorate.costs.case import MEASURES
from electorate.protocols.registry import REGISTRY
from electorate.trace.word import kind_of

ENDLESS = {"chang-roberts-slide": {"Election"}}
"""Messages that never end if one is sent twice: each of them becomes a vote that goes on."""


def wasteful(kind: type[Machine[Any]], message: str) -> type[Machine[Any]]:
    """The same protocol, but whoever sends this message sends it once too often."""

    def repeated(result: Result[Any]) -> Result[Any]:
        state, effects = result
        sends = [e for e in effects if isinstance(e, Send) and kind_of(e.message) == message]
        return state, [*effects, *sends[-1:]]

    class Wasteful(kind):  # type: ignore[misc, valid-type]
        def boot(self, me: NodeId, stable: Any) -> Result[Any]:
            return repeated(super().boot(me, stable))

        def step(self, state: Any, event: Event) -> Result[Any]:
            return repeated(super().step(state, event))

    return Wasteful


def rows(kind: type[Machine[Any]], form: str, *rules: str) -> list[CostRow]:
    return list(Measure(MeasuredProtocol("mutant", kind, form, rules)).rows(cases_of(kind), (3,)))


@pytest.mark.parametrize("name", REGISTRY)
def test_one_message_too_many_shows_wherever_it_is_sent(name: str) -> None:
    """Any of its messages; consensus sends none of its own."""
    kind, form = REGISTRY[name]
    honest = rows(kind, form)
    assert all(row.equal for row in honest)
    sent = {message for row in honest for message in sent_in(row)} - ENDLESS.get(name, set())
    assert sent or name == "consensus"
    for message in sorted(sent):
        mutants = {row.case.name: row for row in rows(wasteful(kind, message), form)}
        for row in honest:
            assert message not in sent_in(row) or mutants[row.case.name].equal is False, message


def sent_in(row: CostRow) -> set[str]:
    """The kinds of messages that some run of a case sends."""
    kinds = {name for name in row.figures if name not in (*MEASURES, *row.case.tallies)}
    return {name for name in kinds if row.figures[name].measured.most}


@pytest.mark.parametrize(
    ("name", "rule", "case", "measure", "least", "most"),
    [
        ("bully", "answered=4T-1", "the weakest notices", "AreYouThere", 5, 5),
        ("bully", "settle=T+1", "the old leader recovers", "time", 3, 3),
        ("chang-roberts", "lower=replace", "any k initiators, any order", "messages", 6, 30),
        (
            "bully-rpc",
            "start=elect",
            "the old leader recovers and fetches the task",
            "Report",
            0,
            0,
        ),
        ("invitation", "ack=awaited", "one leader merges N groups of one", "Ack", 2, 2),
    ],
)
def test_another_rule_shows_in_the_costs(
    name: str, rule: str, case: str, measure: str, least: int, most: int
) -> None:
    [row] = [row for row in rows(*REGISTRY[name], rule) if row.case.name == case]
    assert row.equal is False
    assert row.figures[measure].equal is False
    assert [int(value) for value in row.figures[measure].measured] == [least, most]
