"""Prints what the checker finds; run with different hash seeds it must print the same."""

from electorate.check import Budget, Model, Verdict, check
from electorate.claims import CLAIMS
from electorate.protocols.bully import Bully
from electorate.trace import Setting, script_of
from tests.check.drawn import drawn, drawn_watchers
from tests.check.test_drawn import ALWAYS, GOAL


def tell(verdict: Verdict) -> None:
    print(verdict.result, verdict.claims, verdict.liveness, verdict.tau, verdict.depth)
    print(verdict.states, verdict.transitions, verdict.stable_states, verdict.calls, verdict.cuts)
    for violation in verdict.violations:
        print(violation.witness, violation.calm_after, violation.loop_after)
        print(script_of(violation.trace))
    if verdict.slowest is not None:
        print(verdict.slowest_from, script_of(verdict.slowest))


def main() -> None:
    setting = Setting("bully-as-printed", (1, 2, 3))
    claims = [CLAIMS["A1"], CLAIMS["A2"]]
    tell(check(setting.machine(Bully, "printed"), Model(setting, Budget(crashes=1)), claims))
    model = Model(setting, Budget(crashes=1, recoveries=1))
    tell(check(setting.machine(Bully, "printed"), model, claims))
    for seed in (0, 6, 17, 29, 45):
        for machine, drawn_model in (drawn(seed), drawn_watchers(seed)):
            tell(check(machine, drawn_model, [ALWAYS], 1000))
            tell(check(machine, drawn_model, [GOAL], 1000))


if __name__ == "__main__":
    main()
