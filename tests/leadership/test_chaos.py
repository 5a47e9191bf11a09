"""Everything that can be done to processes here, in short: by a plan that is always the same, and
judged by safety alone, so that it is the same on a machine of any speed.
"""

import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest

from benchmarks.engine import ROOT
from benchmarks.faults import relay
from benchmarks.faults.__main__ import main
from benchmarks.faults.change import says_gone
from benchmarks.faults.disk import SmallDisks, fill, free, why_no_disks
from benchmarks.faults.evidence import JOB, Evidence, journal
from benchmarks.faults.fleet import Fleet, Hung
from benchmarks.faults.ground import grounds, lacking
from benchmarks.faults.judge import LATE, STUCK, judged
from benchmarks.faults.ledger import told as told_of_transfers
from benchmarks.faults.load import LoadWatch, taken_by
from benchmarks.faults.network import RelayedNetwork, relayed, why_no_network
from benchmarks.faults.outside import suffered
from benchmarks.faults.plan import (
    KINDS,
    OUTSIDE,
    OUTSIDE_WAYS,
    Fault,
    OutsideFault,
    planned,
    planned_outside,
)
from benchmarks.faults.relay import Shape
from benchmarks.faults.shim import Disguise, compiled, why_no_shim
from tests.runtime.cluster import wait_until
from tests.runtime.process import is_running, on_linux

pytestmark = on_linux

with_network = pytest.mark.skipif(why_no_network() is not None, reason=f"{why_no_network()}")
with_shim = pytest.mark.skipif(why_no_shim() is not None, reason=f"{why_no_shim()}")
with_disks = pytest.mark.skipif(why_no_disks() is not None, reason=f"{why_no_disks()}")

SEED = 4
QUICKER = 4
"""A short form: everything lasts for a quarter of the time."""


def test_a_seed_decides_which_faults_there_are() -> None:
    assert list(planned(1, 50)) == list(planned(1, 50)) != list(planned(2, 50))
    assert {fault.called for fault in planned(1, 50)} == {
        *("kill leader", "kill other"),
        *("stop leader", "stop other"),
    }
    assert {fault.kind for fault in planned(1, 200, KINDS)} == {*KINDS}
    assert list(planned_outside(1, 9)) == list(planned_outside(1, 9)) != list(planned_outside(2, 9))
    ways = sum(map(len, OUTSIDE_WAYS.values()))
    assert len({fault.called for fault in planned_outside(3, ways)}) == ways


