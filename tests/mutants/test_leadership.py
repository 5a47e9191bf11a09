"""What a node of an application runs, broken on purpose: each rule switched off alone.

A mutant is killed by the shortest run of `electorate check leadership` that breaks a claim or, for
goals, after which one is out of reach for ever; its length is pinned. Most are killed from the
first boots; where that takes too long, a script leads to a place with the point in it, and the test
says that it has. The rule as it is breaks nothing in the same model: if no test here says so, one
of tests/check/test_leadership.py or tests/check/test_candidates.py does.
"""

from typing import Any

import pytest

from electorate.check import Budget, Liveness, Result, Verdict
from electorate.core import Request, Standing
from electorate.protocols.mandate import voter
from electorate.protocols.mandate.membership import Change, Membership
from electorate.protocols.mandate.message import Claim, Decree
from electorate.protocols.mandate.rule import Parameters
from electorate.protocols.mandate.state import AnyState, Promise, Roster
from tests.check.begun import begun, cluster_at
from tests.check.leading import (
    DECIDED_IN_THE_END,
    IN_OFFICE,
    PATH,
    TOLD_IN_THE_END,
    Case,
    Whole,
    judged,
)

NOTHING = Budget()
ASK = Budget(asks=1)
LOSS = Budget(losses=1)
LOSS_ASK = Budget(losses=1, asks=1)
BACK = Budget(crashes=1, recoveries=1)
BACK_ASK = Budget(crashes=1, recoveries=1, asks=1)
REMOVES = ("1:members.request(Change(3",)
ALONE = ("3:members.request(Change(1",)
"""Node 3, which has removed node 2, is asked to go on without node 1, too."""


def expect_broken(verdict: Verdict, claim: str, moves: int) -> None:
    assert verdict.claims == {claim: Result.VIOLATED}
    assert [violation.length for violation in verdict.violations] == [moves]


# --- the office, on a path whose ends are rivals ---

RIVALS = [
    ("election.boot=free", BACK, "M3", 52),
    ("election.durable=no", BACK, "M1", 24),
    ("election.poll=skip election.grants=always", NOTHING, "M3", 24),
    ("election.release=asked", ASK, "M3", 50),
    ("election.epoch=keep", LOSS, "M1", 41),
]
"""That `poll=skip` alone breaks nothing is among the verdicts of the mandate."""


@pytest.mark.parametrize(("rules", "budget", "claim", "moves"), RIVALS)
def test_a_promise_that_is_not_kept_makes_two_leaders_of_rivals(
    rules: str, budget: Budget, claim: str, moves: int
) -> None:
    asked = ("election.request(StepDown",)
    case = Case(3, budget, rules, claims=claim, graph=PATH, asked=asked if budget.asks else ())
    expect_broken(judged(case), claim, moves)


# --- who stands: what another has said is out of date ---


@pytest.mark.parametrize(
    ("rule", "stand", "claim", "moves"),
    [
        ("election.awaited=believed", (), "M5", 22),
        ("election.wished=known", (), "M9", 152),
        ("election.claimed=untold", (2, 2), "M9", 35),
    ],
)
def test_an_old_word_that_is_believed_costs_the_office_or_the_right_holder(
    rule: str, stand: tuple[int, ...], claim: str, moves: int
) -> None:
    sound = Case(2, LOSS_ASK, claims=claim, attributes=stand, asked=("election",))
    assert judged(sound).liveness is Liveness.LIVE
    verdict = judged(sound.but(rule))
    assert verdict.liveness is Liveness.STUCK
    expect_broken(verdict, claim, moves)


# --- the wire ---


class Deaf(Whole):
    """Members and an election that no wire joins."""

    wires = ()


def test_an_election_that_is_told_nothing_goes_by_the_first_list_for_ever() -> None:
    """No promise is broken: the election keeps them all, under a list that is nobody's any more."""
    case = Case(3, ASK, asked=REMOVES, kind=Deaf, claims="")
    expect_broken(judged(case, None, TOLD_IN_THE_END), "L2", 125)


@pytest.mark.parametrize(("rules", "states", "tau"), [("", 48_637, 20), ("at_boot=no", 54_015, 26)])
def test_an_election_that_is_not_told_at_boot_is_shown_the_list_by_others_only_later(
    rules: str, states: int, tau: int
) -> None:
    """It has crashed before it was told; what it was to be told does not change any more."""
    asked = ("1:members.request(Change(2",)
    case = Case(2, BACK_ASK, rules, claims="", mortal=(1,), asked=asked, kind=Whole)
    verdict = judged(case, None, TOLD_IN_THE_END)
    assert (verdict.liveness, verdict.states, verdict.tau) == (Liveness.LIVE, states, tau)


# --- changes of members ---


def state_at(file: str, rules: str, node: int) -> Any:
    """What a script has led a node to."""
    local = cluster_at(file, rules).nodes[node].local
    assert local is not None
    return local.state


def test_a_change_must_wait_for_leases_under_the_list_before_the_last() -> None:
    """The list of one member and the first one have no majority in common."""
    file = "removed.txt"
    assert state_at(file, "", 3).stable.members.inner.roster == Roster((1, 1), (1, 3), (1, 3))
    assert state_at(file, "", 2).election.office
    expect_broken(begun(file, "", ASK, "M3", asked=ALONE), "M3", 20)


