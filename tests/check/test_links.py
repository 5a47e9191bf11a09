"""Links: those that a graph leaves out, those that are cut and heal, and who notices."""

import pytest

from electorate.check import Liveness
from electorate.check.column import ModelError, Row
from electorate.check.compiler import Move
from electorate.claims import Claim, Kind
from electorate.claims import Row as Seen
from electorate.trace import Clock, Order, script_of
from tests.check.claim import everybody_follows
from tests.check.drawn import drawn_watchers
from tests.check.link import (
    DIE,
    LETTER,
    LETTERS,
    LINE,
    A,
    B,
    C,
    after,
    ends_of,
    on_their_way,
    ticked,
)
from tests.check.probe import Probe
from tests.check.test_drawn import compare

# --- graphs ---


def test_what_is_sent_where_there_is_no_link_is_lost_at_once() -> None:
    """Fails if a graph is ignored, or if such a loss is a move or costs a fault."""
    orders = {"1 boot": "send 2 a; send 3 b; send 2 a"}
    probe = Probe(orders, nodes=3, graph=((1, 3),), losses=1)
    assert probe.ends(2) == {()}
    assert probe.ends(3) == {(B,), ()}
    direct = Probe({"1 boot": "send 3 b"}, nodes=3, graph=((1, 3),), losses=1)
    counts = (len(probe.rows), probe.search.transitions)
    assert counts == (len(direct.rows), direct.search.transitions)


@pytest.mark.parametrize("order", [Order.FIFO, Order.GLOBAL, Order.BAG])
@pytest.mark.parametrize("pair", [(1, 2), (2, 1)])
def test_a_link_goes_both_ways_however_it_is_written(pair: tuple[int, int], order: Order) -> None:
    """Fails if a pair counts in one direction or in one way of writing only."""
    orders = {"1 boot": "send 2 a; send 3 c", "2 boot": "send 1 b; send 3 c"}
    probe = Probe(orders, nodes=3, graph=(pair,), order=order)
    assert (probe.ends(1), probe.ends(2), probe.ends(3)) == ({(B,)}, {(A,)}, {()})


def test_a_node_begins_with_its_neighbours_in_view() -> None:
    """Fails if a first view shows everybody, or not the node itself."""
    probe = Probe({}, nodes=4, views=True, graph=LINE)
    seen = [probe.diary(probe.rows[0], node) for node in (1, 2, 3, 4)]
    assert seen == [("saw 1 2",), ("saw 1 2 3",), ("saw 2 3",), ("saw 4",)]


def test_a_crash_and_a_return_are_seen_by_neighbours_alone() -> None:
    """Fails if a detector speaks of a node that its own was never linked to."""
    probe = Probe({}, nodes=3, views=True, graph=LINE, crashes=1, recoveries=1)
    down = after(probe, None, "crash", 1)
    assert probe.moments("view", 2, down, horizon=4) == {0, 1, 2, 3, 4}
    assert probe.moments("view", 3, down, horizon=4) == set()
    back = after(probe, down, "recover", 1)
    assert probe.diary(back, 1) == ("again", "saw 1 2")


def test_a_node_that_comes_back_is_wrong_about_no_stranger() -> None:
    """Fails if a new detector has to correct itself about those it is not linked to."""
    probe = Probe({}, nodes=3, views=True, graph=LINE, crashes=3, recoveries=1)
    row = after(probe, after(probe, None, "crash", 1), "crash", 3)
    back = probe.space.stabilised(after(probe, row, "recover", 1))
    assert probe.moments("view", 1, back) == set()
    back = after(probe, after(probe, row, "crash", 2), "recover", 1)
    assert ends_of(probe, back, 1) == {("again", "saw 1 2", "saw 1")}


def test_lies_are_about_neighbours() -> None:
    """Fails if a detector lies that a node without a link is there."""
    probe = Probe({}, nodes=3, views=True, graph=LINE, lies=1)
    told = {(t.move.where + 1, t.move.what) for t in probe.walk() if t.move.kind == "lie"}
    assert told == {(1, frozenset({1})), (2, frozenset({1, 2})), (2, frozenset({2, 3}))} | {
        (3, frozenset({3}))
    }


# --- cuts and messages ---


def test_what_is_sent_over_a_cut_link_is_lost_at_once_both_ways() -> None:
    """Fails if a cut works one way only, or if what is sent waits for the link to heal."""
    orders = {
        "any boot": "set x 1",
        "1 fired x": "send 2 a; send 3 a",
        "2 fired x": "send 1 b; send 3 b",
    }
    probe = Probe(orders, nodes=3, T=2, cuts=1, heals=1)
    cut = after(probe, None, "cut", 1, 2)
    for taken in probe.walk(cut):
        if taken.move.kind == "fire" and probe.columns.cut_links(taken.before):
            assert on_their_way(probe, taken.after, 1, 2) == 0
            assert on_their_way(probe, taken.after, 2, 1) == 0
    heard = ends_of(probe, cut, 3)
    assert all(diary is not None and {A, B} <= set(diary) for diary in heard)


