"""The claims about mandates, on rows made by hand."""

from msgspec.structs import replace

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import Members, NodeId, Stable, Standing, Status, Value
from electorate.protocols.mandate.state import MandateStable, Promise, Roster

Absent = frozenset[tuple[NodeId, NodeId]]
NONE: Absent = frozenset()


class Promised(Value):
    epoch: int
    holder: NodeId | None


class Kept(Stable):
    promise: Promised


def office(node: NodeId, token: int) -> Standing:
    return Standing(Status.NORMAL, node, until="lease", token=token)


def row(
    held: dict[NodeId, int],
    claims: dict[NodeId, int] | None = None,
    *,
    nodes: int = 3,
    attributes: dict[NodeId, int] | None = None,
    absent: Absent = NONE,
) -> Row:
    """Who is in office with which token, and who has claimed one."""
    ids = range(1, nodes + 1)
    standings = tuple(office(n, held[n]) if n in held else Standing(Status.ELECTION) for n in ids)
    claimed = {**held, **(claims or {})}
    stables = tuple(Kept(Promised(claimed.get(n, 0), n if n in claimed else None)) for n in ids)
    return Row(Members.of(ids, "lowest", attributes), standings, absent, stables)


def judge(name: str, *rows: Row) -> Witness | None:
    """What the last row of a run breaks."""
    following = Following(CLAIMS[name])
    return [following.judge(each) for each in rows][-1]


def test_a_token_that_two_nodes_hold_at_once_is_entered_twice() -> None:
    found = judge("M1", row({1: 1}), row({1: 1, 2: 1}))
    assert found == Witness((2, 1), "2 entered with token 1, as did 1 before")


def test_a_token_that_is_held_again_by_another_node_is_entered_twice() -> None:
    found = judge("M1", row({1: 1}), row({}), row({3: 1}))
    assert found == Witness((3, 1), "3 entered with token 1, as did 1 before, whose term had ended")
    assert judge("M4", row({1: 1}), row({}), row({3: 1})) is None


def test_a_term_that_has_ended_and_goes_on_is_entered_twice_and_has_come_back() -> None:
    run = (row({1: 1}), row({}), row({1: 1}))
    assert judge("M1", *run) is not None
    assert judge("M4", *run) == Witness((1,), "the term of 1 with token 1 had run out, and is back")
    assert judge("M1", row({1: 1}), row({1: 1}), row({1: 2}), row({})) is None


def test_what_has_been_entered_twice_stays_so() -> None:
    assert judge("M1", row({1: 1}), row({2: 1}), row({})) is not None


def test_a_token_must_be_larger_than_those_entered_before_its_claim() -> None:
    late = (row({2: 2}), row({}), row({}, {1: 1}), row({1: 1}))
    found = judge("M2", *late)
    assert found is not None
    assert found.nodes == (1,)
    assert judge("M2", row({}, {1: 1}), row({2: 2}, {1: 1}), row({1: 1})) is None


def test_a_claim_that_is_never_entered_breaks_nothing() -> None:
    assert judge("M2", row({2: 2}), row({2: 2}, {1: 1})) is None


def test_two_nodes_in_office_break_exclusion() -> None:
    found = judge("M3", row({1: 1, 2: 2}))
    assert found == Witness((1, 2), "1 with token 1 and 2 with token 2 are in office at once")


def test_a_smaller_token_after_a_larger_one_breaks_exclusion() -> None:
    found = judge("M3", row({2: 2}), row({}), row({1: 1}))
    assert found == Witness((1,), "1 is in office with token 1, after 2")
    assert judge("M3", row({1: 1}), row({}), row({2: 2})) is None


def test_somebody_has_to_be_in_office_if_a_node_reaches_a_majority() -> None:
    found = judge("M5", row({}))
    assert found == Witness((1,), "1 reaches a majority, and nobody is in office")
    assert judge("M5", row({3: 1})) is None


def test_nobody_has_to_be_if_no_node_reaches_one() -> None:
    everything = frozenset({(1, 2), (1, 3), (2, 3)})
    assert judge("M5", row({}, absent=everything)) is None
    assert judge("M5", row({}, absent=everything - {(1, 2)})) is not None


def test_a_witness_need_not_be() -> None:
    only_three = frozenset({(1, 2)})
    attributes = {1: 1, 2: 1}
    far = row({}, nodes=5, absent=frozenset({(1, 2), (1, 4), (1, 5), (2, 4), (2, 5), (4, 5)}))
    assert judge("M5", far) == Witness((3,), "3 reaches a majority, and nobody is in office")
    members = Members.of(range(1, 6), "lowest", {1: 1, 2: 1, 4: 1, 5: 1})
    alone = Row(members, far.standings, far.absent, far.stables)
    assert judge("M5", alone) is None
    assert judge("M5", row({}, attributes=attributes, absent=only_three)) is not None


def listed(holding: dict[int, int], *rosters: Roster, absent: Absent = NONE) -> Row:
    """A row in which every node has a list of members of its own."""
    seen = row(holding, nodes=len(rosters), absent=absent)
    stables = tuple(MandateStable(Promise(), Stable(), roster) for roster in rosters)
    return Row(seen.members, seen.standings, seen.absent, stables)


FIRST = Roster((0, 0), (1, 2, 3), (1, 2, 3))
GROWN = Roster((1, 1), (1, 2, 3), (1, 2, 3, 4))


