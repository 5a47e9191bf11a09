"""The examples of leadership, as processes: somebody leads, is hurt, and another takes over."""

import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from electorate import StaleToken
from examples.bank.server import Server
from examples.standby import FencedRow, open_row
from tests.examples.troupe import PATIENCE_S, Troupe
from tests.runtime.cluster import wait_until
from tests.script import ROOT

EXAMPLES = ("worker.py", "scheduler.py", "standby.py", "threads.py", "witness.py", "groups.py")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short_and_needs_public_names_only(name: str) -> None:
    text = (ROOT / "examples" / name).read_text()
    assert len(text.splitlines()) < 120
    assert re.findall(r"^.*(?:import|from) .*electorate.*$", text, re.M) == ["import electorate"]
    assert not re.search(r"\b(?:term|node|election)\._", text)


@pytest.mark.parametrize(
    ("example", "works"),
    [
        ("worker.py", r"step 2 of term \d"),
        ("scheduler.py", r"reports sent in term \d"),
        ("threads.py", r"thread 4 works in term \d"),
    ],
)
def test_others_take_over_from_who_is_interrupted_or_killed(
    tmp_path: Path, example: str, works: str
) -> None:
    with Troupe(example, tmp_path, "a", "b", "c") as troupe:
        first = troupe.await_word(works)
        assert troupe.end(first) == {first: 0}
        second = troupe.await_word(works, *{"a", "b", "c"} - {first})
        troupe.start(first)
        (third,) = {"a", "b", "c"} - {first, second}
        troupe.kill(second)
        wait_until(lambda: works_after(troupe, second, first, third), PATIENCE_S)
        assert set(troupe.end().values()) == {0}
        assert "Traceback" not in "".join(map(troupe.said, troupe.names))
        assert tokens(troupe.said(first), "term") < tokens(troupe.said(second), "term")


def works_after(troupe: Troupe, before: str, *names: str) -> bool:
    """Whether one of these has worked under a larger token."""
    found = [token for name in names for token in tokens(troupe.said(name), "term")]
    return max(found, default=0) > max(tokens(troupe.said(before), "term"))


def tokens(said: str, word: str) -> list[int]:
    """The tokens of a process, each once, in the order in which it spoke of them."""
    return list(dict.fromkeys(map(int, re.findall(rf"{word} (\d+)", said))))


def test_a_witness_lets_the_other_of_two_go_on(tmp_path: Path) -> None:
    with Troupe("witness.py", tmp_path, "a", "b", "witness") as troupe:
        first = troupe.await_word("works in term", "a", "b")
        troupe.await_word(f"{first} leads", "witness")
        troupe.kill(first)
        second = troupe.await_word("works in term", *{"a", "b"} - {first})
        troupe.await_word(f"{second} leads", "witness")
        assert set(troupe.end().values()) == {0}
        told = troupe.said("witness")
        assert re.findall(r": (\w+) leads", told)[-3:] == [first, "nobody", second]
        assert tokens(told, "token") == sorted(tokens(told, "token"))


def test_a_primary_that_wakes_up_late_is_refused(tmp_path: Path) -> None:
    with Troupe("standby.py", tmp_path, "a", "b", "c") as troupe:
        first = troupe.await_word("prepares 3")
        troupe.signal(first, signal.SIGSTOP)
        others = [name for name in troupe.names if name != first]
        troupe.await_word("wrote 3", *others)
        troupe.signal(first, signal.SIGCONT)
        troupe.await_word(r"token \d is refused: primary has seen token \d", first)
        assert set(troupe.end().values()) == {0}
        assert "Traceback" not in "".join(map(troupe.said, troupe.names))
    with closing(sqlite3.connect(tmp_path / "shared.db")) as database:
        (value,) = database.execute("select value from state").fetchone()
    wrote = re.findall(r"wrote (\d+)", "".join(map(troupe.said, troupe.names)))
    assert sorted(map(int, wrote)) == list(range(1, value + 1))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def rows(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[FencedRow, FencedRow]]:
    """The same row as two processes see it."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        if request.param == "postgres":
            conninfo = stack.enter_context(Server("app")).conninfo("app")
        else:
            conninfo = None
        one, other = (stack.enter_context(closing(open_row(conninfo))) for _ in "ab")
        yield one, other


def test_a_row_takes_no_token_that_is_smaller_than_one_it_has_seen(
    rows: tuple[FencedRow, FencedRow],
) -> None:
    old, new = rows
    old.write(10, token=3)
    old.write(11, token=3)
    new.write(20, token=5)
    with pytest.raises(StaleToken, match="token 3 is refused: primary has seen token 5"):
        old.write(12, token=3)
    assert old.read() == new.read() == 20


@pytest.mark.postgres
def test_the_same_primary_with_its_row_in_postgresql(tmp_path: Path) -> None:
    with Server("app") as server:
        conninfo = server.conninfo("app")
        with Troupe("standby.py", tmp_path, "a", "b", "c", words=(conninfo,)) as troupe:
            first = troupe.await_word("wrote 1")
            troupe.kill(first)
            troupe.await_word("wrote", *{"a", "b", "c"} - {first})
            assert set(troupe.end().values()) == {0}
        assert not (tmp_path / "shared.db").exists()


def test_a_counter_goes_on_on_both_sides_and_is_right_again_when_they_merge(
    tmp_path: Path,
) -> None:
    with Troupe("groups.py", tmp_path, "a", "b", "c", runs=("all",)) as troupe:
        assert troupe.wait("all") == 0
    before, cut, after = re.split("--- .*\n", troupe.said("all"))
    assert re.findall(r"leads (.*)", before)[-1] == "a, b, c"
    assert set(re.findall(r"leads (.*)", cut)) >= {"a, b", "c"}
    assert {line[0] for line in cut.splitlines() if "is served" in line} > {"c"}
    came = re.findall(r"(\w): (\w) comes from the group of (\w)", after)
    (leader,) = {leader for leader, _, _ in came}
    assert ("c" if leader != "c" else "a") in {other for _, other, _ in came}
    assert re.findall(r"leads (.*)", after)[-1] == "a, b, c"
    served = len(re.findall("is served", troupe.said("all")))
    assert f"all of us have served {served}\n" in after
    last = re.findall(r"request (\d+) is served", after)[-1]
    assert int(last) == served, "whoever leads in the end knows of all"


def test_the_readme_begins_with_the_worker() -> None:
    readme = (ROOT / "README.md").read_text()
    first = re.search(r"```python\n(.*?)```", readme, re.S)
    assert first is not None
    assert first[1] in (ROOT / "examples" / "worker.py").read_text()
