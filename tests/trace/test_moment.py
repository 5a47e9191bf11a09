"""Where everybody stands at one moment of a run: what is armed, and what is on its way."""

import re

import msgspec
import pytest
from msgspec.structs import replace

from electorate.cli.beginning import given_of, played
from electorate.cli.protocol import find
from electorate.core import Ensemble
from electorate.protocols.mandate.message import Adopt
from electorate.protocols.mandate.state import Promise, Roster
from electorate.runs import run_file, run_names
from electorate.simulate.start import started
from electorate.trace import Setting, Start, Step, Trace, script_of
from electorate.trace.happening import Requested
from electorate.trace.moment import Moment, in_ticks, joined
from electorate.trace.text import json_word

UNKNOWN = re.compile(r"^(quietly )?(cut|lose|double|pause)|order=set| lost(: |$)", re.MULTILINE)
"""Of this a record says nothing, or not when."""
FROM_BOOT = [
    name
    for name in run_names()
    if (file := run_file(name))
    and "start=boot" in (text := file.read_text())
    and not UNKNOWN.search(text)
]


def as_recorded(trace: Trace) -> Trace:
    """The run as records have it: nobody is up at first, and all boot."""
    _, boots = started(trace.setting, find(trace.setting.protocol).machine(trace.setting))
    return Trace(replace(trace.setting, start=Start.DOWN), (*boots, *trace.steps))


@pytest.mark.parametrize("name", FROM_BOOT)
def test_a_moment_of_a_run_is_where_the_run_itself_is_then(name: str) -> None:
    file = run_file(name)
    assert file is not None
    cluster = played(file.read_text(), name)
    trace = as_recorded(cluster.trace())
    moment = Moment(trace, cluster.now, {})
    places = tuple(Step(0, place) for place in moment.placements(1, trace.setting.ids))
    again = played(script_of(Trace(replace(trace.setting, start=Start.ANY), places)), name)
    one, other = given_of(cluster, name), given_of(again, name)
    assert one.nodes == other.nodes
    assert sorted(one.mail, key=repr) == sorted(other.mail, key=repr)


def test_what_a_connection_loses_is_on_its_way_no_more() -> None:
    script = "cluster bully 1 2 3 start=boot\n\n"
    held = {}
    for name, more in {"whole": "", "one way": "reset 2->1\n", "both": "reset 1 2\n"}.items():
        trace = as_recorded(played(script + more, name).trace())
        held[name] = {(letter.sender, letter.to) for letter in Moment(trace, 0, {}).mail}
    assert held["whole"] == {(1, 2), (1, 3), (2, 1), (3, 1), (3, 2)}
    assert held["one way"] == held["whole"] - {(2, 1)}
    assert held["both"] == held["whole"] - {(1, 2), (2, 1)}


def test_a_node_is_heard_of_from_when_something_is_sent_to_it() -> None:
    """Before that a record of all that runs need not have it: it is no part of what is explored."""
    trace = as_recorded(played("cluster chang-roberts 1 2 3 start=boot\n\n", "boots").trace())
    boots = tuple(replace(step, at=10 * step.turns[0].node) for step in trace.steps)
    heard_of = [Moment(Trace(trace.setting, boots), at, {}).heard_of for at in (9, 10, 20, 30)]
    assert heard_of == [set(), {2}, {2, 3}, {1, 2, 3}]


def test_a_setting_in_ticks_keeps_its_lengths_in_proportion() -> None:
    line = "cluster mandate 1 2 3 T=50 P=20 rule:grace=5000 rule:lease=8T+6P-1 rule:base=2"
    setting = Setting.parse(line)
    rules = find("mandate").machine(setting).rules
    ticks = in_ticks(setting, 2, None, rules)
    assert ticks.text() == (
        "cluster mandate 1 2 3 T=2 P=1 rule:grace=200 rule:lease=8T+6P-1 rule:base=2"
    )
    assert in_ticks(setting, 1, 3, rules).timing.P == 3


def test_instances_of_a_node_are_the_parts_of_an_ensemble_with_what_wires_still_have_for_them() -> (
    None
):
    """Node 1 was told of the list that its register has saved, node 2 not yet."""
    line = "cluster leadership 1 2 3 start=boot min=1"
    setting = Setting.parse(line)
    ensemble = find("leadership").machine(setting)
    assert isinstance(ensemble, Ensemble)
    register = played("cluster membership 1 2 3 start=boot min=1\n\nrun 2T\n", "register").trace()
    election = played(
        "cluster mandate-over-strongest-alive/application 1 2 3 start=boot min=1\n"
        "\nask 1 Stand(1)\nrun 1T\n",
        "election",
    ).trace()
    told = Adopt(Roster(old=setting.ids, new=setting.ids))
    moments = {
        "members": Moment(as_recorded(register), 2, {}),
        "election": Moment(
            with_step(as_recorded(election), Step(2, Requested(1, told), ())),
            2,
            {},
        ),
    }
    found = joined(ensemble, setting, moments)
    one, two, _ = found.placements(1, setting.ids)
    states = {node: msgspec.json.decode(each.json) for node, each in ((1, one), (2, two))}
    assert [states[1]["due"], states[2]["due"]] == [[], [0]]
    assert ("election.told", 0, ensemble.rules.sweep.of(ensemble.timing)) in two.timers
    assert all(timer.startswith(("members.", "election.")) for timer, *_ in one.timers)
    for part, moment in moments.items():
        assert states[1][part] == msgspec.json.decode(json_word(moment.up[1]))
    placed = tuple(Step(0, place) for place in found.placements(1, setting.ids))
    again = played(script_of(Trace(replace(setting, start=Start.ANY), placed)), "again")
    assert [node.local is not None for node in again.nodes.values()] == [True] * 3


def with_step(trace: Trace, step: Step) -> Trace:
    return replace(trace, steps=(*trace.steps, step))


def test_a_part_that_a_node_has_not_run_yet_begins_at_that_moment() -> None:
    setting = Setting.parse("cluster leadership 1 2 3 start=boot")
    ensemble = find("leadership").machine(setting)
    assert isinstance(ensemble, Ensemble)
    register = played("cluster membership 1 2 3 start=boot\n\nrun 2T\n", "register").trace()
    nowhere = Trace(setting, ())
    moments = {"members": Moment(as_recorded(register), 2, {}), "election": Moment(nowhere, 2, {})}
    for placed in joined(ensemble, setting, moments).placements(1, setting.ids):
        state = msgspec.json.decode(placed.json)
        assert state["election"]["stable"]["promise"] == msgspec.to_builtins(Promise())
        assert state["due"] == [0]
