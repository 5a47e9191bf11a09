"""One message too many, or one tick, shows in the costs."""

from typing import Any

import pytest

from electorate.core import Event, Machine, NodeId, Result, Send
from electorate.costs import CostRow, Measure, MeasuredProtocol, cases_of
from electorate.protocols.registry import REGISTRY
from electorate.trace.word import kind_of

REPEATED = {
    "bully": "NewLeader",
    "bully-as-printed": "Yes",
    "bully-rpc": "Noted",
    "bully-rpc-as-printed": "Halted",
    "bully-textbook": "Coordinator",
    "bully-textbook-as-printed": "Answer",
    "bully-textbook-to-the-letter": "Answer",
    "chang-roberts": "Elected",
    "chang-roberts-code": "Elected",
    "chang-roberts-slide": "Elected",
    "ring-attribute": "Elected",
    "ring-attribute-as-printed": "Elected",
    "ring-attribute-to-the-letter": "Elected",
    "ring-list": "Coordinator",
    "ring-list-as-printed": "Coordinator",
    "park": "Accept",
    "park-as-printed": "Commit",
    "park-literal": "Reject",
    "invitation": "Ready",
    "invitation-as-printed": "Ack",
    "ranked-invitation": "Ready",
    "two-phase": "Commit",
    "three-phase": "Ack",
    "three-phase-as-printed": "Report",
    "three-phase-ballots": "Poll",
    "mandate": "Grant",
    "token-mutex": "Wanted",
    "paxos": "Accepted",
    "admission": "Knock",
    "replacement": "Knock",
    "leadership": "Free",
    "membership": "Grant",
}
"""A message of each protocol that is sent once too often; consensus sends none of its own."""


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


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "consensus"])
def test_one_message_too_many_shows_wherever_it_is_sent(name: str) -> None:
    kind, form = REGISTRY[name]
    message = REPEATED[name]
    mutants = {row.case.name: row for row in rows(wasteful(kind, message), form)}
    shown = 0
    for honest in rows(kind, form):
        assert honest.equal
        if message in honest.figures and honest.figures[message].measured.most:
            assert mutants[honest.case.name].equal is False
            shown += 1
    assert shown


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
