"""What a late failure detector costs: a node that should follow another one asks now and then."""

from electorate.costs import Case
from electorate.costs.measure import Measure, MeasuredProtocol
from electorate.protocols.bully import Bully
from electorate.protocols.bully_textbook import BullyTextbook

LATE = Case(
    "2T of doubt",
    "crash 1; suspect 2; run 4T; count; run 2T",
    {"AreYouThere": "N-2", "messages": "N-2"},
    leader="2",
)
LATE_TEXTBOOK = Case(
    "3T of doubt",
    "crash N; suspect N-1; run 5T; count; run 3T",
    {"Election": "N-2", "messages": "N-2"},
    leader="N-1",
)
IN_VIEW_AT_ONCE = Case(
    "the old leader is seen before it is heard",
    """
    crash 1; for i in 2..N: suspect i; settle; count
    recover 1
    for i in 3..N: view i 1..N
    run T; view 2 1..N; settle
    """,
    {"AreYouThere": "0", "Halt": "N-1", "NewLeader": "N-1", "messages": "2(N-1)", "time": "2T"},
    leader="1",
)


def test_while_only_the_new_leader_has_noticed_each_of_the_others_asks_once_in_2T() -> None:
    assert all(
        row.equal for row in Measure(MeasuredProtocol("bully", Bully)).rows([LATE], range(3, 9))
    )


def test_in_the_textbooks_form_each_asks_once_in_3T() -> None:
    measure = Measure(MeasuredProtocol("bully-textbook", BullyTextbook))
    assert all(row.equal for row in measure.rows([LATE_TEXTBOOK], range(3, 9)))


def test_followers_that_see_the_old_leader_come_back_send_nothing_more() -> None:
    measure = Measure(MeasuredProtocol("bully", Bully))
    assert all(row.equal for row in measure.rows([IN_VIEW_AT_ONCE], range(3, 9)))
