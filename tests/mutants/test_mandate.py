"""The mandate broken on purpose: each rule switched off alone, each length a tick too short.

A mutant is killed when the checker finds a run that breaks a claim; the length of the shortest such
run is pinned. No run as short breaks the sound form in the same model. The mutants that cost an
office rather than a claim are killed by the worst time to one, which grows with the terms that the
search may count: they go round for ever.
"""

from typing import Any

import pytest

from electorate.check import Budget, Liveness, Result, space
from electorate.check.interned import LocalCard
from electorate.trace import Clock
from tests.check.mandate import BARE, Case, applied, judged

ASKED = Budget(asks=2)
CRASHED = Budget(crashes=1, recoveries=1, asks=2)
STATES_MAX = 600_000

SAFETY = [
    ("durable=no", CRASHED, "M1", 8),
    ("epoch=keep", ASKED, "M1", 8),
    ("epoch=keep", ASKED, "M4", 8),
    ("boot=free", CRASHED, "M3", 8),
    ("grants=always", ASKED, "M3", 12),
    ("release=asked", ASKED, "M3", 9),
    ("count=reply", ASKED, "M3", 9),
    ("granted=1", ASKED, "M3", 8),
    ("yields=any", ASKED, "M1", 9),
    pytest.param("rounds=1", ASKED, "M3", 13, marks=pytest.mark.slow),
]
"""Rule, budget, the claim that it breaks and in how many moves: three nodes, bounded clocks."""


@pytest.mark.parametrize(("rule", "budget", "claim", "moves"), SAFETY)
def test_the_checker_kills_this_mutant(rule: str, budget: Budget, claim: str, moves: int) -> None:
    verdict = judged(Case(f"{BARE} {rule}", 3, budget, claim))
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]


@pytest.mark.parametrize(
    ("budget", "moves"), [(ASKED, 13), pytest.param(CRASHED, 8, marks=pytest.mark.slow)]
)
def test_no_run_as_short_breaks_the_sound_form(budget: Budget, moves: int) -> None:
    verdict = judged(Case(BARE, 3, budget), STATES_MAX)
    assert verdict.violations == ()
    assert verdict.depth > moves


class Late(LocalCard):
    """A driver that ends an office when its turn comes, and not before anything else."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.expired = None


@pytest.mark.parametrize(("nodes", "claim"), [(2, "M1"), (2, "M4")])
def test_an_office_that_does_not_end_first_comes_back(
    nodes: int, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(BARE, nodes, Budget(asks=1), claim)
    assert judged(case, engine="python").result is Result.WITHIN_BOUNDS
    monkeypatch.setattr(space, "LocalCard", Late)
    late = judged(case, engine="python")
    assert late.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in late.violations] == [8]


def test_who_restarts_while_it_claims_may_never_know_who_is_in_office() -> None:
    """Unless a voter that is free grants more time to one in office, whatever it has promised."""
    back = applied("application", "base=3", Budget(crashes=1, recoveries=1), 1, "M5 M7")
    assert judged(back).liveness is Liveness.LIVE
    left_out = judged(back._replace(rules=f"{back.rules} yields=never"))
    assert left_out.claims == {"M5": Result.HOLDS, "M7": Result.VIOLATED}
    assert [violation.length for violation in left_out.violations] == [92]


STAR = ((1, 2), (2, 3), (2, 4))
"""The strongest node is a leaf, and reaches no majority."""


@pytest.mark.parametrize(("rule", "moves"), [("silence=never", 8), ("silence=untold", 14)])
def test_without_silence_and_a_word_of_it_a_star_has_no_office(rule: str, moves: int) -> None:
    star = Case(
        "rounds=2", 4, Budget(), "M5", "strongest-alive", Clock.BOUNDED, counter=4, graph=STAR
    )
    assert judged(star).liveness is Liveness.LIVE
    mutant = judged(star._replace(rules=f"rounds=2 {rule}"))
    assert mutant.liveness is Liveness.STUCK
    assert [violation.length for violation in mutant.violations] == [moves]


RING = ((1, 3), (1, 4), (2, 3), (2, 4))
"""Nodes 1 and 2 do not see each other, and have the same two voters besides themselves."""


def rivals(rules: str, T: int = 1) -> Case:
    given = f"rounds=2 constants=any {rules}"
    return Case(
        given, 4, Budget(), "M5", "strongest-alive", Clock.BOUNDED, T=T, counter=4, graph=RING
    )


def goes_round(case: Case) -> bool:
    """Whether the worst time to an office grows with the number of terms that is explored."""
    times = [judged(case._replace(counter=most)).tau for most in (4, 6)]
    return times[0] != times[1]


@pytest.mark.slow
@pytest.mark.parametrize(("T", "answer"), [(1, 2), (1, 3), (2, 6)])
def test_two_that_claim_at_once_must_stay_apart_for_three_delays_and_an_answer(
    T: int, answer: int
) -> None:
    assert not goes_round(rivals(f"answer={answer} stagger={3 * T + answer}", T))
    assert goes_round(rivals(f"answer={answer} stagger={3 * T + answer - 1}", T))


@pytest.mark.slow
def test_the_next_rank_must_not_come_as_soon_as_an_answer_could() -> None:
    assert goes_round(rivals("answer=2T stagger=2T+1"))


@pytest.mark.slow
@pytest.mark.parametrize(("stagger", "worst"), [("6T", 44), ("7T-1", 26), ("7T", 26)])
def test_a_delay_more_and_they_collide_only_once(stagger: str, worst: int) -> None:
    assert judged(rivals(f"stagger={stagger}", T=2)).tau == worst


@pytest.mark.slow
def test_lots_in_place_of_a_stagger_let_them_collide_for_ever() -> None:
    assert goes_round(rivals("stagger=0 jitter=7T"))
    assert not goes_round(rivals("stagger=7T jitter=T"))


def holder(rules: str, T: int = 1, P: int = 0, drift: float = 0.0) -> Case:
    given = f"rounds=4 constants=any period=2T+2P lease=7T+6P {rules}"
    inside, clock = "strongest-alive", Clock.BOUNDED
    return Case(given, 2, Budget(), "M5", inside, clock, T=T, P=P, drift=drift, counter=4)


@pytest.mark.parametrize(
    ("T", "drift", "others", "lease"),
    [
        (1, 0.0, "", 7),
        pytest.param(2, 0.0, "", 13, marks=pytest.mark.slow),
        pytest.param(2, 0.25, "period=6 answer=6 granted=40", 21, marks=pytest.mark.slow),
    ],
)
def test_a_term_that_ends_before_it_is_renewed_is_claimed_again_and_again(
    T: int, drift: float, others: str, lease: int
) -> None:
    assert not goes_round(holder(f"{others} lease={lease}", T, drift=drift))
    assert goes_round(holder(f"{others} lease={lease - 1}", T, drift=drift))


@pytest.mark.parametrize(("T", "P"), [(1, 1), pytest.param(2, 1, marks=pytest.mark.slow)])
def test_a_round_that_ends_before_its_answers_come_may_be_in_vain_for_ever(T: int, P: int) -> None:
    """Handling takes P at either end: 2T+P is not enough."""
    assert judged(holder("period=2T+2P", T, P)).liveness is Liveness.LIVE
    assert judged(holder("period=2T+2P-1", T, P)).liveness is Liveness.PREVENTABLE
