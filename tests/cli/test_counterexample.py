"""A broken claim as people read it: the story, who breaks it, which faults it spends and needs."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from electorate.check import Budget, Model, Violation, check
from electorate.check.effort import Progress, Report
from electorate.check.tidy_run import Ordered
from electorate.claims import CLAIMS, Witness
from electorate.cli.counterexample import CALM, LOOP, Counterexample
from electorate.core import Machine
from electorate.protocols.bully import Bully
from electorate.trace import Clock, Setting, Start, Trace
from tests.cli.run import Run

TOLD = Path(__file__).parent / "told"
PRINTED = ["bully-as-printed", "--crashes", "1", "--recoveries", "1", "--engine", "python"]
DURATION = re.compile(r"[\d.]+ s \([\d,]+ transitions/s\)")
MEMORY = re.compile(r"[\d.]+ [KMG]iB of memory")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("bully_as_printed", PRINTED),
        ("bully_losses", ["bully", "--crashes", "1", "--losses", "2", "--engine", "python"]),
        (
            "bully_livelock",
            ["bully", "--rule", "while_halting=restart", "--crashes", "1", "--engine", "python"],
        ),
        (
            "chang_roberts_crash",
            [
                *("examples/chang_roberts.py:ChangRoberts", "--from", "boot", "--crashes", "1"),
                *("--claim", "S1", "--engine", "python"),
            ],
        ),
    ],
)
def test_golden_output_of_a_check(
    electorate: Run, name: str, words: list[str], rewrite: bool
) -> None:
    ran = electorate("check", *words)
    assert (ran.code, ran.err) == (1, "")
    shown = MEMORY.sub("… of memory", DURATION.sub("… s (… transitions/s)", ran.out))
    golden = TOLD / f"{name}.txt"
    if rewrite:
        golden.write_text(shown, encoding="utf-8")
    else:
        assert shown == golden.read_text(encoding="utf-8")


def test_the_same_is_in_the_json_object(electorate: Run) -> None:
    (found,) = electorate("check", *PRINTED, "--json").object["violations"]
    assert found["spent"] == {"crashes": 1, "recoveries": 1}
    assert found["needed"]["recoveries"] == {
        "needed": True,
        "left": 0,
        "moves": None,
        "text": "needed: with 0 recoveries A1 holds",
    }
    assert list(found["needed"]) == ["crashes", "recoveries"]
    assert found["story"][:2] == [
        "At first node 1 leads, and nodes 2 and 3 follow node 1.",
        "Node 1 crashes.",
    ]
    assert (found["switches"], found["fewest_switches"]) == (6, True)


def test_needs_can_be_left_out(electorate: Run) -> None:
    told = electorate("check", *PRINTED, "--no-needs")
    assert "It spends 1 crash and 1 recovery.\n" in told.out
    assert "needed" not in told.out
    (found,) = electorate("check", *PRINTED, "--no-needs", "--json").object["violations"]
    assert found["spent"] == {"crashes": 1, "recoveries": 1}
    assert found["needed"] is None


def test_an_interruption_keeps_the_verdict(
    electorate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("electorate.check.ablation.check", interrupted)
    ran = electorate("check", *PRINTED)
    assert ran.code == 1
    assert "Nodes 1 and 3 break A1" in ran.out
    assert "  1 crash     not decided (interrupted)\n" in ran.out
    assert "  1 recovery  not decided (interrupted)\n" in ran.out
    assert ran.out.endswith(
        "A1 violated: 1 is normal and follows 1, but 3 is normal and follows 2\n"
    )


def test_who_interrupts_the_search_is_not_made_to_wait_for_another(
    electorate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def impatient() -> Iterator[Report]:
        def report(progress: Progress) -> None:
            if progress.level == 3:
                raise KeyboardInterrupt

        yield report

    monkeypatch.setattr("electorate.cli.check._progress", impatient)
    ran = electorate("check", *PRINTED, "--claim", "S1", "--claim", "A1")
    assert ran.code == 1
    assert "S1 is violated and A1 is unknown" in ran.out
    assert "It spends 1 crash.\n" in ran.out


def violated(machine: Machine[Any], model: Model, claim: str) -> tuple[Counterexample, Violation]:
    (violation,) = check(machine, model, [CLAIMS[claim]]).violations
    return Counterexample(violation, machine, model), violation


def bully(claim: str, budget: Budget, **given: Any) -> tuple[Counterexample, Violation]:
    setting = Setting("bully", (1, 2, 3), **given)
    return violated(setting.machine(Bully, "sound"), Model(setting, budget), claim)


def first_line(found: Counterexample, **changes: Any) -> str:
    violation = replace(found.violation, **changes)
    again = Counterexample(violation, found._machine, Model(violation.trace.setting))
    return next(again.head(1000))


def test_the_first_line_says_how_short_the_run_is_and_how_tidy() -> None:
    found, violation = bully("S1", Budget(crashes=1))
    begin = "S1 is broken by a run of 1 move, and by none that is shorter."
    assert isinstance(violation, Ordered)
    assert first_line(found) == f"{begin} All of it happens at one node."
    assert first_line(found, switches=1) == (
        f"{begin} It switches once between nodes; no run as short does so less often."
    )
    assert first_line(found, switches=2, fewest=False) == (
        f"{begin} It switches twice between nodes; not all runs as short were compared."
    )
    at_once = Trace(violation.trace.setting)
    assert first_line(found, trace=at_once) == "S1 is broken from the start."
    goal, _ = bully("A2", Budget(crashes=1), rules=("while_halting=restart",))
    assert first_line(goal) == "A2 is missed by a run of 13 moves."


def test_the_last_line_names_the_nodes_that_break_the_claim() -> None:
    found, violation = bully("S1", Budget(crashes=1))

    def last_line(**witness: Any) -> str:
        changed = replace(violation, witness=Witness(**witness))
        again = Counterexample(changed, found._machine, Model(violation.trace.setting))
        return list(again.head(1000))[-1]

    assert last_line(nodes=(2,), text="why") == "Node 2 breaks S1: why."
    assert last_line(nodes=(1, 2), text="why") == "Nodes 1 and 2 break S1: why."
    assert last_line(nodes=(), text="why") == "That breaks S1: why."


def test_a_goal_that_is_missed_tells_where_faults_end_and_what_can_go_on_for_ever() -> None:
    found, violation = bully("A2", Budget(crashes=1), rules=("while_halting=restart",))
    lines = [text for text, _ in found.story]
    assert (violation.calm_after, violation.loop_after) == (1, 5)
    assert lines[1:3] == ["Node 1 crashes.", CALM]
    loop = lines[lines.index(LOOP) + 1 :]
    assert loop[0].startswith("Node 2's timer probe runs out")
    settings = [line for line in loop if "sets its timer probe" in line]
    assert settings, "the timer that runs out in the next round is told too"
    assert list(found.head(1000))[-1] == "A2 is not reached: 2 is in election."


def test_a_remark_parts_ticks_in_a_row() -> None:
    found, violation = bully("A2", Budget(crashes=1), rules=("while_halting=restart",))
    ticks = replace(violation, loop_after=3)
    lines = [text for text, _ in Counterexample(ticks, found._machine, found_model()).story]
    place = lines.index(LOOP)
    assert (lines[place - 1], lines[place + 1]) == ("1 tick passes.", "1 tick passes.")


def found_model() -> Model:
    return Model(Setting("bully", (1, 2, 3)))


def test_a_run_from_boot_begins_with_the_boots() -> None:
    found, _ = bully("A1", Budget(), clock=Clock.UNBOUNDED, start=Start.BOOT)
    boots = [text for text, numbers in found.story if not numbers]
    assert [line.split(",")[0] for line in boots] == [f"Node {n} starts" for n in (1, 2, 3)]
    moves = [numbers for _, numbers in found.story if numbers]
    assert moves == [str(number + 1) for number in range(found.violation.length)]
    assert list(found.costs(None)) == list(found.costs([])) == ["It spends no fault at all."]
