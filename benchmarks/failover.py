"""How long a cluster is without its leader, measured with real processes on this machine.

Every round kills (or pauses) the leader of an agreeing cluster and brings it back:

    python benchmarks/failover.py --rounds 100
    python benchmarks/failover.py --rounds 100 --stop --json
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from electorate.cli.fleet import Fleet

AGREEMENT_S = 20.0


class Round(NamedTuple):
    """Milliseconds from the blow, and from the return, to agreement; None if there was none."""

    lost_ms: float | None
    returned_ms: float | None


def main() -> int:
    """Measure, print, and say with the exit code whether every round ended in agreement."""
    options = _options()
    words = [options.protocol, "--T", options.T, "--beat", options.beat]
    words += ["--timeout", options.timeout, "--detector", options.detector]
    with tempfile.TemporaryDirectory(prefix="electorate-") as folder:
        rounds = _measure([str(word) for word in words], options, Path(folder))
    result = _result(options, rounds)
    print(json.dumps(result) if options.json else _text(result))
    return 1 if result["without_agreement"] else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--protocol", default="bully")
    parser.add_argument("--nodes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--stop", action="store_true", help="SIGSTOP instead of SIGKILL")
    parser.add_argument("--T", type=int, default=100, metavar="MS")
    parser.add_argument("--beat", type=int, default=50, metavar="MS")
    parser.add_argument("--timeout", type=int, default=400, metavar="MS")
    parser.add_argument("--detector", default="heartbeat")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="records, if a round fails")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _measure(words: list[str], options: argparse.Namespace, folder: Path) -> list[Round]:
    rounds: list[Round] = []
    home = options.keep or folder
    home.mkdir(parents=True, exist_ok=True)
    with Fleet(words, options.nodes, home, record=options.keep is not None) as fleet:
        if fleet.await_agreement(None, AGREEMENT_S) is None:
            raise SystemExit("failover: the cluster never came up")
        for number in range(1, options.rounds + 1):
            rounds.append(_round(fleet, stop=options.stop))
            _progress(number, rounds[-1])
            if None in rounds[-1] and options.keep is not None:
                break
    return rounds


def _round(fleet: Fleet, *, stop: bool) -> Round:
    """Hurt the leader, wait for its successor, bring it back, wait for agreement again."""
    leader = fleet.agreed() or 1
    strike, mend = (fleet.pause, fleet.resume) if stop else (fleet.kill, fleet.start)
    began = time.monotonic()
    strike(leader)
    lost = _agreement_ms(fleet, began)
    began = time.monotonic()
    mend(leader)
    return Round(lost, _agreement_ms(fleet, began))


def _agreement_ms(fleet: Fleet, began: float) -> float | None:
    agreed = fleet.await_agreement(None, AGREEMENT_S)
    return None if agreed is None else 1000 * (time.monotonic() - began)


def _progress(number: int, done: Round) -> None:
    if sys.stderr.isatty() or None in done:
        print(f"round {number}: {done}", file=sys.stderr)


def _result(options: argparse.Namespace, rounds: list[Round]) -> dict[str, Any]:
    return {
        "protocol": options.protocol,
        "nodes": options.nodes,
        "rounds": len(rounds),
        "blow": "SIGSTOP" if options.stop else "SIGKILL",
        "T_ms": options.T,
        "beat_ms": options.beat,
        "timeout_ms": options.timeout,
        "detector": options.detector,
        "lost": _spread([each.lost_ms for each in rounds]),
        "returned": _spread([each.returned_ms for each in rounds]),
        "without_agreement": sum(None in each for each in rounds),
    }


def _spread(times: list[float | None]) -> dict[str, float]:
    found = sorted(each for each in times if each is not None)
    if not found:
        return {}
    p95 = found[min(len(found) - 1, int(0.95 * len(found)))]
    spread = {"median_ms": statistics.median(found), "p95_ms": p95, "max_ms": found[-1]}
    return {name: round(ms) for name, ms in spread.items()}


def _text(result: dict[str, Any]) -> str:
    lines = [
        "{protocol}, {nodes} nodes, {rounds} rounds of {blow}; T {T_ms} ms, beat {beat_ms} ms, "
        "timeout {timeout_ms} ms ({detector})".format(**result)
    ]
    for name, words in (("lost", "blow to agreement"), ("returned", "return to agreement")):
        row = "median {median_ms} ms, p95 {p95_ms} ms, max {max_ms} ms"
        lines.append(f"  {words}: {row.format(**result[name]) if result[name] else 'never'}")
    lines.append(f"  rounds without agreement: {result['without_agreement']}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
