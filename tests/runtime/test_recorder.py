"""What is written down while a host runs, and in which files."""

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from electorate.runtime.recorder import Recorder, record_file
from electorate.trace import Setting
from electorate.trace.happening import Crashed
from electorate.trace.merge import Differs, merged
from electorate.trace.record import Booted, Held, RecordError, RecordFile, Took, older_parts
from tests.runtime.recording import CLUSTER, RecordingNode, read

FULL = OSError(errno.ENOSPC, "No space left on device")


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- what is in it ---


def test_what_was_taken_comes_out_the_same(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(10)
    written.recorder.close()
    found = read(written.path)
    assert isinstance(found[0].entry, Booted)
    assert len([o for o in found if isinstance(o.entry, Took)]) == written.events == 11
    assert found[-1].turn is not None
    assert found[-1].turn.state == written.state


def test_the_head_says_whose_it_is_and_what_of_an_application_is_in_it(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin()
    written.recorder.close()
    head = lines(written.path)[0]
    assert (head["type"], head["format"], head["node"], head["incarnation"]) == ("host", 2, 1, 1)
    assert (head["cluster"], head["name"]) == ("the cluster", "one")
    assert head["names"] == {"1": "one", "2": "two", "3": "three"}
    assert "no statements, values or rows of transactions" in str(head["contains"])
    assert head["authentication"] is None, "there is room for it"
    assert head["electorate"]


def test_a_line_that_was_changed_is_named(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(10)
    written.recorder.close()
    text = written.path.read_text().splitlines(keepends=True)
    text[7] = text[7].replace('"digest":', '"digest":1')
    written.path.write_text("".join(text))
    with pytest.raises(Differs, match=r"^a\.jsonl:8: entry 7 of election at node one"):
        read(written.path)
    text[7] = "{}\n"
    written.path.write_text("".join(text))
    with pytest.raises(RecordError, match=r"^a\.jsonl:8: "):
        read(written.path)


def test_an_instance_that_outlives_a_life_of_its_host_goes_on_where_it_stood(
    tmp_path: Path,
) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(3)
    written.recorder.begin(1, 2, "one")
    written.live(3).recorder.close()
    heads = [line for line in lines(written.path) if line["type"] == "host"]
    assert [head["incarnation"] for head in heads] == [1, 2]
    assert "held" in [line["type"] for line in lines(written.path)]
    assert len([o for o in read(written.path) if isinstance(o.entry, Took)]) == written.events


def test_what_begins_before_the_first_life_of_a_host_is_in_it(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl")
    turn = written.turns.boot(1, None)
    written.instance.ruled(written.turns.machine, CLUSTER)
    written.instance.booted(None, turn.state)
    written.recorder.flush()
    assert written.path.read_bytes() == b"", "nothing leaves a host that does not live yet"
    written.recorder.begin(1, 7, "one")
    written.state = turn.state
    written.live(3).recorder.close()
    assert [line["type"] for line in lines(written.path)][:3] == ["host", "ruled", "booted"]
    assert {o.life for o in read(written.path)} == {7}


# --- when it is written ---


def test_nothing_is_written_before_something_leaves_the_node(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin()
    assert written.path.read_bytes() == b""
    written.recorder.flush()
    assert written.path.read_bytes().endswith(b"\n")


def test_a_node_that_was_killed_goes_on_after_its_last_whole_line(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(5)
    written.recorder.close()
    whole = len(read(written.path))
    with written.path.open("ab") as file:
        file.write(b'{"type":"took","i":1,"at":12')
    assert len(read(written.path)) == whole, "half a line says nothing"
    again = RecordingNode(written.path).begin(2).live(5)
    again.recorder.close()
    assert all(line.endswith("}") for line in written.path.read_text().splitlines())
    assert len(read(written.path)) == 2 * whole


def test_a_file_that_has_not_even_one_line_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"type":"host","for')
    written = RecordingNode(path).begin()
    written.recorder.close()
    assert len(read(path)) == 2


# --- files ---


def test_every_part_of_a_long_record_can_be_re_run_by_itself(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl", 2000, 100).begin().live(200)
    written.recorder.close()
    parts = [file for _, file in older_parts(written.path)]
    assert len(parts) > 5
    assert max(file.stat().st_size for file in parts) < 4000
    for number, file in enumerate([*parts, written.path], start=1):
        alone = tmp_path / f"alone-{number}" / "a.jsonl"
        alone.parent.mkdir()
        shutil.copy(file, alone)
        first, *others = read(alone)
        assert isinstance(first.entry, Booted if number == 1 else Held)
        assert lines(alone)[0]["part"] == number
        assert lines(alone)[0]["continued"] is (number > 1)
        assert others or file == written.path
    assert len([o for o in read(written.path) if isinstance(o.entry, Took)]) == written.events
    assert not [o for o in read(written.path) if isinstance(o.entry, Held)], "there is no gap"


def test_of_a_very_long_record_the_oldest_parts_go(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl", 2000, 3).begin().live(300)
    written.recorder.close()
    parts = older_parts(written.path)
    assert len(parts) == 2
    assert parts[0][0] > 5
    first, *_ = read(written.path)
    assert isinstance(first.entry, Held)
    assert first.entry.alive is not None


@pytest.mark.parametrize("parts_max", [1, 2, 4, 16])
def test_as_many_parts_are_kept_as_was_said(tmp_path: Path, parts_max: int) -> None:
    diary = RecordingNode(tmp_path / "a.jsonl", 2000, parts_max).begin().live(500)
    diary.recorder.close()
    kept = [number for number, _ in older_parts(diary.path)]
    latest = lines(diary.path)[0]["part"]
    assert isinstance(latest, int)
    assert latest > parts_max + 2
    assert [*kept, latest] == list(range(latest - parts_max + 1, latest + 1))


def test_a_record_with_a_hole_is_read_from_both_sides_of_it(tmp_path: Path) -> None:
    written = RecordingNode(tmp_path / "a.jsonl", 2000, 100).begin().live(100)
    written.recorder.close()
    older_parts(written.path)[1][1].unlink()
    held = [o for o in read(written.path) if isinstance(o.entry, Held)]
    assert len(held) == 1


def test_the_next_start_goes_on_numbering(tmp_path: Path) -> None:
    for life in (1, 2):
        RecordingNode(tmp_path / "a.jsonl", 2000, 100).begin(life).live(50).recorder.close()
    numbers = [number for number, _ in older_parts(tmp_path / "a.jsonl")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(read(tmp_path / "a.jsonl")) == 2 * 52


WRITES = """
import sys
from pathlib import Path
from electorate.runtime.recorder import Recorder
recorder = Recorder(Path(sys.argv[1]))
print("writes", flush=True)
input()
"""


def test_what_another_process_writes_is_refused_until_it_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", WRITES, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"writes\n"
        with pytest.raises(OSError, match=r"another process writes the record '.*a\.jsonl'"):
            Recorder(path)
        other.kill()
    Recorder(path).close()


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        written = RecordingNode(tmp_path / "new" / "a.jsonl", 2000, 3).begin().live(100)
    finally:
        os.umask(before)
    written.recorder.close()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    modes = {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "new").iterdir()}
    assert modes == {0o600}


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o750)
    RecordingNode(tmp_path / "shared" / "a.jsonl").begin().recorder.close()
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o750


def test_a_node_of_any_name_writes_into_its_folder(tmp_path: Path) -> None:
    for name in ("a/../../b", "..", "ü x", "a.000001"):
        assert record_file(tmp_path, name).parent == tmp_path
    assert record_file(tmp_path, "a/b") != record_file(tmp_path, "a b")


def test_a_record_of_another_format_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"type":"booted","format":1,"at":1}\n')
    written = RecordingNode(path).begin()
    written.recorder.close()
    assert len(read(path)) == 2
    assert (tmp_path / "a.jsonl.old-format").read_text().startswith('{"type":"booted"')
    assert "has another format; it is kept as a.jsonl.old-format" in caplog.text


def test_what_another_format_is_read_with_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"type":"booted","format":1,"at":1}\n')
    with pytest.raises(RecordError, match="replay it with the version that wrote it"):
        list(RecordFile(path).lines())
    path.write_text('{"type":"host","format":3,"at":1,"node":1,"incarnation":1}\n')
    with pytest.raises(RecordError, match="format 3; this version reads 2"):
        list(RecordFile(path).lines())


# --- a disk that fails ---


def test_a_record_that_cannot_be_written_ends_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(5)

    left = [20]

    def write(file: int, data: bytes) -> int:
        """There is room for twenty bytes more."""
        if not left:
            raise FULL
        return real(file, data[: left.pop()])

    real = os.write
    with monkeypatch.context() as disk:
        disk.setattr("electorate.runtime.recorder.os.write", write)
        written.live(20)
    written.live(100)
    assert not written.recorder.gathered
    written.recorder.close()
    assert caplog.text.count("cannot write the record") == 1
    assert "No space left on device. The node goes on" in caplog.text
    assert written.recorder.failure == "No space left on device"
    assert len(read(written.path)) == 7, "what was written before is whole"


def full_at_its_end(path: Path, disk: pytest.MonkeyPatch) -> None:
    """What is in the file can be written over; there is no room for a byte more."""
    real, size = os.pwrite, path.stat().st_size

    def write(file: int, data: bytes) -> int:
        raise FULL

    def pwrite(file: int, data: bytes, offset: int) -> int:
        if offset + len(data) > size:
            raise FULL
        return real(file, data, offset)

    disk.setattr("electorate.runtime.recorder.os.write", write)
    disk.setattr("electorate.runtime.recorder.os.pwrite", pwrite)


def test_the_last_line_of_a_record_that_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(20)
    with monkeypatch.context() as disk:
        full_at_its_end(written.path, disk)
        written.live(20)
    written.recorder.close()
    *_, last = lines(written.path)
    assert (last["type"], last["why"]) == ("stopped", "No space left on device")
    file = RecordFile(written.path)
    assert 15 <= len([*file.lines()]) <= 22, "a few lines gave way to the last one"
    (gap,) = file.gaps
    assert (gap.node, gap.end) == (1, None)


def test_after_a_gap_nobody_has_crashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = RecordingNode(tmp_path / "a.jsonl").begin().live(20)
    with monkeypatch.context() as disk:
        full_at_its_end(written.path, disk)
        written.live(20)
    written.recorder.close()
    again = RecordingNode(written.path)
    again.now = written.now
    again.begin(4).live(5).recorder.close()
    file = RecordFile(written.path)
    boots = [line.gap for line in file.lines() if isinstance(line.entry, Booted)]
    assert boots == [False, True]
    (gap,) = file.gaps
    assert gap.end is not None
    assert gap.missing == (2, 3)
    trace = merged(Setting.parse(CLUSTER), {1: read(written.path)})
    assert not [step for step in trace.steps if isinstance(step.happening, Crashed)]


def test_a_new_part_that_has_no_room_is_said_in_the_part_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise FULL

    written = RecordingNode(tmp_path / "a.jsonl", 2000, 100).begin().live(3)
    rotate = Recorder._rotate

    def rotate_into_nothing(recorder: Recorder) -> None:
        monkeypatch.setattr("electorate.runtime.recorder.os.write", full)
        rotate(recorder)

    monkeypatch.setattr(Recorder, "_rotate", rotate_into_nothing)
    written.live(100).recorder.close()
    monkeypatch.undo()
    ((_, part),) = older_parts(written.path)
    assert written.path.read_bytes() == b""
    assert lines(part)[-1]["type"] == "stopped"
    RecordingNode(written.path).begin(2).recorder.close()
    assert len(lines(written.path)) == 4, "the next start goes on in the empty file"


def test_a_file_that_cannot_be_put_aside_ends_the_record_and_not_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def rename(self: Path, target: Path) -> Path:
        raise FULL

    monkeypatch.setattr(Path, "rename", rename)
    written = RecordingNode(tmp_path / "a.jsonl", 2000, 3).begin().live(100)
    written.recorder.close()
    assert caplog.text.count("cannot write the record") == 1
    assert read(written.path)


def test_a_record_that_cannot_be_opened_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match=r"kept in a folder, and '.*/file' is a file"):
        Recorder(tmp_path / "file" / "a.jsonl")
    for folder in (tmp_path / "file" / "below", tmp_path / "file" / "far" / "below"):
        with pytest.raises(NotADirectoryError, match=r"kept in a folder, and '.*/file' is a file"):
            Recorder(folder / "a.jsonl")
