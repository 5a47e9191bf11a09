"""`electorate check --from FILE`: a script or a record leads to where the search begins."""

from pathlib import Path

import msgspec
import pytest

from electorate.runtime.tcp import now_ms
from tests.cli.run import Run, runner
from tests.leadership.cluster import run as run_async
from tests.leadership.cluster import started, until
from tests.leadership.test_record import Recorded
from tests.runtime.cluster import Cluster, running, wait_until
from tests.runtime.recording import RecordingNode

AMID = """# Node 1 has crashed, and node 2 wants to lead.
cluster bully-as-printed 1 2 3

crash 1
suspect 2
tick 2
----
"""


@pytest.fixture
def electorate(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def amid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("amid.txt").write_text(AMID)
    return "amid.txt"


def test_a_script_leads_to_a_counterexample_that_begins_with_its_commands(
    electorate: Run, amid: str, tmp_path: Path
) -> None:
    found = tmp_path / "found.txt"
    words = ("check", "--from", amid, "--recoveries", "1", "--claim", "A1", "--script", str(found))
    told = electorate(*words)
    assert told.code == 1, told.err
    assert f"from {amid} (3 steps), " in told.out
    assert "A1 is broken by a run of 11 moves, and by none that is shorter." in told.out
    assert f"   Here {amid} ends, and the search began:\n    1. " in told.out
    assert "It spends 1 recovery:\n  1 recovery  needed" in told.out
    commands = [block.splitlines()[0] for block in found.read_text().split("\n\n")[1:]]
    assert commands[:3] == ["crash 1", "view 2 2 3", "tick 2"]
    assert electorate("replay", str(found)).code == 0


def test_the_start_is_in_the_json(electorate: Run, amid: str) -> None:
    told = electorate("check", "--from", amid, "--claim", "A1", "--json")
    assert (told.object["from"], told.object["from_steps"]) == (amid, 3)
    assert electorate("check", "bully", "--json").object["from"] == "normal"


def test_the_same_commands_lead_another_protocol_or_another_rule_somewhere(
    electorate: Run, amid: str
) -> None:
    words = ("--from", amid, "--recoveries", "1", "--claim", "A1")
    for said in (("bully",), ("--rule", "accept=halter"), ("--timing", "unbounded")):
        told = electorate("check", *said, *words)
        assert f"from {amid} (3 steps), " in told.out, told.err
    assert electorate("check", "bully", *words).code == 0
    told = electorate("check", "--from", "bully/weakest_starts", "--claim", "A1", "--crashes", "1")
    assert "bully: A1 holds" in told.out


def test_what_leads_nowhere_is_refused_in_a_sentence(
    electorate: Run, amid: str, tmp_path: Path
) -> None:
    for name, text in (("empty", ""), ("early", "cluster bully 1 2 3\n\nfire 2 probe\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    cases = {
        ("--from", "nomral"): "leads nowhere: did you mean normal?",
        ("--from", "bully/weakest_start"): "leads nowhere: did you mean bully/weakest_starts?",
        ("--from", str(tmp_path / "empty.txt")): "a script begins with `cluster PROTOCOL ID…`",
        ("--from", str(tmp_path / "early.txt")): "early.txt:3: 2 probe is not armed",
        ("--from", amid, "--nodes", "4"): "says who takes part: leave out --nodes",
        ("--from", amid, "--at", "3s"): "--instance and --at are for the record of a real run",
        ("--from", amid, "--form", "sound"): "--form is of a protocol: name it, too",
        ("--from", amid, "--robust"): "--robust moves what",
        ("--from", amid, "--heals", "1"): "only links that are cut can heal",
        ("--from", amid, "--detection", "1"): "has for 2 ticks trusted node 1, wrongly",
        (): "Name a protocol, or --from FILE",
        ("bully", "--at", "3s"): "--instance and --at are for the record of a real run",
    }
    for words, problem in cases.items():
        told = electorate("check", *words)
        assert told.code == 2, words
        assert problem in told.err, told.err
        assert len(told.err.splitlines()) == 1


def test_a_link_that_is_cut_at_the_start_may_heal(electorate: Run, tmp_path: Path) -> None:
    file = tmp_path / "cut.txt"
    file.write_text("cluster bully 1 2 3\n\ncut 1 2\n")
    told = electorate("check", "--from", str(file), "--claim", "A1")
    assert "A1 is broken by a run of 8 moves" in told.out
    file.write_text("cluster bully 1 2 3\n\ncut 1 3\n")
    told = electorate("check", "--from", str(file), "--claim", "A1", "--heals", "1")
    assert "bully: A1 holds" in told.out
    assert "not exercised" not in told.out


# --- records ---


def recorded(folder: Path, name: str, form: str) -> str:
    """The record of three real nodes that have come to agree."""
    cluster = Cluster(folder, 3, T=20, name=name, form=form, record=True)
    with running(cluster):
        wait_until(lambda: cluster.agrees_on(1))
    record = folder / "record"
    record.mkdir()
    for node in cluster.ids:
        (folder / f"node-{node}.jsonl").rename(record / f"{node}.jsonl")
    return str(record)


def at_the_end(record: str) -> str:
    """The last moment before any of these nodes was stopped."""
    lines = [
        msgspec.json.decode(line)
        for file in sorted(Path(record).iterdir())
        for line in file.read_bytes().splitlines()
    ]
    first = min(line["at"] for line in lines if line["type"] == "booted")
    last = min(line["at"] for line in lines if line["type"] == "ended")
    return f"{last - first - 1:.0f}ms"


def test_from_the_record_of_a_real_run_a_weakness_is_found(electorate: Run, tmp_path: Path) -> None:
    record = recorded(tmp_path, "bully-as-printed", "printed")
    words = ("--timing", "bounded", "--crashes", "1", "--recoveries", "1", "--claim", "A1")
    at, found = at_the_end(record), str(tmp_path / "found.txt")
    told = electorate("check", "--from", record, "--at", at, *words, "--script", found)
    assert told.code == 1, told.err
    assert f"from {record} (election at " in told.out
    assert "what remained of timers and messages rounded to ticks of 20 ms), " in told.out
    assert "A1 is broken by a run of " in told.out
    assert electorate("replay", found).code == 0


def test_from_the_record_of_a_sound_run_nothing_is_found(electorate: Run, tmp_path: Path) -> None:
    record = recorded(tmp_path, "bully", "sound")
    words = ("--timing", "bounded", "--crashes", "1", "--recoveries", "1", "--claim", "A1")
    told = electorate("check", "--from", record, "--at", at_the_end(record), *words)
    assert "bully: A1 holds" in told.out, told.err
    for at, problem in (("3h", "as in 3.2s or 800ms, not 3h"), ("9000s", " ends at ")):
        refused = electorate("check", "--from", record, "--at", at)
        assert refused.code == 2
        assert problem in refused.err
    (Path(record) / "2.jsonl").unlink()
    refused = electorate("check", "--from", record)
    assert refused.code == 2
    assert "there is no record of 2" in refused.err


def test_nodes_that_do_not_run_the_same_machine_are_no_place(
    electorate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where some have not heard yet that a priority has changed."""
    for node in (1, 2, 3):
        RecordingNode(tmp_path / f"{node}.jsonl", node=node).begin().live(4).recorder.close()
        monkeypatch.setattr(
            "tests.runtime.recording.CLUSTER", "cluster bully 1 2 3 attributes=1,2,3"
        )
    refused = electorate("check", "--from", str(tmp_path))
    assert refused.code == 2
    assert "one and two did not run the same machine of election (members, " in refused.err


def machines(record: Path) -> list[str]:
    """The machine of the election that each node has come to run."""
    found = []
    for file in record.iterdir():
        lines = file.read_text().splitlines()
        ruled = [line for line in lines if '"ruled"' in line and '"office x"' in line]
        found.append(str(msgspec.json.decode(ruled[-1])["cluster"]))
    return found


def test_an_election_of_an_application_is_explored_from_where_its_record_stands(
    electorate: Run, tmp_path: Path
) -> None:
    record, ends = tmp_path / "record", list[float]()

    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand()
            await cluster.led()
            await until(lambda: len({*machines(record)}) == 1)
            ends.append(now_ms() + 1)
            await until(lambda: now_ms() > ends[0] + 5)

    run_async(scene())
    lines = (line for file in record.iterdir() for line in file.read_bytes().splitlines())
    boots = [msgspec.json.decode(line) for line in lines if line.startswith(b'{"type":"booted"')]
    at = f"{ends[0] - min(boot['at'] for boot in boots):.3f}ms"
    words = ("--from", str(record), "--instance", "office x", "--at", at, "--claim", "M1")
    for bounds in (
        ("--capacity", "1", "--counter", "1", "--firings", "0"),
        ("--timing", "bounded"),
    ):
        told = electorate("check", *words, *bounds, "--accept-bounds")
        assert told.code == 0, told.err + told.out
        assert "M1 holds" in told.out
    refused = electorate("check", "--from", str(record))
    assert refused.code == 2
    assert (
        "name one with --instance: there are directory, founding, members and office x"
        in refused.err
    )
    for protocol, instance, why in (
        ("bully", "office x", "ran mandate-over-strongest-alive/application, and cannot go on as "),
        ("leadership", "members", "members ran membership, which is not the election of "),
    ):
        there = ("--from", str(record), "--instance", instance, "--at", at)
        refused = electorate("check", protocol, *there)
        assert refused.code == 2
        assert why in refused.err


def test_the_members_of_an_application_are_explored_from_where_a_change_was_decided(
    electorate: Run, tmp_path: Path
) -> None:
    """And its election from the same moment, and both together: they go by the list without c."""
    record, ends = tmp_path / "record", list[float]()

    async def scene() -> None:
        async with started(Recorded(tmp_path)) as cluster:
            cluster.stand()
            await cluster.led()
            await cluster.nodes["a"].remove_member("c")
            await until(lambda: all("c" not in cluster.nodes[name].members for name in "ab"))
            ends.append(now_ms() + 1)
            await until(lambda: now_ms() > ends[0] + 5)

    run_async(scene())
    lines = (line for file in record.iterdir() for line in file.read_bytes().splitlines())
    boots = [msgspec.json.decode(line) for line in lines if line.startswith(b'{"type":"booted"')]
    at = f"{ends[0] - min(boot['at'] for boot in boots):.3f}ms"
    assert electorate("replay", str(record)).code == 0
    for instance, more in (("members", ("--asks", "1")), ("office x", ())):
        words = ("--from", str(record), "--instance", instance, "--at", at, "--claim", "M1")
        told = electorate("check", *words, *more, "--timing", "bounded", "--accept-bounds")
        assert told.code == 0, told.err + told.out
        assert "M1 holds" in told.out
        assert f"from {record} ({instance} at " in told.out
    whole = ("check", "leadership", "--from", str(record), "--claim", "M1", "--claim", "M3")
    ticks = ("--timing", "bounded", "--delay", "1..1", "--handling", "0")
    rounds = ("--rule", "members.inner.rounds=2", "--rule", "election.rounds=2")
    told = electorate(*whole, "--instance", "office x", "--at", at, *ticks, *rounds)
    assert told.code == 0, told.err + told.out
    assert f"from {record} (members and office x at " in told.out
    refused = electorate(*whole)
    assert refused.code == 2
    assert "say with --instance which is its election, and with --at when" in refused.err