def test_a_plan_is_printed_and_is_the_same_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--kinds", "kill,stop,members", "--faults", "5", "--seed", "7", "--plan"]
    assert main(words) == 0
    faults = [Fault(**json.loads(line)) for line in capsys.readouterr().out.splitlines()[1:]]
    assert faults == list(planned(7, 5, ("kill", "stop", "members")))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--kinds", "kil"], "no kil: all, kill, stop, cut"),
        (["--nodes", "2"], "--nodes takes 3 or more"),
        (["--transactions", "--kinds", "members"], "an account would go with its member"),
        (["--keep", str(ROOT)], "is not empty"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    told = capsys.readouterr()
    assert (told.out, complaint in told.err) == ("", True)


def test_kinds_that_cannot_be_had_are_named_with_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without anything on the path there is neither `ip` nor a compiler."""
    monkeypatch.setenv("PATH", "")
    assert main(["--kinds", "cut,clock", "--faults", "3"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    missing = [line.partition(" cannot be had here: ")[0] for line in told.err.splitlines()]
    assert sorted(missing) == ["faults: clock", "faults: cut"]


# --- all of it, in short ---


def test_whatever_is_done_to_them_leaders_exclude_each_other_and_money_stays(
    tmp_path: Path,
) -> None:
    kinds = sorted({*KINDS} - {"members", *lacking(KINDS)}, key=KINDS.index)
    faults = [
        fault._replace(lasts_s=fault.lasts_s / QUICKER, rest_s=fault.rest_s / QUICKER)
        for fault in planned(SEED, 12, kinds)
    ]
    with grounds(tmp_path, kinds, 3, SEED) as ground:
        fleet = Fleet(
            tmp_path,
            network=ground.network,
            disks=ground.disks,
            library=ground.library,
            more=3,
            transfers=True,
        )
        with fleet:
            fleet.await_leader()
            for fault in faults:
                fleet.strike(fault)
            with suppress(Hung):  # A machine that is too busy; what there is, is judged.
                fleet.settle()
    found = judged(tmp_path)
    assert [str(each) for each in found.violations if each.kind not in (STUCK, LATE)] == []
    assert sum(row.faults for row in found.rows.values()) == len(faults)
    assert found.elections == 4
    assert found.points > 0
    assert told_of_transfers(tmp_path), "no transfer was ever begun"


@pytest.mark.slow
@with_shim
def test_a_machine_that_stands_still_with_its_clocks_is_what_only_the_fence_notices(
    tmp_path: Path,
) -> None:
    """Outside the assumptions two leaders must be possible, or the harness proves little."""
    fault = OutsideFault("standstill", "wall clock still", 1.5, 1)
    row = suffered(fault, tmp_path / "run", tmp_path / "record")
    assert "an old leader went on for" in row.happened
    assert row.stale_taken == 0
    assert Evidence.of(tmp_path / "run" / JOB).refused


def test_a_member_that_was_cut_off_is_not_believed_that_another_was_removed() -> None:
    said = "failed ValueError: 'f' is no member; the members are a, b, c"
    assert says_gone(said, "f", ["a", "b", "c", "f"])
    assert not says_gone(said, "f", ["a", "b", "e", "f"])
    assert not says_gone("failed ValueError: f is a member already", "f", ["a", "b", "c", "f"])


# --- the network ---


def heard(network: RelayedNetwork, one: int, other: int) -> bool:
    """Whether a byte and its answer pass between two namespaces."""
    code = "import socket, sys; s = socket.create_connection((sys.argv[1], 7777), 0.5); s.recv(1)"
    words = [*network.prefix(one), sys.executable, "-c", code, network.host(other)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def network() -> Iterator[RelayedNetwork]:
    """Two namespaces, in the second of which somebody greets whoever connects."""
    code = (
        "import socket\nwith socket.create_server(('', 7777)) as s:\n"
        " while True:\n  c, _ = s.accept()\n  c.sendall(b'x')\n  c.close()"
    )
    with relayed(2) as made:
        server = subprocess.Popen([*made.prefix(1), sys.executable, "-c", code])
        try:
            wait_until(lambda: heard(made, 0, 1))
            yield made
        finally:
            server.kill()
            server.wait()


@with_network
def test_the_relay_loses_delays_and_resets(network: RelayedNetwork) -> None:
    for ways in ({(0, 1)}, {(1, 0)}):
        network.become(ways, {})
        assert not heard(network, 0, 1)
    for shape in (Shape(delay=0.01), Shape(jitter=0.01), Shape(loss=0.01)):
        network.become((), {(0, 1): shape})
        wait_until(lambda: heard(network, 0, 1))
    for shape in (Shape(reset=1.0), Shape(loss=1.0), Shape(bandwidth=10)):
        network.become((), {(0, 1): shape})
        assert not heard(network, 0, 1)
    network.become((), {})
    wait_until(lambda: heard(network, 0, 1))


def test_a_packet_is_turned_into_one_that_ends_its_connection() -> None:
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 45, 1, 0, 64, 6, 0, *(bytes(4),) * 2))
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 77, 88, 5 << 4, 0x18, 100, 0, 0)
    reset = relay.ended(bytes(ip) + tcp + b"words")
    assert (len(reset), reset[33], struct.unpack("!I", reset[24:28])) == (40, 0x14, (77,))
    assert relay.checksum(reset[:20]) == bytes(2), "a sum over itself is nothing"
    assert socket.htons(0x0100) in (1, 0x0100)


# --- disks and clocks ---

SAVING = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1] + "/db", isolation_level=None)
for pragma in ("synchronous=" + sys.argv[2], "journal_mode=wal"):
    db.execute("pragma " + pragma)
db.execute("create table kept (number)")
for number in range(5):
    db.execute("insert into kept values (?)", (number,))
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("library"))


@pytest.fixture
def disguise(tmp_path: Path, library: Path) -> Disguise:
    """What a process is shown whose data is in the folder `data`."""
    (tmp_path / "data").mkdir()
    return Disguise(library, "a", tmp_path / "data", tmp_path)


def run(disguise: Disguise, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **disguise.environment}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@with_shim
@pytest.mark.parametrize("way", ["nothing", "some"])
@pytest.mark.parametrize(("syncing", "survives"), [("extra", True), ("off", False)])
def test_a_power_cut_takes_what_was_not_synced_and_nothing_else(
    disguise: Disguise, tmp_path: Path, syncing: str, survives: bool, way: str
) -> None:
    data = tmp_path / "data"
    assert run(disguise, SAVING, str(data), syncing).returncode == -9
    undone = disguise.cut_power(way, Random(1))
    try:
        with closing(sqlite3.connect(data / "db")) as database:
            kept = [number for (number,) in database.execute("select number from kept")]
    except sqlite3.DatabaseError:
        kept = []
    assert (kept == [*range(5)]) == survives, undone


@with_shim
def test_a_disk_that_lies_keeps_nothing_of_what_it_said_was_safe(
    disguise: Disguise, tmp_path: Path
) -> None:
    disguise.lie(lies=True)
    assert run(disguise, SAVING, str(tmp_path / "data"), "extra").returncode == -9
    assert disguise.cut_power("nothing", Random(1)) > 0
    assert not (tmp_path / "data" / "db").exists()


WRITING = "import sys; open(sys.argv[1] + '/file', 'wb', buffering=0).write(b'x')"


@with_shim
def test_a_disk_can_be_read_only_or_slow(disguise: Disguise, tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    disguise.refuse_writes(refused=True)
    assert "Read-only file system" in run(disguise, WRITING, data).stderr
    disguise.refuse_writes(refused=False)
    assert run(disguise, WRITING, data).returncode == 0
    disguise.slow_down(0.3)
    began = time.monotonic()
    code = "import os, sys; os.fsync(os.open(sys.argv[1] + '/file', os.O_RDWR))"
    assert run(disguise, code, data).returncode == 0
    assert time.monotonic() - began > 0.3


CLOCKS = """
import ctypes, threading, time
true = ctypes.CDLL(None).faults_true_ns
true.restype = ctypes.c_int64
began, true_began = time.monotonic(), true()
time.sleep(0.1)
threading.Event().wait(0.1)
rate = (time.monotonic() - began) * 1e9 / (true() - true_began)
print(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - true(), time.time(), rate)
"""


def clocks(disguise: Disguise) -> tuple[float, float, float]:
    """How far the clock and the time of day are off, in seconds; how fast time passes."""
    off, wall, rate = map(float, run(disguise, CLOCKS).stdout.split())
    return round(off / 1e9, 1), round((wall - time.time()) / 10) * 10, round(rate, 1)


@with_shim
def test_clocks_jump_and_run_as_they_are_told(disguise: Disguise) -> None:
    assert clocks(disguise) == (0, 0, 1)
    disguise.add(-2)
    assert clocks(disguise) == (-2, 0, 1)
    disguise.add(2)
    disguise.add_to_wall(1_000)
    assert clocks(disguise) == (0, 1_000, 1)
    disguise.go(2_000_000)
    assert clocks(disguise)[2] == 3
    disguise.go(0)
    assert clocks(disguise)[2] == 1


@with_disks
def test_a_small_disk_is_full_until_it_is_freed_and_what_is_on_it_is_kept(tmp_path: Path) -> None:
    disks = SmallDisks()
    data = tmp_path / "a"
    try:
        disks.mount(data)
        (data / "kept").write_text("word")
        fill(data)
        with pytest.raises(OSError, match="No space left"):
            (data / "more").write_text("word")
        free(data)
        (data / "more").write_text("word")
    finally:
        disks.remove()
    assert not data.is_mount()
    assert {file.name: file.read_text() for file in data.iterdir()} == {
        "kept": "word",
        "more": "word",
    }


def test_it_is_noticed_when_others_take_the_processors() -> None:
    told: list[int] = []
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    watch = LoadWatch(tuple, told.append, much=0.25 / (os.cpu_count() or 1))
    try:
        watch.start()
        wait_until(lambda: told)
    finally:
        watch.stop()
        burner.kill()
        burner.wait()
    assert taken_by(burner.pid) == 0, "it is gone"


# --- the end ---


def test_there_is_room_for_a_process_that_is_no_member(tmp_path: Path) -> None:
    code = "import os; print(os.environ['FAULTS_HOST'], os.environ['FAULTS_MEMBERS'])"
    with Fleet(tmp_path) as fleet:
        fleet.run_beside("beside", [sys.executable, "-c", code])
        fleet.await_leader()
        fleet.pass_time(1.0)
    host, members = (tmp_path / "beside.log").read_text().splitlines()[0].split()
    assert host == "127.0.0.1"
    assert [place.partition("@")[0] for place in members.split(",")] == ["a", "b", "c"]
    assert len([entry for entry in journal(tmp_path) if entry.what == "beside"]) > 1
    assert fleet.complaints == []


@with_network
@with_disks
@with_shim
def test_whoever_ends_it_early_leaves_no_namespace_and_no_disk_behind(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "benchmarks.faults", "--kinds", "cut,full,clock"]
    process = subprocess.Popen(
        [*words, "--faults", "50", "--keep", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    mine = f"-{process.pid}"
    try:
        wait_until(lambda: any(entry.what == "fault" for entry in journal(tmp_path)))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        workers = [int(word) for word in children.read_text().split()]
        assert mine in Path("/proc/mounts").read_text()
        process.terminate()
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 3
    assert err.splitlines()[-1] == "faults: interrupted"
    assert mine not in Path("/proc/mounts").read_text()
    assert not [name for name in os.listdir("/run/netns") if f"{mine}-" in name]
    wait_until(lambda: not any(map(is_running, workers)))


def test_every_kind_has_a_deed() -> None:
    deeds = {name for name in vars(Fleet) if name.startswith("_")}
    assert {f"_{kind}" for kind in KINDS} - deeds == {"_members"}
    assert {*OUTSIDE_WAYS} == {*OUTSIDE}
