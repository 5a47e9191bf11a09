"""What strangers do at the door: connections, what they cost, and what comes of them.

The numbers are those of the attacks that were carried out on an earlier version. Each is shown with
a secret; what it takes certificates to rule out, with certificates.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import electorate
from electorate import Tls, sync
from electorate.leadership.directory import number
from electorate.runtime.frame import (
    HEADER,
    Beat,
    Refusal,
    Welcome,
    pack,
    unpack,
)
from electorate.runtime.identity import DEFAULT_CLUSTER, CertificateRole
from electorate.runtime.strangers import HOSTS_MAX, STRANGERS_MAX
from tests.attack.stranger import (
    Listening,
    Relay,
    answering,
    call,
    engine_of,
    forged_refusal,
    hello,
    spoken_by,
    vote_blindly,
)
from tests.leadership.cluster import Cluster, run, until
from tests.runtime.cluster import free_addresses
from tests.runtime.credentials import SECRET, Authority

pytestmark = pytest.mark.usefixtures("cheap_scrypt")


@asynccontextmanager
async def cluster_of(folder: Path, *started: str, **protect: Any) -> AsyncIterator[Cluster]:
    """The members a, b and c, of which some run and stand; the others have run once."""
    cluster = Cluster(folder, "abc", **protect)
    try:
        await cluster.start()
        await cluster.stop(*set("abc") - set(started))
        cluster.stand()
        yield cluster
    finally:
        await cluster.stop()


def listener(cluster: Cluster, name: str) -> Any:
    return engine_of(cluster.nodes[name]).elections.host.network.listener


def hears(cluster: Cluster, name: str, other: str) -> bool:
    return bool(listener(cluster, name).hears(number(other)))


def test_attack_1_a_stranger_cannot_vote_for_two_sides_under_the_name_of_a_member(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", secret=SECRET) as cluster:
            await cluster.led("a", "b")
            cluster.cut("a", "b")
            places = (cluster.places[name] for name in "ab")
            said = [pack(hello(cluster.nodes[name], "c")) for name in "ab"]
            attack = [vote_blindly(*each, seconds=3) for each in zip(places, said, strict=True)]
            answers = asyncio.gather(*attack)
            while not answers.done():
                leaders = [name for name in "ab" if cluster.leads(name)]
                assert len(leaders) < 2, "both lead"
                await asyncio.sleep(0.01)
            assert not any(b"Welcome" in answer for answer in answers.result())
            assert not hears(cluster, "a", "c")

    run(scene())


def test_attack_1_a_certificate_lets_its_holder_speak_as_one_member_only(tmp_path: Path) -> None:
    """Its holder runs a node whose name is that of another member: a member that lies."""
    authority = Authority(tmp_path / "certs")

    async def scene() -> None:
        async with certified(tmp_path, authority) as cluster:
            await cluster.led("a", "b")
            authority.issue("d", file="c")
            liar = cluster.node("c")
            protection = engine_of(liar).protection
            protection._me = protection._me._replace(name="d")
            async with asyncio.timeout(20), liar:
                counters = listener(cluster, "a").counters
                await until(lambda: counters["closed: it has not proven who it is"])
                assert not hears(cluster, "a", "c")
                assert not hears(cluster, "b", "c")

    run(scene())


@asynccontextmanager
async def certified(folder: Path, authority: Authority) -> AsyncIterator[Cluster]:
    """Members with certificates, of which c has run once."""

    class Certified(Cluster):
        def node(self, name: str) -> electorate.Node:
            self.protect = {"tls": files_of(authority, name)}
            return super().node(name)

    for name in "abc":
        authority.issue(name)
    cluster = Certified(folder, "abc")
    try:
        await cluster.start()
        await cluster.stop("c")
        cluster.stand()
        yield cluster
    finally:
        await cluster.stop()


def files_of(authority: Authority, name: str) -> Tls:
    folder = authority.folder
    return Tls(folder / "ca.pem", folder / f"{name}.pem", folder / f"{name}.key")


def test_members_with_certificates_elect_and_a_client_is_no_member(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "certs")

    async def scene() -> None:
        async with certified(tmp_path, authority) as cluster:
            await cluster.led("a", "b")
            authority.issue("c", role=CertificateRole.CLIENT)
            assert cluster.nodes["a"].certificate_expires is not None
            client = cluster.node("c")
            protection = engine_of(client).protection
            protection._me = protection._me._replace(role=CertificateRole.CLIENT)
            async with asyncio.timeout(20), client:
                counters = listener(cluster, "a").counters
                await until(lambda: counters["closed: it has not proven who it is"])
                assert not hears(cluster, "a", "c")

    run(scene())


def test_with_a_secret_a_node_joins_and_replaces_another_as_without(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", secret=SECRET) as cluster:
            await cluster.led("a", "b")
            ((host, port),) = free_addresses(1)
            place, known = f"d@{host}:{port}", [cluster.places["a"]]
            folder = tmp_path / "d"
            d = electorate.Node(place, known, folder, pace=cluster.pace, join=True, secret=SECRET)
            async with d:
                await cluster.nodes["a"].replace_member("c", place)
                await until(lambda: set(d.members) == {"a", "b", "d"})
                await until(lambda: hears(cluster, "b", "d"))

    run(scene())


def test_attack_2_who_answers_where_a_member_was_learns_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", secret=SECRET) as cluster:
            await cluster.led("a", "b")
            impostor = Listening(pack(Welcome()))
            async with answering(cluster.places["c"], impostor):
                await until(lambda: impostor.calls > 3)
                await asyncio.sleep(0.3)
            store = engine_of(cluster.nodes["a"]).elections.host.store.identity
            assert impostor.heard.startswith(b"\x16\x03"), "they have asked for TLS"
            for told in (b"Hello", store.encode(), spoken_by(cluster.nodes["a"]).encode()):
                assert told not in impostor.heard

    run(scene())


@pytest.mark.parametrize("protect", [{}, {"secret": SECRET}], ids=["plain", "secret"])
def test_attack_2_a_second_connection_does_not_end_that_of_a_live_member(
    tmp_path: Path, protect: dict[str, str]
) -> None:
    """Its process, its store and its life are those of b: in the clear, a stranger reads them."""

    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", **protect) as cluster:
            leader = await cluster.led("a", "b")
            a, b = cluster.nodes["a"], cluster.nodes["b"]
            host = engine_of(b).elections.host
            said = hello(
                *(a, "b", host.network.process, host.store.identity),
            )
            await until(lambda: hears(cluster, "a", "b"))
            stream = listener(cluster, "a")._callers[number("b")].stream
            for _ in range(3):
                answer = await call(cluster.places["a"], pack(said), pack(Beat(True, 0)))
                assert b"Welcome" not in answer
                assert protect or b"while the first is live" in answer
            assert listener(cluster, "a")._callers[number("b")].stream is stream
            assert cluster.leads(leader)

    run(scene())


def test_attack_3_a_refusal_of_a_stranger_ends_nobody(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", secret=SECRET) as cluster:
            leader = await cluster.led("a", "b")
            impostor = Listening(forged_refusal(cluster.places, remaining="c"))
            async with answering(cluster.places["c"], impostor):
                await until(lambda: impostor.calls > 3)
                await asyncio.sleep(0.3)
            assert cluster.leads(leader)
            for node in cluster.nodes.values():
                assert node.running
                assert node.members == ("a", "b", "c")

    run(scene())


def test_attack_4_hellos_before_the_first_start_hinder_no_cluster(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path, "abc", secret=SECRET)
        try:
            await cluster.start("a")
            a = cluster.nodes["a"]
            for name in "bc":
                for number_ in range(3):
                    said = hello(a, name, store=f"made up {number_}")
                    assert b"Welcome" not in await call(cluster.places["a"], pack(said))
            await cluster.start("b", "c")
            cluster.stand()
            await cluster.led()
            assert all(hears(cluster, "a", name) for name in "bc")
        finally:
            await cluster.stop()

    run(scene())


def test_two_clusters_of_one_secret_and_the_same_members_do_not_mix(tmp_path: Path) -> None:
    async def scene() -> None:
        production = Cluster(tmp_path / "production", secret=SECRET, cluster="production")
        staging = Cluster(tmp_path / "staging", secret=SECRET, cluster="staging")
        staging.places["c"] = production.places["c"]
        try:
            await production.start()
            await production.stop("c")
            production.stand()
            await production.led()
            await staging.start("c")
            counters = engine_of(production.nodes["a"]).elections.host.network.counters
            await until(lambda: counters["complaints about node c"])
            assert not hears(production, "a", "c")
            assert not staging.nodes["c"]._engine.is_busy
        finally:
            await production.stop()
            await staging.stop()

    run(scene())


def test_a_connection_that_is_led_elsewhere_is_not_taken_for_the_one_that_was_meant(
    tmp_path: Path,
) -> None:
    """A stranger at the address of c leads what it is told to b, or back to where it comes from."""

    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b", secret=SECRET) as cluster:
            leader = await cluster.led("a", "b")
            for name in "ab":
                relay = Relay(cluster.places[name])
                async with answering(cluster.places["c"], relay):
                    await until(lambda: len(relay.said) > 6)  # noqa: B023
            for name in "ab":
                links = engine_of(cluster.nodes[name]).elections.host.network.links
                assert not links[number("c")].connected
            assert cluster.leads(leader)

    run(scene())


def test_what_a_member_has_said_is_worth_nothing_when_it_is_said_again(tmp_path: Path) -> None:
    async def scene() -> None:
        cluster = Cluster(tmp_path, "ab", secret=SECRET)
        relay = Relay(cluster.places["b"])
        ((host, port),) = free_addresses(1)
        behind = {**cluster.places, "b": f"b@{host}:{port}"}
        try:
            await cluster.start("b")
            async with answering(behind["b"], relay):
                a = electorate.Node("a", behind.values(), tmp_path / "a", secret=SECRET)
                cluster.nodes["a"] = a
                await a.__aenter__()
                await until(lambda: hears(cluster, "b", "a"))
                await until(lambda: sum(map(len, relay.said)) > 3000)
                said = b"".join(relay.said)
                counters = listener(cluster, "b").counters
                before = counters["closed: it has not proven who it is"]
                await call(cluster.places["b"], said)
                assert counters["closed: it has not proven who it is"] > before
                await cluster.stop("a")
        finally:
            await cluster.stop()

    run(scene())


def test_attack_6_what_strangers_can_make_grow_is_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Even where nothing proves who speaks, and they know what the cluster is called."""

    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b") as cluster:
            leader = await cluster.led("a", "b")
            a, host = cluster.nodes["a"], "127.0.0.2"
            for burst in range(10):
                said = [
                    pack(
                        hello(
                            *(a, f"{'abc'[n % 3] if n % 2 else f'x{n}'}", f"p{burst}", f"s{n}"),
                            cluster_name=f"{n}" if n % 5 == 0 else DEFAULT_CLUSTER,
                        )
                    )
                    for n in range(60)
                ]
                said[::7] = [os.urandom(200) for _ in said[::7]]
                calls = (call(cluster.places["a"], each, wait_s=0.05, host=host) for each in said)
                await asyncio.gather(*calls)
            found = listener(cluster, "a")
            directory = engine_of(a).elections.directory
            assert len(found._strangers) <= STRANGERS_MAX
            assert len(found._strangers._hosts) <= HOSTS_MAX
            assert len(found.counters) < 20
            assert len(directory._doubted) <= 16
            assert len(caplog.records) < 150
            assert cluster.leads(leader)

    run(scene())


