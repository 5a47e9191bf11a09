"""Requests of the application, injected within a budget."""

import pytest

from electorate.check import Budget, Model, check
from electorate.claims import CLAIMS
from electorate.core import ProtocolError, Request, Standing
from electorate.trace import Setting, Start
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
    calm = probe.world.stabilised(probe.rows[0])
    assert [move.kind for move, _ in probe.world.successors(calm)] == ["tick"]


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
