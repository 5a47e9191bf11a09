"""What is normal: every end that runs without a fault have."""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest

from electorate.check import Bounds, Budget, Liveness, Model, Result, check
from electorate.check.column import Row
from electorate.check.interned import Armed, Channel, Local
from electorate.check.judge import lack_of
from electorate.check.model import Normal
from electorate.check.moves import Moves
from electorate.check.normal import DRAWN, fault_free_moves, punctual_run
from electorate.check.space import StateSpace
from electorate.check.start import StartError, beginnings
from electorate.claims import CLAIMS, Claim
from electorate.claims import Row as Seen
from electorate.cli.protocol import find
from electorate.core import Machine, ProtocolError, Turns
from electorate.protocols.registry import REGISTRY
from electorate.trace import Clock, Crashed, Order, Phased, Setting, Start, script_of
from tests.check.claim import claim_that, everybody_follows
from tests.check.drawn import drawn, drawn_talkers, drawn_watchers
from tests.check.probe import Probe

Draw = Callable[[int], tuple[Machine[Any], Model]]

NORMAL = Start.NORMAL
FIRST_COME = {
    "1 boot": "follow 1; send 3 me",
    "2 boot": "follow 2; send 3 no",
    "3 heard me": "quietly; follow 1",
    "3 heard no": "quietly; follow 2",
}
"""Node 3 follows the one that it hears last: 2, if all goes by the book."""


def abandoned(row: Seen) -> bool:
    """Whether node 3 follows node 1 when node 2 is down."""
    leader = dict(row.live())[3].leader if row.standings[2] is not None else None
    return row.standings[1] is None and leader == 1


NEVER_ABANDONED = claim_that(lambda row: not abandoned(row))


def probe_of(**given: Any) -> Probe:
    return Probe(FIRST_COME, nodes=3, crashes=1, **given)


def moves_of(probe: Probe, claim: Claim) -> int:
    (violation,) = probe.check(claim).violations
    return violation.length


def test_a_bug_in_the_other_end_of_fault_free_runs_is_found() -> None:
    assert moves_of(probe_of(), NEVER_ABANDONED) == 2
    probe = probe_of(start=NORMAL)
    verdict = probe.check(NEVER_ABANDONED)
    assert verdict.result is Result.VIOLATED
    assert verdict.normal == Normal(ends=2)
    (violation,) = verdict.violations
    assert violation.trace.setting.start is Start.BOOT
    assert isinstance(violation.trace.steps[-1].happening, Crashed)
    assert probe.retold(script_of(violation.trace)) == script_of(violation.trace)


@pytest.mark.parametrize("clock", list(Clock))
def test_a_run_from_every_end_is_told_so_that_the_simulator_can_follow(clock: Clock) -> None:
    beat = {"1 boot": "follow 1; send 3 me; set beat 2", "1 fired beat": "quietly; set beat 2"}
    probe = Probe({**FIRST_COME, **beat}, 3, clock=clock, start=NORMAL, periodic=("beat",), lies=1)
    starts = set()
    for row, depth in zip(probe.rows, probe.search.engine.depths, strict=True):
        if depth <= 1:
            trace = probe.expect_retold(row)
            starts.add(trace.setting.start)
            assert any(isinstance(step.happening, Phased) for step in trace.steps)
    assert starts == {Start.NORMAL, Start.BOOT}


def test_ends_that_differ_in_phases_alone_are_one() -> None:
    orders = {
        "1 boot": "send 2 a",
        "2 heard a": "quietly; set beat 3",
        "2 fired beat": "quietly; set beat 3",
        "1 fired beat": "quietly; set beat 3",
    }
    boots = {"1 boot": "send 2 a; set beat 3", "2 boot": "elect"}
    probe = Probe({**orders, **boots}, T=2, start=NORMAL, periodic=("beat",))
    assert probe.space.normal == Normal(ends=1)
    drifting = Probe({**orders, **boots}, T=2, start=NORMAL, periodic=("beat",), drift=0.5)
    assert drifting.space.normal is not None
    assert drifting.space.normal.ends == 1


