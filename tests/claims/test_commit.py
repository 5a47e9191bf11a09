"""The claims about transactions, on rows made by hand. The last node is the coordinator."""

from electorate.claims import CLAIMS, Following, Row, Witness
from electorate.core import Decision, Members, Stable, Stage, Standing, Status, Wants
from electorate.protocols.commit.state import TransactionStable

WORKING, UNCERTAIN, COMMITTED, ABORTED = (
    Stage.WORKING,
    Stage.UNCERTAIN,
    Stage.COMMITTED,
    Stage.ABORTED,
)
DOWN = None
FORGOTTEN = TransactionStable(Stable(), forgotten=True)
"""What is left at a node that has forgotten."""


def at(state: Stage, leader: int | None = None, **given: object) -> Decision:
    status = Status.ELECTION if leader is None else Status.NORMAL
    return Decision(status, leader, state=state, **given)  # type: ignore[arg-type]


def log(view: Decision | Stage | TransactionStable[Stable]) -> TransactionStable[Stable]:
    match view:
        case Decision(state=stage, over=over):
            return TransactionStable(Stable(), stage, over)
        case Stage():
            return TransactionStable(Stable(), view)
    return view


def row(
    *views: Decision | Stage | TransactionStable[Stable],
    absent: tuple[tuple[int, int], ...] = (),
) -> Row:
    """A row of views; of a node that is down its log, or the stage in it."""
    standings: list[Standing | None] = [v if isinstance(v, Decision) else DOWN for v in views]
    logs = tuple(map(log, views))
    members = Members.of(range(1, len(views) + 1))
    return Row(members, tuple(standings), frozenset(absent), logs)


def broken(name: str, *rows: Row) -> Witness | None:
    following = Following(CLAIMS[name])
    return [following.judge(each) for each in rows][-1]


def test_c1_fails_where_one_has_committed_and_another_has_aborted() -> None:
    assert broken("C1", row(at(COMMITTED), at(UNCERTAIN), at(ABORTED))) == Witness(
        (1, 3), "1 has committed, but 3 has aborted"
    )
    assert broken("C1", row(at(COMMITTED), at(UNCERTAIN), at(COMMITTED))) is None
    assert broken("C1", row(at(ABORTED), at(WORKING), at(ABORTED))) is None


def test_c1_counts_a_node_that_is_down_by_its_log() -> None:
    assert broken("C1", row(at(COMMITTED), ABORTED)) is not None
    assert broken("C1", row(at(COMMITTED), COMMITTED)) is None


def test_c2_fails_where_one_has_committed_and_another_has_not_voted() -> None:
    assert broken("C2", row(at(COMMITTED), at(WORKING), at(UNCERTAIN))) == Witness(
        (1, 2), "1 has committed, but 2 has not voted"
    )
    assert broken("C2", row(at(COMMITTED), at(UNCERTAIN), at(UNCERTAIN))) is None
    assert broken("C2", row(at(UNCERTAIN), at(WORKING), at(UNCERTAIN))) is None
    assert broken("C2", row(at(COMMITTED), WORKING)) is not None


def test_c3_fails_where_a_decision_changes_also_over_a_crash() -> None:
    assert broken("C3", row(at(COMMITTED)), row(at(ABORTED))) == Witness(
        (1,), "1 had committed, and now is aborted"
    )
    assert broken("C3", row(at(COMMITTED)), row(UNCERTAIN)) is not None
    assert broken("C3", row(ABORTED), row(at(WORKING))) is not None
    assert broken("C3", row(at(UNCERTAIN)), row(at(WORKING))) is None
    assert broken("C3", row(at(COMMITTED)), row(COMMITTED), row(at(COMMITTED))) is None


def test_c3_fails_where_one_commits_again_what_it_has_forgotten() -> None:
    forgotten, again = at(WORKING, over=True), at(COMMITTED, over=True)
    assert broken("C3", row(at(COMMITTED)), row(forgotten), row(again)) == Witness(
        (1,), "1 had forgotten it, and now commits it again"
    )


def test_what_a_node_refuses_that_has_forgotten_is_nothing_that_it_has_done() -> None:
    forgotten, refuses = at(WORKING, over=True), at(ABORTED, over=True)
    for after in (forgotten, refuses, FORGOTTEN):
        for name in ("C1", "C2", "C3"):
            both = row(at(COMMITTED), at(COMMITTED))
            assert broken(name, both, row(at(COMMITTED), after)) is None, name


