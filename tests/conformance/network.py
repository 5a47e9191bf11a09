"""The network as a driver of probes: nodes on real sockets, in threads and in processes."""

import time
from collections.abc import Iterator
from pathlib import Path

from tests.conformance.loopback import T_MS, TIMEOUT_MS, wait_until
from tests.conformance.probe import Reign, Speak, Wind
from tests.conformance.process import Processes
from tests.conformance.story import Run
from tests.conformance.watched import Nodes

SAVING_S = 1.5 * T_MS / 1000


class Network:
    """Runs probes in real time."""

    name = "network"
    tears = 2  # All that a turn says to one node travels in one frame.

    def __init__(self, folder: Path) -> None:
        self._folder = folder

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
        with Nodes(folder, 3) as nodes:
            watches = nodes.watches
            nodes.be_heard(1, 2, 3)
            nodes.cut_power(1, Speak(), "save")
            nodes.restart(1)
            nodes.ask(2, Speak())
            nodes.cut_power(1, Speak(), "send", 2)
            nodes.restart(1)
            nodes.be_heard(1, 2, 3)
            nodes.be_heard(3, 1, 2)
            # Node 3 is given up for dead, and so is everything that is on its way to it.
            before = watches[3].life
            nodes.pause(3, 1.1 * TIMEOUT_MS / 1000)
            nodes.ask(1, Speak())
            wait_until(lambda: watches[3].life is not before and watches[3].turns > 2)
            nodes.be_heard(3, 2)
            nodes.be_heard(1, 3)
            # Node 2 is stopped before it has booted again.
            nodes.cut_power(2, Speak(), "send", 3)
            nodes.start(2)
        return nodes.run

    def _killings(self, folder: Path) -> Run:
        with Processes(folder, 3) as nodes:
            for letters in (0, 1):
                nodes.doom(1, letters)
                nodes.restart(1)
            turns = nodes.turns(2)
            nodes.order(1, "speak")
            wait_until(lambda: nodes.turns(2) > turns)
            nodes.kill(1)
            nodes.restart(1)
        return nodes.run

    def _clock(self, folder: Path) -> Run:
        with Nodes(folder, 1) as nodes:
            watch = nodes.watches[1]
            watch.saving_s = SAVING_S
            nodes.run.saving = 1000 * SAVING_S
            for rest_ms in (0.5 * T_MS, 1.5 * T_MS):
                nodes.ask(1, Wind())
                time.sleep(rest_ms / 1000)
            self._wind_and_wait(nodes)
            before = watch.life
            nodes.ask(1, Wind())
            nodes.pause(1, 1.1 * TIMEOUT_MS / 1000)
            wait_until(lambda: watch.life is not before and watch.turns > 2)
            time.sleep(4 * T_MS / 1000)
            nodes.ask(1, Wind())
            nodes.cut_power(1, Speak(), "save")
            nodes.restart(1)
            self._wind_and_wait(nodes)
            self._wind_and_wait(nodes)
        return nodes.run

    def _wind_and_wait(self, nodes: Nodes) -> None:
        """Until both timers have run out for sure, however busy the machine is."""
        watch, turns = nodes.watches[1], nodes.watches[1].turns
        nodes.ask(1, Wind())
        wait_until(lambda: watch.turns >= turns + 3)
        time.sleep(3 * T_MS / 1000)

    def _office(self, folder: Path) -> Run:
        with Nodes(folder, 2) as nodes:
            watches = nodes.watches
            for _ in range(3):
                # The office ends while its holder stands still and messages come in.
                nodes.ask(1, Reign())
                nodes.pause(1, 3 * T_MS / 1000)
                nodes.be_heard(2, 1)
            # The office is over before it is even saved.
            turns = watches[2].turns
            watches[2].saving_s = 2.5 * T_MS / 1000
            nodes.run.saving = 2.5 * T_MS
            nodes.ask(2, Reign())
            wait_until(lambda: watches[2].turns >= turns + 3)
        return nodes.run
