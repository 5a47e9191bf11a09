"""The simulator as a driver of probes: by seeds, and by scripts."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from electorate.core import Timing
from electorate.simulate import run_script
from electorate.simulate.delay import Uniform
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.scenario import Faults, Scenario
from electorate.trace import Connections, Start
from tests.conformance.probe import find
from tests.conformance.rule import Rule
from tests.conformance.story import Run, told

T = 20
SEEDS = range(12)

FAULTS = {
    "speech": Faults(crashes=6, recoveries=6, torn=0.8, lies=1, asks=10),
    "clock": Faults(crashes=3, recoveries=3, pauses=1, asks=12),
    "office": Faults(crashes=1, recoveries=1, pauses=5, cuts=1, lies=3, asks=12),
}
WISHES = {"speech": "speak", "clock": "wind", "office": "reign+speak"}

SCRIPTS = {
    "speech": """
cluster probe 1 2 3 T=2 start=boot connections=die rule:greets=0 rule:burst=2

ask 1 Speak torn 2:2 3:1

deliver 1->3

deliver 1->2

tick 2

deliver 1->2

recover 1

ask 1 Speak torn #1 2:1 3:0

deliver 1->2

recover 1 torn

recover 1

ask 1 Speak

settle
""",
    "clock": """
cluster probe 1 2 T=2 start=boot rule:greets=0

ask 1 Wind

tick

ask 1 Wind

crash 1

recover 1

settle

ask 1 Wind

settle
""",
    "office": """
cluster probe 1 2 T=2 start=boot rule:greets=0

ask 1 Reign

ask 2 Speak

pause 1

tick 4

resume 1

fire 1 lease

settle

ask 1 Reign

tick 2

ask 2 Speak

settle
""",
}


class Simulator:
    """Runs probes in simulated time."""

    name = "simulator"
    tears = 4
    exempt: Mapping[Rule, str] = {}

    def runs(self, scene: str) -> Iterator[Run]:
        """Scripted and seeded runs of one kind."""
        yield told(run_script(SCRIPTS[scene], find).trace)
        for connections in Connections:
            experiment = self._experiment(scene, connections)
            for seed in SEEDS:
                yield told(experiment.run(seed, record=True).trace)
        unlucky = self._experiment(scene, Connections.OUTLIVE, mishaps=0.2)
        for seed in SEEDS[:3]:
            run = told(unlucky.run(seed, record=True).trace)
            run.mishaps = True
            yield run

    def _experiment(self, scene: str, connections: Connections, mishaps: float = 0.0) -> Experiment:
        scenario = Scenario(
            ids=(1, 2, 3) if scene == "speech" else (1, 2),
            timing=Timing(T),
            delay=Uniform(0, T),
            loss=mishaps,
            duplication=mishaps,
            connections=connections,
            detection=2 * T,
            faults=FAULTS[scene],
            safety=20 * T,
            stable=8 * T,
            stay=4 * T,
        )
        rules = (f"wishes={WISHES[scene]}",)
        setting = replace(scenario.setting("probe", rules, "lowest"), start=Start.BOOT)
        return Experiment(Subject("probe", scenario, rules), find, setting)
