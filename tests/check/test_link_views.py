"""Links that are cut, and what failure detectors make of that."""

import pytest

from electorate.trace import Clock
from tests.check.link import LINE, after, ends_of, ticked
from tests.check.probe import Probe


def test_a_cut_is_seen_from_both_ends_within_the_detection_bound() -> None:
    """Fails if one end stays sure of the other, or a third node suspects anybody."""
    probe = Probe({}, nodes=3, views=True, cuts=1)
    cut = after(probe, None, "cut", 1, 2)
    assert [probe.moments("view", node, cut) for node in (1, 2, 3)] == [{0, 1, 2}, {0, 1, 2}, set()]
    assert ends_of(probe, cut, 1) == {("saw 1 2 3", "saw 1 3")}
    assert ends_of(probe, cut, 2) == {("saw 1 2 3", "saw 2 3")}


def test_a_heal_is_seen_from_both_ends_within_the_detection_bound() -> None:
    """Fails if nodes that were cut off from each other never trust each other again."""
    probe = Probe({}, views=True, cuts=1, heals=1, detection=1)
    row = after(probe, None, "cut", 1, 2)
    row = after(probe, after(probe, row, "view", 1), "view", 2)
    healed = after(probe, row, "heal", 1, 2)
    assert [probe.moments("view", node, healed) for node in (1, 2)] == [{0, 1}, {0, 1}]
    assert ends_of(probe, healed, 1) == {("saw 1 2", "saw 1", "saw 1 2")}


def test_a_cut_that_heals_within_the_bound_may_go_unseen() -> None:
    """Fails if a detector has to speak of a cut that is over."""
    probe = Probe({}, views=True, cuts=1, heals=1)
    healed = after(probe, after(probe, None, "cut", 1, 2), "heal", 1, 2)
    assert ends_of(probe, healed, 1) == ends_of(probe, healed, 2) == {("saw 1 2",)}


def test_who_is_cut_off_does_not_see_a_crash_and_has_nothing_to_correct() -> None:
    """Fails if a crash turns a right suspicion wrong, or a heal towards nobody does."""
    probe = Probe({}, views=True, cuts=1, heals=1, crashes=1)
    row = after(probe, after(probe, None, "cut", 1, 2), "view", 2)
    down = after(probe, row, "crash", 1)
    healed = after(probe, down, "heal", 1, 2)
    assert probe.moments("view", 2, down) == probe.moments("view", 2, healed) == set()


def test_a_crash_behind_a_cut_leaves_the_bound_of_the_cut() -> None:
    """Fails if a crash that cannot be seen starts the detection bound anew, or ends it."""
    probe = Probe({}, views=True, cuts=1, crashes=1, detection=2)
    down = after(probe, ticked(probe, after(probe, None, "cut", 1, 2)), "crash", 1)
    assert probe.moments("view", 2, down) == {0, 1}
    assert ends_of(probe, down, 2) == {("saw 1 2", "saw 2")}


def test_a_return_behind_a_cut_is_seen_when_the_link_heals() -> None:
    """Fails if a node that came back is trusted across a cut, or never after it."""
    probe = Probe({"any again": "quietly"}, views=True, cuts=1, heals=1, crashes=1, recoveries=1)
    row = after(probe, after(probe, None, "crash", 1), "view", 2)
    back = after(probe, after(probe, row, "cut", 1, 2), "recover", 1)
    calm = probe.space.stabilised(back)
    assert probe.moments("view", 2, calm) == set()
    # The new detector trusts its neighbour, wrongly.
    assert probe.diary(back, 1) == ("saw 1 2",)
    assert probe.moments("view", 1, calm) == {0, 1, 2}
    healed = after(probe, back, "heal", 1, 2)
    assert probe.moments("view", 2, healed) == {0, 1, 2}
    assert probe.moments("view", 1, healed) == set()


def test_a_lie_may_trust_a_node_that_is_cut_off_and_a_cut_may_make_a_lie_true() -> None:
    """Fails if lies look at crashes alone."""
    probe = Probe({}, views=True, cuts=1, lies=1)
    row = after(probe, after(probe, None, "cut", 1, 2), "view", 2)
    lied = after(probe, row, "lie", 2)
    assert probe.diary(lied, 2) == ("saw 1 2", "saw 2", "saw 1 2")
    assert probe.moments("view", 2, lied) == {0, 1, 2}
    true = after(probe, after(probe, None, "lie", 2), "cut", 1, 2)
    assert probe.moments("view", 2, true) == set()


@pytest.mark.parametrize("notices", [False, True])
@pytest.mark.parametrize("clock", list(Clock))
def test_in_the_end_every_view_shows_who_is_up_and_linked(notices: bool, clock: Clock) -> None:
    """Fails if any order of cuts, heals, crashes, returns and lies leaves a detector wrong."""
    names = ("1", "2", "3", "1 2", "2 3", "1 2 3")
    probe = Probe(
        {**{f"any saw {seen}": "quietly" for seen in names}, "any again": "quietly"},
        nodes=3,
        graph=LINE,
        views=True,
        crashes=1,
        recoveries=1,
        cuts=2,
        heals=1,
        lies=1,
        detection=0,
        notices_restarts=notices,
        clock=clock,
    )
    ends = [row for row in probe.rows if probe.is_end(row)]
    alone = 0
    for row in ends:
        up = {node for node in (1, 2, 3) if probe.node(row, node).state is not None}
        for node in up:
            watch = probe.space.detectors.pool.cards[row[probe.columns.watch_column + node - 1]]
            linked = {n for n in up if n == node or probe.columns.reach(row, node - 1, n - 1)}
            assert watch.alive == linked
            alone += linked == {node}
    assert alone
