"""Every protocol broken on purpose, as its dossier says: rules switched, timers a tick shorter.

A mutant is killed when the checker finds a run that breaks a claim, in exactly as many moves as the
dossier says. Rules that could as well be others break nothing: they are choices, not repairs. What
takes code, so that no dossier can say it, is in the other files of this folder.
"""

from collections.abc import Iterator

import pytest

from electorate.cli.dossier import UNBROKEN, Statement, broken, found_of, kept
from electorate.dossier import Dossier, dossier_of
from electorate.protocols.registry import REGISTRY
from electorate.simulate import run_script
from tests.script import GOLDEN, find
from tests.verdicts import table
from tests.verdicts.page import promised
from tests.verdicts.plan import page_of

SOUND: dict[str, Dossier] = {
    name: dossier
    for name, entry in REGISTRY.items()
    if (dossier := dossier_of(entry.machine)).sound == name
}
BROKEN_IN_CODE = ("mandate", "leadership", "replacement")
"""Many of their rules are broken beside this file."""
TABLE = table.read()
BORROWED = {"ranked-invitation": "invitation", "three-phase-ballots": "three-phase"}
"""Rules that another protocol has as well are broken there."""


def statements() -> Iterator[Statement]:
    """All that has to break; and where a rule is another, all that may not, unless it is said."""
    for name, dossier in SOUND.items():
        said = [*broken(dossier, name)]
        yield from said
        choices = [each for each in kept(dossier, name, promised(dossier)) if is_choice(each)]
        yield from (each for each in choices if each.row not in {other.row for other in said})


def is_choice(statement: Statement) -> bool:
    """Whether no promise notices."""
    return UNBROKEN in statement.claims.values()


@pytest.mark.parametrize("statement", {str(each): each for each in statements()}.values(), ids=str)
def test_the_checker_finds_what_the_dossier_says(statement: Statement) -> None:
    found = found_of(statement)
    assert statement.agrees(found), found
    if is_choice(statement):
        reviewed = TABLE[statement.row].claims
        assert found.claims == {name: reviewed[name] for name in found.claims}


@pytest.mark.parametrize(
    ("name", "rule", "claim", "run"),
    [
        (name, told.without, told.breaks, told.run)
        for name, dossier in SOUND.items()
        for told in dossier.told
    ],
)
def test_what_would_take_too_long_to_find_a_run_shows(
    name: str, rule: str, claim: str, run: str
) -> None:
    text = (GOLDEN / page_of(name) / f"{run}.txt").read_text(encoding="utf-8")
    assert f" rule:{rule}" in text
    assert f"\n{claim} violated: " in run_script(text, find).text


@pytest.mark.parametrize("name", [name for name in SOUND if name not in BROKEN_IN_CODE])
def test_every_rule_is_tried_or_the_dossier_says_why_not(name: str) -> None:
    dossier = SOUND[name]
    rules = rules_of(name) - (rules_of(BORROWED[name]) if name in BORROWED else set())
    assert {rule for rule in rules if not dossier.tries(rule)} == set(dossier.untried)


@pytest.mark.parametrize("name", [name for name in SOUND if SOUND[name].untried])
def test_what_is_untried_is_no_repair(name: str) -> None:
    repaired = " ".join(repair.without for repair in SOUND[name].repairs).split()
    assert not {rule.partition("=")[0] for rule in repaired} & {*SOUND[name].untried}


def rules_of(name: str) -> set[str]:
    """The names of all rules of a protocol."""
    return set(REGISTRY[name].machine.form("sound").texts())