def test_c4_asks_that_nobody_with_a_leader_is_in_doubt() -> None:
    in_doubt = row(at(UNCERTAIN, 1), at(Stage.COMMITTABLE, 1), WORKING)
    assert broken("C4", in_doubt) == Witness(
        (1, 2), "1 uncertain, 1 committable of 2 voters stay in doubt"
    )
    assert broken("C4", row(at(COMMITTED, 1), at(COMMITTED, 1), UNCERTAIN)) is None
    assert broken("C4", row(at(WORKING, 1), at(ABORTED, 1), UNCERTAIN)) is None


def test_c4_names_the_coordinator_where_it_is_with_them() -> None:
    found = broken("C4", row(at(UNCERTAIN, 1), at(UNCERTAIN, 1, coordinates=True)))
    assert found == Witness((1, 2), "1 uncertain of 1 voters, with the coordinator stay in doubt")


def test_c4_asks_nothing_of_nodes_that_have_no_leader_or_several() -> None:
    assert broken("C4", row(at(UNCERTAIN), at(UNCERTAIN))) is None
    assert broken("C4", row(at(UNCERTAIN, 1), at(UNCERTAIN, 2))) is None
    assert broken("C4", row(at(UNCERTAIN, 2), UNCERTAIN)) is None


def test_c4_looks_at_those_who_reach_each_other() -> None:
    apart = row(
        at(UNCERTAIN, 1), at(UNCERTAIN, 1), at(UNCERTAIN, 3), UNCERTAIN, absent=((1, 3), (2, 3))
    )
    assert broken("C4", apart) == Witness((1, 2), "2 uncertain of 3 voters stay in doubt")
    open_ended = row(at(UNCERTAIN, 1), at(UNCERTAIN, 1), at(UNCERTAIN, 3), absent=((1, 3),))
    assert broken("C4", open_ended) is None


def test_c5_asks_it_of_a_majority_only() -> None:
    two = row(at(UNCERTAIN, 1), at(UNCERTAIN, 1), UNCERTAIN, UNCERTAIN)
    one = row(at(UNCERTAIN, 1), UNCERTAIN, UNCERTAIN, UNCERTAIN)
    assert broken("C5", two) is not None
    assert broken("C5", one) is None
    assert broken("C4", one) is not None


def test_c6_fails_where_the_first_to_abort_has_been_in_doubt() -> None:
    begun = row(at(UNCERTAIN), at(WORKING))
    assert broken("C6", begun, row(at(ABORTED), at(WORKING))) == Witness(
        (1,), "1 has aborted, but nobody had refused"
    )
    refused = row(at(UNCERTAIN), at(ABORTED))
    assert broken("C6", begun, refused) is None
    assert broken("C6", begun, refused, row(at(ABORTED), at(ABORTED))) is None


def test_c6_fails_for_good_even_if_the_abort_is_forgotten() -> None:
    begun = row(at(UNCERTAIN), at(WORKING))
    forgotten = row(at(UNCERTAIN), at(UNCERTAIN))
    assert broken("C6", begun, row(at(ABORTED), at(WORKING)), forgotten) == Witness(
        (), "somebody had aborted, but nobody had refused"
    )


def test_c7_fails_where_one_forgets_what_another_has_not_applied() -> None:
    wants = at(COMMITTED, wants=Wants.COMMIT)
    decided, done = at(COMMITTED, coordinates=True), at(WORKING, coordinates=True, over=True)
    assert broken("C7", row(wants, decided), row(wants, done)) == Witness(
        (2, 1), "2 forgets what 1 has not applied"
    )
    assert broken("C7", row(at(COMMITTED), decided), row(at(COMMITTED), done)) is None
    assert broken("C7", row(wants), row(at(WORKING, over=True))) == Witness(
        (1, 1), "1 forgets what 1 has not applied"
    )


def test_c7_lets_a_node_want_again_after_a_crash_what_it_has_applied_before() -> None:
    wants = at(COMMITTED, wants=Wants.COMMIT)
    done = at(WORKING, coordinates=True, over=True)
    decided = at(COMMITTED, coordinates=True)
    assert broken("C7", row(at(COMMITTED), decided), row(COMMITTED, done), row(wants, done)) is None
