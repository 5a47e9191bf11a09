"""The first line of a script says all that its steps do not say themselves."""

from itertools import combinations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from electorate.core import Strongest, T, Timing
from electorate.protocols.bully import Bully
from electorate.protocols.chang_roberts import ChangRoberts
from electorate.trace import Clock, Connections, Order, Setting, Start, Ties

words = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
names = st.one_of(st.sampled_from(["bully", "my file.py:Class", "it's:Odd"]), words)
timings = st.builds(Timing, st.integers(1, 999), st.integers(0, 99))


@st.composite
def settings(draw: st.DrawFn) -> Setting:
    timing = draw(timings)
    ids = draw(st.lists(st.integers(0, 99), min_size=1, max_size=5, unique=True))
    clock = draw(st.sampled_from(Clock))
    orders = [o for o in Order if o is not Order.SET or clock is Clock.UNBOUNDED]
    order = draw(st.sampled_from(orders))
    lasting = [Connections.OUTLIVE] if order is Order.SET else list(Connections)
    pairs = list(combinations(ids, 2))
    links = st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([])
    attributes = st.lists(st.integers(-9, 9), min_size=len(ids), max_size=len(ids))
    return Setting(
        draw(names),
        tuple(ids),
        tuple(draw(st.lists(st.builds("{}={}".format, words, words), max_size=3))),
        draw(st.sampled_from(get_args(Strongest))),
        timing,
        draw(st.integers(0, timing.T + timing.P)),
        clock,
        draw(st.sampled_from(Ties)),
        order,
        draw(st.sampled_from(lasting)),
        draw(st.sampled_from(Start)),
        tuple(draw(st.one_of(st.just([]), attributes))),
        draw(st.one_of(st.none(), links.map(tuple))),
        draw(st.sampled_from([0.0, 0.1, 0.25, 0.05])),
        draw(st.sampled_from([(), tuple(sorted(ids)) if len(ids) > 1 else ()])),
    )


@given(settings())
def test_a_printed_setting_reads_back(setting: Setting) -> None:
    assert Setting.parse(setting.text()) == setting
    assert "\n" not in setting.text()


def test_what_is_usual_is_left_out() -> None:
    assert Setting("bully", (1, 2, 3)).text() == "cluster bully 1 2 3"


def test_what_is_unusual_is_written_out() -> None:
    setting = Setting(
        "bully",
        (1, 2),
        ("guard=2T + P",),
        "highest",
        Timing(T=3, P=1),
        2,
        Clock.UNBOUNDED,
        Ties.BOTH,
        Order.BAG,
        Connections.DIE,
        Start.BOOT,
    )
    assert setting.text() == (
        "cluster bully 1 2 T=3 P=1 min=2 strongest=highest clock=unbounded ties=both order=bag"
        " connections=die start=boot 'rule:guard=2T + P'"
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "a run begins with `cluster PROTOCOL ID…`, not ''"),
        ("crash 1", "a run begins with `cluster PROTOCOL ID…`"),
        ("cluster", "a run begins with `cluster PROTOCOL ID…`"),
        ("cluster bully", "there must be at least one node"),
        ("cluster bully 1 2 1", "node ids must differ"),
        ("cluster bully one", "a node id is a whole number, not 'one'"),
        ("cluster bully -1", "a node id is a whole number, not '-1'"),
        ("cluster bully 1 T=fast", "T is a whole number, not 'fast'"),
        ("cluster bully 1 T=0", "T is at least 1 and P at least 0"),
        ("cluster bully 1 min=-1", "min is a whole number"),
        ("cluster bully 1 T=2 min=3", "min=3 is not within 0..2"),
        ("cluster bully 1 clock=sundial", "Invalid enum value 'sundial'"),
        ("cluster bully 1 strongest=oldest", "Invalid enum value 'oldest'"),
        ("cluster bully 1 colour=red", "unknown key 'colour'"),
        ("cluster bully 1 2 equal=1", "equal nodes are two members or more, not (1,)"),
        ("cluster bully 1 2 equal=1,3", "equal nodes are two members or more, not (1, 3)"),
        ("cluster 'bully 1", "No closing quotation"),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(line: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        Setting.parse(line)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_setting_builds_the_machine_of_its_run() -> None:
    setting = Setting.parse("cluster bully 1 2 3 T=2 strongest=highest rule:guard=T")
    machine = setting.machine(Bully, "printed")
    assert machine.members.strongest_of([1, 2]) == 2
    assert machine.timing == Timing(T=2)
    assert machine.rules.guard == T
    assert machine.rules.accept == "anyone"


def test_a_setting_takes_the_end_of_the_ranking_that_its_protocol_declares() -> None:
    setting = Setting("chang-roberts", (1, 2))
    machine = setting.machine(ChangRoberts, "sound")
    assert machine.members.strongest_of([1, 2]) == 2
    assert Setting.of(machine, "chang-roberts", "sound") == setting
    assert setting.text() == "cluster chang-roberts 1 2"


def test_a_setting_may_say_otherwise_than_its_protocol() -> None:
    setting = Setting.parse("cluster chang-roberts 1 2 strongest=lowest")
    machine = setting.machine(ChangRoberts, "sound")
    assert machine.members.strongest_of([1, 2]) == 1
    assert Setting.of(machine, "chang-roberts", "sound") == setting
    assert setting.text() == "cluster chang-roberts 1 2 strongest=lowest"


def test_a_message_takes_at_most_its_way_and_its_handling() -> None:
    assert Setting("bully", (1,), timing=Timing(T=3, P=2)).delay_max == 5


def test_a_setting_without_a_node_forgets_all_about_it() -> None:
    setting = Setting.parse("cluster bully 1 2 3 attributes=7,8,9 graph=1-2,2-3")
    assert setting.without(2).text() == "cluster bully 1 3 attributes=7,9 graph="
    assert setting.without(1).text() == "cluster bully 2 3 attributes=8,9 graph=2-3"
    assert Setting("bully", (1, 2)).without(1) == Setting("bully", (2,))
    alike = Setting.parse("cluster bully 1 2 3 equal=1,2")
    assert alike.without(3).equal == (1, 2)
    assert alike.without(2).equal == ()
