"""A machine over any other: its class, its rules, and its name."""

from typing import Any, Generic, TypeVar

import pytest

from electorate.cli.error import UsageError
from electorate.cli.protocol import find
from electorate.core import (
    Asked,
    Assumption,
    Event,
    Members,
    NodeId,
    Over,
    OverRules,
    Request,
    Result,
    Stable,
    Standing,
    State,
    Status,
    Timing,
    Turns,
)
from electorate.protocols.bully import Bully
from electorate.protocols.mandate import Mandate
from electorate.protocols.strongest_alive import StrongestAlive
from electorate.protocols.told_leader import Name, ToldLeader
from electorate.trace import Setting

Inner = TypeVar("Inner", bound=State)
Kept = TypeVar("Kept", bound=Stable)
HERE = f"{__file__}:Shell"


class ShellStable(Stable, Generic[Kept]):
    inner: Kept


class ShellState(State, Generic[Inner, Kept]):
    stable: ShellStable[Kept]
    inner: Inner


class ShellRules(OverRules):
    depth: int = 1


class Shell(Over[Any]):
    """Nothing but what is inside."""

    state_type = ShellState
    stable_type = ShellStable
    rules_type = ShellRules
    forms = {"deep": ShellRules(depth=2)}

    def boot(self, me: NodeId, stable: Any) -> Result[Any]:
        inner, effects = self.lift.boot(me, stable)
        return ShellState(me, ShellStable(inner.stable), inner), effects

    def step(self, state: Any, event: Event) -> Result[Any]:
        return self.lift.step(state, event)

    def view(self, state: Any) -> Standing:
        return self.lift.view(state)

    def may_ask(self, view: Standing) -> tuple[Request, ...]:
        return self.lift.may_ask(view)


def test_the_rules_hold_those_of_the_inner_machine_in_its_form() -> None:
    over = Shell.over(Bully, "printed")
    texts = over.form("deep").texts()
    printed = {f"inner.{name}": text for name, text in Bully.form("printed").texts().items()}
    assert texts == {**printed, "depth": "2"}
    assert over.form("sound").texts()["depth"] == "1"


def test_two_that_are_made_alike_are_the_same() -> None:
    assert Shell.over(Bully) is Shell.over(Bully)
    assert Shell.over(Bully) is not Shell.over(Bully, "printed")


def test_told_leader_follows_whom_it_is_told_to() -> None:
    shell = Shell.over(ToldLeader)(Members.of([1, 2]), Timing(1))
    turns = Turns(shell)
    state = turns.boot(1, None).state
    offers = turns.may_ask(turns.view(state))
    named = {turns.view(turns.step(state, Asked(offer)).state).leader for offer in offers}
    assert named == {1, 2}
    stranger = shell.lift.requests[0](Name(9))
    assert turns.view(turns.step(state, Asked(stranger)).state).status is Status.ELECTION


def test_what_runs_over_nothing_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="it runs over another protocol, and nothing says over"):
        Shell(Members.of([1, 2]), Timing(1))


def test_a_command_says_how_to_name_what_it_runs_over() -> None:
    setting = Setting(HERE, (1, 2))
    with pytest.raises(UsageError, match=r"say over which, as in .*:Shell-over-bully"):
        find(HERE).machine(setting)
    assert find(f"{HERE}-over-bully").machine(setting)


def test_what_a_protocol_is_named_over_alone_is_told_its_leader() -> None:
    assert find("mandate").kind is find("mandate-over-told-leader").kind
    assert find("mandate-over-bully").kind is Mandate.over(Bully)


class Keeper(Shell):
    """Promises more over what begins by itself."""

    promises = ("A1",)
    promises_over = ("A2",)
    assumptions_over = (Assumption.NO_LOSS,)


def test_more_is_promised_over_what_begins_by_itself() -> None:
    assert Keeper.over(ToldLeader).promises == ("A1",)
    assert Keeper.over(ToldLeader).assumptions == ()
    assert Keeper.over(StrongestAlive).promises == ("A1", "A2")
    assert Keeper.over(StrongestAlive).assumptions == (Assumption.NO_LOSS,)


def test_a_name_says_what_runs_over_what() -> None:
    found = find(f"{HERE}-over-bully-as-printed/deep")
    assert found.form == "deep"
    assert found.kind.rules_type().texts()["inner.accept"] == "anyone"
    assert find(found.spelled()) == found


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("bully-over-bully", "bully does not run over another protocol"),
        (f"{HERE}-over-bulli", "did you mean bully?"),
    ],
)
def test_a_name_that_makes_no_sense(name: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint.replace("?", r"\?")):
        find(name)
