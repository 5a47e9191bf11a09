"""Random damage to frames of every kind, on the wire, before and after a hello."""

import logging
import random
import resource
from pathlib import Path

import pytest
from msgspec import Raw, msgpack

from electorate.runtime.frame import Beat, Letter, Said, pack
from electorate.runtime.strangers import STRANGERS_MAX
from tests.runtime.caller import Caller, hello
from tests.runtime.cluster import Cluster, running, wait_until
from tests.runtime.mangle import mangled

MEGABYTES_MAX = 50


def test_mangled_frames_on_the_wire_harm_nobody(
    tmp_path: Path,
    frames_to_mangle: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten frames to a connection, one connection in two introduced as a member that is down."""
    # What is wrong with frames is to be seen here, not how many connections one host may open.
    monkeypatch.setattr("electorate.runtime.strangers.HOST_PER_S", 1e9)
    caplog.set_level(logging.ERROR)
    chance = random.Random(frames_to_mangle)
    with running(Cluster(tmp_path, 4), 1, 2, 3) as cluster:
        wait_until(lambda: cluster.agrees_on(1))
        yes = Letter([Said("election", 1, Raw(msgpack.encode({"type": "Yes"})))], 0, 1)
        greeting = pack(hello(cluster.name, 4, 1))
        whole = [greeting, pack(Beat(hears=False, sent=0)), pack(yes)]
        kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(frames_to_mangle // 10):
            with Caller(cluster.addresses[1]) as caller:
                caller.write(greeting if number % 2 else b"")
                caller.write(b"".join(mangled(chance, chance.choice(whole)) for _ in range(10)))
                if number % 20 == 0:
                    caller.write(b"\xff" * 300)
                    assert caller.is_closed()
        assert sum(cluster.closed(1).values()) > frames_to_mangle / 100
        assert len(cluster.threads[1].node.network.listener._strangers) <= STRANGERS_MAX
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kilobytes
        assert grown < 1024 * MEGABYTES_MAX
        wait_until(lambda: cluster.agrees_on(1))
        with Caller(cluster.addresses[1]) as caller:
            caller.write(b"\0")
            assert caller.is_closed()
        assert caplog.text == ""
