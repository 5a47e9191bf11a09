"""A recorded run is judged as it is, to the same verdict as by the simulator that plays it."""

import pytest
from msgspec.structs import replace

from electorate.runs import run_file, run_names
from electorate.simulate.recorded import RecordVerdict, by_the_clock, judged
from electorate.simulate.replay import Replay, replay
from electorate.simulate.start import started
from electorate.trace import Clock, Start, Trace, script_of
from electorate.trace.happening import Fired
from tests.script import find

TERMS = ("M1", "M2", "M3", "M4")
FAST = "mandate/fast_clock"
RUNS = [name for name in run_names() if name.startswith("mandate/") and name != FAST]

PAUSED = """cluster mandate 1 2 3 start=boot

ask 3 inner.request(Name(3))
settle
pause 3
ask 1 inner.request(Name(1))
ask 2 inner.request(Name(1))
settle
tick 8
fire 1 granted
fire 2 granted
settle
"""


def verdicts(text: str) -> tuple[Replay, RecordVerdict, int]:
    """What is said of a run that is played, and of the same one as it is."""
    played = replay(text, find, "run.txt")
    setting = played.trace.setting
    machine = setting.machine(*find(setting.protocol))
    _, boots = started(setting, machine)
    return played, judged(Trace(setting, (*boots, *played.trace.steps)), machine), len(boots)


@pytest.mark.parametrize("name", RUNS)
def test_terms_are_judged_as_by_the_simulator(name: str) -> None:
    file = run_file(name)
    assert file is not None
    played, verdict, boots = verdicts(file.read_text(encoding="utf-8"))
    broken = {claim: each.step for claim, each in played.breaches.items() if claim in TERMS}
    assert {claim: each.step - boots for claim, each in verdict.breaches.items()} == broken
    assert [*verdict.kept] == [claim for claim in played.kept if claim in TERMS]


def test_an_office_is_over_when_its_time_is_though_its_holder_notices_late() -> None:
    played, verdict, _ = verdicts(PAUSED)
    fired = {step.happening for step in played.trace.steps if isinstance(step.happening, Fired)}
    assert Fired(3, "even") not in fired, "it never noticed, and another entered"
    assert [*verdict.kept] == [*TERMS]


def test_a_record_that_can_be_played_is_judged_by_its_times_all_the_same() -> None:
    """Played with clocks that take any time, a holder that notices late is in office too long."""
    timed = replay(PAUSED, find, "run.txt").trace
    machine = timed.setting.machine(*find(timed.setting.protocol))
    _, boots = started(timed.setting, machine)
    trace = Trace(timed.setting, (*boots, *timed.steps))
    untimed = replace(timed.setting, clock=Clock.UNBOUNDED, start=Start.DOWN)
    played = replay(script_of(Trace(untimed, trace.steps)), find, "run.txt")
    assert "M3" in played.breaches
    verdict = by_the_clock(played, trace, machine)
    assert not verdict.breaches
    assert {*TERMS} <= {*verdict.kept}


def test_goals_are_not_judged() -> None:
    _, verdict, _ = verdicts("cluster mandate-over-strongest-alive 1 2 3 start=boot\n\ntick\n")
    assert not {*verdict.kept, *verdict.breaches} - {*TERMS}
