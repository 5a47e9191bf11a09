"""Of deliveries that commute only one order is explored, and every claim has the same fate."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from electorate.check import Bounds, Budget, Model, Result, Verdict, check
from electorate.check.effort import LimitReached, Limits
from electorate.check.interned import Pulse
from electorate.check.plain import Plain, plain_search
from electorate.check.reduction import Reduction, hearing, may_reduce, unhurried
from electorate.check.search import Search
from electorate.check.start import StartError
from electorate.claims import CLAIMS, Claim, Kind, Row, Witness
from electorate.core import (
    Effect,
    Event,
    Machine,
    NodeId,
    ProtocolError,
    Received,
    Send,
    SetTimer,
    Standing,
    Status,
    Timer,
    Timing,
)
from electorate.core import Result as Turn
from electorate.trace import Clock, Order, Setting, Start
from tests.check.drawn import Drawn, DrawnState, Kept, Note, drawn_table
from tests.check.test_drawn import ALWAYS

STATES_MAX = 3_000
LIMITS = Limits(STATES_MAX)


class Ring(Drawn):
    """A drawn machine sends to the next node only, and says so."""

    def hears(self, node: NodeId) -> tuple[NodeId, ...]:
        ids = self.members.ids
        return (ids[ids.index(node) - 1],) if len(ids) > 1 else ()


def never_calm(row: Row) -> Witness | None:
    busy = any(view.status == "election" for _, view in row.live())
    return None if busy else Witness((), "all are calm")


def never_together(row: Row) -> Witness | None:
    busy = [node for node, view in row.live() if view.status == "election"]
    return Witness(tuple(busy), "1 and 2 are busy") if {1, 2} <= {*busy} else None


CLAIMS_DRAWN = (
    ALWAYS,
    Claim("stir", Kind.ALWAYS, "somebody is in ELECTION", never_calm),
    Claim("apart", Kind.ALWAYS, "1 and 2 are not in ELECTION together", never_together),
)
TALK = ("send note", "send other")


def drawn_ring(seed: int) -> tuple[Machine[Any], Model]:
    lot = Random(seed)
    setting = Setting(
        "ring", tuple(range(1, lot.randint(2, 4) + 1)), clock=Clock.UNBOUNDED, start=Start.BOOT
    )
    budget = Budget(crashes=lot.choice((0, 0, 0, 1)), asks=lot.choice((0, 0, 1)))
    model = Model(setting, budget, Bounds(capacity=lot.choice((1, 2, 3)), firings=1), reduced=True)
    table = drawn_table(lot, bounded=False, counts=(0, 0, 1, 1, 2))
    if lot.random() < 0.7:
        # Nodes that only talk leave the most to reduce.
        talk = {cause: tuple(lot.sample(TALK, lot.choice((0, 1, 1)))) for cause in table}
        table = {cause: (mode, save, talk[cause]) for cause, (mode, save, _) in table.items()}
    return Ring(setting.members(), Timing(), table, views=False), model


def explored(
    machine: Machine[Any], model: Model, claim: Claim, reduced: bool
) -> Search[Plain] | None:
    """The finished search; None if it is too large, or the machine never stops."""
    fields = {name: getattr(model, name) for name in model.__struct_fields__}
    search = plain_search(machine, Model(**{**fields, "reduced": reduced}), [claim], LIMITS)
    try:
        search.run(lambda progress: None)
    except (LimitReached, ProtocolError, StartError):
        return None
    return search


def compare(seed: int) -> tuple[bool, bool, int]:
    """Whether claims have the same fate, whether anything was compared, and the states saved."""
    machine, model = drawn_ring(seed)
    same, compared, saved = True, False, 0
    for claim in CLAIMS_DRAWN:
        full = explored(machine, model, claim, reduced=False)
        if full is None:
            continue  # It is too large, or cut at its start.
        less = explored(machine, model, claim, reduced=True)
        if less is None:
            return False, True, 0
        # Where a bound cuts some order, an order that it does not cut may show more.
        cut = bool(full.space.cuts or less.space.cuts)
        same &= cut or set(full.broken) == set(less.broken)
        compared |= not cut
        if not full.broken and not less.broken:
            saved += full.states - less.states
    return same, compared, saved


@pytest.mark.parametrize("part", range(4))
def test_every_claim_has_the_same_fate_with_and_without_reduction(part: int) -> None:
    tally = {"compared": 0, "saved": 0}

    @settings(max_examples=150, derandomize=True, deadline=None, database=None)
    @given(st.integers(0, 100_000))
    def agree(number: int) -> None:
        same, compared, saved = compare(4 * number + part)
        assert same
        tally["compared"] += compared
        tally["saved"] += saved

    agree()
    assert tally["compared"] > 40
    assert tally["saved"] > 0


def test_a_reduction_that_overlooks_what_claims_see_would_be_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(self: Reduction, column: int, channel: int, local: int, budget: Budget) -> bool:
        space = self._space
        node, items = space.locals.cards[local], space.channels.cards[channel]
        idle = node.up and node.value.pulse is Pulse.AWAKE and not node.value.timers
        return column in self._columns and budget == Budget() and idle and bool(items.deliverable)

    monkeypatch.setattr(Reduction, "is_ample", careless)
    assert not all(compare(seed)[0] for seed in range(400))


class Merry(Machine[DrawnState]):
    """1 and 2 send each other a note for ever; 3 only waits, and then wants an election."""

    state_type = DrawnState
    stable_type = Kept
    messages = (Note,)
    timers = (Timer("once"),)

    def hears(self, node: NodeId) -> tuple[NodeId, ...]:
        return {1: (2,), 2: (1,), 3: ()}[node]

    def boot(self, me: NodeId, stable: Kept | None) -> Turn[DrawnState]:
        orders: dict[NodeId, list[Effect]] = {1: [Send(2, Note("x"))], 3: [SetTimer("once", 1)]}
        return DrawnState(me, Kept(0), 0), orders.get(me, [])

    def step(self, state: DrawnState, event: Event) -> Turn[DrawnState]:
        if isinstance(event, Received):
            return state, [Send(event.sender, Note("x"))]
        return DrawnState(state.me, state.stable, 1), []

    def view(self, state: DrawnState) -> Standing:
        return Standing(Status.ELECTION if state.mode else Status.NORMAL)


def somebody_elects(row: Row) -> Witness | None:
    busy = tuple(node for node, view in row.live() if view.status is Status.ELECTION)
    return Witness(busy, "is in ELECTION") if busy else None


def test_who_waits_while_others_go_round_gets_his_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting("merry", (1, 2, 3), clock=Clock.UNBOUNDED, start=Start.BOOT)
    machine, model = Merry(setting.members(), Timing()), Model(setting, reduced=True)
    calm = Claim("calm", Kind.ALWAYS, "nobody is ever in ELECTION", somebody_elects)
    search = plain_search(machine, model, [calm], LIMITS)
    search.run(lambda progress: None)
    assert search.broken
    # Were nobody to take his time, the note would go round and hide it.
    monkeypatch.setattr("electorate.check.reduction.unhurried", lambda heard: frozenset())
    blind = plain_search(machine, model, [calm], LIMITS)
    blind.run(lambda progress: None)
    assert not blind.broken


@pytest.mark.parametrize("seed", range(60))
def test_both_engines_reduce_alike(seed: int) -> None:
    machine, model = drawn_ring(seed)

    def told(engine: str) -> object:
        try:
            verdict: Verdict = check(machine, model, [ALWAYS], STATES_MAX, engine=engine)
        except Exception as error:
            return str(error)
        if "more than" in str(verdict.reason):
            return "too large"
        lengths = [violation.length for violation in verdict.violations]
        return verdict.claims, verdict.states, verdict.transitions, verdict.cuts, lengths

    assert told("python") == told("numba")


def test_a_broken_claim_is_shown_by_a_run_that_is_shortest_without_reduction() -> None:
    broken = 0
    for seed in range(300):
        machine, model = drawn_ring(seed)
        full = explored(machine, model, ALWAYS, reduced=False)
        if full is None or not full.broken or full.space.cuts:
            continue
        (shortest,) = full.violations(tidy=False)
        (shown,) = check(machine, model, [ALWAYS], STATES_MAX).violations
        assert shown.length == shortest.length
        broken += 1
    assert broken > 5


def test_only_machines_that_say_whom_they_hear_are_reduced() -> None:
    machine, _ = drawn_ring(1)
    claims = [CLAIMS["A1"]]
    assert may_reduce(machine, Clock.UNBOUNDED, Order.FIFO, claims)
    assert not may_reduce(machine, Clock.BOUNDED, Order.FIFO, claims)
    assert not may_reduce(machine, Clock.UNBOUNDED, Order.BAG, claims)
    assert not may_reduce(machine, Clock.UNBOUNDED, Order.FIFO, [CLAIMS["A2"]])
    silent = Drawn(machine.members, Timing(), drawn_table(Random(1), False, (0,)), views=False)
    assert hearing(silent) is None
    assert not may_reduce(silent, Clock.UNBOUNDED, Order.FIFO, claims)


def test_one_node_of_every_ring_is_never_hurried() -> None:
    assert unhurried({1: (3,), 2: (1,), 3: (2,)}) == {1}
    assert unhurried({1: (), 2: (1,), 3: (2,)}) == frozenset()
    assert unhurried({1: (2,), 2: (1,), 3: (4,), 4: (3,)}) == {1, 3}
    assert unhurried({1: (2, 3), 2: (1, 3), 3: (1, 2)}) == {1, 2}


def test_who_sends_to_a_node_that_does_not_hear_it_breaks_the_contract() -> None:
    class Deaf(Ring):
        def hears(self, node: NodeId) -> tuple[NodeId, ...]:
            return ()

    setting = Setting("ring", (1, 2), clock=Clock.UNBOUNDED, start=Start.BOOT)
    table = {
        (cause, mode): (0, False, ("send note",) if cause == "boot" else ())
        for cause, mode in drawn_table(Random(1), False, (0,))
    }
    machine = Deaf(setting.members(), Timing(), table, views=False)
    with pytest.raises(ProtocolError, match="sends to 2, which says that it does not hear 1"):
        check(machine, Model(setting), [CLAIMS["A1"]])


def test_the_example_ring_takes_a_state_for_each_step_where_it_took_thousands() -> None:
    from examples.chang_roberts import ChangRoberts

    setting = Setting(
        "ring", tuple(range(1, 9)), strongest="lowest", clock=Clock.UNBOUNDED, start=Start.BOOT
    )
    machine = ChangRoberts(setting.members(), Timing())
    less = check(machine, Model(setting, reduced=True), [CLAIMS["A1"]])
    full = check(machine, Model(setting), [CLAIMS["A1"]])
    assert (less.result, full.result) == (Result.HOLDS, Result.HOLDS)
    assert less.reduced
    assert not full.reduced
    assert less.states < 100 < 1000 < full.states
