"""What becomes of the claims that simulated runs are judged by."""

from collections.abc import Collection

from electorate.cli.error import EXIT_BROKEN, EXIT_DONE, EXIT_UNKNOWN
from electorate.simulate.experiment import Experiment
from electorate.simulate.seen import Seen

HOLDS, VIOLATED, UNKNOWN = "holds", "violated", "unknown"
EXIT_CODES = {HOLDS: EXIT_DONE, VIOLATED: EXIT_BROKEN, UNKNOWN: EXIT_UNKNOWN}


class Fates:
    """The fate of each claim, and what the runs did not show."""

    def __init__(
        self, experiment: Experiment, broken: Collection[str], seen: Seen, deliveries: int
    ) -> None:
        kept = [claim for claim in experiment.judge.claims if claim.name not in broken]
        self.unmet = seen.unmet(kept)
        """The claims that no run could have broken, and what was never seen."""
        self.idle = seen.idle(experiment.scenario, experiment.machine)
        """The faults that were asked for and never happened, and why not."""
        silence = seen.silence(experiment.machine, deliveries) if kept else None
        unsettled = seen.unsettled(experiment.scenario, experiment.setting.timing.T)
        doubts = self.unmet | {name: text for name, text in unsettled.items() if name not in broken}
        self.reason = silence or "; ".join(f"{n}: {text}" for n, text in doubts.items()) or None
        """Why something is unknown."""
        self.claims = dict.fromkeys((claim.name for claim in experiment.judge.claims), VIOLATED)
        for claim in kept:
            is_unknown = silence is not None or claim.name in doubts
            self.claims[claim.name] = UNKNOWN if is_unknown else HOLDS

    @property
    def verdict(self) -> str:
        """The fate of all of them together."""
        fates = self.claims.values()
        return next(fate for fate in (VIOLATED, UNKNOWN, HOLDS) if fate in fates)

    @property
    def exit_code(self) -> int:
        """How the command ends."""
        return EXIT_CODES[self.verdict]