def test_who_does_not_know_the_cluster_is_told_nothing_about_its_members(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, "a", "b") as cluster:
            a = cluster.nodes["a"]
            for said in (
                hello(a, "c", cluster_name="guess"),
                hello(a, "zz").__class__(*("guess", 7, 8, "s", 1, "p", 0)),
            ):
                answer = await call(cluster.places["a"], pack(said))
                refusal = unpack(answer[HEADER.size :])
                assert isinstance(refusal, Refusal)
                assert refusal.news == b""
                assert refusal.reason == (
                    "hello from another cluster: all nodes need the same members and settings"
                )

    run(scene())


def test_attack_7_no_other_user_of_the_machine_can_read_what_a_node_keeps(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    before = os.umask(0)
    try:
        with sync.Node(
            f"a@{host}:{port}",
            [],
            tmp_path / "data",
            record=tmp_path / "record",
            database=electorate.Sqlite(tmp_path / "money.db"),
        ):
            kept = [tmp_path / "data", tmp_path / "record"]
            kept += [file for folder in kept for file in folder.iterdir()]
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in kept}
    finally:
        os.umask(before)
    assert modes.keys() >= {"data", "record", "electorate.db", "electorate.sock"}
    assert not {name for name, mode in modes.items() if mode & 0o077}
