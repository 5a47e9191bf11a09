"""The rule of the driver's contract about records, as a judgement of a run (see rule.py)."""

from itertools import zip_longest

from electorate.simulate import ScriptError, run_script
from electorate.trace import script_of
from tests.conformance.probe import find
from tests.conformance.rule import Cases
from tests.conformance.story import Life, Run, told


def a_record_can_be_run_again(run: Run) -> Cases:
    """Its events, taken again in the simulator, give the same states and the same orders."""
    if run.trace is None:
        yield run.problem
        return
    script = script_of(run.trace)
    try:
        again = run_script(script, find)
    except ScriptError as error:
        yield f"the record cannot be obeyed: {error}"
        return
    pairs = zip_longest(script.splitlines(), again.text.splitlines())
    different = (
        f"the record says {one!r}, again it is {two!r}" for one, two in pairs if one != two
    )
    yield next(different, None)


def a_record_leaves_nothing_out(run: Run) -> Cases:
    """The record has the states that the nodes went through, every one of them, in their order.

    A turn that was never saved, because the power failed, has not been.
    """
    if run.trace is None:
        yield run.problem
        return
    recorded = told(run.trace)
    for node in run.setting.ids:
        lived, written = run.lives_of(node), recorded.lives_of(node)
        same = len(lived) == len(written)
        same = same and all(map(_is_as_written, lived, written))
        yield None if same else f"the record of node {node} is not what it lived"


def _is_as_written(life: Life, written: Life) -> bool:
    lived = [moment.state for moment in life.moments]
    found = [moment.state for moment in written.moments]
    return lived[: len(found)] == found and len(lived) - len(found) <= life.unsaved
