"""Settings of the whole test suite: how hard Hypothesis looks, and the option --rewrite."""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

import electorate.cli.check  # noqa: F401 - it takes the usual engine before that is changed below
from electorate.check import checking
from electorate.runtime import credentials

# The plug-in is tested by use, whether or not the package that is installed has it already.
pytest_plugins = ["pytester", "electorate.testing.plugin"]

# "ci" draws the same examples on every run, so that a red build stays red until it is mended.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=100)
settings.register_profile(
    "deep",
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# What runs in the background ignores Ctrl-C, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="rewrite the golden files to say what the code does now; then read the diff",
    )


@pytest.fixture(scope="session", autouse=True)
def reference_engine() -> Iterator[None]:
    """Checks that name no engine use the reference: small ones are over before numba has begun."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "default_engine", lambda: "python")
        yield


@pytest.fixture(scope="session")
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether a golden test writes its file anew instead of comparing with it."""
    return bool(request.config.getoption("--rewrite"))


@pytest.fixture
def cheap_scrypt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come quickly of secrets, where it is not the point how long guessing takes."""
    monkeypatch.setitem(credentials.SCRYPT, "n", 1 << 4)
