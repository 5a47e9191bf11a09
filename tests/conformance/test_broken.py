"""Every rule of the driver's contract can fail: broken drivers are caught, each by its rule."""

from pathlib import Path

import pytest

from tests.conformance.broken import CHECKERS, SIMULATORS
from tests.conformance.broken_node import NODES
from tests.conformance.driver import breaches, driver_called

BROKEN = {**SIMULATORS, **CHECKERS, **NODES}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_driver_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    driver, scene, rule, do = BROKEN[name]
    do(monkeypatch)
    runs = driver_called(driver, tmp_path).runs(scene)
    assert next(breaches(rule, runs), None) is not None, f"{rule.__name__} noticed nothing"