def test_what_is_on_its_way_over_a_cut_link_cannot_be_handed_over() -> None:
    """Fails if a cut lets pass what was sent before it."""
    probe = Probe(LETTER, T=2, cuts=1, heals=1)
    cut = after(probe, None, "cut", 1, 2)
    assert on_their_way(probe, cut, 1, 2) == 1
    handed = [taken for taken in probe.walk(cut) if taken.move.kind == "deliver"]
    assert handed
    assert not any(probe.columns.cut_links(taken.before) for taken in handed)
    probe = Probe(LETTER, T=2, cuts=1)
    for_good = after(probe, None, "cut", 1, 2)
    assert on_their_way(probe, for_good, 1, 2) == 0
    assert probe.moments("deliver", 2, for_good) == set()
    assert ends_of(probe, for_good, 2) == {()}


def test_time_does_not_wait_for_a_message_on_a_cut_link_and_takes_it_when_it_is_due() -> None:
    """Fails if such a message blocks time, goes early, or stays beyond its bound."""
    probe = Probe(LETTER, T=2, cuts=1, heals=1)
    cut = after(probe, None, "cut", 1, 2)
    assert [on_their_way(probe, ticked(probe, cut, n), 1, 2) for n in range(5)] == [1, 1, 1, 0, 0]


def test_a_message_gets_through_within_its_bound_if_the_link_heals_by_then() -> None:
    """Fails if a heal does not bring back what is on its way, or brings it back too late."""
    probe = Probe(LETTER, T=2, delay_min=1, cuts=1, heals=1)
    cut = after(probe, None, "cut", 1, 2)
    assert probe.moments("heal", 1, cut, horizon=4) == {0, 1, 2, 3, 4}
    assert probe.moments("deliver", 2, cut) == {1, 2}
    due = after(probe, ticked(probe, cut, 2), "heal", 1, 2)
    assert {move.kind for move, _ in probe.successors(due)} == {"deliver"}
    late = after(probe, ticked(probe, cut, 3), "heal", 1, 2)
    assert ends_of(probe, late, 2) == {()}


def test_a_message_on_a_cut_link_may_get_lost_for_nothing_while_the_link_may_heal() -> None:
    """Fails if that costs a loss, comes before a message can arrive, or without a heal left."""
    for heals, when in ((0, set[int]()), (1, {1, 2})):
        probe = Probe(LETTER, T=2, delay_min=1, cuts=1, heals=heals, losses=1)
        cut = after(probe, None, "cut", 1, 2)
        found = [
            taken
            for taken in probe.walk(cut)
            if taken.move.kind == "lose" and probe.columns.cut_links(taken.before)
        ]
        assert {taken.now for taken in found} == when
        assert all(taken.before[-1] == taken.after[-1] for taken in found)


def test_the_order_of_a_channel_survives_a_cut() -> None:
    """Fails if what a cut leaves on its way is reordered or comes back after its loss."""
    probe = Probe(LETTERS, T=2, cuts=1, heals=1)
    gapped = {(), (A,), (B,), (C,), (A, B), (A, C), (B, C), (A, B, C)}
    assert probe.ends(2) == gapped
    bag = Probe(LETTERS, T=2, cuts=1, heals=1, order=Order.BAG)
    assert {(B, A), (C, B)} <= bag.ends(2)


def test_no_timer_waits_for_a_message_that_is_due_on_a_cut_link() -> None:
    """Fails if closed bounds hold back timers for what cannot arrive."""
    orders = {"1 boot": "send 2 a", "3 boot": "set x 1"}
    probe = Probe(orders, nodes=3, cuts=1, heals=1)
    cut = ticked(probe, after(probe, None, "cut", 1, 2))
    assert on_their_way(probe, cut, 1, 2) == 1
    assert [m.kind for m, _ in probe.successors(cut)] == ["lose", "fire", "heal"]
    healed = after(probe, cut, "heal", 1, 2)
    assert [m.kind for m, _ in probe.successors(healed)] == ["deliver"]


def test_a_cut_kills_connections_that_die() -> None:
    """Fails if anything of a dead connection arrives, or if the cut kills a third node's."""
    orders = {"1 boot": "send 2 a; send 3 a", "2 boot": "send 1 b"}
    probe = Probe(orders, nodes=3, T=2, cuts=1, heals=1, connections=DIE)
    cut = after(probe, None, "cut", 1, 2)
    assert (on_their_way(probe, cut, 1, 2), on_their_way(probe, cut, 2, 1)) == (0, 0)
    assert ends_of(probe, cut, 2) == ends_of(probe, cut, 1) == {()}
    assert ends_of(probe, cut, 3) == {(A,)}
    outlive = Probe(orders, nodes=3, T=2, cuts=1, heals=1)
    assert ends_of(outlive, after(outlive, None, "cut", 1, 2), 2) == {(), (A,)}


