"""The reviewed table of verdicts: complete, as it says, and the same in the docs.

Small rows are checked again by the reference explorer, which shares no search with the engine that
wrote the table. `make verdicts` checks all rows again.
"""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.claims import CLAIMS, Kind
from electorate.cli.dossier import answer, broken, is_broken, kept
from electorate.core import Assumption, Machine
from electorate.dossier import row
from electorate.protocols.registry import REGISTRY
from tests.verdicts import page, plan, table

STATES_QUICK = 200
"""Rows with no more states than this are checked again: some seconds in all."""

TABLE = table.read()
ASKED = plan.rows()
QUICK = [row for row, found in TABLE.items() if (found.states or 10**9) <= STATES_QUICK]

BREAKS_ITS_PROMISE = ("bully-textbook-as-printed", "bully-textbook-to-the-letter")
"""Forms that do not keep what they promise even inside their assumptions."""

FOLDED = {
    "invitation-as-printed": "invitation-as-printed --rule wraps=4",
    "first-start": "leadership",
}
"""The same algorithm, in which a loop shows as a loop, or which begins later."""

EXCLUDED = {
    "a crash": {Assumption.NO_CRASH},
    "a crash and a recovery": {Assumption.NO_CRASH, Assumption.NO_RECOVERY},
    "a wrong suspicion": {Assumption.ACCURATE_DETECTOR},
    "a loss": {Assumption.NO_LOSS},
    "a cut link": {Assumption.NO_PARTITION},
    "two cuts and a heal": {Assumption.NO_PARTITION},
    "a pause": {Assumption.NO_PAUSE},
    "any state": {Assumption.NO_CRASH, Assumption.NO_RECOVERY},
    "unbounded": {Assumption.BOUNDED_DELAY},
}
"""The assumptions that rule a fault or a timing out."""


def test_the_table_answers_what_is_asked_and_nothing_else() -> None:
    assert {row: tuple(found.claims) for row, found in TABLE.items()} == ASKED
    assert table.FILE.read_text(encoding="utf-8") == table.text(TABLE)


@pytest.mark.parametrize("row", QUICK)
def test_the_reference_explorer_says_the_same(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(plan.ROOT)
    assert str(answer(row, ASKED[row], table.STATES_MAX, "python")) == str(TABLE[row])


def test_every_small_situation_is_among_those() -> None:
    assert len(QUICK) > 200
    for protocol in plan.protocols():
        assert any(row.split()[0] == protocol for row in QUICK), protocol


def test_the_docs_say_what_the_table_says() -> None:
    stale = [
        file.relative_to(plan.ROOT).as_posix()
        for file, text in page.pages(TABLE).items()
        if file.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run: python -m tests.verdicts.make --pages"


def test_every_protocol_is_put_in_every_situation() -> None:
    for protocol in plan.protocols():
        faults = {(each.timing, each.faults, each.nodes) for each in plan.situations(protocol)}
        suite = plan.suite_of(protocol)
        detectors = plan.uses_views(protocol)
        tried = [name for name in suite.situations if detectors or name != "a wrong suspicion"]
        sizes = sum(len(suite.sizes(timing, name)) for timing in suite.nodes for name in tried)
        unfinished = len(plan.pages()[plan.page_of(protocol)].unfinished.get(protocol, ()))
        assert len(faults) == sizes - unfinished, protocol


def test_the_most_nodes_are_there_only_where_all_was_seen() -> None:
    for protocol in plan.protocols():
        for situation in plan.situations(protocol):
            assert not situation.is_largest or TABLE[situation.row].states, situation


def test_protocols_keep_their_promises_inside_their_assumptions() -> None:
    for protocol in plan.protocols():
        machine, form = REGISTRY[protocol]
        assumed = set(machine.assumed(form))
        for each in plan.situations(protocol):
            excluded = EXCLUDED.get(each.faults, set()) | EXCLUDED.get(each.timing, set())
            if protocol in BREAKS_ITS_PROMISE or assumed & excluded:
                continue
            fates = TABLE[each.row].claims
            promised = [fates[claim] for claim in machine.promised(form) if claim in fates]
            assert not any(map(is_broken, promised)), each


@pytest.mark.parametrize("name", plan.pages())
def test_each_repair_and_each_assumption_is_needed_as_the_dossier_says(name: str) -> None:
    asked = replace(plan.pages()[name], verdicts=())
    for without in broken(asked, asked.sound):
        assert without.agrees(TABLE[without.row]), without
        assert all(map(is_broken, without.claims.values())), without
    for with_it in kept(asked, asked.sound, page.promised(asked)):
        assert with_it.agrees(TABLE[with_it.row]), with_it


@pytest.mark.parametrize("name", plan.pages())
def test_no_line_of_a_dossier_contradicts_the_table(name: str) -> None:
    asked = plan.pages()[name]
    for line in broken(asked, asked.sound):
        found = TABLE.get(line.row)
        assert found is None or not {*line.claims} <= {*found.claims} or line.agrees(found), line


def test_every_finding_is_about_something_that_breaks() -> None:
    for asked in plan.pages().values():
        for finding in asked.findings:
            fates = TABLE[row(finding.row)].claims
            assert any(is_broken(fates[claim]) for claim in finding.claims), finding


def test_the_command_of_a_finding_judges_all_its_claims() -> None:
    for asked in plan.pages().values():
        for finding in asked.findings:
            words = page.command(finding).split()
            claims = [word for before, word in pairwise(words) if before == "--claim"]
            assert claims == [*finding.claims], finding
            goals = [claim for claim in claims if CLAIMS[claim].kind is Kind.GOAL]
            assert ("--keep-going" in words) == (len(claims) > 1 and bool(goals)), finding


def test_forms_that_are_never_normal_begin_at_boot() -> None:
    never = {form for page in plan.pages().values() for form in page.never_normal}
    for asked in ASKED:
        begins = "--from boot" in asked or "--from any" in asked
        assert asked.split()[0] not in never or begins, asked


@pytest.mark.parametrize("protocol", [n for n in REGISTRY if plan.page_of(n) in plan.pages()])
def test_no_assumption_is_left_out(protocol: str) -> None:
    machine, form = REGISTRY[protocol]
    asked = plan.pages()[plan.page_of(protocol)]
    names = {protocol, FOLDED.get(protocol)}
    dropped = {
        each.assumption for each in asked.assumptions if names & {*(each.of or (asked.sound,))}
    }
    missing = set(machine.assumed(form)) - dropped
    assert not missing or protocol in BREAKS_ITS_PROMISE


@pytest.mark.parametrize("name", plan.pages())
def test_no_rule_is_left_out_in_which_a_printed_form_differs(name: str) -> None:
    asked = plan.pages()[name]
    rules = " ".join([*(r.without for r in asked.repairs), *(c.rule for c in asked.choices)])
    tried = {rule.partition("=")[0] for rule in rules.split()}
    assert differing(REGISTRY[asked.sound].machine) <= tried


def differing(machine: type[Machine[Any]]) -> set[str]:
    """The rules in which any form that has a name of its own differs from the sound one."""
    if "sound" not in machine.forms:
        return set()
    sound = machine.form("sound").texts()
    forms = {entry.form for entry in REGISTRY.values() if entry.machine is machine}
    return {
        rule
        for form in forms
        for rule, text in machine.form(form).texts().items()
        if sound[rule] != text
    }
