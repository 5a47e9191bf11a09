"""A verdict never says more than was seen: what bounds cut, or time never came to, is not known."""

import pytest
from msgspec.structs import replace

from electorate.check import Bounds, Liveness, Model, Result, Verdict, check
from electorate.claims import CLAIMS
from electorate.trace import Clock, Connections, Setting, Start
from tests.check.asked import asked
from tests.check.claim import everybody_follows, nobody_follows
from tests.check.planted import COUNTING, FLOOD, FORGETS_AT, STANDSTILL, Forgetful, probing
from tests.check.probe import Probe

ENGINES = ["python", "numba"]
UNBOUNDED = Clock.UNBOUNDED


def grade(verdict: Verdict) -> tuple[Result, Liveness | None]:
    return verdict.result, verdict.liveness


# --- runs that a bound cut ---


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_that_feeds_a_dead_node_is_found_whatever_becomes_of_its_messages(
    engine: str,
) -> None:
    """Fails if messages to a node that is down for good pile up until a bound cuts the loop."""
    line = "bully-as-printed --crashes 1 --timing unbounded --claim A2"
    outlive, die = (asked(f"{line} --connections {kind}", engine) for kind in Connections)
    for verdict in (outlive, die):
        assert grade(verdict) == (Result.VIOLATED, Liveness.PREVENTABLE)
        assert (verdict.stable_states, verdict.cuts) == (399, {})
        assert [violation.length for violation in verdict.violations] == [6]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("capacity", [1, 3, 8])
def test_a_flood_that_never_elects_is_not_live(capacity: int, engine: str) -> None:
    """Fails if a run that ends because a channel is full counts as one that ends well."""
    probe = Probe(FLOOD, capacity=capacity)
    verdict = check(probe.machine, probe.model, [everybody_follows(1)], engine=engine)
    assert grade(verdict) == (Result.UNKNOWN, Liveness.UNDECIDED)
    assert set(verdict.cuts) == {"capacity"}
    assert verdict.reason == (
        f"some runs go beyond capacity {capacity}, and whether they reach follow-1 was not seen: "
        "raise --capacity"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_search_that_a_bound_ends_before_it_begins_says_nothing(engine: str) -> None:
    line = "ring-list-as-printed --from boot --timing unbounded --capacity 1"
    verdict = asked(line, engine)
    assert (verdict.states, verdict.transitions) == (1, 0)
    assert grade(verdict) == (Result.UNKNOWN, None)
    assert set(verdict.claims.values()) == {Result.UNKNOWN}
    assert verdict.reason == "the search says nothing: not once did anybody lead"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_goal_that_is_lost_again_beyond_a_bound_is_not_reached(engine: str) -> None:
    """Fails if a goal that is reached before a bound counts as one that is never lost again."""
    setting = Setting("forgetful", (1, 2), start=Start.BOOT)
    machine = Forgetful(setting.members(), setting.timing, COUNTING)

    def judged(counter: int) -> Verdict:
        model = Model(setting, bounds=Bounds(counter=counter))
        return check(machine, model, [everybody_follows(1)], engine=engine)

    assert grade(judged(8)) == (Result.UNKNOWN, Liveness.UNDECIDED)
    assert "raise --counter" in (judged(8).reason or "")
    assert grade(judged(FORGETS_AT)) == (Result.UNKNOWN, Liveness.UNDECIDED)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_bound_that_cuts_before_the_last_fault_leaves_the_goal_open_too(engine: str) -> None:
    """Fails if only the stable graph is asked what a bound cut off."""
    orders = {
        "any boot": "follow 1",
        "1 again": "quietly; follow 1; send 2 a; send 2 b; send 2 c",
    }
    probe = Probe(orders, crashes=1, recoveries=1, capacity=2, mortal=(1,))
    verdict = check(probe.machine, probe.model, [everybody_follows(1)], engine=engine)
    assert verdict.cuts == {"capacity": 1}
    assert grade(verdict) == (Result.UNKNOWN, Liveness.UNDECIDED)
    # Nor are those all states that nodes can be in.
    anywhere = replace(probe.model, setting=replace(probe.model.setting, start=Start.ANY))
    verdict = check(probe.machine, anywhere, [everybody_follows(1)], engine=engine)
    assert verdict.cuts == {"capacity": 1}
    assert grade(verdict) == (Result.UNKNOWN, Liveness.UNDECIDED)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_no_seen_run_breaks_holds_within_the_bounds_that_cut_the_search(engine: str) -> None:
    probe = Probe(FLOOD, capacity=3)
    verdict = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
    assert (verdict.result, verdict.reason) == (Result.WITHIN_BOUNDS, None)
    sentence = verdict.sentence("flood", probe.machine, probe.model)
    assert sentence.startswith("flood: never-2 holds within bounds for N=2,")
    assert f"up to capacity 3 (cut {verdict.cuts['capacity']:,} times)" in sentence


# --- what is sent to a node that is down for good ---


@pytest.mark.parametrize("engine", ENGINES)
def test_what_comes_after_many_messages_to_a_dead_node_is_seen(engine: str) -> None:
    """Fails if ten probes of a node that is down for good fill its channel."""
    lengths = []
    for connections in Connections:
        probe = Probe(probing(), crashes=1, clock=UNBOUNDED, views=True, connections=connections)
        verdict = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
        assert (verdict.result, verdict.cuts) == (Result.VIOLATED, {})
        lengths.append(verdict.violations[0].length)
    assert lengths == [12, 12]


# --- time that stands still ---


@pytest.mark.parametrize("engine", ENGINES)
def test_a_safety_claim_alone_does_not_hold_where_time_stands_still(engine: str) -> None:
    """Fails if what a timer of no length keeps from happening counts as impossible."""
    orders = {**STANDSTILL, "1 fired y": "follow 2"}
    probe = Probe(orders, nodes=1)
    verdict = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
    assert verdict.claims == {"never-2": Result.UNKNOWN}
    assert verdict.reason == (
        "time stands still, in a loop that takes none and has no way out, after 1 move: what "
        "would come later was never seen"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_so_it_is_where_an_application_owes_something_for_ever(engine: str) -> None:
    orders = {"1 boot": "follow 1", "2 boot": "elect; set y 3", "2 asked w": "quietly"}
    probe = Probe({**orders, "2 fired y": "follow 2"}, debts=("w",))
    verdict = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
    assert verdict.claims == {"never-2": Result.UNKNOWN}
    assert "time stands still" in (verdict.reason or "")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_timer_of_no_length_does_no_harm_where_it_ends(engine: str) -> None:
    orders = {
        "1 boot": "follow 1; set x 0; set y 3",
        "1 fired x": "quietly; set z 0",
        "1 fired z": "quietly; set x 0 1",
    }
    probe = Probe({**orders, "1 fired y": "follow 2; cancel x; cancel z"})
    verdict = check(probe.machine, probe.model, [CLAIMS["S2"]], engine=engine)
    assert verdict.claims == {"S2": Result.HOLDS}
    broken = check(probe.machine, probe.model, [nobody_follows(2)], engine=engine)
    assert broken.result is Result.VIOLATED
