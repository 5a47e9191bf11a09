"""The story of a failing run: a golden script that breaks the same claim when it is replayed."""

from typing import NamedTuple

from electorate.simulate.experiment import Subject
from electorate.simulate.run import RunResult
from electorate.simulate.script import run_script
from electorate.simulate.shrink import Shrinker
from electorate.simulate.start import Find
from electorate.trace import Trace, script_of
from electorate.trace.word import counted


class Story(NamedTuple):
    """A run that breaks a claim, as short as it was made."""

    claim: str
    witness: str
    script: str
    trace: Trace


def shrunk_story(subject: Subject, find: Find, seed: int, claim: str) -> Story:
    """Shrink the run of a failing seed and tell it."""
    shrinker = Shrinker(subject, find, seed, claim)
    result = shrinker.shrink()
    faults = shrinker.faults_before, len(shrinker.case.plan)
    made = f"Seed {seed}, shrunk from {counted(faults[0], 'faults')} to {faults[1]}."
    return tell(result, find, claim, made)


def tell(result: RunResult, find: Find, claim: str, made: str) -> Story:
    """The run up to the violation as a script, which is replayed to prove it."""
    violation = result.violations[claim]
    setting = result.trace.setting
    trace = Trace(setting, result.trace.steps[: violation.steps])
    witness = violation.witness.text
    head = [f"{setting.protocol} breaks {claim}: {witness}.", made]
    told = script_of(trace, head)
    replayed = run_script(f"{told}\nstandings\nclaims {claim}\n----\n", find)
    end = f"{claim} violated: {witness}\n"
    # Texts are compared, not states: a protocol that is loaded twice from its file has two types.
    if not (replayed.text.startswith(told) and replayed.text.endswith(end)):
        raise RuntimeError(f"this run did not come out the same when replayed:\n{replayed.text}")
    return Story(claim, witness, replayed.text, trace)
