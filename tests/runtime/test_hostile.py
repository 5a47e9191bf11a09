"""What a cluster of nodes makes of connections that break the rules: it closes them, says why,
and goes on as if nothing had been.

Nodes 1 to 3 run; node 4 is a member that does not, so that a test can speak in its name.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from msgspec import Raw, msgpack

from electorate.runtime.frame import (
    HEADER,
    VERSION,
    Beat,
    Letter,
    Ping,
    Pong,
    Refusal,
    Said,
    Welcome,
    pack,
)
from electorate.runtime.strangers import STRANGERS_MAX
from tests.runtime.caller import Caller, hello
from tests.runtime.cluster import Cluster, running, wait_until

YES = Letter([Said("election", 1, Raw(msgpack.encode({"type": "Yes"})))], 0, 1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # A busy machine must not be taken for what the guests of these tests do.
    nodes = Cluster(tmp_path_factory.mktemp("hostile"), 4, T=500, timeout_ms=2000.0)
    with running(nodes, 1, 2, 3) as started:
        wait_until(lambda: started.agrees_on(1))
        yield started


@pytest.fixture(autouse=True)
def unharmed(cluster: Cluster) -> Iterator[None]:
    """After each of these tests the nodes agree, over the connections that they had before."""
    wait_until(lambda: cluster.agrees_on(1))
    before = [links_broken(cluster, node) for node in (1, 2, 3)]
    yield
    wait_until(lambda: cluster.agrees_on(1))
    assert [links_broken(cluster, node) for node in (1, 2, 3)] == before
    assert not any(thread.ended.is_set() for thread in cluster.threads.values())


def links_broken(cluster: Cluster, node: int) -> int:
    links = cluster.threads[node].node.network.links
    return sum(link.counters["broken connections"] for to, link in links.items() if to != 4)


def introduced(cluster: Cluster, process: str = "p") -> Caller:
    """A connection to node 1 that has been let in as node 4."""
    caller = Caller(cluster.addresses[1])
    caller.say(hello(cluster.name, 4, 1, process=process))
    assert caller.hear() == Welcome()
    return caller


BEFORE_HELLO = {
    "another version of electorate": bytes([VERSION - 1]),
    "frame too long": HEADER.pack(VERSION, 1 << 30),
    "unreadable frame": HEADER.pack(VERSION, 3) + b"\xc1\xc1\xc1",
    "no hello": pack(Beat(hears=True, sent=0)),
}


@pytest.mark.parametrize("reason", BEFORE_HELLO)
def test_a_connection_that_does_not_begin_with_a_hello_is_closed_and_counted(
    cluster: Cluster, caplog: pytest.LogCaptureFixture, reason: str
) -> None:
    before = cluster.closed(1).get(reason, 0)
    with Caller(cluster.addresses[1]) as caller:
        caller.write(BEFORE_HELLO[reason])
        assert caller.hear() == Refusal(reason)
        assert caller.is_closed()
    assert cluster.closed(1)[reason] == before + 1
    assert f"node 1 closed a connection: {reason}" in caplog.text


def test_a_hello_may_not_be_as_long_as_other_frames(cluster: Cluster) -> None:
    with Caller(cluster.addresses[1]) as caller:
        caller.say(hello(cluster.name, 4, 1, store="s" * 1500))
        assert caller.hear() == Refusal("frame too long")


@pytest.mark.parametrize(
    ("changed", "reason", "taken"),
    [
        (
            {"cluster": "other"},
            "hello from another cluster: all nodes need the same members and settings",
            False,
        ),
        ({"node": 9}, "hello from a stranger: it is no member here", False),
        ({"node": -1}, "hello from a stranger: it is no member here", False),
        ({"node": 1}, "hello from a second node 1: that is me", True),
        ({"node": 2}, "hello from a second node 2 while the first is live", True),
        ({"to": 3}, "hello to another node: it was looked for at a wrong address", False),
    ],
    ids=lambda value: str(value),
)
def test_a_hello_that_is_out_of_place_is_refused_with_the_reason(
    cluster: Cluster, changed: dict[str, object], reason: str, taken: bool
) -> None:
    said = {"cluster": cluster.name, "node": 4, "to": 1, **changed}
    with Caller(cluster.addresses[1]) as caller:
        caller.say(hello(**said))  # type: ignore[arg-type]
        assert caller.hear() == Refusal(reason, taken)
        assert caller.is_closed()
    assert cluster.closed(1)[reason] >= 1


AFTER_HELLO = {
    "unexpected frame": pack(Welcome()),
    "unreadable frame": HEADER.pack(VERSION, 4) + b"\x91\x91\x91\x91",
    "unreadable message": pack(
        Letter([Said("election", 1, Raw(msgpack.encode({"type": "Abdication"})))], 0, 1)
    ),
    "another version of electorate": b"\x00",
    "frame too long": HEADER.pack(VERSION, (1 << 20) + 1),
}


@pytest.mark.parametrize("reason", AFTER_HELLO)
def test_a_node_that_says_what_it_may_not_say_now_is_closed_and_counted(
    cluster: Cluster, reason: str
) -> None:
    before = cluster.closed(1).get(reason, 0)
    with introduced(cluster) as caller:
        caller.write(AFTER_HELLO[reason])
        assert caller.hear() == Refusal(reason)
        assert caller.is_closed()
    assert cluster.closed(1)[reason] == before + 1


def test_messages_nested_without_end_are_refused(cluster: Cluster) -> None:
    with introduced(cluster) as caller:
        caller.write(HEADER.pack(VERSION, 200_000) + b"\x91" * 200_000)
        assert caller.hear() == Refusal("unreadable frame")


def test_a_hello_within_a_conversation_is_refused(cluster: Cluster) -> None:
    with introduced(cluster) as caller:
        caller.say(hello(cluster.name, 4, 1))
        assert caller.hear() == Refusal("unexpected frame")


def test_a_second_connection_of_an_equal_process_does_not_end_the_first(cluster: Cluster) -> None:
    with introduced(cluster) as first, Caller(cluster.addresses[1]) as second:
        second.say(hello(cluster.name, 4, 1))
        assert first.hear() == Ping()
        first.say(Pong())
        assert second.hear() == Refusal("hello from a second node 4 while the first is live", True)
        assert second.is_closed()
        first.say(hello(cluster.name, 4, 1))
        assert first.hear() == Refusal("unexpected frame"), "it was listened to until now"


def test_a_connection_that_does_not_say_that_it_is_there_is_given_up(cluster: Cluster) -> None:
    with introduced(cluster) as first:
        stop = threading.Event()

        def chatter() -> None:
            while not stop.wait(0.05):
                first.say(Beat(hears=True, sent=0))

        talking = threading.Thread(target=chatter)
        talking.start()
        try:
            with introduced(cluster) as second:
                second.say(Beat(hears=True, sent=0))
                assert first.hear() == Ping()
                assert first.is_closed()
        finally:
            stop.set()
            talking.join()


def test_a_connection_whose_end_was_lost_makes_room_as_soon_as_it_is_asked(
    cluster: Cluster,
) -> None:
    with introduced(cluster) as first:
        if not first.vanish():
            pytest.skip("only root can close a connection without a word")
        began = time.monotonic()
        with introduced(cluster) as second:
            second.say(Beat(hears=True, sent=0))
            assert time.monotonic() - began < cluster.timeout_ms / 2000


def test_a_hello_that_never_comes_is_not_waited_for(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("electorate.runtime.connection.HELLO_S", 0.1)
    with Caller(cluster.addresses[1]) as silent, Caller(cluster.addresses[1]) as slow:
        slow.write(pack(hello(cluster.name, 4, 1))[:20])
        assert silent.hear() == Refusal("no hello in time")
        assert slow.hear() in (Refusal("no hello in time"), Refusal("frame too slow"))


def test_a_frame_that_is_begun_and_never_completed_ends_the_connection(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("electorate.runtime.connection.FRAME_S", 0.1)
    with introduced(cluster) as caller:
        caller.write(pack(YES)[:-1])
        assert caller.hear() == Refusal("frame too slow")


def test_however_many_stand_around_who_says_hello_gets_in(cluster: Cluster) -> None:
    before = cluster.closed(1).get("too many strangers", 0)
    with ExitStack() as crowd:
        for _ in range(2 * STRANGERS_MAX):
            crowd.enter_context(Caller(cluster.addresses[1], host="127.0.0.2"))
        with introduced(cluster) as caller:
            caller.say(Beat(hears=True, sent=0))
            wait_until(lambda: cluster.threads[1].node.network.listener.hears(4))
        wait_until(lambda: cluster.closed(1).get("too many strangers", 0) >= STRANGERS_MAX)
    assert cluster.closed(1)["too many strangers"] - before <= STRANGERS_MAX + 1


def test_a_flood_of_beats_is_slowed_down_and_nobody_suspects_anybody(cluster: Cluster) -> None:
    shown = [len(cluster.standings[node]) for node in (1, 2, 3)]
    with introduced(cluster) as caller:
        flood = pack(Beat(hears=True, sent=0)) * 2000
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            caller.write(flood)
            time.sleep(0.01)
    listener = cluster.threads[1].node.network.listener
    assert listener.counters["floods slowed"] > 0
    assert [len(cluster.standings[node]) for node in (1, 2, 3)] == shown
