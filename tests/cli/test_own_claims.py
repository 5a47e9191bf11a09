"""Claims of the user's own, by `path.py:NAME`: judged, told, replayed, and refused in one line."""

from pathlib import Path

import pytest

from electorate.claims import CLAIMS, Kind
from electorate.simulate.named import claim_named
from tests.cli.run import Run

OWN = "examples/claims.py"
HEAD = """
from electorate.claims import CLAIMS, Claim, Fold, Kind, Premise, Row, Sight, Witness
"""


def in_file(folder: Path, text: str) -> str:
    file = folder / "mine.py"
    file.write_text(HEAD + text, encoding="utf-8")
    return f"{file}:MINE"


@pytest.mark.parametrize(
    ("name", "faults", "code"),
    [
        ("NORMAL_NODES_FOLLOW_SOMEBODY", "--crashes 1", 0),
        ("NOBODY_SWITCHES_AT_WORK", "--crashes 1", 0),
        ("NOBODY_LEADS_TWICE", "--crashes 1 --recoveries 1", 1),
        ("SILENCE_IN_THE_END", "--crashes 1", 0),
    ],
)
def test_the_examples_are_checked(electorate: Run, name: str, faults: str, code: int) -> None:
    words = ["check", "bully", *faults.split(), "--engine", "python", "--claim", f"{OWN}:{name}"]
    ran = electorate(*words)
    assert (ran.code, ran.err) == (code, "")
    assert f"  {OWN}:{name} {'holds' if code == 0 else 'violated'}: " in ran.out


def test_a_module_is_as_good_as_a_path(electorate: Run) -> None:
    name = "examples.claims:NOBODY_LEADS_TWICE"
    ran = electorate("check", "bully", "--engine", "python", "--claim", name)
    assert ran.code in (0, 3)
    assert f"{name} " in ran.out


def test_a_run_that_breaks_one_says_what_it_needs_and_can_be_replayed(
    electorate: Run, tmp_path: Path
) -> None:
    script, name = tmp_path / "found.txt", f"{OWN}:NOBODY_LEADS_TWICE"
    words = ["--crashes", "1", "--recoveries", "1", "--engine", "python", "--claim", name]
    ran = electorate("check", "bully", *words, "--json", "--script", str(script))
    assert (ran.code, ran.object["claims"]) == (1, {name: "violated"})
    (violation,) = ran.object["violations"]
    assert {kind: need["needed"] for kind, need in violation["needed"].items()} == {
        "crashes": True,
        "recoveries": True,
    }
    again = electorate("replay", str(script))
    assert again.code == 0
    assert f"  {name} is violated after step 6: 1 leads again" in again.out


def test_a_script_whose_claim_is_gone_says_so_where_it_names_it(
    electorate: Run, tmp_path: Path
) -> None:
    script = tmp_path / "found.txt"
    script.write_text("cluster bully 1 2\n\nclaims gone.py:MINE\n----\n", encoding="utf-8")
    ran = electorate("replay", str(script))
    assert ran.code == 2
    assert ran.err == f"electorate: {script.name}:3: no claim file gone.py\n"


def test_many_seeds_find_shrink_and_tell_it_on_every_worker(electorate: Run) -> None:
    name = f"{OWN}:NOBODY_LEADS_TWICE"
    words = ["--seeds", "200", "--workers", "2", "--claim", name, "--claim", "A1"]
    ran = electorate("simulate", "bully", *words, "--json")
    assert (ran.code, ran.object["claims"]) == (1, {name: "violated", "A1": "holds"})
    assert ran.object["script"].endswith(f"{name} violated: 1 leads again\n")
    told = electorate("simulate", "bully", "--seed", "0", "--claim", name)
    assert "who has led and lost it never leads again" in told.out


def test_a_goal_about_messages_is_reached(electorate: Run) -> None:
    name = f"{OWN}:SILENCE_IN_THE_END"
    ran = electorate("simulate", "bully", "--seeds", "30", "--claim", name, "--json")
    assert (ran.code, ran.object["claims"]) == (0, {name: "holds"})
    assert ran.object["elect_T"]["max"] > 0
    for engine in ("python", "numba"):
        words = ("check", "bully", "--crashes", "1", "--claim", name, "--engine", engine, "--json")
        found = electorate(*words)
        assert (found.code, found.object["tau"]) == (0, 6)


def test_one_that_is_named_like_ours_is_not_taken_for_it(electorate: Run, tmp_path: Path) -> None:
    judge = "lambda row: Witness((1,), 'never')"
    name = in_file(tmp_path, f"MINE = Claim('A1', Kind.ALWAYS, 'nothing is right', {judge})\n")
    words = [
        "check",
        "bully",
        "--crashes",
        "1",
        "--engine",
        "python",
        "--no-needs",
        "--claim",
        "A1",
    ]
    ran = electorate(*words, "--claim", name, "--json")
    assert ran.object["claims"] == {"A1": "holds", name: "violated"}
    assert claim_named(name).name == name
    assert CLAIMS["A1"].text != "nothing is right"


