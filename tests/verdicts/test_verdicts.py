"""The reviewed table of verdicts: complete, as it says, and the same in the docs.

The small checks are made again, by the reference explorer, which the table engine that wrote the
table knows nothing of. `make verdicts` makes them all.
"""

import pytest

from electorate.core import Assumption, Machine
from electorate.protocols.registry import REGISTRY
from tests.verdicts import page, plan, table
from tests.verdicts.ask import answer, is_broken, is_kept

STATES_QUICK = 300
"""Checks with no more states than this are made again: some seconds in all."""

TABLE = table.read()
QUICK = [line for line, found in TABLE.items() if (found.states or 10**9) <= STATES_QUICK]

BREAKS_ITS_PROMISE = ("bully-textbook-as-printed",)
"""Forms that do not keep what they promise even inside their assumptions."""

EXCLUDED = {
    "a crash": {Assumption.NO_CRASH},
    "a crash and a recovery": {Assumption.NO_CRASH, Assumption.NO_RECOVERY},
    "a wrong suspicion": {Assumption.ACCURATE_DETECTOR},
    "a loss, from boot": {Assumption.NO_LOSS},
    "a crash and a loss": {Assumption.NO_CRASH, Assumption.NO_LOSS},
    "unbounded": {Assumption.BOUNDED_DELAY},
}
"""The assumptions that rule a fault or a timing out."""


def test_the_table_answers_what_is_asked() -> None:
    assert list(TABLE) == plan.commands()


def test_the_file_says_nothing_else() -> None:
    assert table.FILE.read_text(encoding="utf-8") == table.text(TABLE)


@pytest.mark.parametrize("line", QUICK)
def test_the_reference_explorer_says_the_same(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(page.ROOT)
    assert str(answer(line, engine="python")) == str(TABLE[line])


def test_the_docs_say_what_the_table_says() -> None:
    stale = [
        file.relative_to(page.ROOT).as_posix()
        for file, text in page.pages(TABLE).items()
        if file.read_text(encoding="utf-8") != text
    ]
    assert not stale, "run: python -m tests.verdicts.make --pages"


def test_every_protocol_is_put_in_every_situation() -> None:
    for protocol, (machine, _) in REGISTRY.items():
        faults = {situation.faults for situation in plan.situations(protocol)}
        assert len(faults) == len(plan.SITUATIONS) - (not machine.uses_views)
    assert set(plan.pages()) == {plan.page_of(protocol) for protocol in REGISTRY}


def test_protocols_keep_their_promises_inside_their_assumptions() -> None:
    for protocol, (machine, form) in REGISTRY.items():
        assumed = set(machine.assumed(form))
        for situation in plan.situations(protocol):
            excluded = EXCLUDED.get(situation.faults, set()) | EXCLUDED.get(situation.timing, set())
            if protocol in BREAKS_ITS_PROMISE or assumed & excluded:
                continue
            for line in situation.commands():
                promised = set(TABLE[line].claims) & set(machine.promised(form))
                assert not any(is_broken(TABLE[line].claims[claim]) for claim in promised), line


@pytest.mark.parametrize("name", plan.pages())
def test_every_repair_is_missed_where_it_is_left_out(name: str) -> None:
    asked = plan.pages()[name]
    for repair in asked.repairs:
        kept, broken = (TABLE[line].claims[repair.breaks] for line in repair.commands(asked.sound))
        assert is_kept(kept), repair
        assert is_broken(broken), repair


@pytest.mark.parametrize("name", plan.pages())
def test_no_claim_notices_a_choice(name: str) -> None:
    asked = plan.pages()[name]
    for choice in asked.choices:
        assert all(map(is_kept, TABLE[choice.command(asked.sound)].claims.values())), choice


@pytest.mark.parametrize("name", plan.pages())
def test_something_falls_with_every_assumption(name: str) -> None:
    asked = plan.pages()[name]
    for dropped in asked.assumptions:
        for protocol in dropped.of or (asked.sound,):
            lines = dropped.commands(protocol)
            kept, broken = (TABLE[line].claims[dropped.breaks] for line in lines)
            assert is_kept(kept), lines[0]
            assert is_broken(broken), lines[1]


@pytest.mark.parametrize("protocol", REGISTRY)
def test_no_assumption_is_left_out(protocol: str) -> None:
    machine, form = REGISTRY[protocol]
    asked = plan.pages()[plan.page_of(protocol)]
    dropped = {
        each.assumption for each in asked.assumptions if protocol in (each.of or (asked.sound,))
    }
    missing = set(machine.assumed(form)) - dropped
    assert not missing or protocol in BREAKS_ITS_PROMISE


@pytest.mark.parametrize("name", plan.pages())
def test_no_rule_is_left_out_in_which_a_printed_form_differs(name: str) -> None:
    asked = plan.pages()[name]
    machine = REGISTRY[asked.sound].machine
    rules = " ".join([*(r.without for r in asked.repairs), *(c.rule for c in asked.choices)])
    tried = {rule.partition("=")[0] for rule in rules.split()}
    assert differing(machine) <= tried


def differing(machine: type[Machine]) -> set[str]:
    """The rules in which any form differs from the sound one."""
    if "sound" not in machine.forms:
        return set()
    sound = machine.form("sound").texts()
    return {
        rule
        for form in machine.forms
        for rule, text in machine.form(form).texts().items()
        if sound[rule] != text
    }
