"""Claims for tests: about steps, and about what is remembered."""

from collections.abc import Callable
from typing import Any

from electorate.check import Violation
from electorate.claims import Claim, Fold, Kind, Row, Sight, Witness
from electorate.core import NodeId
from tests.check.probe import Probe

STABLES, TIMERS = frozenset({Sight.STABLES}), frozenset({Sight.TIMERS})
STATES, MESSAGES = frozenset({Sight.STATES}), frozenset({Sight.MESSAGES})


def leaders(row: Row) -> dict[NodeId, NodeId | None]:
    return {node: view.leader for node, view in row.live()}


def step_claim(name: str, breaks: Callable[[Row, Row], bool], sights: Any = frozenset()) -> Claim:
    def judge(before: Row, row: Row) -> Witness | None:
        return Witness((), name) if breaks(before, row) else None

    return Claim(name, Kind.STEP, name, judge, sights=sights)


def fold_claim(
    name: str,
    fold: Fold,
    breaks: Callable[[Row, Any], bool],
    kind: Kind = Kind.ALWAYS,
    sights: Any = frozenset(),
) -> Claim:
    def judge(row: Row, memory: Any) -> Witness | None:
        return Witness((), f"{name}: {memory}") if breaks(row, memory) else None

    return Claim(name, kind, name, judge, fold, sights)


def moved(one: NodeId | None, other: NodeId | None) -> Claim:
    """No node that follows one follows the other next."""
    return step_claim(
        f"{one}-to-{other}",
        lambda before, row: any(
            leader == one and leaders(row).get(node, one) == other
            for node, leader in leaders(before).items()
        ),
    )


def led(node: NodeId) -> Fold:
    """Remembers whether a node has ever considered itself leader."""
    return Fold(False, lambda known, row: known or leaders(row).get(node) == node)


def shown_by(probe: Probe, *claims: Claim) -> dict[str, Violation]:
    return {violation.claim: violation for violation in probe.check(*claims).violations}
