"""Every protocol costs what its cases say.

The sentences and figures that the formulas come from are cited in the dossier of each protocol, the
TOML file beside its machine.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args, get_type_hints

import pytest

from electorate.core import Ensemble, Machine, Over
from electorate.costs import Case, CostRow, Measure, MeasuredProtocol, cases_of
from electorate.costs.case import GENERIC, MEASURES
from electorate.costs.measure import formula_at
from electorate.protocols.bully_rpc import BullyRpc
from electorate.protocols.chang_roberts import ChangRoberts
from electorate.protocols.registry import REGISTRY

Kind = type[Machine[Any]]
FORMS: list[tuple[Kind, str]] = [*dict.fromkeys(REGISTRY.values()), (BullyRpc, "paper")]
KINDS: list[Kind] = list(dict.fromkeys(entry.machine for entry in REGISTRY.values()))


def named(form: object) -> str:
    return form.__name__ if isinstance(form, type) else str(form)


def rows(
    kind: Kind, form: str, sizes: Sequence[int], *cases: Case, samples: int = 60
) -> list[CostRow]:
    chosen = cases or cases_of(kind)
    return list(Measure(MeasuredProtocol(named(kind), kind, form), samples).rows(chosen, sizes))


def said(kind: Kind) -> list[str]:
    """The messages of a protocol, and of what it is put together of."""
    if issubclass(kind, Ensemble):
        return sorted({each for part in kind.parts.values() for each in said(part.kind)})
    inner = kind.inner_kind if issubclass(kind, Over) else None
    return [*(said(inner) if inner else ()), *(each.__name__ for each in spoken(kind.messages))]


def spoken(messages: Iterable[type[Any]]) -> Iterator[type[Any]]:
    """What is counted: of a message that carries another one only that."""
    for message in messages:
        inside = get_type_hints(message).get("message")
        yield from spoken(get_args(inside) or (inside,)) if inside else (message,)


def differing(found: list[CostRow]) -> list[str]:
    assert found
    lines = (
        f"{r.case.name} at N={r.nodes}: {r.problem or r.figures}" for r in found if not r.equal
    )
    return list(lines)


@pytest.mark.parametrize(("kind", "form"), FORMS, ids=named)
def test_up_to_six_nodes_every_case_costs_what_its_formulas_say(kind: Kind, form: str) -> None:
    assert differing(rows(kind, form, range(2, 7))) == []


@pytest.mark.parametrize(("kind", "form"), FORMS, ids=named)
def test_so_do_the_cases_with_few_runs_up_to_thirty_two(kind: Kind, form: str) -> None:
    few = [case for case in cases_of(kind) if case.ranks != "any" and not case.sets]
    assert differing(rows(kind, form, (7, 8, 13, 32), *few)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "form"), FORMS, ids=named)
def test_so_does_every_case_at_eight_and_at_sixty_four(kind: Kind, form: str) -> None:
    assert differing(rows(kind, form, (7, 8, 64))) == []


@pytest.mark.parametrize("name", REGISTRY)
def test_every_protocol_has_cases_with_formulas_for_messages(name: str) -> None:
    kind, form = REGISTRY[name]
    cases = [case for case in cases_of(kind) if case.fits(form, 6)]
    assert cases
    assert all("messages" in case.formulas for case in cases)
    assert not any(case in GENERIC for case in cases)


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_formulas_are_about_messages_that_there_are(kind: Kind) -> None:
    kinds = set(said(kind))
    for case in cases_of(kind):
        counted = {each.removeprefix("-") for tally in case.tallies.values() for each in tally}
        assert counted <= kinds
        assert set(case.formulas) <= kinds | set(case.tallies) | set(MEASURES)
        assert set(case.forms) <= {"sound", *kind.forms}


@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_the_formulas_of_the_kinds_add_up_to_that_of_all_messages(kind: Kind) -> None:
    """Where a case has a mean or bounds, those of one kind alone vary."""
    for case in cases_of(kind):
        for nodes in case.nodes or (3, 5, 8):
            parts = [formula_at(case, message, nodes) for message in said(kind)]
            total = formula_at(case, "messages", nodes)
            assert total is not None
            assert sum(part.least for part in parts if part) == total.least
            assert sum(part.most for part in parts if part) == total.most


def test_means_over_random_placements_lie_around_the_formula() -> None:
    """Chang and Roberts with all starting: N·H_N+N messages on average."""
    [average] = [case for case in cases_of(ChangRoberts) if case.name == "all start, any order"]
    for row in rows(ChangRoberts, "sound", (9, 16, 24), average):
        figure = row.figures["messages"]
        assert not row.complete
        assert figure.mean is not None
        assert 0 < figure.margin < row.nodes
        assert figure.formula is not None
        assert abs(figure.mean - figure.formula.least) <= figure.margin
