"""Where everybody stands at one moment of a run: what is armed, and what is on its way."""

import re

import pytest
from msgspec.structs import replace

from electorate.cli.beginning import given_of, played
from electorate.cli.protocol import find
from electorate.runs import run_file, run_names
from electorate.simulate.start import started
from electorate.trace import Setting, Start, Step, Trace, script_of
from electorate.trace.moment import Moment, in_ticks

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
    places = tuple(Step(0, place) for place in moment.places(1, trace.setting.ids))
    again = played(script_of(Trace(replace(trace.setting, start=Start.ANY), places)), name)
    one, other = given_of(cluster, name), given_of(again, name)
    assert one.nodes == other.nodes
    assert sorted(one.mail, key=repr) == sorted(other.mail, key=repr)


def test_a_setting_in_ticks_keeps_its_lengths_in_proportion() -> None:
    line = "cluster mandate 1 2 3 T=50 P=20 rule:grace=5000 rule:lease=8T+6P-1 rule:base=2"
    setting = Setting.parse(line)
    rules = find("mandate").machine(setting).rules
    ticks = in_ticks(setting, 2, None, rules)
    assert ticks.text() == (
        "cluster mandate 1 2 3 T=2 P=1 rule:grace=200 rule:lease=8T+6P-1 rule:base=2"
    )
    assert in_ticks(setting, 1, 3, rules).timing.P == 3
