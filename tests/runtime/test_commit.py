"""What a node promises is on disk before anybody hears of it: no letter, no term, no news."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from electorate import Node
from electorate.errors import LeadershipLost, NodeStopped, StoreError
from electorate.leadership.election import PREFIX
from electorate.leadership.elections import Elections
from electorate.pace import Pace
from electorate.protocols.mandate.message import Claim, Grant, Poll
from electorate.protocols.mandate.state import Promise
from electorate.runtime.frame import Said
from electorate.runtime.host import GroupCommit
from electorate.testing import Cluster as Simulated
from tests.leadership.cluster import Cluster, run, running


class Story:
    """Notes in which order things happen in a wake-up."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.is_broken = False
        self.commit = GroupCommit(self, self.send)

    def save(self, records: Mapping[str, bytes | None]) -> None:
        self.lines.append("save " + " ".join(sorted(records)))
        if self.is_broken:
            raise OSError("the disk is full")

    def send(self, to: int, said: list[Said]) -> None:
        self.lines.append(f"send {to} {len(said)}")

    def act(self) -> None:
        for election in ("x", "y"):
            self.commit.say(2, Said(election, 1, msgspec.Raw(b"\x90")))
            self.commit.then(self.lines.append, f"give {election}")
            self.commit.keep(election, b"")
        self.commit.say(3, Said("z", 1, msgspec.Raw(b"\x90")))
        self.commit.once_said(2, self.lines.append, "2 was told")
        self.commit.once_kept(self.lines.append, "kept")
        self.lines.append("acted")


def test_everything_of_a_wake_up_is_saved_at_once_and_then_said_and_then_given() -> None:
    story = Story()
    story.commit.run(story.act)
    assert story.lines == [
        "acted",
        "save x y",
        "kept",
        "send 2 2",
        "2 was told",
        "send 3 1",
        "give x",
        "give y",
    ]
    story.lines.clear()
    story.commit.run(story.lines.append, "nothing to keep")
    assert story.lines == ["nothing to keep"]


def test_nothing_leaves_a_node_whose_store_fails_and_nothing_is_made_up_for_later() -> None:
    story = Story()
    story.is_broken = True
    with pytest.raises(OSError, match="the disk is full"):
        story.commit.run(story.act)
    story.is_broken = False
    story.commit.run(lambda: None)
    assert story.lines == ["acted", "save x y"]


def test_nothing_comes_of_a_wake_up_that_fails() -> None:
    def fail() -> None:
        story.act()
        raise ValueError("broken")

    story = Story()
    with pytest.raises(ValueError, match="broken"):
        story.commit.run(fail)
    story.commit.run(lambda: None)
    assert story.lines == ["acted"]


def test_a_wake_up_within_another_is_part_of_it() -> None:
    def twice() -> None:
        story.commit.run(story.act)
        story.lines.append("and more")

    story = Story()
    story.commit.run(twice)
    assert story.lines[:3] == ["acted", "and more", "save x y"]


def test_no_turn_can_be_taken_outside_of_a_wake_up() -> None:
    story = Story()
    with pytest.raises(RuntimeError, match="nobody keeps it"):
        story.commit.keep("x", b"")
    with pytest.raises(RuntimeError, match="nobody keeps it"):
        story.commit.say(2, Said("x", 1, msgspec.Raw(b"\x90")))
    with pytest.raises(RuntimeError, match="nobody keeps it"):
        story.commit.then(print)
    with pytest.raises(RuntimeError, match="nobody keeps it"):
        story.commit.once_said(2, print)
    with pytest.raises(RuntimeError, match="nobody keeps it"):
        story.commit.once_kept(print)
    story.commit.run(lambda: None)
    assert story.lines == []


