"""How fast the checker searches, beside Spin and TLC on the same models in the same run.

python -m benchmarks.checker --quick
python -m benchmarks.checker --case ring-12 --repeats 5 --json
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.case import CASES, FULL, QUICK, Case
from benchmarks.engine import Engine, Failed, Figures, Own, Spin, Tlc
from benchmarks.table import Measured, Place, as_markdown, as_object, as_text, rewritten

PYTHON_CASES = ("ring-8", "async_bully-1")
"""What the reference explorer is given: the rest would take it minutes."""
TLC_CASES = ("ring-8", "ring-10", "ring-12", "async_bully-1", "async_bully-2")


class Disagreement(NamedTuple):
    """Two engines that counted differently: one of the models, or of the engines, is wrong."""

    case: Case
    counts: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        counts = (f"{name} {s:,} and {t:,}" for name, s, t in self.counts)
        return f"{self.case.title}: states and transitions differ: {'; '.join(counts)}"


def main() -> int:
    """Measure, print, and say with the exit code whether all engines counted the same."""
    options = _options()
    cases = [CASES[word] for word in options.case] or list(QUICK if options.quick else FULL)
    engines, missing = _engines(options.tlc)
    for advice in missing:
        print(f"left out: {advice}", file=sys.stderr)
    place = Place.here(engines, missing)
    measured: Measured = {}
    try:
        for case in cases:
            measured[case] = _measure(case, engines, options.repeats)
    except Failed as failure:
        print(f"checker: {failure}", file=sys.stderr)
        return 1
    _tell(options, place, measured)
    found = [clash for case in cases if (clash := disagreement(case, measured[case]))]
    for each in found:
        print(f"checker: {each}", file=sys.stderr)
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.checker", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--quick", action="store_true", help="small models: a minute, not twenty")
    parser.add_argument(
        "--case", action="append", default=[], choices=CASES, help="instead; may be repeated"
    )
    parser.add_argument("--repeats", type=int, default=3, metavar="R", help="default 3")
    parser.add_argument("--tlc", type=Path, metavar="JAR", help="tla2tools.jar")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true")
    output.add_argument("--markdown", action="store_true")
    output.add_argument("--write", type=Path, metavar="PAGE", help="renew the tables in a page")
    return parser.parse_args()


def _tell(options: argparse.Namespace, place: Place, measured: Measured) -> None:
    if options.json:
        print(json.dumps(as_object(place, measured)))
    elif options.markdown:
        print(as_markdown(place, measured))
    elif options.write:
        page = rewritten(options.write.read_text(encoding="utf-8"), as_markdown(place, measured))
        options.write.write_text(page, encoding="utf-8")
    else:
        print(as_text(place, measured))


def _engines(jar: Path | None) -> tuple[list[Engine], list[str]]:
    """The engines that are there, and how to get the others."""
    own: list[Engine] = [Own("numba", 1), Own("numba", 2), Own("python", 1)]
    known = [*own, Spin(1), Spin(2), Tlc(1, jar), Tlc(2, jar)]
    advice = dict.fromkeys(filter(None, (engine.missing() for engine in known)))
    return [engine for engine in known if engine.missing() is None], list(advice)


def _suits(engine: Engine, case: Case) -> bool:
    if engine.name.startswith("python"):
        return case.word in PYTHON_CASES
    return not engine.name.startswith("TLC") or case.word in TLC_CASES


def _measure(case: Case, engines: list[Engine], repeats: int) -> dict[str, list[Figures]]:
    """Every engine in turn, again and again, so that a noisy moment hits them alike."""
    suited = [engine for engine in engines if _suits(engine, case)]
    figures: dict[str, list[Figures]] = {engine.name: [] for engine in suited}
    for repeat in range(1, repeats + 1):
        for engine in suited:
            found = engine.measure(case)
            figures[engine.name].append(found)
            load = os.getloadavg()[0]
            print(
                f"{case.title}, {engine.name}, {repeat} of {repeats}: {found.states:,} states in "
                f"{found.seconds:.2f} s, CPU {found.cpu_seconds:.2f} s, load {load:.1f}",
                file=sys.stderr,
            )
    return figures


def disagreement(case: Case, measured: dict[str, list[Figures]]) -> Disagreement | None:
    """Whether any two runs counted differently."""
    counts = [
        (name, found.states, found.transitions) for name, runs in measured.items() for found in runs
    ]
    _, states, transitions = counts[0]
    # Spin prints eight digits and no more.
    unit = 10 ** max(0, len(str(transitions)) - 8)
    if all(s == states and abs(t - transitions) < unit for _, s, t in counts):
        return None
    return Disagreement(case, tuple(dict.fromkeys(counts)))


if __name__ == "__main__":
    raise SystemExit(main())