def test_a_majority_is_one_of_the_newest_list_that_is_known_in_reach() -> None:
    far = frozenset({(1, 3), (1, 4), (2, 3), (2, 4), (3, 4)})
    assert judge("M5", listed({}, FIRST, FIRST, FIRST, FIRST, absent=far)) is not None
    assert judge("M5", listed({}, FIRST, GROWN, FIRST, FIRST, absent=far)) is None
    assert judge("M5", listed({}, FIRST, FIRST, FIRST, GROWN, absent=far)) is not None
    near = far - {(1, 3)}
    assert judge("M5", listed({}, FIRST, GROWN, FIRST, FIRST, absent=near)) is not None


def test_who_is_no_member_need_not_be_in_office() -> None:
    only_four = frozenset({(1, 2), (1, 3), (2, 3)})
    assert judge("M5", listed({}, FIRST, FIRST, FIRST, FIRST, absent=only_four)) is None


def test_a_change_must_be_decided_by_whoever_is_in_office() -> None:
    text = "1 is in office, and its change of members is undecided"
    assert judge("M6", listed({1: 1}, GROWN, FIRST, FIRST, FIRST)) == Witness((1,), text)
    decided = GROWN.decided()
    assert judge("M6", listed({1: 1}, decided, decided, decided, decided)) is None
    assert judge("M6", listed({}, GROWN, GROWN, GROWN, FIRST)) is None


def test_so_it_must_be_to_every_member_that_the_holder_reaches() -> None:
    decided = GROWN.decided()
    text = "1 is in office, and to 3 a change of members is undecided"
    assert judge("M6", listed({1: 1}, decided, decided, GROWN, decided)) == Witness((1, 3), text)
    cut = frozenset({(1, 3)})
    assert judge("M6", listed({1: 1}, decided, decided, GROWN, decided, absent=cut)) is None
    assert judge("M6", listed({1: 1}, FIRST, FIRST, FIRST, GROWN)) is None


def test_whoever_is_in_office_must_be_a_member() -> None:
    text = "4 is in office, and is no member"
    assert judge("M6", listed({4: 1}, FIRST, FIRST, FIRST, FIRST)) == Witness((4,), text)


def followed(*others: Standing | None, absent: Absent = NONE) -> Row:
    """Node 1 is in office with token 2, and this is how the others stand."""
    held = row({1: 2})
    return Row(held.members, (held.standings[0], *others), absent, held.stables)


def test_whoever_is_in_office_must_be_known_to_those_it_reaches() -> None:
    follows, alone = Standing(Status.NORMAL, 1, token=2), Standing(Status.ELECTION)
    unknown = Witness((1, 3), "1 is in office with token 2, and 3 does not know it")
    assert judge("M7", followed(follows, alone)) == unknown
    assert judge("M7", followed(follows, Standing(Status.NORMAL, 1, token=1))) == unknown
    assert judge("M7", followed(follows, alone, absent=frozenset({(1, 3)}))) is None
    assert judge("M7", followed(follows, follows)) is None
    assert judge("M7", followed(follows, None)) is None
    assert judge("M7", row({})) is None


def test_who_is_no_member_need_not_know() -> None:
    follows, alone = Standing(Status.NORMAL, 1, token=2), Standing(Status.ELECTION)
    lists = listed({1: 2}, FIRST, FIRST, FIRST, FIRST)
    seen = (lists.standings[0], follows, follows, alone)
    assert judge("M7", Row(lists.members, seen, stables=lists.stables)) is None


def test_members_are_those_of_the_list_of_whoever_is_in_office() -> None:
    follows, alone = Standing(Status.NORMAL, 1, token=2), Standing(Status.ELECTION)
    for mine, other, is_kept in ((FIRST, GROWN, True), (GROWN, FIRST, False)):
        lists = listed({1: 2}, mine, FIRST, FIRST, other)
        seen = (lists.standings[0], follows, follows, alone)
        kept = judge("M7", Row(lists.members, seen, stables=lists.stables)) is None
        assert kept is is_kept


def standing(held: dict[NodeId, int], *priorities: int, absent: Absent = NONE) -> Row:
    """Who is in office, and with which priority each node stands."""
    seen = row(held, absent=absent)
    told = zip(seen.standings, priorities, strict=True)
    stand = (None if each is None else replace(each, priority=p) for each, p in told)
    return Row(seen.members, tuple(stand), seen.absent, seen.stables)


def test_somebody_must_be_in_office_only_if_a_node_stands() -> None:
    assert judge("M5", standing({}, 0, 0, 0)) is None
    found = judge("M5", standing({}, 0, 1, 0))
    assert found == Witness((2,), "2 reaches a majority, and nobody is in office")


def test_whoever_is_in_office_must_stand_for_it() -> None:
    found = judge("M8", standing({1: 1}, 0, 1, 1))
    assert found == Witness((1,), "1 is in office, and does not stand for it")
    assert judge("M8", standing({1: 1}, 1, 0, 0)) is None
    assert judge("M8", row({1: 1})) is None


def test_nobody_that_could_take_over_may_have_a_higher_priority_than_the_holder() -> None:
    found = judge("M9", standing({1: 1}, 1, 0, 2))
    assert found == Witness((1, 3), "1 is in office with priority 1, and 3 has 2")
    assert judge("M9", standing({1: 1}, 2, 2, 0)) is None
    assert judge("M9", standing({1: 1}, 1, 0, 2, absent=frozenset({(1, 3)}))) is None
    alone = frozenset({(2, 3), (1, 3)})
    assert judge("M9", standing({1: 1}, 1, 0, 2, absent=alone)) is None
    assert judge("M9", row({1: 1})) is None
