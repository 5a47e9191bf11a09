"""What an office does that is told its members, and one that waits before it changes them."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from electorate.core import (
    Asked,
    Effect,
    Members,
    NodeId,
    Received,
    Request,
    Send,
    SetTimer,
    Stable,
    Status,
    TimedOut,
    Timing,
    Turns,
    Viewed,
)
from electorate.core.codec import Codec
from electorate.protocols.mandate import Mandate
from electorate.protocols.mandate.message import (
    Add,
    Adopt,
    Bound,
    Claim,
    Decree,
    Ended,
    Free,
    Grant,
    Listed,
    Poll,
    Release,
    Remove,
    Stands,
)
from electorate.protocols.mandate.state import MandateStable, Phase, Promise, Roster, Wait
from electorate.protocols.strongest_alive import StrongestAlive

IDS = (1, 2, 3, 4)
ERA = 10**9
FIRST = Roster(old=(1, 2, 3), new=(1, 2, 3))
PENDING = Roster((7, 1), (1, 2, 3), (1, 2))
SECOND = PENDING.decided()
WITHOUT_ME = Roster((7, 1), (2, 3), (2, 3))
OfficeMandate = Mandate.over(StrongestAlive)


class Node:
    """One node that stands as all others do, and what its last turn has ordered."""

    def __init__(self, me: NodeId = 1, form: str = "application", **stable: Any) -> None:
        members = Members.of(IDS, "lowest", dict.fromkeys(IDS, 1))
        self.turns = Turns(OfficeMandate(members, Timing(10), OfficeMandate.form(form)))
        kept = MandateStable(
            stable.get("promise", Promise()), Stable(), stable.get("roster", FIRST)
        )
        self.state: Any = self.turns.boot(me, kept).state
        self.effects: tuple[Effect, ...] = ()
        self.take(Viewed(frozenset(IDS)))
        self.hear(Stands(1), *(j for j in IDS if j != me))

    def take(self, event: Any) -> None:
        turn = self.turns.step(self.state, event)
        self.state, self.effects = turn.state, turn.effects

    def hear(self, message: Any, *senders: NodeId) -> None:
        for sender in senders:
            self.take(Received(sender, message))

    def ask(self, request: Request) -> None:
        self.take(Asked(request))

    @property
    def said(self) -> list[tuple[NodeId, Any]]:
        return [(each.to, each.message) for each in self.effects if isinstance(each, Send)]

    @property
    def phase(self) -> Phase:
        phase: Phase = self.state.phase
        return phase

    @property
    def roster(self) -> Roster:
        roster: Roster = self.state.stable.roster
        return roster

    @property
    def epoch(self) -> int:
        epoch: int = self.state.stable.promise.epoch
        return epoch


def claiming(**given: Any) -> Node:
    node = Node(**given)
    node.hear(Free(0), 2)
    assert node.phase is Phase.CLAIMING
    return node


def holding(**given: Any) -> Node:
    node = claiming(**given)
    node.hear(Grant(node.epoch, 0), 2)
    assert node.phase is Phase.HOLDING
    return node


def test_who_is_not_in_office_goes_by_the_list_from_then_on() -> None:
    node = Node(me=3)
    node.ask(Adopt(PENDING))
    assert (node.roster, node.said) == (PENDING, [])
    node.ask(Adopt(SECOND))
    assert node.roster == SECOND
    node.ask(Adopt(PENDING))
    node.ask(Adopt(FIRST))
    assert node.roster == SECOND


def test_a_claim_under_an_older_list_is_withdrawn() -> None:
    node = claiming()
    node.ask(Adopt(SECOND))
    assert node.phase is Phase.WAITING
    assert node.said == [(2, Release(1)), (3, Release(1))]
    assert node.roster == SECOND


@pytest.mark.parametrize("told", ["asked", "listed"])
def test_a_holder_asks_for_more_time_under_the_new_list_at_once(told: str) -> None:
    node = holding()
    node.take(Asked(Adopt(PENDING)) if told == "asked" else Received(2, Listed(PENDING)))
    assert node.said == [(2, Decree(1, 1, PENDING, True, 1)), (3, Decree(1, 1, PENDING, True, 1))]
    node.hear(Grant(1, 1), 3)
    assert node.state.votes, "the new list has not agreed yet"
    node.hear(Grant(1, 1), 2)
    assert not node.state.votes
    assert node.roster == PENDING, "nobody decides but who proposed it"


def test_a_holder_that_is_no_member_any_more_ends_its_work_and_leaves() -> None:
    node = holding()
    node.ask(Adopt(WITHOUT_ME))
    assert node.turns.view(node.state).status is Status.REORGANIZATION
    node.hear(Grant(1, 1), 2, 3)
    node.ask(Ended())
    assert node.said == [(2, Release(1)), (3, Release(1))]
    node.take(TimedOut(Wait.RETRY))
    assert (node.phase, node.said) == (Phase.IDLE, [])


def test_who_polls_while_it_is_removed_does_not_claim() -> None:
    node = Node()
    assert node.phase is Phase.POLLING
    node.ask(Adopt(WITHOUT_ME))
    node.hear(Free(0), 2, 3)
    assert (node.phase, node.said) == (Phase.POLLING, [])
    node.take(TimedOut(Wait.ANSWER))
    node.take(TimedOut(Wait.RETRY))
    assert (node.phase, node.said) == (Phase.IDLE, [])


def test_a_joiner_stands_for_nothing_until_it_is_listed() -> None:
    joiner = Node(me=4)
    assert (joiner.phase, joiner.said) == (Phase.IDLE, [])
    joiner.ask(Adopt(Roster((7, 1), (4,), (4,))))
    assert joiner.phase is Phase.HOLDING


def test_who_is_no_member_does_not_count() -> None:
    node = Node()
    node.hear(Free(0), 4)
    assert node.said == [], "no claim yet"
    node.hear(Free(0), 3)
    node.hear(Grant(1, 0), 4)
    assert node.phase is Phase.CLAIMING


def test_claims_are_above_the_token_of_the_list() -> None:
    node = claiming(roster=SECOND)
    assert node.epoch == 7 * ERA + 1
    assert node.said == [(2, Decree(7 * ERA + 1, 0, SECOND, priority=1))]


def test_a_claim_under_the_first_list_is_answered_whatever_that_list_is() -> None:
    node = Node(me=3, roster=Roster(old=(2, 3), new=(2, 3)))
    node.hear(Claim(1, 0), 2)
    assert node.said == [(2, Grant(1, 0))]


def test_an_office_that_is_told_changes_nothing_itself() -> None:
    node = holding()
    for request in (Add(4), Remove(2)):
        assert request not in node.turns.may_ask(node.turns.view(node.state))
        node.ask(request)
        assert (node.roster, node.effects) == (FIRST, ())


def test_an_office_with_a_list_of_its_own_is_not_told() -> None:
    node = holding(form="register")
    node.ask(Adopt(SECOND))
    assert (node.roster, node.effects) == (FIRST, ())


def test_a_register_waits_and_changes_one_thing_in_a_term() -> None:
    node = claiming(form="register")
    node.hear(Grant(1, 0), 2)
    assert [e.after for e in node.effects if isinstance(e, SetTimer) and e.timer == "settle"] == [
        90
    ]
    for request in (Remove(3), Add(4)):
        node.ask(request)
        assert node.effects == ()
    node.take(TimedOut(Wait.SETTLE))
    node.ask(Remove(3))
    assert node.roster == Roster((1, 1), (1, 2, 3), (1, 2))
    node.hear(Grant(1, 1), 2)
    assert node.roster == Roster((1, 1), (1, 2), (1, 2))
    node.ask(Add(4))
    assert node.effects == ()


def test_a_change_that_it_has_to_finish_is_its_one_and_needs_no_wait() -> None:
    pending = Roster((1, 1), (1, 2, 3), (1, 2))
    node = Node(form="register", roster=pending, promise=Promise(1, 2))
    node.take(TimedOut(Wait.GRANTED))
    node.hear(Free(1), 2)
    node.hear(Grant(2, 0), 2)
    assert node.roster == replace(pending, version=(2, 1))
    node.hear(Grant(2, 1), 2)
    node.take(TimedOut(Wait.SETTLE))
    node.ask(Add(4))
    assert (node.roster, node.effects) == (replace(pending, version=(2, 1)).decided(), ())


def test_a_newcomer_is_asked_once_the_wait_is_over() -> None:
    node = holding(form="register")
    node.take(TimedOut(Wait.SETTLE))
    node.ask(Add(4))
    assert node.said == [(4, Poll())]
    node.hear(Bound(), 4)
    assert node.roster == Roster((1, 1), (1, 2, 3), IDS)


def test_a_wait_that_is_too_short_is_refused() -> None:
    rules = OfficeMandate.form("register").with_texts(["settle=8T-1"])
    with pytest.raises(ValueError, match="members could change while a lease"):
        OfficeMandate(Members.of(IDS), Timing(10), rules)


def test_what_was_saved_before_lists_could_change_is_read_and_replaced() -> None:
    node = Node()
    data = msgspec.msgpack.encode({"promise": {"epoch": 5, "holder": 2}, "inner": {}})
    stable: Any = Codec(node.turns.machine).stable(data)
    assert stable.roster.is_fixed
    node.state = node.turns.boot(3, stable).state
    node.ask(Adopt(FIRST))
    assert (node.roster, node.epoch) == (FIRST, 5)


def test_a_promise_to_somebody_who_is_unknown_by_now_is_kept() -> None:
    node = Node(me=3, promise=Promise(5, 9))
    view = node.turns.view(node.state)
    assert (view.status, view.leader) == (Status.ELECTION, None)
    node.hear(Claim(6, 0), 2)
    assert node.said == []
    node.take(TimedOut(Wait.GRANTED))
    node.hear(Claim(6, 0), 2)
    assert node.said == [(2, Grant(6, 0))]
