"""What every commit protocol does, whatever it is: votes, answers, acknowledgements, help."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from electorate.core import (
    Asked,
    Decision,
    Effect,
    Event,
    Members,
    Message,
    Received,
    Send,
    Stage,
    TimedOut,
    Timing,
    Turns,
    Wants,
)
from electorate.protocols.commit.state import (
    Abort,
    Again,
    Applied,
    Begin,
    Commit,
    Done,
    Forget,
    Help,
    No,
    Prepare,
    Settled,
    Vote,
    Wait,
    Yes,
)
from electorate.protocols.commit.three_phase import ThreePhase
from electorate.protocols.commit.three_phase_ballots import ThreePhaseBallots
from electorate.protocols.commit.transaction import Transaction
from electorate.protocols.commit.two_phase import TwoPhase
from electorate.protocols.told_leader import Name, ToldLeader

KINDS = [kind.over(ToldLeader) for kind in (TwoPhase, ThreePhase, ThreePhaseBallots)]
every_kind = pytest.mark.parametrize("kind", KINDS)
MEMBERS = Members.of([1, 2, 3])


class Node:
    """One node of a transaction between nodes 1 and 2, coordinated by node 3."""

    def __init__(self, kind: type[Transaction], me: int, *rules: str) -> None:
        self.machine: Any = kind(MEMBERS, Timing(), kind.form("sound").with_texts(rules))
        self.turns, self.me = Turns(self.machine), me
        self.state: Any = None
        self.effects: tuple[Effect, ...] = ()
        self._take(self.turns.boot(me, None))

    def _take(self, turn: Any) -> "Node":
        self.state, self.effects = turn.state, turn.effects
        return self

    def take(self, *events: Event) -> "Node":
        for event in events:
            self._take(self.turns.step(self.state, event))
        return self

    def boot(self, stable: Any) -> "Node":
        return self._take(self.turns.boot(self.me, stable))

    def crash(self) -> "Node":
        return self.boot(self.state.stable)

    @property
    def view(self) -> Decision:
        view = self.turns.view(self.state)
        assert isinstance(view, Decision)
        return view

    @property
    def said(self) -> list[tuple[int, object]]:
        return [(each.to, each.message) for each in self.effects if isinstance(each, Send)]

    @property
    def owed(self) -> tuple[object, ...]:
        return self.turns.must_ask(self.view)


def words(kind: type[Transaction]) -> Iterator[Message]:
    """Everything that nodes of a commit protocol may say."""
    for word in kind.messages:
        kinds = [field.type for field in msgspec.structs.fields(word)]
        yield from (
            word(*given) for given in product(*(Stage if k is Stage else (1, 2) for k in kinds))
        )


def forgetful(kind: type[Transaction], *rules: str) -> Node:
    """A participant that has committed, and was told to forget it."""
    node = Node(kind, 1, *rules).take(PREPARE, YES, COMMIT, Asked(Applied()))
    return node.take(Received(3, Forget()))


PREPARE, YES, NO = Received(3, Prepare()), Asked(Vote(yes=True)), Asked(Vote(yes=False))
COMMIT, ABORT = Received(3, Commit()), Received(3, Abort())


@every_kind
def test_the_coordinator_begins_once_it_is_asked_to(kind: type[Transaction]) -> None:
    node = Node(kind, 3)
    assert Begin() in node.turns.may_ask(node.view)
    assert node.take(Asked(Begin())).said == [(1, Prepare()), (2, Prepare())]
    assert Begin() not in node.turns.may_ask(node.view)
    assert node.take(Asked(Begin())).said == []


@every_kind
def test_a_vote_is_owed_when_the_coordinator_has_asked_and_logged_before_it_is_sent(
    kind: type[Transaction],
) -> None:
    node = Node(kind, 1)
    assert (node.owed, node.view.wants) == ((), Wants.NOTHING)
    node.take(PREPARE)
    assert (node.owed, node.view.wants) == ((Vote(yes=True), Vote(yes=False)), Wants.PREPARE)
    assert node.take(YES).said == [(3, Yes())]
    assert node.state.stable.stage is Stage.UNCERTAIN
    assert (node.owed, node.view.wants) == ((), Wants.NOTHING)


@every_kind
def test_nobody_votes_yes_before_it_is_asked_but_anybody_may_abort(
    kind: type[Transaction],
) -> None:
    node = Node(kind, 1)
    assert node.take(YES).view.state is Stage.WORKING
    assert Vote(yes=False) in node.turns.may_ask(node.view)
    assert node.take(NO).said == [(3, No())]
    assert node.view.state is Stage.ABORTED
    assert node.take(PREPARE).said == [(3, No())]


@every_kind
def test_a_decision_is_acknowledged_once_it_is_applied(kind: type[Transaction]) -> None:
    node = Node(kind, 1).take(PREPARE, YES, COMMIT)
    assert (node.said, node.view.wants, node.owed) == ([], Wants.COMMIT, (Applied(),))
    assert node.take(Asked(Applied())).said == [(3, Done())]
    assert (node.view.wants, node.owed) == (Wants.NOTHING, ())
    assert node.take(COMMIT).said == [(3, Done())]


@every_kind
def test_who_voted_no_acknowledges_when_it_hears_of_the_decision(kind: type[Transaction]) -> None:
    node = Node(kind, 1).take(PREPARE, NO, Asked(Applied()))
    assert node.said == []
    assert node.take(ABORT).said == [(3, Done())]


@every_kind
def test_after_a_crash_the_application_is_asked_again(kind: type[Transaction]) -> None:
    node = Node(kind, 1).take(PREPARE, YES, COMMIT, Asked(Applied())).crash()
    assert (node.view.state, node.view.wants) == (Stage.COMMITTED, Wants.COMMIT)
    assert Node(kind, 1).take(PREPARE).crash().view.wants is Wants.NOTHING


@every_kind
def test_all_may_forget_when_all_have_acknowledged(kind: type[Transaction]) -> None:
    coordinator = Node(kind, 3).take(Asked(Begin()), Received(1, No()))
    assert coordinator.view.state is Stage.ABORTED
    assert not coordinator.take(Received(1, Done())).view.over
    assert coordinator.take(Received(2, Done())).said == [(1, Forget()), (2, Forget())]
    node = Node(kind, 1).take(NO, Asked(Applied())).take(Received(3, Forget()))
    for forgets in (coordinator, node, coordinator.crash(), node.crash()):
        assert forgets.view.over
        assert forgets.state.stable.stage is Stage.WORKING, "nothing of it is in the log"
        assert not {*map(type, forgets.turns.may_ask(forgets.view))} & {Begin, Vote, Again}


@every_kind
def test_the_coordinator_tells_again_who_has_not_acknowledged(kind: type[Transaction]) -> None:
    done = Received(1, Done())
    coordinator = Node(kind, 3).take(Asked(Begin()), Received(1, No()), done)
    assert coordinator.take(TimedOut(Wait.RESEND)).said == [(2, Abort())]
    assert coordinator.crash().said == [(1, Abort()), (2, Abort())]


@every_kind
def test_who_waits_too_long_calls_the_elected_node_the_second_time(
    kind: type[Transaction],
) -> None:
    node = Node(kind, 1, "inner.first=2").take(PREPARE, YES)
    assert node.take(TimedOut(Wait.PATIENCE)).said == []
    assert node.take(TimedOut(Wait.RETRY)).said == [(2, Help())]


@every_kind
def test_who_is_elected_while_it_waits_finds_out_at_once(kind: type[Transaction]) -> None:
    node = Node(kind, 1).take(PREPARE, YES, TimedOut(Wait.PATIENCE))
    assert node.said == []
    elected = Asked(node.machine.lift.request(Name(1)))
    assert [to for to, _ in node.take(elected).said] == [2]
    assert node.state.finding


@every_kind
def test_whoever_knows_the_decision_tells_it_to_who_calls(kind: type[Transaction]) -> None:
    node = Node(kind, 1).take(PREPARE, YES, COMMIT)
    assert node.take(Received(2, Help())).said == [(2, Commit())]


@every_kind
def test_an_elected_node_that_has_not_voted_refuses_when_it_is_called(
    kind: type[Transaction],
) -> None:
    node = Node(kind, 1, "inner.first=1").take(Received(2, Help()))
    assert node.view.state is Stage.ABORTED
    assert (2, Abort()) in node.said


@every_kind
def test_a_coordinator_without_a_log_lets_those_forget_that_have_applied_and_presumes_nothing(
    kind: type[Transaction],
) -> None:
    begun = Node(kind, 3)
    forgotten = Node(kind, 3).take(Asked(Begin()), Received(1, No()))
    forgotten.take(*(Received(j, Done()) for j in (1, 2)))
    asked = Node(kind, 3).boot(begun.machine.unknown(3))
    assert asked.state == forgotten.state != begun.state
    for word in words(kind):
        asked.boot(begun.machine.unknown(3)).take(Received(1, word), Asked(Begin()))
        assert asked.state == forgotten.state
        forgotten.take(Received(1, word))
        assert forgotten.said == ([(1, Forget())] if isinstance(word, Settled) else [])


@every_kind
@pytest.mark.parametrize("leader", [0, 1, 2])
def test_who_has_forgotten_answers_as_if_it_had_never_heard_of_it(
    kind: type[Transaction], leader: int
) -> None:
    rule = f"inner.first={leader}"
    assert Node(kind, 1, rule).machine.unknown(1) is None
    for sender, word in product((2, 3), words(kind)):
        new, old = Node(kind, 1, rule), forgetful(kind, rule)
        for event in (Received(sender, word), NO, Asked(Applied()), ABORT):
            assert new.take(event).effects == old.take(event).effects
            forgets = replace(new.state.stable, forgotten=True)
            assert replace(new.state, stable=forgets) == old.state


@every_kind
def test_the_work_of_what_is_forgotten_is_gone_so_nobody_votes_yes_on_it(
    kind: type[Transaction],
) -> None:
    assert forgetful(kind).take(PREPARE).owed == (Vote(yes=False),)
    node = forgetful(kind).take(PREPARE, NO, Asked(Applied()), Asked(Again()))
    assert node.said == [(3, Settled(Stage.ABORTED))]
    assert node.take(Received(3, Forget())).state == forgetful(kind).state


@every_kind
def test_nobody_hears_a_stranger(kind: type[Transaction]) -> None:
    """Who comes back with another memory is one: a member is a memory."""
    nodes = [
        Node(kind, 1),
        Node(kind, 1).take(PREPARE, YES),
        Node(kind, 1, "inner.first=1").take(PREPARE, YES, TimedOut(Wait.PATIENCE)),
        forgetful(kind),
        Node(kind, 3).take(Asked(Begin())),
        Node(kind, 3).take(Asked(Begin()), Received(1, No())),
        Node(kind, 3).boot(Node(kind, 3).machine.unknown(3)),
    ]
    for node, word in product(nodes, words(kind)):
        before = node.state
        assert (node.take(Received(7, word)).state, node.effects) == (before, ())


@every_kind
def test_what_was_not_answered_is_said_again(kind: type[Transaction]) -> None:
    coordinator = Node(kind, 3).take(Asked(Begin()), Received(1, Yes()))
    assert Again() in coordinator.turns.may_ask(coordinator.view)
    assert coordinator.take(Asked(Again())).said == [(2, Prepare())]
    for decision in (COMMIT, ABORT):
        node = Node(kind, 1).take(PREPARE, YES, decision)
        assert node.take(Asked(Again())).said == [], "it is not done yet"
        node.take(Asked(Applied()))
        assert Again() in node.turns.may_ask(node.view)
        assert node.take(Asked(Again())).said == [(3, Settled(node.view.state))]
    assert Node(kind, 1).take(PREPARE, YES, Asked(Again())).said == []


@every_kind
def test_who_has_done_otherwise_has_not_done_what_was_decided(kind: type[Transaction]) -> None:
    coordinator = Node(kind, 3).take(Asked(Begin()), Received(1, No()))
    coordinator.take(*(Received(j, Settled(Stage.COMMITTED)) for j in (1, 2)))
    assert (coordinator.said, coordinator.view.over) == ([], False)
    coordinator.take(*(Received(j, Settled(Stage.ABORTED)) for j in (1, 2)))
    assert coordinator.view.over
    node = Node(kind, 1).take(NO, Asked(Applied()))
    assert node.take(COMMIT).said == []


@every_kind
def test_the_coordinator_may_be_any_member_and_must_be_one(kind: type[Transaction]) -> None:
    node = Node(kind, 1, "coordinator=1")
    assert node.view.coordinates
    assert node.machine.participants == (2, 3)
    with pytest.raises(ValueError, match="7 is not a member"):
        Node(kind, 1, "coordinator=7")
