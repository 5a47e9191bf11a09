"""Members that come and go while elections go on."""

import asyncio
from pathlib import Path

import pytest

from electorate import Node
from electorate.errors import MembersUnchanged, NodeStopped, Removed
from electorate.pace import Pace
from electorate.sync import Node as SyncNode
from tests.leadership.cluster import PACE, Cluster, idle, run, running, until
from tests.runtime.cluster import free_addresses


async def joined(cluster: Cluster, name: str, pace: Pace = PACE) -> str:
    """Start a node that is no member; where it is."""
    if name not in cluster.places:
        ((host, port),) = free_addresses(1)
        cluster.places[name] = f"{name}@{host}:{port}"
    others = [place for other, place in cluster.places.items() if other != name]
    node = Node(cluster.places[name], others, cluster.folder / name, pace=pace, join=True)
    cluster.nodes[name] = node
    await node.__aenter__()
    return cluster.places[name]


async def everybody_knows(cluster: Cluster, members: str) -> None:
    """Wait until all nodes that run agree on the members."""
    await until(lambda: all(node.members == tuple(members) for node in cluster.nodes.values()))


def test_a_newcomer_gets_a_vote_and_may_lead(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", "b", "c")
            first = await cluster.led()
            where = await joined(cluster, "d")
            assert cluster.nodes["d"].members == ("a", "b", "c")
            cluster.stand("d", priority=9)
            await cluster.nodes["b"].add_member(where)
            await everybody_knows(cluster, "abcd")
            assert await cluster.led("d") == "d"
            assert [token for _, token in cluster.held] == sorted(t for _, t in cluster.held)
            # Three of four are a majority, two are not.
            await cluster.stop(first)
            assert await cluster.led() == "d"
            await cluster.stop(next(name for name in "abc" if name != first))
            await until(lambda: not cluster.leads("d"))

    run(scene())


def test_the_others_go_on_without_a_member_that_leads(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand()
            first = await cluster.led()
            before = cluster.terms[first].token
            left = [name for name in "abc" if name != first]
            await cluster.nodes[left[0]].remove_member(first)
            await until(lambda: cluster.workers[first].done())
            with pytest.raises(NodeStopped):
                cluster.workers.pop(first).result()
            with pytest.raises(Removed, match=f"{first} is no member any more"):
                await cluster.nodes.pop(first).__aexit__()
            assert await cluster.led() in left
            assert cluster.terms[cluster.leader()].token > before
            await everybody_knows(cluster, "".join(left))

    run(scene())


def test_a_node_that_has_ended_still_names_the_members_it_knew_last(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            a, b = cluster.nodes["a"], cluster.nodes["b"]
            await a.remove_member("c")
            await until(lambda: a.members == b.members == ("a", "b"))
            where = await joined(cluster, "d")
            await a.add_member(where)
            await until(lambda: b.members == ("a", "b", "d"))
            await cluster.stop("b", "d")
            assert b.members == ("a", "b", "d")

    run(scene())


def test_a_node_that_lost_its_memory_comes_back_under_its_name(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", "b")
            await cluster.led()
            await cluster.stop("c")
            for file in (tmp_path / "c").iterdir():
                file.unlink()
            where = await joined(cluster, "c")
            await cluster.nodes["a"].replace_member("c", where)
            await everybody_knows(cluster, "abc")
            # Its vote counts again: with it and without another there still is a majority.
            await cluster.stop("b")
            assert await cluster.led("a") == "a"

    run(scene())


def test_another_node_takes_the_place_of_one_that_is_gone(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", "b")
            await cluster.led()
            await cluster.stop("c")
            await cluster.nodes["b"].replace_member("c", await joined(cluster, "d"))
            await everybody_knows(cluster, "abd")
            await cluster.stop("b")
            assert await cluster.led("a") == "a"
            # What was changed is still so when all have been started again, by the old list.
            await cluster.stop()
            del cluster.places["c"]
            await cluster.start("a", "b", "d")
            await everybody_knows(cluster, "abd")
            cluster.stand("d")
            assert await cluster.led("d") == "d"

    run(scene())


def test_two_changes_at_once_are_made_one_after_the_other(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, "abcde") as cluster:
            where = await joined(cluster, "f")
            await cluster.stop("d")
            await asyncio.gather(
                cluster.nodes["a"].add_member(where), cluster.nodes["b"].remove_member("d")
            )
            await everybody_knows(cluster, "abcef")

    run(scene())


def test_a_change_that_cannot_be_made_changes_nothing(tmp_path: Path) -> None:
    quick = Pace(grace=0.5, preempt_delay=0.3)

    async def scene() -> None:
        async with running(tmp_path, pace=quick) as cluster:
            cluster.stand("a")
            await cluster.led()
            ((host, port),) = free_addresses(1)
            node = cluster.nodes["a"]
            with pytest.raises(MembersUnchanged, match=r"d@.* does not answer: start it"):
                await node.add_member(f"d@{host}:{port}")
            await cluster.stop("c")
            with pytest.raises(MembersUnchanged, match="of a, c only a can be reached"):
                await node.remove_member("b")
            assert node.members == cluster.nodes["b"].members == ("a", "b", "c")
            with pytest.raises(MembersUnchanged, match=r"^c@.* does not answer: start it"):
                await node.replace_member("c", cluster.places["c"])
            assert "c" in node.members, "it is removed only for one that is there"
            assert await cluster.led("a") == "a"

    run(scene())


def test_what_makes_no_sense_is_refused_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, "ab") as cluster:
            node = cluster.nodes["a"]
            with pytest.raises(ValueError, match="b is a member already"):
                await node.add_member(cluster.places["b"])
            with pytest.raises(ValueError, match=r"b@.* has that address already"):
                await node.add_member(cluster.places["b"].replace("b@", "z@"))
            with pytest.raises(ValueError, match="'z' is no member; the members are a, b"):
                await node.remove_member("z")
            with pytest.raises(ValueError, match="'z' is no member"):
                await node.replace_member("z", "y@127.0.0.1:1")
            with pytest.raises(ValueError, match="a cannot remove itself: ask another member"):
                await node.remove_member("a")
            with pytest.raises(ValueError, match="a member is name@host:port"):
                await node.add_member("z")
            with pytest.raises(ValueError, match=r"z is to join a cluster: .* z@host:port"):
                Node("z", cluster.places.values(), tmp_path / "z", join=True)
            with pytest.raises(ValueError, match="electorate: members is not yours to lead"):
                node.election("electorate: members")

    run(scene())


def test_who_is_no_member_changes_nothing_and_waits(tmp_path: Path) -> None:
    quick = Pace(grace=0.2, preempt_delay=0.3)

    async def scene() -> None:
        async with running(tmp_path, "ab", pace=quick) as cluster:
            await joined(cluster, "d", quick)
            cluster.stand("d")
            with pytest.raises(MembersUnchanged, match="d is no member itself"):
                await cluster.nodes["d"].remove_member("b")
            assert not cluster.leads("d")
            await cluster.nodes["a"].add_member(cluster.places["d"])
            assert await cluster.led("d") == "d"

    run(scene())


def test_who_goes_by_another_pace_is_not_let_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with running(tmp_path, "ab", pace=Pace(grace=0.1)) as cluster:
            where = await joined(cluster, "d", Pace(T=0.06))
            with pytest.raises(MembersUnchanged, match="does not answer"):
                await cluster.nodes["a"].add_member(where)
            assert "a runs with T=0.05 s, " in caplog.text
            assert "but d with T=0.06 s, " in caplog.text
            assert cluster.nodes["d"].running, "it was told so by anybody"

    run(scene())


def test_who_was_removed_and_is_restarted_as_it_was_is_told_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            await cluster.nodes["b"].remove_member("a")
            await until(lambda: not cluster.nodes["a"].running)
            for _ in range(2):
                with pytest.raises(Removed):
                    await cluster.nodes.pop("a").__aexit__()
                await cluster.start("a")
                with pytest.raises(NodeStopped):
                    await anext(aiter(cluster.nodes["a"].election("x").terms()))
                await until(lambda: not cluster.nodes["a"].running)
            with pytest.raises(Removed):
                await cluster.nodes.pop("a").__aexit__()

    run(scene())


def test_a_change_whose_node_is_removed_meanwhile_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            ((host, port),) = free_addresses(1)
            change = asyncio.create_task(cluster.nodes["a"].add_member(f"d@{host}:{port}"))
            await asyncio.sleep(0.1)
            await cluster.nodes["b"].remove_member("a")
            with pytest.raises(NodeStopped):
                await change
            with pytest.raises(Removed):
                await cluster.nodes.pop("a").__aexit__()

    run(scene())


def test_who_is_asked_must_be_known_to_the_newcomer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    quick = Pace(grace=0.2, preempt_delay=0.3)

    async def scene() -> None:
        async with running(tmp_path, "ab", pace=quick) as cluster:
            ((host, port),) = free_addresses(1)
            where = f"d@{host}:{port}"
            async with Node(where, [cluster.places["a"]], tmp_path / "d", pace=quick, join=True):
                told = "d@.* does not answer: start it with join=True, with b in its list"
                with pytest.raises(MembersUnchanged, match=told):
                    await cluster.nodes["b"].add_member(where)
                assert "node b is refused by node d: hello from a stranger" in caplog.text
                await cluster.nodes["a"].add_member(where)

    run(scene())


@pytest.mark.parametrize("other", [Pace(T=0.06), Pace(P=0.03), Pace(drift=0.02)])
def test_nodes_of_different_pace_refuse_each_other(tmp_path: Path, other: Pace) -> None:
    async def scene() -> None:
        async with running(tmp_path, "ab") as cluster:
            await cluster.stop("b")
            cluster.pace = other
            await cluster.start("b")
            cluster.stand("a", "b")
            await asyncio.sleep(1)
            assert not cluster.terms

    run(scene())


def test_threads_can_change_members_too(tmp_path: Path) -> None:
    found = free_addresses(3)
    places = [f"{name}@{host}:{port}" for name, (host, port) in zip("abc", found, strict=True)]
    b = SyncNode("b", places[:2], tmp_path / "b", join=True)
    with (
        SyncNode("a", places[:1], tmp_path / "a") as a,
        SyncNode("c", [*places[:1], places[2]], tmp_path / "c", join=True) as c,
    ):
        b.__enter__()
        a.add_member(places[1])
        assert a.members == ("a", "b")
        a.replace_member("b", places[2])
        assert a.members == ("a", "c")
        with c.election("x").lead(timeout=10) as term:
            term.check()
        with pytest.raises(Removed, match="b is no member any more"):
            b.__exit__()


def test_work_goes_on_while_members_change(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a", work=idle)
            await cluster.led("a")
            where = await joined(cluster, "d")
            await cluster.nodes["b"].add_member(where)
            await cluster.nodes["b"].remove_member("c")
            assert cluster.leads("a")
            assert len(cluster.held) == 1

    run(scene())