def test_a_paused_node_gets_nothing_that_its_cut_link_has_outlasted() -> None:
    """Fails if a pause keeps messages alive beyond their bound on a link that is cut."""
    probe = Probe(LETTER, T=2, pauses=1, cuts=1, heals=1)
    paused = after(probe, None, "pause", 2)
    assert on_their_way(probe, ticked(probe, paused, 4), 1, 2) == 1
    assert on_their_way(probe, ticked(probe, after(probe, paused, "cut", 1, 2), 3), 1, 2) == 0


@pytest.mark.parametrize(("cuts", "heals"), [(0, 2), (1, 0), (2, 1), (2, 2), (1, 3)])
@pytest.mark.parametrize("clock", list(Clock))
def test_links_are_cut_and_heal_as_often_as_the_budget_allows(
    cuts: int, heals: int, clock: Clock
) -> None:
    """Fails if a cut or a heal is free, or if a link heals that is not cut."""
    probe = Probe({}, cuts=cuts, heals=heals, clock=clock)
    assert probe.most(lambda taken: taken.move.kind == "cut") == min(cuts, heals + 1)
    assert probe.most(lambda taken: taken.move.kind == "heal") == min(cuts, heals)


def test_every_link_of_the_graph_may_be_cut_and_no_other() -> None:
    """Fails if a link that is not there is cut, or one of several never is."""
    probe = Probe({}, nodes=3, graph=LINE, cuts=2)
    cut = {probe.columns.links[m.where] for row in probe.rows for m in cuts_of(probe, row)}
    assert cut == {(0, 1), (1, 2)}
    assert len({probe.columns.cut_links(row) for row in probe.rows}) == 4


def cuts_of(probe: Probe, row: Row) -> list[Move]:
    return [move for move, _ in probe.successors(row) if move.kind == "cut"]


@pytest.mark.parametrize("heals", [0, 1])
def test_links_stay_as_they_are_once_nothing_fails_any_more(heals: int) -> None:
    """Fails if the stable phase heals links, or waits for one to heal."""
    orders = {
        "1 boot": "follow 1; set x 2",
        "1 fired x": "quietly; send 2 a; set x 2",
        "2 heard a": "quietly; follow 1",
    }
    goal = everybody_follows(1)
    assert Probe(orders).check(goal).liveness is Liveness.LIVE
    verdict = Probe(orders, cuts=1, heals=heals).check(goal)
    assert verdict.liveness is Liveness.STUCK
    (violation,) = verdict.violations
    happenings = [type(step.happening).__name__ for step in violation.trace.steps]
    assert "Cut" in happenings[: violation.calm_after]
    assert "Healed" not in happenings


@pytest.mark.parametrize("order", [Order.GLOBAL, Order.SET])
def test_links_are_not_cut_where_channels_are_not_told_apart(order: Order) -> None:
    """Fails if a search runs that would get such cuts wrong."""
    with pytest.raises(ModelError, match="channel for each pair"):
        Probe({}, order=order, clock=Clock.UNBOUNDED, cuts=1)
    Probe({}, order=order, clock=Clock.UNBOUNDED, heals=1, graph=())


def test_more_links_than_fit_into_a_column_are_refused() -> None:
    """Fails if the bits of the links run into one another or past their column."""
    with pytest.raises(ModelError, match="at most 31 links, not 36"):
        Probe({}, nodes=9, cuts=1)
    assert len(Probe({}, nodes=9, graph=((1, 9),), cuts=1).rows) == 2


# --- claims and stories ---


def test_claims_see_which_links_there_are() -> None:
    """Fails if a row shows a cut link as linked, a healed one as cut, or hides the graph."""
    seen: set[frozenset[tuple[int, int]]] = set()

    def look(row: Seen) -> None:
        seen.add(row.absent)
        assert all(row.linked(b, a) is ((a, b) not in row.absent) for a, b in ((1, 2), (1, 3)))

    probe = Probe({}, nodes=3, graph=LINE, cuts=2, heals=1)
    probe.check(Claim("look", Kind.ALWAYS, "looks", look))
    gap = (1, 3)
    assert seen == {
        frozenset({gap}),
        frozenset({gap, (1, 2)}),
        frozenset({gap, (2, 3)}),
        frozenset({gap, (1, 2), (2, 3)}),
    }


def test_the_story_of_a_cut_is_retold() -> None:
    """Fails if a script loses a cut, or tells otherwise than the simulator what a cut takes."""
    probe = Probe(LETTERS, nodes=3, T=1, cuts=2, heals=1, graph=((1, 2), (1, 3)))
    told = ""
    for row in probe.rows:
        told += script_of(probe.expect_retold(row))
    for words in ("cut 1 2\n", "1<->2 is cut", "heal 1 2\n", "1->2 Word(b) lost: 1->2 is cut"):
        assert words in told


@pytest.mark.parametrize("part", range(4))
def test_watchers_have_the_states_and_fates_that_the_plain_explorer_finds(part: int) -> None:
    """Fails if the checker and the plain explorer disagree on any graph, cut or detector."""
    compared = sum(compare(seed, *drawn_watchers(seed)) for seed in range(part, 160, 4))
    assert compared > 12
