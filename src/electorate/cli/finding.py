"""A verdict as people and programs read it."""

from functools import cached_property
from textwrap import wrap
from typing import Any

from electorate.check import Model, Result, Verdict, Violation
from electorate.check.verdict import budget_object
from electorate.claims import CLAIMS
from electorate.cli.retell import retold
from electorate.core import Machine
from electorate.trace import Trace
from electorate.trace.jsonl import step_object

LINE_MAX = 96


class Finding:
    """A verdict together with what it is about."""

    def __init__(
        self, verdict: Verdict, name: str, machine: Machine[Any], model: Model, engine: str
    ) -> None:
        self.engine = engine
        self.verdict = verdict
        self.name = name
        self.machine = machine
        self.model = model

    @cached_property
    def scripts(self) -> list[str]:
        """The run that breaks each broken claim, retold by the simulator."""
        return [retold(v.trace, self._head(v), v.claim) for v in self.verdict.violations]

    def _head(self, violation: Violation) -> list[str]:
        """The comment above a run: what it shows, and what it is a run of."""
        texts = [f"{violation.claim} is violated: {violation.witness.text}."]
        if violation.calm_after is not None:
            texts.append(f"Nothing fails any more after step {violation.calm_after}.")
        if violation.loop_after is not None:
            texts.append(f"All after step {violation.loop_after} can be repeated for ever.")
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
            "strongest": setting.strongest,
            "attributes": setting.attributes,
            "timing": setting.clock,
            "delay": f"{setting.delay_min}..{setting.delay_max}",
            "ties": setting.ties,
            "order": setting.order,
            "connections": setting.connections,
            "from": setting.start,
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
            "seconds": round(verdict.seconds, 3),
            "sometimes": verdict.sometimes,
            "violations": [
                {
                    "claim": violation.claim,
                    "nodes": violation.witness.nodes,
                    "witness": violation.witness.text,
                    "steps": violation.length,
                    "calm_after": violation.calm_after,
                    "loop_after": violation.loop_after,
                    "script": script,
                }
                for violation, script in zip(violations, self.scripts, strict=True)
            ],
            "trace": steps_object(violations[0].trace) if violations else [],
        }

    def as_text(self, *, slowest: bool) -> str:
        """The verdict, then the numbers, then the runs."""
        verdict = self.verdict
        lines = [verdict.sentence(self.name, self.machine, self.model)]
        if verdict.reason is not None and verdict.result is Result.UNKNOWN:
            lines.append(f"The verdict is {verdict.result}: {verdict.reason}.")
        lines += [
            f"  {name} {result}: {CLAIMS[name].text}" for name, result in verdict.claims.items()
        ]
        if verdict.liveness is not None:
            lines.append(f"  liveness: {verdict.liveness}{self._tau_text()}")
        lines += self._numbers()
        for script in self.scripts:
            lines += ["", script.rstrip()]
        if slowest and verdict.slowest is not None:
            head = [f"The slowest run: after step {verdict.slowest_from} nothing fails any more."]
            lines += ["", retold(verdict.slowest, head, " ".join(verdict.claims)).rstrip()]
        return "\n".join(lines)

    def _tau_text(self) -> str:
        tau = self.verdict.tau
        if tau is None:
            return ""
        return f", τ = {tau} ticks = {self.model.setting.timing.text(tau)}"

    def _numbers(self) -> list[str]:
        verdict = self.verdict
        rate = verdict.transitions / max(verdict.seconds, 1e-9)
        return [
            f"  {verdict.states:,} states, {verdict.transitions:,} transitions, "
            f"depth {verdict.depth}, {verdict.calls} calls of the protocol, "
            f"{verdict.seconds:.1f} s ({rate:,.0f} transitions/s)",
            *_facts(verdict.sometimes),
        ]


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