GOOD = "Kind.ALWAYS, 'all is well', lambda row: None"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "has no 'MINE'"),
        ("OTHER = CLAIMS['A1']", "has no 'MINE'; its claims are: OTHER"),
        ("MINE = lambda row: None", "is a function, not an electorate.claims.Claim"),
        ("1 / 0", "fails to load: ZeroDivisionError"),
        ("import nowhere", "fails to load: ModuleNotFoundError"),
        ("MINE = Claim('x', 'now', '', lambda row: None)", "has the kind 'now'"),
        ("MINE = Claim('x', Kind.STEP, '', lambda row: None)", "cannot be given (row before, row"),
        ("MINE = Claim('x', Kind.ALWAYS, '', lambda: None)", "cannot be given (row)"),
        (f"MINE = Claim('x', {GOOD}, Fold(0, max))", "cannot be given (row, memory)"),
        ("MINE = Claim('x', Kind.STEP, '', min, Fold(0, max))", "is about a step and remembers"),
        (f"MINE = Claim('x', {GOOD}, sights={{'states'}})", "not a frozenset of Sight"),
        (f"MINE = Claim('x', {GOOD}, premise=bool)", "which is not a Premise"),
        (f"MINE = Claim('x', {GOOD}, about='terms')", "not a frozenset of Topic"),
        ("MINE = Claim('x', Kind.ALWAYS, '', min, Fold([], max))", "remembers [] at first"),
    ],
)
@pytest.mark.parametrize("command", ["check", "simulate"])
def test_what_is_no_claim_is_refused_in_one_line(
    electorate: Run, tmp_path: Path, command: str, text: str, wrong: str
) -> None:
    ran = electorate(command, "bully", "--claim", in_file(tmp_path, f"{text}\n"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert wrong in ran.err


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("'', lambda row: {}['x']", "its judge raises KeyError: 'x' (LINE:3)"),
        ("'', lambda row: False", "returned False instead of None or a Witness"),
        ("'', lambda row, m: None, Fold(0, lambda m, row: 1 / 0)", "its fold raises ZeroDivision"),
        ("'', lambda row, m: None, Fold(0, lambda m, row: [])", "its fold raises TypeError"),
        ("'', lambda row, m: None, Fold(0, lambda m, row: m + 1)", "the same row twice in a row"),
        ("'', lambda row: row.states[0]", "its judge raises IndexError"),
        ("'', lambda row: exit(0)", "its judge raises SystemExit: 0"),
        (
            "'', lambda row, dice=[1]: dice and dice.pop() and Witness((), '') or None",
            "in two ways",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check --engine python", "check", "simulate"])
def test_a_claim_that_fails_is_told_apart_from_one_that_is_broken(
    electorate: Run, tmp_path: Path, command: str, text: str, wrong: str
) -> None:
    name = in_file(tmp_path, f"MINE = Claim('mine', Kind.ALWAYS, {text})\n")
    ran = electorate(*command.split(), "bully", "--crashes", "1", "--claim", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert name in ran.err
    assert wrong.replace("LINE", name.removesuffix(":MINE")) in ran.err


def test_a_claim_that_fits_no_such_machine_is_refused(electorate: Run, tmp_path: Path) -> None:
    more = "about=frozenset(CLAIMS['M1'].about)"
    name = in_file(tmp_path, f"MINE = Claim('mine', {GOOD}, {more})\n")
    ran = electorate("check", "bully", "--claim", name)
    assert ran.code == 2
    assert f"{name} is about terms, of which it tells nothing; the claims that fit are" in ran.err


def test_a_blank_in_a_path_is_refused() -> None:
    with pytest.raises(ValueError, match="with a blank in its path"):
        claim_named("my claims.py:MINE")


def test_the_examples_are_of_every_kind() -> None:
    names = ("NORMAL_NODES_FOLLOW_SOMEBODY", "NOBODY_SWITCHES_AT_WORK", "SILENCE_IN_THE_END")
    assert {claim_named(f"{OWN}:{name}").kind for name in names} == set(Kind)
    assert claim_named(f"{OWN}:NOBODY_LEADS_TWICE").fold is not None


def test_both_engines_show_whole_states(electorate: Run, tmp_path: Path) -> None:
    found = "Witness((s.me,), 'probes') for s in row.states if s and s.phase == 'probing'"
    sights = "sights=frozenset({Sight.STATES})"
    judge = f"lambda row: next(({found}), None)"
    text = f"MINE = Claim('mine', Kind.ALWAYS, '', {judge}, {sights})"
    name = in_file(tmp_path, f"{text}\n")
    words = ["check", "bully", "--crashes", "1", "--no-needs", "--claim", name, "--json"]
    ended = [electorate(*words, "--engine", engine) for engine in ("python", "numba")]
    assert [ran.code for ran in ended] == [1, 1]
    steps = [ran.object["violations"][0]["moves"] for ran in ended]
    assert steps[0] == steps[1] > 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("def hears(self, node): return 1 / 0", "hears raised ZeroDivisionError"),
        ("def __init__(self, *given): exit(0)", "ended the program (exit 0)"),
    ],
)
def test_a_protocol_file_that_fails_is_no_verdict(
    electorate: Run, tmp_path: Path, text: str, wrong: str
) -> None:
    """Fails if what such a file ends with is taken for a claim that holds, or is broken."""
    file = tmp_path / "mine.py"
    file.write_text(
        "from electorate.protocols.bully import Bully\n"
        f"class Mine(Bully):\n    forms = Bully.forms\n    {text}\n",
        encoding="utf-8",
    )
    ran = electorate("check", f"{file}:Mine", "--crashes", "1")
    assert (ran.code, ran.out) == (2, "")
    assert wrong in ran.err


def test_a_fault_of_our_own_is_no_verdict_either(
    electorate: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails if a traceback ends with 1, which says that a claim is broken."""
    monkeypatch.setattr("electorate.cli.protocols.run", lambda options: 1 / 0)
    ran = electorate("protocols")
    assert (ran.code, ran.out) == (3, "")
    assert "ZeroDivisionError" in ran.err
