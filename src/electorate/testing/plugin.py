"""The plug-in of pytest: a simulated cluster as a fixture, many seeds, and a failure's story.

It is loaded with every run of pytest, so it imports the cluster only where one is asked for.
"""

import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from electorate.testing.cluster import Cluster

FIXTURE = "electorate_cluster"
MARKER = (
    "electorate(nodes=3, seed=0, seeds=1, pace=None, limit_s=600): "
    f"what the fixture {FIXTURE} is like"
)
LINES = 40


def pytest_addoption(parser: pytest.Parser) -> None:
    """How to choose seeds."""
    group = parser.getgroup("electorate", "simulated clusters")
    group.addoption(
        "--electorate-seed",
        type=int,
        metavar="N",
        help="the (first) seed of every test that uses a simulated cluster",
    )
    group.addoption(
        "--electorate-seeds",
        type=int,
        metavar="COUNT",
        help="run each of these tests with so many seeds, one after the other",
    )
    group.addoption(
        "--electorate-lines",
        type=int,
        default=LINES,
        metavar="COUNT",
        help="show so many of the last events when a test fails (%(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each seed, if there are several."""
    if "electorate_seed" in metafunc.fixturenames and not _has_its_own_seeds(metafunc.definition):
        seeds = _seeds(metafunc.config, metafunc.definition)
        if len(seeds) > 1:
            metafunc.parametrize("electorate_seed", seeds, ids=map(_seed_id, seeds))


def _has_its_own_seeds(test: pytest.Item) -> bool:
    """Whether it is parametrized with seeds already."""
    for mark in test.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        if "electorate_seed" in (
            names.replace(" ", "").split(",") if isinstance(names, str) else names
        ):
            return True
    return False


@pytest.fixture
def electorate_seed(request: pytest.FixtureRequest) -> int:
    """The seed that decides all delays."""
    return _seeds(request.config, request.node)[0]


@pytest.fixture
def electorate_cluster(request: pytest.FixtureRequest, electorate_seed: int) -> "Cluster":
    """A simulated cluster. A test that is `async` runs inside; another calls its `run`."""
    from electorate.testing.cluster import Cluster

    given = _given(request.node)
    for name in ("seed", "seeds"):
        given.pop(name, None)
    return Cluster(**given, seed=electorate_seed)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async` test in the cluster that it asks for."""
    __tracebackhide__ = True
    cluster: Any = pyfuncitem.funcargs.get(FIXTURE)
    if cluster is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    cluster.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report with a failed test how to repeat it, and what has happened in it."""
    report = yield
    cluster = getattr(item, "funcargs", {}).get(FIXTURE)
    if cluster is not None and report.failed and call.when == "call":
        lines = cluster.story.last(item.config.getoption("--electorate-lines"))
        told = "\n".join([_how_to_repeat(item, cluster.seed), "", *lines])
        report.sections.append(("simulated cluster", told))
    return report


def _how_to_repeat(item: pytest.Item, seed: int) -> str:
    # The seed is in the test's name only where a test is run with several.
    name = item.nodeid.replace(f"[{_seed_id(seed)}]", "")
    name = name.replace(f"-{_seed_id(seed)}", "").replace(f"{_seed_id(seed)}-", "")
    return f"Repeat with: pytest '{name}' --electorate-seed {seed} --electorate-seeds 1"


def _seeds(config: pytest.Config, node: Any) -> range:
    given = _given(node)
    first, count = config.getoption("--electorate-seed"), config.getoption("--electorate-seeds")
    first = given.get("seed", 0) if first is None else first
    count = given.get("seeds", 1) if count is None else count
    return range(first, first + max(1, count))


def _given(node: Any) -> dict[str, Any]:
    """What the markers of a test say; the nearest of them first."""
    found: dict[str, Any] = {}
    for marker in node.iter_markers("electorate"):
        if marker.args:
            raise pytest.UsageError(f"the marker electorate takes names only: {MARKER}")
        found = {**marker.kwargs, **found}
    return found


def _seed_id(seed: int) -> str:
    return f"seed-{seed}"