def test_a_loop_that_a_run_can_leave_is_no_end_but_the_verdict_mentions_it() -> None:
    orders = {
        "1 boot": "set w 1",
        "1 fired w": "quietly; set x 1; set y 1",
        "1 fired x": "quietly; cancel y; follow 1",
        "1 fired y": "quietly; cancel x; set w 1",
    }
    assert Probe(orders, nodes=1, start=NORMAL).space.normal == Normal(ends=1, endless=True)


def test_where_the_punctual_run_goes_round_is_an_end_even_if_others_leave_it() -> None:
    orders = {
        "1 boot": "set w 1",
        "1 fired w": "quietly; set x 1; set y 1",
        "1 fired x": "quietly; cancel y; set w 1",
        "1 fired y": "quietly; cancel x; follow 1",
    }
    verdict = Probe(orders, nodes=1, start=NORMAL).check(everybody_follows(1))
    assert (verdict.result, verdict.liveness) == (Result.VIOLATED, Liveness.PREVENTABLE)
    assert verdict.normal == Normal(ends=2, missing=1, missed=("follow-1",))


def test_beyond_the_bound_runs_are_drawn_and_the_verdict_says_so() -> None:
    probe = probe_of(start=NORMAL, normal=3)
    verdict = probe.check(NEVER_ABANDONED)
    assert verdict.result is Result.VIOLATED
    assert verdict.normal == Normal(ends=2, drawn=DRAWN)
    assert verdict.cuts == {"normal": 1}
    sentence = verdict.sentence("first-come", probe.machine, probe.model)
    assert "from normal (2 fault-free ends of 200 drawn runs), " in sentence
    assert ", up to normal-max 3 (cut 1 time" in sentence


def test_the_same_runs_are_drawn_every_time() -> None:
    one, other = (probe_of(start=NORMAL, normal=3) for _ in range(2))
    assert one.rows == other.rows
    assert [one.search.path(p) for p in range(4)] == [other.search.path(p) for p in range(4)]


def test_the_sentence_says_how_many_ends_there_are_and_what_they_miss() -> None:
    texts = {
        Normal(1): "(the only fault-free end)",
        Normal(3): "(all 3 fault-free ends)",
        Normal(1, missing=1, missed=("A2",)): "(the only fault-free end, which misses A2)",
        Normal(4, missing=3, missed=("A2", "S2")): (
            "(all 4 fault-free ends, 3 of which miss A2 and S2)"
        ),
        Normal(2, missing=1, missed=("A2",)): "(all 2 fault-free ends, 1 of which misses A2)",
        Normal(1, drawn=200): "(1 fault-free end of 200 drawn runs)",
        Normal(1, endless=True): "(the only fault-free end; some runs may never get there)",
        Normal(2, 200, 2, ("A2",)): "(2 fault-free ends of 200 drawn runs, 2 of which miss A2)",
    }
    assert {normal: normal.text() for normal in texts} == texts


CROWDED = {("first-start", 3)}
"""Three parts start at each node at once, in more orders than are followed."""


@pytest.mark.parametrize("clock", [Clock.BOUNDED, Clock.UNBOUNDED])
@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("name", REGISTRY)
def test_every_protocol_has_somewhere_to_begin(name: str, nodes: int, clock: Clock) -> None:
    protocol = find(name)
    ids = tuple(range(1, nodes + protocol.kind.extra_nodes + 1))
    setting = Setting(name, ids, strongest=protocol.kind.strongest, clock=clock)
    space = StateSpace(Turns(protocol.machine(setting)), Model(setting))
    assert beginnings(Moves(space), lack_of)
    assert space.normal is not None
    is_crowded = (name, nodes) in CROWDED
    assert bool(space.normal.drawn) is is_crowded
    assert set(space.cuts) == ({"normal"} if is_crowded else set())


