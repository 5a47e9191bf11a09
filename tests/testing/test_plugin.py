"""The plug-in of pytest, in runs of pytest of its own."""

import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ("-p", "electorate.testing.plugin", "-p", "no:cacheprovider")

FAILING = """
import asyncio
import pytest

async def lead(node):
    async for term in node.election("x").terms():
        async with term:
            await asyncio.Event().wait()

async def test_it_fails(electorate_cluster):
    electorate_cluster.start(lead)
    await electorate_cluster.leader("x")
    electorate_cluster.crash(await electorate_cluster.leader("x"))
    assert electorate_cluster.seed % 3 != 2
"""


def test_a_failure_tells_the_seed_how_to_repeat_it_and_what_has_happened(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(FAILING)
    result = pytester.runpytest(*PLUGIN, "--electorate-seed", "5")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*simulated with seed 5, until 0.* s",
            "*- simulated cluster -*",
            "Repeat with: pytest 'test_a_failure_*.py::test_it_fails' --electorate-seed 5 *",
            "*0.* s  ? leads x (term 1)",
            "*0.* s  ? crashes",
        ]
    )


def test_each_seed_is_a_test_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FAILING)
    result = pytester.runpytest(*PLUGIN, "--electorate-seeds", "6")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(["*::test_it_fails[[]seed-2]*", "*::test_it_fails[[]seed-5]*"])
    result.stdout.fnmatch_lines(["Repeat with: pytest *::test_it_fails' --electorate-seed 2 *"])


def test_the_marker_says_what_the_cluster_is_like(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.electorate(nodes=5, seed=3)

        async def test_of_module(electorate_cluster):
            assert (electorate_cluster.names, electorate_cluster.seed) == (tuple("abcde"), 3)

        @pytest.mark.electorate(nodes=("x", "y"))
        @pytest.mark.parametrize("number", [1, 2])
        async def test_of_its_own(electorate_cluster, number, tmp_path):
            assert electorate_cluster.names == ("x", "y")
            assert electorate_cluster.seed in (3, 4)

        @pytest.mark.electorate(seeds=4)
        def test_without_async(electorate_cluster, electorate_seed):
            async def scene():
                return electorate_cluster.now
            assert electorate_cluster.run(scene()) < 1
            assert electorate_cluster.seed == electorate_seed
        """
    )
    pytester.runpytest(*PLUGIN, "--strict-markers").assert_outcomes(passed=7)
    both = pytester.runpytest(*PLUGIN, "--electorate-seeds", "2", "-k", "its_own")
    both.assert_outcomes(passed=4, deselected=4)


def test_who_chooses_the_seeds_of_a_test_has_chosen(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("electorate_seed", [7, 9])
        async def test_it(electorate_cluster):
            assert electorate_cluster.seed in (7, 9)
        """
    )
    pytester.runpytest(*PLUGIN, "--electorate-seeds", "5").assert_outcomes(passed=2)


def test_a_marker_that_cannot_be_understood_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.electorate(3)
        async def test_it(electorate_cluster):
            pass
        """
    )
    result = pytester.runpytest(*PLUGIN)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*the marker electorate takes names only*"])


def test_it_leaves_other_tests_alone_and_loads_nothing_for_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    pytester.makepyfile(
        """
        import sys

        def test_plain():
            loaded = {name for name in sys.modules if name.startswith("electorate")}
            assert loaded == {"electorate", "electorate.testing", "electorate.testing.plugin"}

        async def test_async_of_somebody_else():
            pass
        """
    )
    # In a process of its own: this one has loaded much already.
    result = pytester.runpytest_subprocess(*PLUGIN, "-W", "ignore", "--electorate-seeds", "9")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*async def functions are not natively supported*"])
    assert "simulated cluster" not in result.stdout.str()


def test_an_installed_package_brings_the_plug_in() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = "electorate.testing.plugin"
    assert project["entry-points"]["pytest11"] == {name: name}
    assert name in sys.modules


def test_the_first_example_of_the_page_runs(pytester: pytest.Pytester) -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    _, _, rest = page.partition("```python\n")
    example, _, _ = rest.partition("```")
    pytester.makepyfile(example)
    result = pytester.runpytest(*PLUGIN, "--electorate-seeds", "3")
    result.assert_outcomes(passed=3 * example.count("async def test_"))
