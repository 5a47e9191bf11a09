"""Orders that do not say which term they mean: one that comes late ends a later term.

No claim about terms notices: a term may always end. What is claimed of orders is in
tests/check/ordered.py.
"""

import pytest

from electorate.check import Budget, Model, Result, Verdict, check
from electorate.protocols.leadership import Leadership
from electorate.trace import Order
from tests.check import leading
from tests.check.mandate import BARE, Case, judged
from tests.check.ordered import ORDERED

LATE, IN_TIME = f"{BARE} orders=late", f"{BARE} orders=members"
ASKED = Budget(asks=2)
ONE_ORDER = Case(IN_TIME, 3, ASKED, "ordered", asked=("1:inner.request(Name(1))", "3:Order(none)"))
"""Node 1 may be named once, and node 3 be asked once to have the one in office step down."""


@pytest.mark.parametrize(
    "case",
    [
        ONE_ORDER,
        pytest.param(ONE_ORDER._replace(asked=()), marks=pytest.mark.slow),
    ],
    ids=["one order", "any requests"],
)
def test_an_order_that_means_no_term_ends_a_later_one(case: Case) -> None:
    late = judged(case._replace(rules=LATE))
    assert late.claims == {"ordered": Result.VIOLATED}
    assert [violation.length for violation in late.violations] == [12]


def test_an_order_that_names_its_term_ends_no_other() -> None:
    verdict = judged(ONE_ORDER)
    assert verdict.claims == {"ordered": Result.WITHIN_BOUNDS}
    assert (verdict.states, set(verdict.cuts)) == (73_457, {"counter"})


def test_no_claim_about_terms_notices_the_difference() -> None:
    verdict = judged(ONE_ORDER._replace(rules=LATE, claims="M1 M2 M3 M4"))
    assert set(verdict.claims.values()) == {Result.WITHIN_BOUNDS}


def test_between_two_whose_channel_keeps_order_no_order_is_late() -> None:
    """There is no later term without the voter's grant, which comes after its order."""
    two = Case(LATE, 2, ASKED, "ordered")
    assert judged(two).claims == {"ordered": Result.WITHIN_BOUNDS}
    overtaking = judged(two._replace(order=Order.BAG))
    assert overtaking.claims == {"ordered": Result.VIOLATED}
    assert judged(two._replace(rules=IN_TIME, order=Order.BAG)).claims == {
        "ordered": Result.WITHIN_BOUNDS
    }


@pytest.mark.parametrize(
    "budget", [Budget(asks=3), Budget(crashes=1, recoveries=1, asks=2)], ids=str
)
def test_orders_keep_what_is_promised_about_terms(budget: Budget) -> None:
    verdict = judged(Case(IN_TIME, 2, budget))
    assert set(verdict.claims.values()) == {Result.WITHIN_BOUNDS}


TWO_ORDERS = leading.Case(3, Budget(asks=2), delay_min=0, asked=("1:Order(none)", "2:Order(none)"))
"""What nodes of applications run: node 3 leads, and each other is asked once to end that."""


def judged_together(case: leading.Case) -> Verdict:
    machine = case.setting.machine(Leadership, "sound")
    model = Model(case.setting, case.budget, case.bounds, asked=case.asked)
    return check(machine, model, [ORDERED])


def test_in_what_applications_run_no_order_ends_another_term() -> None:
    late = judged_together(TWO_ORDERS.but("election.orders=late"))
    assert late.claims == {"ordered": Result.VIOLATED}
    assert [violation.length for violation in late.violations] == [45]
    verdict = judged_together(TWO_ORDERS)
    assert (verdict.result, verdict.states, dict(verdict.cuts)) == (Result.HOLDS, 84_429, {})