def test_a_form_that_never_elects_is_judged_from_its_normal_state() -> None:
    protocol = find("park-literal")
    setting = Setting("park-literal", (1, 2, 3))
    model = Model(setting, Budget(crashes=1))
    verdict = check(protocol.machine(setting), model, [CLAIMS["P2"]])
    assert verdict.claims == {"P2": Result.VIOLATED}
    assert verdict.normal == Normal(ends=1, missing=1, missed=("P2",))


@pytest.mark.parametrize("draw", [drawn, drawn_watchers, drawn_talkers])
def test_what_is_drawn_from_is_all_that_can_happen_without_a_fault(draw: Draw) -> None:
    kinds = set()
    for seed in range(60):
        machine, model = draw(seed)
        if model.setting.order is Order.SET:
            continue
        setting = msgspec.structs.replace(model.setting, clock=Clock.BOUNDED)
        space = StateSpace(Turns(machine), Model(setting, bounds=Bounds(capacity=1000)))
        moves = Moves(space)
        try:
            row = space.booted()
            for _ in range(30):
                if row is None:
                    break
                found = moves.successors(row)
                assert {move for move, _ in found} == set(fault_free_moves(space, row)), seed
                kinds |= {move.kind for move, _ in found}
                row = Random(seed).choice(found)[1]
        except ProtocolError:
            continue
    assert kinds == {"deliver", "fire", "tick"} | ({"answer"} if draw is drawn else set())


@pytest.mark.parametrize("draw", [drawn, drawn_watchers, drawn_talkers])
def test_a_search_begins_wherever_the_punctual_run_goes_round_at_every_phase(draw: Draw) -> None:
    """As it did when that was all it began with."""
    compared = 0
    for seed in range(60):
        machine, model = draw(seed)
        if model.setting.order is Order.SET:
            continue
        setting = msgspec.structs.replace(model.setting, start=NORMAL, clock=Clock.BOUNDED)
        space = StateSpace(Turns(machine), Model(setting, model.budget, Bounds(2, normal=100)))
        try:
            found = {
                read(space, start.row) for start in beginnings(Moves(space), lambda twin, row: None)
            }
        except (ProtocolError, StartError):
            continue
        rows = punctual_rows(machine, setting)
        if rows is None:
            continue
        compared += 1
        assert found >= set(rows), seed
    assert compared > 30


Values = tuple[tuple[Local, ...], tuple[Channel, ...]]


def read(space: StateSpace, row: Row) -> Values:
    """What a row says of nodes and channels."""
    nodes = tuple(space.locals.cards[code].value for code in row[: space.n])
    columns = [column for column, _ in space.columns.channels]
    return nodes, tuple(space.channels.cards[row[column]].value for column in columns)


def punctual_rows(machine: Machine[Any], setting: Setting) -> Iterator[Values] | None:
    """The rows of the punctual run's loop; None if a bound cuts the very first boots."""
    space = StateSpace(Turns(machine), Model(setting, bounds=Bounds(2)))
    first = space.booted()
    return None if first is None else _punctual_rows(machine, space, first)


def _punctual_rows(machine: Machine[Any], space: StateSpace, first: Row) -> Iterator[Values]:
    """The rows of the loop, with each periodic timer at every phase."""
    rows = [read(space, row) for row, _ in punctual_run(Moves(space), first).loop]
    periodic = {timer.name for timer in machine.timers if timer.periodic}
    longest: dict[tuple[int, str], int] = {}
    for nodes, _ in rows:
        for place, node in enumerate(nodes):
            for timer, _, latest in node.timers:
                longest[place, timer] = max(latest, longest.get((place, timer), 1))
    for nodes, channels in rows:
        choices = [
            [
                node._replace(timers=timers)
                for timers in product(
                    *(
                        [Armed(t.timer, k, k) for k in range(1, longest[place, t.timer] + 1)]
                        if t.timer in periodic
                        else [t]
                        for t in node.timers
                    )
                )
            ]
            for place, node in enumerate(nodes)
        ]
        yield from ((shifted, channels) for shifted in product(*choices))
