"""The runtime as a driver of probes: hosts on real sockets, in threads and in processes.

It is driven in each of the ways in which it is used: for the one instance of `electorate node`, for
an election of an application, for a transaction.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from electorate.runtime.host import Host
from tests.conformance.lodging import LODGINGS, ProbeTransactions
from tests.conformance.loopback import T_MS, TIMEOUT_MS, wait_until
from tests.conformance.probe import Reign, Speak, Wind
from tests.conformance.process import Processes
from tests.conformance.rule import Rule, the_first_event_is_a_view
from tests.conformance.story import Run
from tests.conformance.watched import Nodes

SAVING_S = 1.5 * T_MS / 1000
NO_VIEWS = "the machines of transactions use no views, so nobody shows them any"


class Network:
    """Runs probes in real time."""

    tears = 2  # All that a turn says to one node travels in one frame.

    def __init__(self, folder: Path, name: str = "network") -> None:
        self.name = name
        self.exempt: Mapping[Rule, str] = {}
        if name == "transactions":
            self.exempt = {the_first_event_is_a_view: NO_VIEWS}
        self._folder = folder
        self._kind: Any = LODGINGS[name]

    def runs(self, scene: str) -> Iterator[Run]:
        """Runs of one kind."""
        match scene:
            case "speech":
                yield self._speech(self._folder / "speech")
                yield self._killings(self._folder / "killings")
            case "clock":
                yield self._clock(self._folder / "clock")
            case "office":
                yield self._office(self._folder / "office")

    def _speech(self, folder: Path) -> Run:
        with Nodes(self._kind, folder, 3) as nodes:
            a, b, c = nodes.ids
            nodes.be_heard(a, b, c)
            nodes.cut_power(a, Speak(), "save")
            nodes.restart(a)
            nodes.ask(b, Speak())
            nodes.cut_power(a, Speak(), "send", 2)
            nodes.restart(a)
            nodes.be_heard(a, b, c)
            nodes.be_heard(c, a, b)
            # Node c is given up for dead, and so is everything that is on its way to it.
            self._sleep_long(nodes, c, meanwhile=a)
            nodes.be_heard(c, b)
            nodes.be_heard(a, c)
            if self.name == "transactions":
                reopen(nodes, b)
                nodes.be_heard(b, a, c)
            # Node b is stopped before it has booted again.
            nodes.cut_power(b, Speak(), "send", 3)
            nodes.start(b)
        return nodes.run

    def _sleep_long(self, nodes: Nodes, node: int, meanwhile: int | None = None) -> None:
        """Let a node stand still until others have given it up; some instances boot after that."""
        watch = nodes.watches[node]
        before = watch.life
        nodes.pause(node, 1.1 * TIMEOUT_MS / 1000)
        if meanwhile is not None:
            nodes.ask(meanwhile, Speak())
        if not nodes.lodging.outlives:
            wait_until(lambda: watch.life is not before and watch.turns > 2)

    def _killings(self, folder: Path) -> Run:
        with Processes(self._kind, folder, 3) as nodes:
            a, _, _ = nodes.ids
            for letters in (0, 1):
                nodes.doom(a, letters)
                nodes.restart(a)
            nodes.be_heard(a)
            nodes.kill(a)
            nodes.restart(a)
        return nodes.run

    def _clock(self, folder: Path) -> Run:
        with Nodes(self._kind, folder, 1) as nodes:
            (a,) = nodes.ids
            nodes.watches[a].saving_s = SAVING_S
            nodes.run.saving = 1000 * SAVING_S
            for rest_ms in (0.5 * T_MS, 1.5 * T_MS):
                nodes.ask(a, Wind())
                time.sleep(rest_ms / 1000)
            self._wind_and_wait(nodes, a)
            nodes.ask(a, Wind())
            self._sleep_long(nodes, a)
            time.sleep(4 * T_MS / 1000)
            nodes.ask(a, Wind())
            nodes.cut_power(a, Speak(), "save")
            nodes.restart(a)
            self._wind_and_wait(nodes, a)
            if self.name == "transactions":
                # Who is removed has no timers any more, although the host goes on.
                nodes.ask(a, Wind())
                reopen(nodes, a)
                time.sleep(4 * T_MS / 1000)
            self._wind_and_wait(nodes, a)
        return nodes.run

    def _wind_and_wait(self, nodes: Nodes, node: int) -> None:
        """Until both timers have run out for sure, however busy the machine is."""
        watch, turns = nodes.watches[node], nodes.watches[node].turns
        nodes.ask(node, Wind())
        wait_until(lambda: watch.turns >= turns + 3)
        time.sleep(3 * T_MS / 1000)

    def _office(self, folder: Path) -> Run:
        with Nodes(self._kind, folder, 2) as nodes:
            a, b = nodes.ids
            for _ in range(3):
                # The office ends while its holder stands still and messages come in.
                nodes.ask(a, Reign())
                nodes.pause(a, 3 * T_MS / 1000)
                nodes.be_heard(b, a)
            # The office is over before it is even saved.
            watch = nodes.watches[b]
            turns = watch.turns
            watch.saving_s = 2.5 * T_MS / 1000
            nodes.run.saving = 2.5 * T_MS
            nodes.ask(b, Reign())
            wait_until(lambda: watch.turns >= turns + 3)
        return nodes.run


def reopen(nodes: Nodes, node: int) -> None:
    """Have the instance of a transaction removed, and gone on with from the log."""
    before = nodes.watches[node].life

    def forget(host: Host) -> None:
        probed = host.services[1]
        assert isinstance(probed, ProbeTransactions)
        probed.reopen()

    nodes.enter(node, forget)
    wait_until(lambda: nodes.watches[node].life is not before)
