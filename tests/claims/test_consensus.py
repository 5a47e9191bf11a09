"""The claims about consensus, on rows made by hand."""

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import Choice, Members, Status

DOWN = None


def at(decided: int | None = None, leader: int | None = None, proposes: int = 0) -> Choice:
    status = Status.ELECTION if leader is None else Status.NORMAL
    return Choice(status, leader, proposes=proposes, decided=decided)


def row(*views: Choice | None, absent: tuple[tuple[int, int], ...] = ()) -> Row:
    return Row(Members.of(range(1, len(views) + 1)), views, frozenset(absent))


def broken(name: str, *rows: Row) -> Witness | None:
    following = Following(CLAIMS[name])
    return [following.judge(each) for each in rows][-1]


def test_k1_fails_where_two_decide_differently() -> None:
    assert broken("K1", row(at(1), at(), at(0))) == Witness(
        (1, 3), "3 has decided on 0, but 1 had decided on 1"
    )
    assert broken("K1", row(at(1), at(), at(1))) is None
    assert broken("K1", row(at(), at())) is None


def test_k1_counts_a_decision_of_a_node_that_is_gone() -> None:
    assert broken("K1", row(at(1), at()), row(DOWN, at(0))) is not None
    assert broken("K1", row(at(1), at()), row(DOWN, at(1))) is None


def test_k1_fails_where_a_node_changes_its_own_decision() -> None:
    rows = row(at(0), at()), row(at(), at()), row(at(1), at())
    assert broken("K1", *rows) == Witness((1,), "1 has decided on 1, but 1 had decided on 0")
    assert broken("K1", *rows[:2]) is None


def test_k2_fails_where_a_decision_was_not_proposed() -> None:
    alike = [at(proposes=1), at(proposes=1)]
    assert broken("K2", row(*alike), row(at(0, proposes=1), at(proposes=1))) == Witness(
        (1,), "1 has decided on 0, which nobody had proposed"
    )
    assert broken("K2", row(*alike), row(at(1, proposes=1), at(proposes=1))) is None


def test_k2_counts_the_proposal_of_a_node_that_is_gone() -> None:
    assert broken("K2", row(at(proposes=1), at()), row(DOWN, at(1))) is None


def test_k3_fails_where_a_live_node_has_not_decided() -> None:
    assert broken("K3", row(at(1), at())) == Witness((2,), "2 has not decided")
    assert broken("K3", row(at(1), DOWN)) is None


def test_k4_is_about_a_majority_that_follows_one_of_them() -> None:
    assert broken("K4", row(at(1, 1), at(None, 1), DOWN)) == Witness(
        (2,), "2 has not decided, and belongs to 1, 2 with a leader"
    )
    assert broken("K4", row(at(1, 1), at(1, 1), DOWN)) is None
    assert broken("K4", row(at(None, 1), DOWN, DOWN)) is None
    assert broken("K4", row(at(None, 1), at(None, 2), at(None, 1))) is None


def test_k4_says_nothing_of_those_who_reach_others_that_do_not_belong_to_them() -> None:
    views = at(None, 1), at(None, 1), at(None, 1)
    assert broken("K4", row(*views)) is not None
    assert broken("K4", row(*views, absent=((1, 3),))) is None
    assert broken("K4", row(*views, absent=((1, 3), (2, 3)))) is not None
