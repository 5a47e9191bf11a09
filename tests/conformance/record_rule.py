"""The rule of the driver's contract about records, as a judgement of a run (see rule.py)."""

from itertools import zip_longest

from electorate.simulate import ScriptError, run_script
from electorate.trace import script_of
from tests.conformance.probe import find
from tests.conformance.rule import Cases
from tests.conformance.story import Run, told


def a_record_can_be_run_again(run: Run) -> Cases:
    """Its events, taken again in the simulator, give the same states and the same orders."""
    if run.trace is None:
        yield "the run was not recorded"
        return
    script = script_of(run.trace)
    try:
        again = run_script(script, find)
    except ScriptError as error:
        yield f"the record cannot be obeyed: {error}"
        return
    pairs = zip_longest(script.splitlines(), again.text.splitlines())
    different = (f"the record says {one!r}, again it is {two!r}" for one, two in pairs if one != two)
    yield next(different, None)


def a_record_leaves_nothing_out(run: Run) -> Cases:
    """The record has the states that the nodes went through, every one of them, in their order."""
    if run.trace is None:
        yield "the run was not recorded"
        return
    recorded = told(run.trace)
    for node in run.setting.ids:
        lived = [[m.state for m in life.moments] for life in run.lives_of(node)]
        written = [[m.state for m in life.moments] for life in recorded.lives_of(node)]
        yield None if lived == written else f"the record of node {node} is not what it lived"
