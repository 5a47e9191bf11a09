"""What a node of an application runs, hurt under many seeds: the short `make swarm-leadership`."""

import re
from collections import Counter

import pytest
from msgspec.structs import replace

from electorate.protocols.registry import REGISTRY
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.scenario import load_scenario
from electorate.simulate.swarm import run_swarm

RULES = ("members.inner.base=2", "election.base=2")
HURT = Subject("leadership", load_scenario("examples/scenarios/leadership.toml"), RULES)
DECIDED = re.compile(r"roster=Roster\(version=\([1-9]\d*, \d+\), old=(\(.*?\)), new=\1\)")
"""A list in a message that was changed, and is decided."""
KINDS = ("Stand", "StepDown", "Transfer", "Order", "Change", "Withdraw", "Ended")
AS_FOUND = "election.orders=none"
"""Seeds draw other runs where nodes may be asked for more."""


def test_whatever_is_asked_of_it_amid_faults_it_keeps_its_promises() -> None:
    swarmed = run_swarm(HURT, REGISTRY.__getitem__, range(150), workers=1)
    assert swarmed.broken == {}
    assert len(swarmed.elected) == 150
    kinds = {"crashes", "recoveries", "pauses", "cuts", "partitions", "asks"}
    assert kinds <= {kind for kind, count in swarmed.seen.happened.items() if count > 50}


def test_a_swarm_asks_for_all_that_an_application_may_ask_for_and_decides_changes() -> None:
    experiment = Experiment(HURT, REGISTRY.__getitem__)
    asked, decided = Counter[str](), 0
    for seed in range(100):
        steps = experiment.run(seed, record=True).trace.steps
        told = [str(step.happening) for step in steps]
        asked.update(kind for text in told for kind in KINDS if f"request={kind}(" in text)
        decided += any(DECIDED.search(text) for text in told)
    assert asked.keys() == {*KINDS}
    assert decided > 10


def test_the_swarm_finds_that_a_holder_which_lowers_its_priority_must_be_heard() -> None:
    scenario = replace(HURT.scenario, ids=(1, 2, 3, 4))
    rules = ("members.inner.base=3", "election.base=3", AS_FOUND)
    for more, broken in (("election.claimed=untold", {"M9"}), ("", set[str]())):
        subject = Subject("leadership", scenario, (*rules, *more.split()))
        assert Experiment(subject, REGISTRY.__getitem__).run(13).violations.keys() == broken


@pytest.mark.parametrize("seed", [96_522, 79_865, 60_467])
def test_what_a_hundred_thousand_seeds_have_found_is_mended(seed: int) -> None:
    """A node that was silent is the last member; a newcomer has heard of nothing; a holder was
    removed, and added again, while another of a higher priority was bound to it."""
    subject = replace(HURT, rules=(*RULES, AS_FOUND))
    assert Experiment(subject, REGISTRY.__getitem__).run(seed).violations == {}
