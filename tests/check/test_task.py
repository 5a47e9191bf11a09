"""The state of the task through elections: it is handed over, and nobody's ever goes back."""

from typing import Any

import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Verdict, check
from electorate.check import Result as Outcome
from electorate.claims import CLAIMS
from electorate.protocols.registry import REGISTRY
from electorate.trace import Setting, Start
from electorate.trace.setting import Clock, Order

ONE_BACK: dict[str, Any] = {"crashes": 1, "recoveries": 1}
BULLIES = ("bully-rpc", "bully-textbook")
WRAPS = ("wraps=4",)
"""Numbers that grow would hide a loop in which nothing else does."""


def judged(
    protocol: str, *claims: str, rules: tuple[str, ...] = (), nodes: int = 3, **given: Any
) -> Verdict:
    kind, form = REGISTRY[protocol]
    setting = Setting(
        protocol,
        tuple(range(1, nodes + 1)),
        rules,
        strongest=kind.strongest,
        start=given.pop("start", Start.NORMAL),
        delay_min=given.pop("delay_min", 0),
    )
    model = Model(setting, Budget(**given), Bounds())
    verdict = check(
        setting.machine(kind, form), model, [CLAIMS[name] for name in claims], engine="numba"
    )
    assert not verdict.cuts
    return verdict


@pytest.mark.parametrize("protocol", BULLIES)
@pytest.mark.parametrize("rules", [(), ("start=elect",)])
def test_who_is_halted_hands_its_work_over(protocol: str, rules: tuple[str, ...]) -> None:
    verdict = judged(protocol, "T1", "T3", rules=rules, asks=1, **ONE_BACK)
    assert verdict.claims == {"T1": Outcome.HOLDS, "T3": Outcome.HOLDS}


@pytest.mark.parametrize(
    ("protocol", "rules", "moves"),
    [
        ("bully-rpc", ("resumes=own",), 30),
        ("bully-rpc", ("resumes=own", "start=elect"), 26),
        ("bully-textbook", ("resumes=own",), 25),
        ("bully-textbook", ("resumes=own", "start=elect"), 22),
    ],
)
def test_fetching_it_before_is_not_enough(
    protocol: str, rules: tuple[str, ...], moves: int
) -> None:
    verdict = judged(protocol, "T3", rules=rules, asks=1, **ONE_BACK)
    assert [violation.length for violation in verdict.violations] == [moves]


def test_between_elections_only_the_leader_knows_how_far_the_task_is() -> None:
    verdict = judged("bully-textbook", "T2", asks=1, **ONE_BACK)
    (violation,) = verdict.violations
    assert (violation.length, violation.witness.nodes) == (1, (1, 3))


GIVEN: list[dict[str, Any]] = [
    {"nodes": 2, "asks": 2, **ONE_BACK},
    {"nodes": 2, "asks": 2, "losses": 1},
    {"nodes": 2, "asks": 2, "cuts": 1},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_groups_that_merge_join_their_tasks(given: dict[str, Any]) -> None:
    verdict = judged("invitation", "T1", "T2", "T3", "T4", rules=WRAPS, delay_min=1, **given)
    assert verdict.claims == dict.fromkeys(("T1", "T2", "T3", "T4"), Outcome.HOLDS)


def test_groups_that_were_apart_need_not_agree_with_each_other() -> None:
    """A cut link makes two groups; all agree in each, and T4 is about who is linked."""
    given: dict[str, Any] = {"nodes": 2, "asks": 1, "cuts": 1, "delay_min": 1}
    apart = judged("invitation", "T2", "T4", rules=WRAPS, **given)
    assert apart.claims == {"T2": Outcome.HOLDS, "T4": Outcome.HOLDS}


def test_groups_that_keep_their_own_tasks_never_agree() -> None:
    given: dict[str, Any] = {"nodes": 2, "asks": 1, "delay_min": 1}
    verdict = judged("invitation", "T4", rules=("resumes=own",), **given)
    assert verdict.liveness is Liveness.STUCK
    assert [violation.length for violation in verdict.violations] == [22]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("misjudged", "broken"),
    [("none", {}), ("Accept", {"T3": 17}), ("Ready", {"T2": 12, "T3": 16})],
)
def test_a_message_of_an_old_group_must_not_be_taken_for_one_of_the_new(
    misjudged: str, broken: dict[str, int]
) -> None:
    setting = Setting(
        "invitation",
        (1, 2),
        (f"misjudges={misjudged}",),
        clock=Clock.UNBOUNDED,
        order=Order.BAG,
        start=Start.BOOT,
    )
    model = Model(setting, Budget(asks=1), Bounds(capacity=2, counter=3))
    claims = [CLAIMS["T2"], CLAIMS["T3"]]
    machine = setting.machine(*REGISTRY["invitation"])
    verdict = check(machine, model, claims, engine="numba", keep_going=True)
    assert {run.claim: run.length for run in verdict.violations} == broken
