"""`electorate node` as an operator meets it: one clear line and exit code 2, or a node at work."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from electorate.runtime.credentials import new_secret
from electorate.runtime.private import write_private_file
from electorate.runtime.store import FILE, Store
from tests.runtime.cluster import free_addresses, wait_until
from tests.runtime.command import ended, node_words, started

pytestmark = pytest.mark.timeout(60)


def alone(tmp_path: Path, *more: str) -> list[str]:
    """The command line of a cluster of one."""
    return node_words(1, {1: free_addresses(1)[0]}, tmp_path / "data", *more)


def fails(words: list[str], reason: str) -> None:
    """Expect the last line on stderr to end with a reason, no traceback, and exit code 2."""
    done = ended(words)
    lines = [line for line in done.err if "starts with an empty store" not in line]
    assert (done.code, len(lines)) == (2, 1), done
    assert lines[0].startswith("electorate: node 1")
    assert reason in lines[0]


def first_told(process: subprocess.Popen[str]) -> dict[str, object]:
    assert process.stdout is not None
    told: dict[str, object] = json.loads(process.stdout.readline())
    return told


def test_a_file_in_the_place_of_the_data_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    fails(alone(tmp_path), f"cannot keep data in {tmp_path / 'data'}: ")


def test_a_damaged_store_is_one_clear_line(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "data", 1)) as store:
        store.save({"election": b"\x80"})
    path = tmp_path / "data" / FILE
    path.write_bytes(path.read_bytes().replace(b"election\x80", b"election\x81"))
    fails(alone(tmp_path), "the record of election in")


def test_a_store_of_another_protocol_is_one_clear_line(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "data", 1)) as store:
        store.save({"election": b"\x81\xa5epoch\x07"})
    fails(alone(tmp_path), "what was saved is not of this protocol")


def test_a_store_of_another_node_is_one_clear_line(tmp_path: Path) -> None:
    Store(tmp_path / "data", 2).close()
    fails(alone(tmp_path), "belongs to node 2, not to node 1")


def test_a_record_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    fails(alone(tmp_path, "--record", str(tmp_path)), "Is a directory")


def test_two_processes_with_one_data_folder_is_one_clear_line(tmp_path: Path) -> None:
    with started(alone(tmp_path)) as process:
        assert first_told(process)["status"] == "election"
        fails(alone(tmp_path), "is in use by another process")


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = taken.getsockname()
        words = node_words(1, {1: ("127.0.0.1", address[1])}, tmp_path / "data")
        fails(words, f"stops: cannot listen on 127.0.0.1:{address[1]}: ")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--member", "2@127.0.0.1:70000"], "a port is 1 to 65535, not 70000"),
        (["--member", "2@127.0.0.1"], "must be ID@HOST:PORT"),
        (["--member", "1@127.0.0.1:7777"], "two --member arguments share one id"),
        (["--id", "9"], "--id 9 is not among the members"),
        (["--timeout", "30"], "--timeout must be longer than --beat"),
        (["--T", "0"], "must be 1 to 3600000 milliseconds"),
        (["--member", "2@10.0.0.2:7402"], "10.0.0.2:7402 is not on this machine, and nothing"),
        (["--tls-ca", "ca.pem"], "--tls-ca, --tls-cert and --tls-key belong together"),
        (["--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"], "b: No such file or directory"),
        (["--secret-file", "nowhere"], "the secret in nowhere cannot be read"),
    ],
)
def test_bad_usage_is_one_clear_line(tmp_path: Path, words: list[str], reason: str) -> None:
    done = ended(alone(tmp_path, *words))
    assert (done.code, len(done.err)) == (2, 1), done
    assert reason in done.err[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_in_an_orderly_way(tmp_path: Path, number: signal.Signals) -> None:
    record = tmp_path / "record.jsonl"
    with started(alone(tmp_path, "--record", str(record))) as process:
        assert first_told(process)["status"] == "election"
        process.send_signal(number)
        assert process.wait(5) == 0
    assert '"type":"ended"' in record.read_text().splitlines()[-1]


def test_whoever_does_not_read_its_reports_does_not_hold_up_the_node(tmp_path: Path) -> None:
    """Its standard output is a pipe that is full from the start."""
    record = tmp_path / "record"
    end, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, b"x" * 4096)
    os.set_blocking(full, True)
    process = subprocess.Popen(alone(tmp_path, "--record", str(record)), stdout=full)
    try:
        wait_until(lambda: record.exists() and '"settle"' in record.read_text())
    finally:
        process.kill()
        process.wait()
        os.close(end)
        os.close(full)


def test_a_disk_that_fails_while_the_node_runs_stops_it(tmp_path: Path) -> None:
    """No file may grow any more; then another node appears, and that must be remembered."""
    addresses = dict(enumerate(free_addresses(2), start=1))
    with started(node_words(1, addresses, tmp_path / "1")) as one:
        first_told(one)
        resource.prlimit(one.pid, resource.RLIMIT_FSIZE, (8192, 8192))
        with started(node_words(2, addresses, tmp_path / "2")):
            assert one.wait(10) == 2
        assert one.stderr is not None
        last = one.stderr.read().splitlines()[-1]
    assert last.startswith(f"electorate: node 1 stops: cannot write {tmp_path / '1'}")


def test_the_second_node_of_one_id_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    addresses = dict(enumerate(free_addresses(2), start=1))
    elsewhere = {**addresses, 2: free_addresses(1)[0]}
    with (
        started(node_words(1, addresses, tmp_path / "1", timeout_ms=150)) as other,
        started(node_words(2, addresses, tmp_path / "2", timeout_ms=150)) as first,
    ):
        first_told(other)
        first_told(first)
        second = ended(node_words(2, elsewhere, tmp_path / "again", timeout_ms=150))
        assert first.poll() is None
        other.terminate()
        first.terminate()
        assert other.stderr is not None
        assert "hello from a second node 2 while the first is live" in other.stderr.read()
    # A busy machine may have held it up meanwhile.
    told = [line for line in second.err if "stood still" not in line]
    assert (second.code, told) == (
        2,
        [
            "electorate: node 2 starts with an empty store",
            "electorate: node 2 is refused by node 1: hello from a second node 2 while the first "
            "is live",
            "electorate: node 2 stops: another node 2 is live, says node 1",
        ],
    )


def test_nodes_with_one_secret_talk_and_one_with_another_is_told_from_them(tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        write_private_file(tmp_path / name, new_secret().encode())
    addresses = dict(zip((1, 2), free_addresses(2), strict=True))
    ours, theirs = (["--secret-file", str(tmp_path / name)] for name in ("ours", "theirs"))
    with started(node_words(1, addresses, tmp_path / "1", *ours)) as one:
        with started(node_words(2, addresses, tmp_path / "2", *ours)) as two:
            assert follows(two, 1)
        with started(node_words(2, addresses, tmp_path / "3", *theirs)) as other:
            assert other.stderr is not None
            wrong = "electorate: node 2 does not talk to what answers for node 1: its certificate"
            assert any(line.startswith(wrong) for line in other.stderr)
        one.terminate()
        assert one.wait(5) == 0


def follows(process: subprocess.Popen[str], leader: int) -> bool:
    """Wait until a node follows this one."""
    assert process.stdout is not None
    return any(json.loads(line)["leader"] == leader for line in process.stdout)
