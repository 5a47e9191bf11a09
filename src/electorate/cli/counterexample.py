"""A broken claim as people read it: what happens, what nodes believe, which faults it takes."""

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from textwrap import wrap
from typing import Any

from msgspec.structs import replace

from electorate.check import Model, Violation
from electorate.check.ablation import Ablation, spent_by
from electorate.check.model import BUDGETS
from electorate.check.tidy_run import Ordered
from electorate.cli.narration import numbered, numbers_of
from electorate.core import Machine
from electorate.simulate.start import first_standings, started
from electorate.trace import Start, Step, Trace, is_consequence
from electorate.trace.belief import opening_of
from electorate.trace.sentence import Sentence, sentences_of
from electorate.trace.word import counted, listed, nodes_text, with_names

CALM = "From here on nothing fails any more."
NORMAL = "Here a run without a fault can end, and the search began:"
LOOP = "From here on the run can repeat itself for ever:"


class Counterexample:
    """One violation, and the story of its run."""

    def __init__(self, violation: Violation, machine: Machine[Any], model: Model) -> None:
        self.violation = violation
        self.spent = spent_by(violation.trace, model, machine, violation.begins_after)
        self._machine = machine
        self._given = model.given
        self._names = model.given.names if model.given else {}
        self._is_from_normal = not model.given and model.setting.start is Start.NORMAL

    @cached_property
    def story(self) -> list[tuple[str, str]]:
        """The lines of the story, each with the numbers of the moves that it tells, if any."""
        trace = self.violation.trace
        _, boots = started(trace.setting, self._machine)
        standings, placed = first_standings(trace, self._machine)
        steps = (*boots, *trace.steps)
        remarks: dict[int, list[str]] = {len(steps): []}
        ends = ((self.violation.calm_after, CALM), (self.violation.loop_after, LOOP))
        for moves, remark in ends:
            if moves is not None:
                place = len(boots) + _steps_of(trace, moves)
                remarks.setdefault(place, []).append(remark)
        first = len(boots) + _steps_of(trace, self.violation.begins_after)
        told_from_boot = trace.setting.start is not Start.NORMAL
        begins = [NORMAL] if self._is_from_normal and told_from_boot else []
        if self._given is not None:
            begins = [f"Here {self._given.name} ends, and the search began:"]
        remarks[first] = begins + remarks.get(first, [])
        lines: list[tuple[str, str]] = []
        if trace.setting.start is Start.NORMAL or placed:
            lines.append((opening_of(standings), ""))
        done = 0
        for sentence in self._sentences(Trace(trace.setting, steps), len(boots), remarks):
            lines += ((remark, "") for remark in remarks.get(sentence.first, ()))
            told = steps[max(first, sentence.first) : sentence.end]
            moves = sum(not is_consequence(step) for step in told)
            if not len(boots) <= sentence.first < len(boots) + placed:
                lines.append((sentence.text, numbers_of(done, done + moves)))
            done += moves
        lines += [(remark, "") for remark in remarks[len(steps)]]
        return [(with_names(text, self._names), numbers) for text, numbers in lines]

    def _sentences(self, told: Trace, boots: int, apart: Collection[int]) -> Iterator[Sentence]:
        """The sentences of the run. The second round of a loop shows why it goes on for ever."""
        again: tuple[Step, ...] = ()
        if self.violation.loop_after is not None:
            first = boots + _steps_of(self.violation.trace, self.violation.loop_after)
            begun = told.steps[first - 1].at if first else 0
            lasts = told.steps[-1].at - begun
            again = tuple(replace(step, at=step.at + lasts) for step in told.steps[first:])
        longer = Trace(told.setting, (*told.steps, *again))
        machine = self._machine
        for sentence in sentences_of(
            longer, machine.view, uses_views=machine.uses_views, apart=apart
        ):
            if sentence.end <= len(told.steps):
                yield sentence

    def head(self, width: int) -> Iterator[str]:
        """How long the run is, what happens in it, and who breaks the claim."""
        yield from wrap(self._length(), width)
        yield "What happens:"
        yield from self.told(width)
        yield from wrap(with_names(self._witness(), self._names), width)

    def told(self, width: int) -> Iterator[str]:
        """What happens, each sentence with the numbers of its moves."""
        return numbered(self.story, width)

    def _length(self) -> str:
        violation = self.violation
        claim, moves = violation.claim, violation.length
        run = f"a run of {counted(moves, 'moves')}"
        if not isinstance(violation, Ordered):
            return f"{claim} is missed by {run}."
        if not moves:
            return f"{claim} is broken from the start."
        text = f"{claim} is broken by {run}, and by none that is shorter."
        switches = violation.switches
        if not switches:
            return f"{text} All of it happens at one node."
        times = {1: "once", 2: "twice"}.get(switches, f"{switches} times")
        if violation.fewest:
            return f"{text} It switches {times} between nodes; no run as short does so less often."
        return f"{text} It switches {times} between nodes; not all runs as short were compared."

    def _moves(self, moves: int | None) -> int | None:
        """A number of moves of the trace, counted from where the run begins."""
        return None if moves is None else moves - self.violation.begins_after

    def _witness(self) -> str:
        claim, witness = self.violation.claim, self.violation.witness
        if self.violation.calm_after is not None:
            return f"{claim} is not reached: {witness.text}."
        if not witness.nodes:
            return f"That breaks {claim}: {witness.text}."
        verb = "breaks" if len(witness.nodes) == 1 else "break"
        who = nodes_text(witness.nodes)
        return f"{who[0].upper()}{who[1:]} {verb} {claim}: {witness.text}."

    def costs(self, needs: Iterable[Ablation] | None) -> Iterator[str]:
        """What the run spends, and whether it needs that."""
        faults = {kind: counted(n, kind) for kind in BUDGETS if (n := getattr(self.spent, kind))}
        if not faults:
            yield "It spends no fault at all."
        elif needs is None:
            yield f"It spends {listed(faults.values())}."
        else:
            yield f"It spends {listed(faults.values())}:"
            width = max(map(len, faults.values()))
            for need in needs:
                yield f"  {faults[need.kind]:<{width}}  {need.text(self.violation.claim)}"

    def as_object(self, script: str, needs: Iterable[Ablation] | None) -> dict[str, Any]:
        """Everything, as plain data."""
        violation = self.violation
        ordered = violation if isinstance(violation, Ordered) else None
        return {
            "claim": violation.claim,
            "nodes": violation.witness.nodes,
            "witness": violation.witness.text,
            "moves": violation.length,
            "calm_after": self._moves(violation.calm_after),
            "loop_after": self._moves(violation.loop_after),
            "switches": ordered and ordered.switches,
            "fewest_switches": ordered and ordered.fewest,
            "story": [text for text, _ in self.story],
            "spent": {kind: n for kind in BUDGETS if (n := getattr(self.spent, kind))},
            "needed": None
            if needs is None
            else {
                need.kind: {
                    "needed": need.needed,
                    "left": need.left,
                    "moves": need.moves,
                    "text": need.text(violation.claim),
                }
                for need in needs
            },
            "script": script,
        }


def _steps_of(trace: Trace, moves: int) -> int:
    """How many steps the first `moves` moves make, with all that follows from them."""
    places = [k for k, step in enumerate(trace.steps) if not is_consequence(step)]
    return places[moves] if moves < len(places) else len(trace.steps)
