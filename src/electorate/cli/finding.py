"""A verdict as people and programs read it."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from textwrap import wrap
from typing import Any

from electorate.check import Budget, Liveness, Model, Result, Verdict, Violation
from electorate.check.ablation import Ablation
from electorate.check.effort import Effort, text_of
from electorate.check.verdict import Way, budget_object
from electorate.claims import CLAIMS, Claim
from electorate.cli.counterexample import Counterexample
from electorate.cli.retell import retold
from electorate.core import Machine
from electorate.trace import Trace
from electorate.trace.text import step_object
from electorate.trace.word import counted

LINE_MAX = 96

NeedsOf = Callable[[str, Budget], Iterable[Ablation]]
"""Which of the faults that a run has spent are needed to break a claim."""


class CheckReport:
    """A verdict together with what it is about."""

    def __init__(
        self,
        verdict: Verdict,
        name: str,
        machine: Machine[Any],
        model: Model,
        engine: str,
        needs_of: NeedsOf | None = None,
        claims: Iterable[Claim] = (),
    ) -> None:
        self._claims = CLAIMS | {claim.name: claim for claim in claims}
        self.engine = engine
        self._needs_of = needs_of
        self.verdict = verdict
        self.name = name
        self.machine = machine
        self.model = model

    @cached_property
    def scripts(self) -> list[str]:
        """The run that breaks each broken claim, retold by the simulator."""
        return [retold(v.trace, self._head(v), v.claim) for v in self.verdict.violations]

    def _told(self) -> Iterator[tuple[Counterexample, str]]:
        """Every violation with its script; all runs are retold before the first is shown."""
        for violation, script in zip(self.verdict.violations, self.scripts, strict=True):
            yield Counterexample(violation, self.machine, self.model), script

    def _needs(self, found: Counterexample) -> list[Ablation] | None:
        if self._needs_of is None:
            return None
        return list(self._needs_of(found.violation.claim, found.spent))

    def _head(self, violation: Violation) -> list[str]:
        """The comment above a run: what it shows, and what it is a run of."""
        texts = [f"{violation.claim} is violated: {violation.witness.text}."]
        if violation.calm_after is not None:
            calm = violation.calm_after - violation.begins_after
            texts.append(f"Nothing fails any more after move {calm}.")
        if violation.loop_after is not None:
            loop = violation.loop_after - violation.begins_after
            texts.append(f"All after move {loop} can be repeated for ever.")
        texts.append(self.verdict.sentence(self.name, self.machine, self.model))
        return [line for text in texts for line in wrap(text, LINE_MAX)]

    def as_object(self) -> dict[str, Any]:
        """Everything, as plain data."""
        verdict, model = self.verdict, self.model
        setting = model.setting
        violations = verdict.violations
        return {
            "protocol": self.name,
            "rules": self.machine.rules.texts(),
            "nodes": len(setting.ids),
            "strongest": self.machine.members.strongest,
            "attributes": setting.attributes,
            "equal": setting.equal,
            "timing": setting.clock,
            "delay": f"{setting.delay_min}..{setting.delay_max}",
            "ties": setting.ties,
            "order": setting.order,
            "connections": setting.connections,
            "from": setting.start if model.given is None else model.given.name,
            "from_steps": model.given and model.given.moves,
            "from_about": (model.given and model.given.about) or None,
            "normal": verdict.normal,
            "handling": setting.timing.P,
            "drift": setting.drift,
            "graph": setting.graph,
            "reduced": verdict.reduced,
            "renamed": verdict.renamed,
            "detection": model.detection_ticks if self.machine.uses_views else None,
            "budgets": budget_object(model),
            "bounds": {n: getattr(model.bounds, n) for n in model.bounds.__struct_fields__},
            "cuts": verdict.cuts,
            "engine": self.engine,
            "verdict": verdict.result,
            "reason": verdict.reason,
            "sentence": verdict.sentence(self.name, self.machine, model),
            "claims": verdict.claims,
            "liveness": verdict.liveness,
            "tau": verdict.tau,
            "states": verdict.states,
            "stable_states": verdict.stable_states,
            "transitions": verdict.transitions,
            "depth": verdict.depth,
            "calls": verdict.calls,
            "seconds": round(verdict.effort.seconds, 3),
            "compile_seconds": round(verdict.effort.compile_seconds, 3),
            "memory": verdict.effort.memory,
            "bytes_per_state": verdict.effort.bytes_per_state,
            "tables": verdict.effort.tables,
            "hit_rate": verdict.effort.hit_rate,
            "sometimes": verdict.sometimes,
            "unspent": verdict.unspent,
            "ways": {goal: list(map(self._way, ways)) for goal, ways in verdict.ways.items()},
            "violations": [
                found.as_object(script, self._needs(found)) for found, script in self._told()
            ],
            "trace": steps_object(violations[0].trace) if violations else [],
        }

    def texts(self, *, slowest: bool, ways: bool = False) -> Iterator[str]:
        """The verdict, then the numbers, then the runs; what takes long is worked out last."""
        verdict = self.verdict
        lines = [verdict.sentence(self.name, self.machine, self.model)]
        if verdict.reason is not None and verdict.result is Result.UNKNOWN:
            lines.append(f"The verdict is {verdict.result}: {verdict.reason}.")
        lines += [
            f"  {name} {result}: {self._claims[name].text}"
            for name, result in verdict.claims.items()
        ]
        if verdict.liveness is not None:
            lines.append(f"  liveness: {verdict.liveness}{self._tau_text()}")
        yield "\n".join([*lines, *self._numbers()])
        if ways:
            yield from self._ways()
        for found, script in self._told():
            yield "\n".join(["", *found.head(LINE_MAX)])
            yield "\n".join([*found.costs(self._needs(found)), "", script.rstrip()])
        if slowest and verdict.slowest is not None:
            calm = (verdict.slowest_from or 0) - (verdict.slowest_begins or 0)
            head = [f"The slowest run: after move {calm} nothing fails any more."]
            yield "\n" + retold(verdict.slowest, head, " ".join(verdict.claims)).rstrip()

    def _ways(self) -> Iterator[str]:
        """Every way of getting stuck, the nearest first."""
        for goal, ways in self.verdict.ways.items():
            yield f"\n{goal} gets stuck in {counted(len(ways), 'ways')}:"
            for way in ways:
                assert way.run is not None
                found = Counterexample(way.run, self.machine, self.model)
                yield f"\nafter {counted(way.run.length, 'moves')}: {way.text}"
                yield "\n".join(found.told(LINE_MAX))

    def _way(self, way: Way) -> dict[str, Any]:
        """A way of getting stuck as plain data."""
        if way.run is None:
            return {"text": way.text, "moves": way.moves}
        script = retold(way.run.trace, self._head(way.run), way.run.claim)
        return {"text": way.text, "moves": way.run.length, "script": script}

    def _tau_text(self) -> str:
        tau = self.verdict.tau
        if tau is None:
            return ""
        sign = "≥" if self.verdict.liveness is Liveness.UNDECIDED else "="
        return f", τ {sign} {tau} ticks = {self.model.setting.timing.text(tau)}"

    def _stable_text(self) -> str:
        """How many states follow the last fault, if the search left most of them out."""
        stable = self.verdict.stable_states
        return f"{stable:,} after the last fault, " if stable > self.verdict.states else ""

    def _numbers(self) -> list[str]:
        verdict = self.verdict
        effort = verdict.effort
        rate = verdict.transitions / max(effort.seconds, 1e-9)
        return [
            f"  {verdict.states:,} states, {self._stable_text()}"
            f"{verdict.transitions:,} transitions, "
            f"depth {verdict.depth}, {verdict.calls} calls of the protocol, "
            f"{effort.seconds:.1f} s ({rate:,.0f} transitions/s)",
            f"  {effort_text(effort)}",
            *_facts(verdict.sometimes),
            *(f"  not exercised: {unspent}" for unspent in verdict.unspent),
        ]


def effort_text(effort: Effort) -> str:
    """What a search took besides time."""
    texts = [text_of(effort.memory) + " of memory"]
    if effort.bytes_per_state is not None:
        texts.append(f"{effort.bytes_per_state:.0f} bytes per state beyond the frontier")
    if effort.tables is not None and effort.hit_rate is not None:
        texts.append(f"{effort.tables:,} table entries, {effort.hit_rate:.3%} of look-ups hit")
    if effort.compile_seconds:
        texts.append(f"{effort.compile_seconds:.1f} s to compile before")
    return ", ".join(texts)


def _facts(sometimes: dict[str, bool]) -> list[str]:
    """What some run showed, and what none did."""
    lines = []
    for word, wanted in (("in some run", True), ("in no run", False)):
        facts = [fact for fact, happened in sometimes.items() if happened is wanted]
        if facts:
            lines.append(f"  {word}: {'; '.join(facts)}")
    return lines


def steps_object(trace: Trace) -> list[dict[str, Any]]:
    """The steps of a run as plain data."""
    return [step_object(step, trace) for step in trace.steps]
