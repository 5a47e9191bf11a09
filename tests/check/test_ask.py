"""Requests of the application, injected within a budget."""

import pytest

from electorate.check import Budget, Liveness, Model, check
from electorate.check.ablation import spent_by
from electorate.claims import CLAIMS
from electorate.core import ProtocolError, Request, Standing
from electorate.trace import Clock, Setting, Start
from tests.check.diary import Diary, Please
from tests.check.probe import Probe

W, V = "asked w", "asked v"


@pytest.mark.parametrize("asks", [0, 1, 2])
def test_requests_are_asked_as_often_as_the_budget_allows(asks: int) -> None:
    probe = Probe({}, nodes=1, asks=asks, wishes=("w",))
    assert probe.diaries(1) == {(W,) * n for n in range(asks + 1)}
    assert probe.most(lambda taken: taken.move.kind == "ask") == asks


def test_every_request_that_is_open_is_asked_at_every_live_node_at_any_time() -> None:
    probe = Probe({"2 boot": "set x 2"}, asks=1, wishes=("w", "v"))
    assert probe.diaries(1) == {(), (W,), (V,)}
    assert probe.moments("ask", 2, horizon=4) == {0, 1, 2, 3, 4}


def test_nothing_is_asked_of_a_node_that_is_down() -> None:
    probe = Probe({}, nodes=1, asks=1, crashes=1, wishes=("w",))
    asked = [taken for taken in probe.moves() if taken.move.kind == "ask" and not taken.move.torn]
    assert asked
    assert all(probe.diary(taken.before, 1) is not None for taken in asked)


def test_nothing_is_asked_once_nothing_fails_any_more() -> None:
    probe = Probe({}, nodes=1, asks=1, wishes=("w",))
    calm = probe.space.stabilised(probe.rows[0])
    assert [move.kind for move, _ in probe.successors(calm)] == ["tick"]


OWING = {"1 boot": "elect", "1 asked w": "follow 1", "1 asked v": "follow 2"}


def test_what_is_owed_is_asked_without_a_budget_and_whatever_the_application_chooses() -> None:
    probe = Probe(OWING, nodes=2, debts=("w", "v"))
    assert probe.diaries(1) == {(), (W,), (V,)}
    assert {taken.move.kind for taken in probe.moves()} == {"answer", "tick"}


def test_time_waits_for_what_is_owed() -> None:
    probe = Probe({**OWING, "2 boot": "set x 2"}, nodes=2, debts=("w",))
    assert probe.moments("answer", 1, horizon=4) == {0}
    late = Probe({**OWING, "2 boot": "set x 2"}, nodes=2, debts=("w",), clock=Clock.UNBOUNDED)
    assert any(late.diary(row, 2) and not late.diary(row, 1) for row in late.rows)


def test_what_is_owed_is_asked_when_nothing_fails_any_more_too() -> None:
    probe = Probe(OWING, nodes=1, debts=("w",))
    calm = probe.space.stabilised(probe.rows[0])
    assert [move.kind for move, _ in probe.successors(calm)] == ["answer"]


def test_nothing_is_owed_by_a_node_that_is_down_or_paused() -> None:
    probe = Probe(OWING, nodes=1, debts=("w",), crashes=1, pauses=1)
    asleep = [taken for taken in probe.moves() if taken.move.kind == "tick"]
    assert any(probe.diary(taken.before, 1) == () for taken in asleep)
    answered = [t for t in probe.moves() if t.move.kind == "answer" and not t.move.torn]
    assert all(probe.diary(taken.after, 1) == (W,) for taken in answered)


def test_who_owes_for_ever_lets_no_time_pass() -> None:
    setting = Setting("diary", (1,), start=Start.BOOT)
    quiet = {"1 boot": "elect", "1 asked w": "quietly"}
    machine = Diary(setting.members(), setting.timing, quiet, debts=("w",))
    found = [check(machine, Model(setting), [CLAIMS["A2"]], engine=e) for e in ("python", "numba")]
    assert [verdict.liveness for verdict in found] == [Liveness.STUCK] * 2


def test_the_run_of_an_answer_is_retold_by_the_simulator() -> None:
    probe = Probe({**OWING, "1 asked w": "follow 1; send 2 a"}, nodes=2, debts=("w",))
    for row in probe.rows:
        probe.expect_retold(row)


def test_an_answer_is_no_fault() -> None:
    probe = Probe(OWING, nodes=2, debts=("w",), wishes=("v",), asks=1)
    assert {"answer", "ask"} <= probe.kinds()
    for row in probe.rows:
        trace = probe.expect_retold(row)
        spent = spent_by(trace, probe.model, probe.machine)
        assert spent.asks == 1 - probe.space.budgets.cards[row[-1]].asks


class Pushy(Diary):
    """Offers what it has not declared."""

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return (Unheard(),)


class Unheard(Request):
    pass


def test_what_is_open_must_be_declared() -> None:
    setting = Setting("pushy", (1,), start=Start.BOOT)
    machine = Pushy(setting.members(), setting.timing, {})
    assert Pushy.requests == (Please,)
    with pytest.raises(ProtocolError, match="not a declared request"):
        check(machine, Model(setting, Budget(asks=1)), [CLAIMS["S2"]])
