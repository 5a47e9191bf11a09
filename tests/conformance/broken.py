"""Broken drivers: each breaks one rule of the contract, in one place.

A driver is broken by replacing a method; the rest of it is the driver that ships. Those of the
network are in broken_node.py.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from electorate.check import space
from electorate.check.interned import Armed, Local, LocalCard
from electorate.check.node_step import NodeSteps, Outcome
from electorate.check.space import StateSpace
from electorate.core import Event, NodeId, SetTimer
from electorate.simulate.local import EventOutcome
from electorate.simulate.scheduler import Scheduler
from electorate.simulate.simulation import ArmedTimer, SimulatedNode, Simulation
from tests.conformance import clock_rule, rule
from tests.conformance.probe import Note
from tests.conformance.rule import Rule

Break = Callable[[pytest.MonkeyPatch], None]


class Broken(NamedTuple):
    """A broken driver, a scene in which that shows, and the rule that has to notice."""

    driver: str
    scene: str
    rule: Rule
    do: Break


class Ways(dict[str, Broken]):
    """The ways in which some drivers can be broken, by name."""

    def __init__(self, *drivers: str) -> None:
        super().__init__()
        self._drivers = drivers

    def noticed_by(
        self, rule: Rule, scene: str, *, only: tuple[str, ...] = ()
    ) -> Callable[[Break], Break]:
        """Enter a way: the rule must notice it in that scene, by all drivers or only by these."""

        def enter(do: Break) -> Break:
            for driver in only or self._drivers:
                name = do.__name__ if len(self._drivers) == 1 else f"{driver}: {do.__name__}"
                self[name] = Broken(driver, scene, rule, do)
            return do

        return enter


SIMULATORS = Ways("simulator")
CHECKERS = Ways("checker")


# --- the simulator ---


@SIMULATORS.noticed_by(rule.a_crash_leaves_what_was_saved_and_nothing_else, "speech")
def a_cluster_that_forgets_what_was_saved(patch: pytest.MonkeyPatch) -> None:
    whole = Simulation.stop

    def stop(self: Simulation, node: SimulatedNode) -> None:
        whole(self, node)
        node.stable = None

    patch.setattr(Simulation, "stop", stop)


@SIMULATORS.noticed_by(rule.durable_before_the_first_effect, "speech")
def a_cluster_that_saves_after_the_last_effect(patch: pytest.MonkeyPatch) -> None:
    whole = Simulation._tear

    def tear(self: Simulation, node: SimulatedNode, *given: Any) -> Any:
        saved = node.stable
        sent = whole(self, node, *given)
        node.stable = saved
        return sent

    patch.setattr(Simulation, "_tear", tear)


@SIMULATORS.noticed_by(rule.a_torn_turn_sends_a_prefix_on_each_channel, "speech")
def a_cluster_that_tears_turns_from_the_wrong_end(patch: pytest.MonkeyPatch) -> None:
    whole = Simulation._tear

    def tear(self: Simulation, node: SimulatedNode, outcome: EventOutcome, *given: Any) -> Any:
        sends = outcome.sends[::-1]
        turned = EventOutcome(outcome.turn, outcome.local, sends, (), (), True)
        return whole(self, node, turned, *given)

    patch.setattr(Simulation, "_tear", tear)


@SIMULATORS.noticed_by(rule.messages_are_genuine, "speech")
def a_cluster_that_alters_messages(patch: pytest.MonkeyPatch) -> None:
    whole = Simulation.hand_over

    def hand_over(self: Simulation, envelope: Any, *given: Any, **named: Any) -> None:
        if isinstance(envelope.message, Note) and envelope.ordinal == 2:
            envelope.message = replace(envelope.message, promise=0)
        whole(self, envelope, *given, **named)

    patch.setattr(Simulation, "hand_over", hand_over)


@SIMULATORS.noticed_by(rule.nothing_of_an_old_connection_arrives, "speech")
def a_cluster_whose_connections_outlive_their_nodes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Simulation, "clear", lambda self, sender, to: None)


@SIMULATORS.noticed_by(clock_rule.a_timer_fires_once_per_setting, "clock")
def a_cluster_whose_timers_survive_a_crash(patch: pytest.MonkeyPatch) -> None:
    stop, revive = Simulation.stop, Simulation.revive
    left: dict[NodeId, dict[str, ArmedTimer]] = {}

    def keep(self: Simulation, node: SimulatedNode) -> None:
        left[node.id] = node.timers
        stop(self, node)

    def give_back(self: Simulation, node: SimulatedNode) -> tuple[EventOutcome, ...]:
        node.timers = left.get(node.id, {})
        return revive(self, node)

    patch.setattr(Simulation, "stop", keep)
    patch.setattr(Simulation, "revive", give_back)


@SIMULATORS.noticed_by(clock_rule.a_timer_is_never_early, "clock")
def a_cluster_whose_clocks_run_fast(patch: pytest.MonkeyPatch) -> None:
    whole = Simulation.arm

    def arm(self: Simulation, node: SimulatedNode, timer: str, after: int, jitter: int) -> None:
        whole(self, node, timer, after - 1, jitter)

    patch.setattr(Simulation, "arm", arm)


@SIMULATORS.noticed_by(clock_rule.an_office_that_has_run_out_ends_first, "office")
def a_cluster_that_does_not_look_at_offices(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Simulation, "ended_office", lambda self, node: None)


@SIMULATORS.noticed_by(clock_rule.a_paused_node_takes_nothing, "office")
def a_run_that_ends_the_offices_of_paused_nodes(patch: pytest.MonkeyPatch) -> None:
    def ended_office(self: Scheduler, node: SimulatedNode) -> ArmedTimer | None:
        return self.cluster.ended_office(node)

    patch.setattr(Scheduler, "_ended_office", ended_office)


# --- the checker ---


@CHECKERS.noticed_by(rule.durable_before_the_first_effect, "speech")
def a_checker_that_forgets_a_torn_turn(patch: pytest.MonkeyPatch) -> None:
    whole = NodeSteps.step

    def step(self: NodeSteps, local: Local, event: Event) -> Outcome:
        outcome = whole(self, local, event)
        assert local.state is not None
        down = Local(None, local.state.stable)
        return outcome._replace(torn=tuple(torn._replace(local=down) for torn in outcome.torn))

    patch.setattr(NodeSteps, "step", step)


@CHECKERS.noticed_by(rule.nothing_of_an_old_connection_arrives, "speech")
def a_checker_whose_connections_outlive_their_nodes(patch: pytest.MonkeyPatch) -> None:
    whole = StateSpace.revive

    def revive(self: StateSpace, row: list[int], place: int) -> None:
        kept = [(column, row[column]) for column, _ in self.columns.channels]
        whole(self, row, place)
        for column, code in kept:
            row[column] = code

    patch.setattr(StateSpace, "revive", revive)


@CHECKERS.noticed_by(clock_rule.the_last_order_to_a_timer_counts, "clock")
def a_checker_that_ignores_cancels(patch: pytest.MonkeyPatch) -> None:
    whole = NodeSteps.step

    def step(self: NodeSteps, local: Local, event: Event) -> Outcome:
        outcome = whole(self, local, event)
        timers = {armed.timer: armed for armed in outcome.local.timers}
        for effect in (effect for turn in outcome.turns for effect in turn.effects):
            if isinstance(effect, SetTimer):
                armed = Armed(effect.timer, effect.after, effect.after + effect.jitter)
                timers.setdefault(effect.timer, armed)
        return outcome._replace(local=outcome.local._replace(timers=tuple(timers.values())))

    patch.setattr(NodeSteps, "step", step)


@CHECKERS.noticed_by(clock_rule.an_office_that_has_run_out_ends_first, "office")
def a_checker_that_does_not_look_at_offices(patch: pytest.MonkeyPatch) -> None:
    class Late(LocalCard):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.expired = None

    patch.setattr(space, "LocalCard", Late)
