"""Where fault-free runs end: the plain explorer's own notion, and what follows from there."""

from typing import Any

from msgspec.structs import replace

from electorate.check import Budget, Detector, Model
from electorate.check.model import BUDGETS
from electorate.core import Machine
from electorate.trace import Clock, Order, Start
from tests.check.agree import Oracle, Said, of_checker
from tests.check.drawing import case_of
from tests.check.place import Place
from tests.check.plain import EndlessTalk, Move, TooMuchAtOnce
from tests.check.plain_goal import PlainGoal
from tests.check.plain_moves import PlainMoves, Reached

PLACES_MAX = 150
REACTIONS = ("deliver", "double", "fire", "view", "lie", "answer", "ask", "recover")


class FromEnds(PlainMoves):
    """Begins in every place of every end."""

    def __init__(self, machine: Machine[Any], model: Model) -> None:
        super().__init__(machine, model)
        self.reacted = False

    def moves(self, place: Place) -> list[Move]:
        found = super().moves(place)
        self.reacted |= any(kind.split()[0] in REACTIONS for kind, _ in found)
        return found

    def says_nothing(self, *reached: Reached) -> bool:
        return not self.reacted or super().says_nothing(*reached)

    def begun(self, end: Place) -> Place:
        """A place in the midst of a fault-free run as one where faults may begin."""
        place = end.copy()
        place.budget = {name: getattr(self.model.budget, name) for name in BUDGETS}
        if not self.prompt:
            place.mail = [mail._replace(age=0) for mail in place.mail]
        for node in place.nodes.values():
            node.timers = node.timers if self.bounded else dict.fromkeys(node.timers, (0, 0))
        return place


class EndsOracle(Oracle):
    """What the plain explorer says of all that follows the ends of fault-free runs."""

    def __init__(self, machine: Machine[Any], model: Model) -> None:
        super().__init__(machine, model)
        self.plain: FromEnds = FromEnds(machine, model)
        self.ends = 0
        """In how many ways fault-free runs end."""

    def beginnings(self) -> list[Place] | None:
        """All places among which a fault-free run can stay for ever; None if that is not known."""
        model = self.plain.model
        setting = replace(model.setting, clock=Clock.BOUNDED, start=Start.BOOT)
        calm = replace(
            model, setting=setting, budget=Budget(), detector=Detector.EVENTUALLY_PERFECT
        )
        plain = PlainMoves(self.plain.machine, calm)
        try:
            reached = plain.reached([plain.start()], PLACES_MAX)
        except (EndlessTalk, TooMuchAtOnce):
            return None
        if reached is None or plain.cuts.total() or not reached.places:
            return None
        graph = PlainGoal(reached, [False] * len(reached.places), bounded=True)
        ends = [at for at in graph.every if graph.runs_for_ever(at) or graph.is_final(at)]
        # Where a run may go round in no time the checker begins too, though none has to end there.
        if any(at in graph.reach[at] for at in graph.every if at not in ends):
            return None
        self.ends = len({frozenset(graph.round[at]) for at in ends})
        places = [reached.places[at] for at in ends]
        # The checker begins with periodic timers at every phase: that is another matter.
        if any("often" in node.timers for place in places for node in place.nodes.values()):
            return None
        return [self.plain.begun(place) for place in places]


def test_from_normal_the_checker_sees_what_follows_every_end_of_fault_free_runs() -> None:
    """Fails if a search from the normal state leaves out an end, or begins anywhere else."""
    several = compared = 0
    for seed in range(480):
        case = case_of(seed)
        setting = replace(case.model.setting, start=Start.NORMAL)
        if case.counts or setting.order is Order.SET or case.model.bounds.blocks:
            continue
        model = replace(case.model, setting=setting)
        oracle = EndsOracle(case.machine, model)
        beginnings = oracle.beginnings()
        plain = None if beginnings is None else oracle.opinion(PLACES_MAX, beginnings)
        if plain is None or plain.refused:
            continue
        found, _ = of_checker(case.machine, model, "python")
        # How far away something is depends on where in an end a search begins.
        said = [{name: without_length(s) for name, s in o.said.items()} for o in (plain, found)]
        assert said[0] == said[1], seed
        assert plain.seen[:3] == found.seen[:3], seed
        several += oracle.ends > 1
        compared += 1
    assert compared > 60
    assert several > 2


def without_length(said: Said) -> Said:
    return said._replace(length=None)