@pytest.mark.slow
def test_so_it_must_from_the_first_boots_on() -> None:
    """The sound form is in `make leadership`."""
    asked = ("3:members.request(Change(2", *ALONE)
    case = Case(3, Budget(asks=2), "members.inner.settle=0", 0, "M3", graph=PATH, asked=asked)
    expect_broken(judged(case), "M3", 41)


def offered(machine: Membership, state: Any, view: Standing) -> tuple[Request, ...]:
    """Any change, also before the last is decided."""
    members = state.inner.stable.roster.new
    others = (node for node in machine.members.ids if node != state.me)
    return tuple(Change(node, node not in members) for node in others)


def test_the_next_change_waits_for_the_last_one_and_for_another_term(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of the two is enough, where a node may be asked for the next change at any time."""
    monkeypatch.setattr(Membership, "offers", offered)
    file, one, other = "proposed.txt", "members.inner.next_change=any", "members.inner.per_term=0"
    for rules in (one, f"{one} {other}"):
        begins = state_at(file, rules, 3).stable.members.inner.roster
        assert begins == Roster((1, 1), (1, 2, 3), (1, 3))
    expect_broken(begun(file, f"{one} {other}", ASK, "M3", asked=ALONE), "M3", 10)
    for rules, states in ((one, 80_680), (other, 85_109)):
        verdict = begun(file, rules, ASK, "M3", asked=ALONE)
        assert (verdict.result, verdict.states) == (Result.HOLDS, states)


def test_a_candidate_that_counts_as_a_voter_makes_a_second_majority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nodes 1 and 2 are a majority of three; node 3 and a candidate that is no member are none."""
    links = ((1, 2), (3, 4))
    case = Case(4, NOTHING, "members.inner.base=3 election.base=3", claims="M3", graph=links)
    assert judged(case).result is Result.HOLDS

    def voters(parameters: Parameters, s: AnyState) -> tuple[int, ...]:
        standing = {j for j, _ in s.ranks}
        return tuple(sorted({*s.stable.roster.everybody, *standing} & {*parameters.members.ids}))

    def agreed(roster: Roster, votes: frozenset[int], needs: str) -> bool:
        return all(2 * len(votes) > len(members) for members in (roster.old, roster.new))

    monkeypatch.setattr(Parameters, "voters", voters)
    monkeypatch.setattr(Roster, "agreed", agreed)
    expect_broken(judged(case), "M3", 23)


def test_a_change_that_is_left_to_a_node_that_is_gone_is_never_decided() -> None:
    file = "maker_crashes.txt"
    assert cluster_at(file).nodes[1].local is None
    assert [each.message for each in cluster_at(file).in_flight() if "Decree" in str(each.message)]
    sound = begun(file, "", NOTHING, "M5 M6 M7")
    assert (sound.liveness, sound.states, sound.tau) == (Liveness.LIVE, 1_318, 47)
    expect_broken(begun(file, "members.left=left", NOTHING, "M6"), "M6", 49)


def test_a_list_most_of_whose_members_are_down_stops_every_election() -> None:
    """Nodes 1 and 2 were a majority; 1 and 3, which is down, are to be one."""
    file, asked = "one_is_down.txt", ("1:members.request(Change(2",)
    sound = begun(file, "", ASK, "", IN_OFFICE, asked=asked)
    assert (sound.liveness, sound.unspent) == (Liveness.LIVE, ())
    expect_broken(begun(file, "members.reach=any", ASK, "", IN_OFFICE, asked=asked), "L4", 170)


@pytest.mark.parametrize(
    ("rules", "moves"),
    [
        ("", None),
        # Who is not told takes the change for left, and has it decided again.
        ("members.told=voters", None),
        ("members.left=left", None),
        ("members.told=voters members.left=left", 145),
    ],
)
def test_who_has_only_voted_is_told_of_the_decision_or_sees_to_it(
    rules: str, moves: int | None
) -> None:
    case = Case(3, ASK, rules, asked=REMOVES, kind=Whole, claims="")
    verdict = judged(case, None, DECIDED_IN_THE_END)
    if moves is None:
        assert verdict.liveness is Liveness.LIVE
    else:
        expect_broken(verdict, "L3", moves)


def test_who_had_promised_more_comes_to_know_the_holder_though_the_list_is_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An election decides no list, so nothing is lost if it grants renewals under such a one."""
    file = "undecided.txt"
    roster = state_at(file, "", 1).stable.election.roster
    assert roster == Roster((1, 1), (1, 2, 3), (1, 2, 3, 4))
    sound = begun(file, "", BACK, "M5 M7", mortal=(4,))
    assert (sound.liveness, sound.states, sound.tau) == (Liveness.LIVE, 297_236, 21)
    yields = voter._yields

    def yields_nothing_undecided(
        parameters: Parameters, promise: Promise, j: int, claim: Claim | Decree, roster: Roster
    ) -> bool:
        return not roster.is_pending and yields(parameters, promise, j, claim, roster)

    monkeypatch.setattr(voter, "_yields", yields_nothing_undecided)
    expect_broken(begun(file, "", BACK, "M7", mortal=(4,)), "M7", 151)
