"""Scenarios come from TOML files; what is wrong with one is said in one line."""

from pathlib import Path

import pytest

from electorate.protocols.registry import REGISTRY
from electorate.simulate.delay import Lognormal, Uniform
from electorate.simulate.experiment import Experiment, Subject
from electorate.simulate.fault import Crash, CutLink, Partition
from electorate.simulate.scenario import Faults, Scenario, ScenarioError, load_scenario
from electorate.trace import Clock, Connections, Cut, Order

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "scenarios").glob("*.toml"))


def load(folder: Path, text: str) -> Scenario:
    file = folder / "mine.toml"
    file.write_text(text, encoding="utf-8")
    return load_scenario(file)


def test_an_empty_file_means_the_usual_conditions_without_faults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == Scenario(faults=Faults())


def test_everything_can_be_said(tmp_path: Path) -> None:
    scenario = load(
        tmp_path,
        """
        nodes = 4
        claims = ["A2"]
        [timing]
        T = 100
        P = 10
        [network]
        delay = "lognormal:0.3T,0.8"
        loss = 0.1
        duplication = 0.2
        order = "bag"
        connections = "die"
        [detector]
        bound = "3T"
        [faults]
        crashes = 1
        recoveries = 1
        torn = 0.0
        pauses = 2
        cuts = 3
        resets = 7
        partitions = 4
        lies = 5
        asks = 6
        [[faults.list]]
        kind = "partition"
        at = "2T"
        until = "4T"
        side = [1, 2]
        [[faults.list]]
        kind = "crash"
        at = "1T"
        node = 3
        [[faults.list]]
        kind = "cut"
        at = 250
        until = "3T"
        sender = 1
        to = 4
        [phases]
        safety = "10T"
        stable = "20T"
        stay = "5T"
        """,
    )
    assert scenario.ids == (1, 2, 3, 4)
    assert (scenario.timing.T, scenario.timing.P) == (100, 10)
    assert scenario.delay == Lognormal(30, 0.8)
    assert (scenario.loss, scenario.duplication) == (0.1, 0.2)
    assert (scenario.order, scenario.connections) == (Order.BAG, Connections.DIE)
    assert scenario.detection == 300
    assert scenario.faults == Faults(1, 1, 0.0, 2, 3, 7, 4, 5, 6)
    assert scenario.listed == (Crash(100, 3), Partition(200, 400, (1, 2)), CutLink(250, 300, 1, 4))
    assert (scenario.safety, scenario.stable, scenario.stay) == (1000, 2000, 500)
    assert scenario.claims == ("A2",)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("node = 3", "unknown key 'node'; the keys of a scenario are: nodes, start, timing, "),
        ("[network]\nlos = 1", "unknown key 'network.los'; the keys of [network] are: delay, loss"),
        ("[faults]\ncrash = 1", "unknown key 'faults.crash'; the keys of [faults] are: crashes, "),
        ("nodes = 'three'", "Expected `int`, got `str` - at `nodes`"),
        ("nodes = 0", "nodes and timing.T are at least 1"),
        ("nodes = ", "not TOML: "),
        ("[network]\norder = 'lifo'", "Invalid enum value 'lifo' - at `network.order`"),
        ("[network]\ndelay = 'slow'", "'slow' is not a delay model"),
        ("[network]\nloss = 1.0", "loss is a share"),
        ("[faults]\ncrashes = -1", "crashes cannot be negative"),
        ("[detector]\nbound = 'soon'", "'soon' is not a length of time"),
        ("nodes = 1\n[faults]\nlies = 1", "cuts, resets, partitions and lies need two nodes"),
        ("[[faults.list]]\nkind = 'flood'", "faults.list #1: the kinds are: crash, tear, recover"),
        ("[[faults.list]]\nkind = 'crash'\nat = '1T'", "faults.list #1: Object missing required"),
        ("[[faults.list]]\nkind = 'crash'\nat = 'x'\nnode = 1", "'x' is not a length of time"),
        ("[[faults.list]]\nkind = 'crash'\nat = 1\nnode = 9", "a fault names 9"),
        (
            "[[faults.list]]\nkind = 'pause'\nat = 2\nuntil = 1\nnode = 1",
            "a fault at 2 ends before it begins",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, text: str, wrong: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'mine.toml'}: {wrong}")
    assert "\n" not in message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.toml: No such file or directory"):
        load_scenario(tmp_path / "none.toml")


def test_bounds_are_claimed_only_where_the_delays_keep_to_them() -> None:
    kept = Scenario(delay=Uniform(0, 1000)).setting("bully", (), "lowest")
    broken = Scenario(delay=Uniform(0, 1001)).setting("bully", (), "lowest")
    assert (kept.clock, broken.clock) == (Clock.BOUNDED, Clock.UNBOUNDED)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_example_runs(file: Path) -> None:
    experiment = Experiment(Subject("bully", load_scenario(file)), REGISTRY.__getitem__)
    results = [experiment.run(seed) for seed in range(5)]
    assert sum(result.deliveries for result in results) > 0


@pytest.mark.parametrize("name", ["lan", "partition", "rolling_restarts"])
def test_bully_keeps_its_promises_where_the_example_says_so(name: str) -> None:
    scenario = load_scenario(next(file for file in EXAMPLES if file.stem == name))
    experiment = Experiment(Subject("bully", scenario), REGISTRY.__getitem__)
    for seed in range(60):
        assert experiment.run(seed).violations == {}, f"seed {seed}"


@pytest.mark.parametrize(
    ("text", "ids", "links"),
    [
        ("path:4", (1, 2, 3, 4), ((1, 2), (2, 3), (3, 4))),
        ("cycle:3", (1, 2, 3), ((1, 2), (2, 3), (1, 3))),
        ("star:4", (1, 2, 3, 4), ((1, 2), (1, 3), (1, 4))),
        ("complete:2", (1, 2), None),
        ("1-2", (1, 2, 3), ((1, 2),)),
        ("", (1, 2, 3), ()),
    ],
)
def test_a_network_need_not_be_complete(
    tmp_path: Path, text: str, ids: tuple[int, ...], links: tuple[tuple[int, int], ...] | None
) -> None:
    scenario = load(tmp_path, f'[network]\ngraph = "{text}"')
    assert (scenario.ids, scenario.graph) == (ids, links)
    assert scenario.setting("bully", (), "lowest").graph == links


def test_a_network_of_no_known_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no graph 'blob'"):
        load(tmp_path, '[network]\ngraph = "blob:3"')


def test_a_link_that_there_is_not_can_neither_be_cut_nor_healed() -> None:
    """Fails if a cut that finds no link stops the run, or makes a link when it ends."""
    apart = CutLink(5000, 9000, 1, 3), CutLink(5000, 9000, 3, 1), Partition(20_000, 25_000, (1,))
    scenario = Scenario(graph=((1, 2), (2, 3)), faults=Faults(), listed=apart, claims=("A4p",))
    result = Experiment(Subject("invitation", scenario), REGISTRY.__getitem__).run(0, record=True)
    happened = [step.happening for step in result.trace.steps]
    cut = {way for each in happened if isinstance(each, Cut) for way in each.ways}
    assert cut == {(1, 2), (2, 1)}
    assert not result.violations