class Auditor:
    """Holds everything that leaves simulated nodes against what is on their disks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.grants = self.claims = self.terms = 0
        begin = GroupCommit.__init__

        def audited(commit: GroupCommit, store: Any, send: Any) -> None:
            def post(to: int, said: list[Said]) -> None:
                (elections,) = send.__self__.services
                for each in said:
                    if each.to.startswith(PREFIX):
                        self._audit(elections, to, each)
                send(to, said)

            begin(commit, store, post)

        monkeypatch.setattr(GroupCommit, "__init__", audited)

    def _audit(self, elections: Elections, to: int, said: Said) -> None:
        election = said.to.removeprefix(PREFIX)
        match elections.machines.codec.message(bytes(said.body)):
            case Grant(epoch):
                self.grants += 1
                assert promised(elections, election) == Promise(epoch, to)
            case Claim(epoch):
                self.claims += 1
                assert promised(elections, election) == Promise(epoch, elections.me)

    async def lead(self, node: Node, election: str) -> None:
        """Work for a moment in every term."""
        async for term in node.election(election).terms():
            self.terms += 1
            elections = node._engine.elections
            assert promised(elections, election) == Promise(term.token, elections.me)
            async with term:
                await asyncio.sleep(0.5)


def promised(elections: Elections, election: str) -> Promise | None:
    """What is on the disk of a node."""
    data = elections.host.store.load(PREFIX + election)
    stable: Any = None if data is None else elections.machines.codec.stable(data)
    return None if stable is None else stable.promise


def test_no_grant_claim_or_term_leaves_a_node_before_the_promise_is_on_its_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    auditor = Auditor(monkeypatch)
    cluster = Simulated(3, seed=7)

    async def scene() -> None:
        for number in range(120):  # More than a node takes up at once.
            cluster.start(auditor.lead, f"job {number}")
        await asyncio.sleep(3)
        cluster.crash("a")
        await asyncio.sleep(1)
        cluster.restart("a")
        await asyncio.sleep(3)

    cluster.run(scene())
    assert min(auditor.grants, auditor.claims, auditor.terms) > 120


def test_a_node_whose_disk_fails_says_nothing_more_and_its_terms_are_over(tmp_path: Path) -> None:
    failed: list[list[str]] = []
    said: set[tuple[str, type]] = set()

    def fail(records: Mapping[str, bytes | None]) -> None:
        failed.append(list(records))
        raise StoreError("the disk is full")

    async def scene() -> None:
        async with running(tmp_path) as cluster:
            cluster.stand("a")
            await cluster.led("a")
            term, worker = cluster.terms["a"], cluster.workers.pop("a")
            node = cluster.nodes.pop("a")
            terms = node.election("y").terms()
            elections = node._engine.elections
            post = elections.host._post

            def noted(to: int, letter: list[Said]) -> None:
                assert not failed, "a letter has left after the disk failed"
                for each in letter:
                    if each.to.startswith(PREFIX):
                        message = elections.machines.codec.message(bytes(each.body))
                        said.add((each.to.removeprefix(PREFIX), type(message)))
                post(to, letter)

            elections.host.commit._send = noted
            elections.host.store.save = fail  # type: ignore[method-assign]
            other = asyncio.ensure_future(anext(terms))
            with pytest.raises(NodeStopped):
                await other
            assert failed == [[PREFIX + "y"]]
            assert ("y", Poll) in said
            assert ("y", Claim) not in said
            with pytest.raises(LeadershipLost):
                term.check()
            with pytest.raises(NodeStopped):
                await worker
            with pytest.raises(StoreError, match="the disk is full"):
                await node.__aexit__()

    run(scene())


def test_an_office_that_is_given_only_to_oneself_is_kept_first_too(tmp_path: Path) -> None:
    """A node that is alone polls, claims and leads in one moment."""

    async def scene() -> None:
        cluster = Cluster(tmp_path, "a", Pace(grace=0.2))
        await cluster.start()
        node = cluster.nodes.pop("a")

        def fail(records: Mapping[str, bytes | None]) -> None:
            raise StoreError("the disk is full")

        node.election("x")
        node._engine.elections.host.store.save = fail  # type: ignore[method-assign]
        with pytest.raises(NodeStopped):
            await anext(node.election("x").terms())
        with pytest.raises(StoreError, match="the disk is full"):
            await node.__aexit__()

    run(scene())
